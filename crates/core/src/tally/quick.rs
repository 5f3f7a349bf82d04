//! A quick sum of bytes, which tells contents apart that nobody chose to be alike.

/// As good as random, and odd.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd1b5_4a32_d192_ed03;

/// The sum of these bytes behind what was summed before.
pub(super) fn sum(before: u64, bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<16>();
    let mut sum = mixed(before ^ FIRST, bytes.len() as u64 ^ SECOND);
    for pair in pairs {
        sum = added(sum, *pair);
    }
    let mut last = [0; 16]; // how long they are was summed first, so that zeros add nothing
    last[..rest.len()].copy_from_slice(rest);
    mixed(added(sum, last), FIRST)
}

fn added(sum: u64, pair: [u8; 16]) -> u64 {
    let pair = u128::from_le_bytes(pair);
    mixed(pair as u64 ^ sum, (pair >> 64) as u64 ^ SECOND) ^ sum.rotate_left(23)
}

/// Each bit of the product depends on all before it, and its upper half on all: both are folded.
fn mixed(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    wide as u64 ^ (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn every_bit_every_length_and_what_came_before_counts() {
        let bytes: Vec<u8> = (1..=100u8).map(|byte| byte.wrapping_mul(37)).collect();
        let mut sums = HashSet::from([sum(0, &bytes), sum(1, &bytes)]);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            sums.insert(sum(0, &other));
        }
        let zeros = [0; 100];
        sums.extend((0..100).map(|length| sum(0, &bytes[..length])));
        sums.extend((1..100).map(|length| sum(0, &zeros[..length])));
        assert_eq!(sums.len(), 2 + 800 + 100 + 99);
    }

    proptest! {
        #[test]
        fn other_bytes_have_another_sum(
            one in prop::collection::vec(any::<u8>(), 0..70),
            other in prop::collection::vec(any::<u8>(), 0..70),
        ) {
            prop_assert_eq!(one == other, sum(0, &one) == sum(0, &other));
        }
    }
}
