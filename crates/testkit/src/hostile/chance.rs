//! Chance that is the same each time, and what it does to bytes.

/// Pieces that parsers trip over.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\x1b]0;x\x07",
    b"\xe2\x80\xae",
    b"\xc2\x9b",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"-1",
    b"0",
    b"1e308",
    b"-1e308",
    b"1e999",
    b"18446744073709551615",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"4294967296",
    b"9999-12-31T23:59:59.999999999Z",
    b"-009999-01-01T00:00:00Z",
    b"1970-01-01T00:00:00Z",
    b"253402207200000",
    b"-377705023201000",
    b"2026-02-30T25:61:61Z",
    b"../",
    b"/",
    b"'",
    b"\"",
    b"\\",
    b"$(x)",
    b"`x`",
    b"\\u0000",
    b"\\ud800",
    b"\\u202e",
    b"{\"type\":",
    b"\"timestamp\":\"",
    b":",
    b",",
    b"=",
    b"%2e%2e%2f",
    b"@",
    b"pid:",
    b"--",
    b"[[",
    b"]]",
    b"{{",
    b"}}",
];
/// Deeper than any parser of ours may recurse.
const DEEP: usize = 300;
/// No input grows beyond this.
const LONGEST: usize = 1 << 16;

/// A stream of numbers (xorshift), the same for the same seed.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let end = u64::try_from(end.max(1)).unwrap_or(1);
        usize::try_from((self.0 >> 16) % end).unwrap_or(0)
    }

    /// The bytes with a few changes; some come from `other`.
    pub(super) fn mutated(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below(bytes.len() - at + 1).min(1 << self.below(12));
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..end.min(at + piece.len()), piece.iter().copied());
            }
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            5 => {
                let from = self.below(other.len() + 1);
                let most = self.below(other.len() - from + 1).min(1 << self.below(12));
                bytes.splice(at..at, other[from..from + most].iter().copied());
            }
            6 => {
                let mark = [b'[', b'{', b'(', b'"', b' '][self.below(5)];
                bytes.splice(at..at, std::iter::repeat_n(mark, self.below(DEEP)));
            }
            _ => {
                let by = u8::try_from(self.below(256)).unwrap_or(0);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= by;
                }
            }
        }
    }
}
