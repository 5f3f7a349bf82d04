//! Chance that is the same on every run: SplitMix64.

/// A stream of numbers that its seed fixes.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// The stream of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// A number from `from` to below `end`.
    pub(super) fn between(&mut self, from: usize, end: usize) -> usize {
        from + self.below(end.saturating_sub(from))
    }

    /// Yes, this many times in a hundred.
    pub(super) fn percent(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// One of several.
    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// A new order.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }

    /// A random UUID, as Claude Code names sessions and lines.
    pub(super) fn uuid4(&mut self) -> String {
        self.uuid(self.clone().next() >> 16, 4)
    }

    /// A UUID that begins with its time, as Codex names threads and turns.
    pub(super) fn uuid7(&mut self, millis: u64) -> String {
        self.uuid(millis & 0xffff_ffff_ffff, 7)
    }

    /// An id that begins with a number's lowest 48 bits, as OpenCode names everything.
    pub(super) fn id_since(&mut self, kind: &str, number: u64) -> String {
        const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mark: String = (0..14).map(|_| char::from(self.pick(DIGITS))).collect();
        format!("{kind}{:012x}{mark}", number & 0xffff_ffff_ffff)
    }

    fn uuid(&mut self, first: u64, version: u8) -> String {
        let (middle, last) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-{version}{:03x}-{:x}{:03x}-{:012x}",
            first >> 16,
            first & 0xffff,
            middle & 0xfff,
            8 + (middle >> 12 & 3),
            middle >> 16 & 0xfff,
            last & 0xffff_ffff_ffff,
        )
    }
}

/// Where a normal distribution leaves `share` of everything below: Acklam's approximation, which is
/// exact to nine digits.
pub(super) fn normal_quantile(share: f64) -> f64 {
    const EDGE: f64 = 0.024_25;
    if share > 0.5 {
        return -normal_quantile(1.0 - share);
    }
    if share < EDGE {
        let q = (-2.0 * share.ln()).sqrt();
        let above = poly(
            &[
                -7.784_894_002e-3,
                -0.322_396_458,
                -2.400_758_277,
                -2.549_732_539,
                4.374_664_141,
                2.938_163_983,
            ],
            q,
        );
        return above
            / poly(&[7.784_695_709e-3, 0.322_467_129, 2.445_134_137, 3.754_408_662, 1.0], q);
    }
    let q = share - 0.5;
    let r = q * q;
    let above = poly(
        &[
            -39.696_830_29,
            220.946_098_4,
            -275.928_510_4,
            138.357_751_9,
            -30.664_798_07,
            2.506_628_277,
        ],
        r,
    );
    let below = [-54.476_098_8, 161.585_836_9, -155.698_979_9, 66.801_311_89, -13.280_681_55, 1.0];
    above * q / poly(&below, r)
}

fn poly(terms: &[f64], x: f64) -> f64 {
    terms.iter().fold(0.0, |sum, term| sum * x + term)
}

#[cfg(test)]
mod tests {
    use super::{Chance, normal_quantile};

    #[test]
    fn a_seed_fixes_everything() {
        let (mut one, mut other) = (Chance::new(7), Chance::new(7));
        assert_eq!(one.uuid4(), other.uuid4());
        assert_eq!(one.next(), other.next());
        assert_ne!(one.next(), Chance::new(8).next());
    }

    #[test]
    fn ids_have_the_shape_of_the_real_ones() {
        let id = Chance::new(1).uuid7(0x01a1_e06a_95d8);
        assert!(id.starts_with("01a1e06a-95d8-7"), "{id}");
        assert_eq!((id.len(), Chance::new(1).uuid4().len()), (36, 36));
        assert_eq!(Chance::new(1).uuid4().as_bytes()[14], b'4');
        let id = Chance::new(1).id_since("ses_", !((1_794_768_043_931 << 12) + 0x1001));
        assert!(id.starts_with("ses_e1f7d0063ffe") && id.len() == 30, "{id}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let near = |share: f64, expected: f64| (normal_quantile(share) - expected).abs() < 1e-4;
        assert!(near(0.5, 0.0) && near(0.95, 1.644_854) && near(0.001, -3.090_232));
    }
}
