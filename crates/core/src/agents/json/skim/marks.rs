//! Where texts end or have to be looked at: quotes, backslashes and control characters, found in many bytes at once.

/// How many bytes are looked over at once.
const BLOCK: usize = 64;

/// The marks of a line that were not met yet.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    /// Where the block begins in which the next ones are looked for.
    block: usize,
    /// A bit for each of them in it.
    bits: u64,
    /// The same of the block behind it, so that no one has to wait for it.
    ahead: u64,
}

impl Marks {
    pub(super) fn of(line: &[u8]) -> Self {
        Self { block: 0, bits: bits(line, 0), ahead: bits(line, BLOCK) }
    }

    /// Where the next one is, which is passed.
    #[inline(always)]
    pub(super) fn next(&mut self, line: &[u8]) -> Option<usize> {
        while self.bits == 0 {
            self.block += BLOCK;
            if self.block >= line.len() {
                return None;
            }
            self.bits = self.ahead;
            self.ahead = bits(line, self.block + BLOCK);
        }
        let at = self.block + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

/// The marks of the block that begins there: a call, as it is wanted at many places.
#[inline(never)]
fn bits(line: &[u8], from: usize) -> u64 {
    let rest = line.get(from..).unwrap_or_default();
    match rest.first_chunk() {
        Some(block) => bits_of(block),
        None => {
            let mut block = [b' '; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            bits_of(&block)
        }
    }
}

/// As plain as it must be to be compiled to what compares 16 bytes at once.
#[inline(always)]
fn bits_of(block: &[u8; BLOCK]) -> u64 {
    let mut found = [0; BLOCK];
    for at in 0..BLOCK {
        let byte = block[at];
        found[at] = if (byte == b'"') | (byte == b'\\') | (byte < b' ') { ROWS[at] } else { 0 };
    }
    let (rows, _) = found.as_chunks();
    turned(rows.iter().fold(0, |all, row| all | u64::from_le_bytes(*row)))
}

/// A bit for each eight bytes of a block.
const ROWS: [u8; BLOCK] = {
    let mut rows = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        rows[at] = 1 << (at / 8);
        at += 1;
    }
    rows
};

/// Eight rows of eight bits, turned into columns.
#[inline(always)]
fn turned(bits: u64) -> u64 {
    let swapped = |bits: u64, by: u32, which: u64| {
        let both = (bits ^ (bits >> by)) & which;
        bits ^ both ^ (both << by)
    };
    let bits = swapped(bits, 7, 0x00aa_00aa_00aa_00aa);
    let bits = swapped(bits, 14, 0x0000_cccc_0000_cccc);
    swapped(bits, 28, 0x0000_0000_f0f0_f0f0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_marks_are_met_in_order(
            line in prop::collection::vec(prop_oneof![4 => b' '..=b'z', 1 => any::<u8>()], 0..300),
        ) {
            let is_mark = |at: &usize| matches!(line[*at], b'"' | b'\\' | 0..b' ');
            let mut marks = Marks::of(&line);
            let met: Vec<_> = std::iter::from_fn(|| marks.next(&line)).collect();
            prop_assert_eq!(met, (0..line.len()).filter(is_mark).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for size in [1, 63, 64, 65, 128, 200] {
            for at in 0..size {
                let mut line = vec![b'x'; size];
                line[at] = b'"';
                let mut marks = Marks::of(&line);
                assert_eq!(
                    (marks.next(&line), marks.next(&line)),
                    (Some(at), None),
                    "{at} of {size}"
                );
            }
        }
    }
}
