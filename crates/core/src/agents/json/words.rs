//! Words between quotes, without which a line tells nothing: most lines have none, and are not taken apart.

use crate::{
    host::Bytes,
    lines::{self, Body, Line, Span},
};
use fearless_simd::{Level, dispatch, prelude::*, u8x64};
use std::io::Read;

/// How much of a long line is looked at at once.
const PIECE: usize = 128 << 10;
/// How many places are looked at at once.
const BLOCK: usize = 64;
/// A block, and the byte behind its last place.
const WIDE: usize = BLOCK + 1;

/// Tells lines that may hold any of some words between quotes from those that cannot, at the speed of the memory.
pub(in crate::agents) struct Words<const COUNT: usize>([&'static [u8]; COUNT]);

/// One of them.
pub(in crate::agents) type Word = Words<1>;

impl Word {
    /// The word with its quotes.
    pub(in crate::agents) const fn new(quoted: &'static str) -> Self {
        Self::any([quoted])
    }
}

impl<const COUNT: usize> Words<COUNT> {
    /// The words with their quotes.
    pub(in crate::agents) const fn any(quoted: [&'static str; COUNT]) -> Self {
        let mut words: [&[u8]; COUNT] = [&[]; COUNT];
        let mut at = 0;
        while at < COUNT {
            words[at] = quoted[at].as_bytes();
            assert!(words[at].len() > 1, "its first two bytes are looked for");
            assert!(words[at].len() <= lines::ACROSS, "it would be missed where it stands across");
            at += 1;
        }
        Self(words)
    }

    /// A line may hold one: as it is, or with letters of it written as escapes, as no agent does.
    pub(in crate::agents) fn may_be_in(&self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        match line.body {
            Body::Whole(bytes) => self.place(bytes).is_some(),
            Body::Huge(size) => self.may_be_within(Span::new(file, line.at, size)),
        }
    }

    /// Where the first line is that may hold one: any place within.
    pub(in crate::agents) fn place(&self, lines: &[u8]) -> Option<usize> {
        self.place_by(Level::new(), lines)
    }

    fn place_by(&self, processor: Level, lines: &[u8]) -> Option<usize> {
        dispatch!(processor, simd => self.first(simd, lines))
    }

    /// All are looked for in one pass, by the two bytes that they begin with. That, and this, is inlined where the processor is
    /// known: else it is compiled for one of any age.
    #[inline(always)]
    fn first<S: Simd>(&self, simd: S, text: &[u8]) -> Option<usize> {
        let Some(last) = text.len().checked_sub(WIDE) else {
            let mut block = [b' '; WIDE];
            block[..text.len()].copy_from_slice(text);
            return self.first_of(text, 0, self.begins(simd, &block));
        };
        let mut at = 0;
        loop {
            let block = text[at..].first_chunk()?;
            let begins = self.begins(simd, block);
            if begins != 0
                && let Some(place) = self.first_of(text, at, begins)
            {
                return Some(place);
            }
            if at == last {
                return None; // with the byte behind it nothing begins
            }
            at = last.min(at + BLOCK); // a few places are looked at again, and found to be none again
        }
    }

    /// A bit for each place where one, or an escape, may begin.
    #[inline(always)]
    fn begins<S: Simd>(&self, simd: S, block: &[u8; WIDE]) -> u64 {
        let (these, next) = (&block[..BLOCK], &block[WIDE - BLOCK..]);
        let (these, next) = (u8x64::from_slice(simd, these), u8x64::from_slice(simd, next));
        let mut begins = these.simd_eq(b'\\') & next.simd_eq(b'u');
        let mut at = 0;
        while at < COUNT {
            begins |= these.simd_eq(self.0[at][0]) & next.simd_eq(self.0[at][1]);
            at += 1;
        }
        begins.to_bitmask()
    }

    /// The first of these places at which one really is.
    fn first_of(&self, text: &[u8], from: usize, mut begins: u64) -> Option<usize> {
        while begins != 0 {
            let at = from + begins.trailing_zeros() as usize;
            begins &= begins - 1;
            if self.is_at(&text[at..]) {
                return Some(at);
            }
        }
        None
    }

    fn is_at(&self, text: &[u8]) -> bool {
        self.0.iter().any(|word| text.starts_with(word)) || is_letter(text)
    }

    /// The same of a stream. Of what cannot be read its reader will say why.
    fn may_be_within(&self, mut stream: impl Read) -> bool {
        let mut piece = vec![0; PIECE];
        let mut held = 0; // the end of the piece before: a word may stand across
        loop {
            let end = match stream.read(&mut piece[held..]) {
                Ok(0) => return false,
                Ok(read) => held + read,
                Err(_) => return true,
            };
            if self.place(&piece[..end]).is_some() {
                return true;
            }
            held = end.min(lines::ACROSS);
            piece.copy_within(end - held..end, 0);
        }
    }
}

/// A letter that is written as an escape, as no agent does.
fn is_letter(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"\\u00");
    digits.and_then(<[u8]>::first).is_some_and(|digit| (b'2'..b'8').contains(digit))
}

/// All that this one can do as: what is compiled for each of them says the same.
#[cfg(test)]
pub(super) fn processors() -> Vec<Level> {
    let own = Level::new();
    #[cfg(target_arch = "x86_64")]
    let others = [own.as_sse4_2().map(Level::Sse4_2), own.as_avx2().map(Level::Avx2)];
    #[cfg(not(target_arch = "x86_64"))]
    let others = [];
    others.into_iter().flatten().chain([Level::baseline(), own]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_processor_finds_the_first_place(
            text in "(x{0,70}|\"u|\"usage\"|\\\\u00|\\\\u0075|\\\\u001b|\\\\|u){0,12}",
        ) {
            let (word, text) = (Word::new("\"usage\""), text.as_bytes());
            let first = (0..text.len()).find(|at| word.is_at(&text[*at..]));
            for processor in processors() {
                prop_assert_eq!(word.place_by(processor, text), first);
            }
        }
    }

    #[test]
    fn words_are_found_however_they_are_written() {
        let words = Words::any(["\"usage\"", "\"model_change\""]);
        let found = |line: &str| words.place(line.as_bytes()).is_some();
        assert!(found(r#"{"usage":1}"#) && found(r#"{"type":"model_change"}"#));
        assert!(found(r#"{"\u0075sage":1}"#) && found(r#"{"type":"model\u005Fchange"}"#));
        assert!(!found(r#"{"text":"\"usage\" \u001b[1m model_change"}"#));
        assert!(!found("") && !found(r"\u00") && !found(r#""usage"#));
    }

    #[test]
    fn a_word_is_found_wherever_it_stands_in_lines() {
        let word = Word::new("\"usage\"");
        for at in 0..4 * BLOCK {
            for found in ["\"usage\"", "\\u0075sage"] {
                let lines =
                    [&b"x".repeat(at), found.as_bytes(), b"\\u001b", &b"y".repeat(at % 150)];
                assert_eq!(word.place(&lines.concat()), Some(at), "{found}");
                let cut = &lines.concat()[..at + 4];
                assert_eq!(word.place(cut), None, "{found} at {at}");
            }
        }
    }

    #[test]
    fn a_word_is_found_across_pieces_of_a_long_line() {
        let word = Word::new("\"usage\"");
        for at in (PIECE - 40..PIECE + 2).chain([0, 3 * PIECE]) {
            for found in ["\"usage\"", "\\u0075sage"] {
                let file = [&b"x".repeat(at), found.as_bytes(), b"yyy"].concat();
                let line = Line { at: 0, body: Body::Huge(file.len() as u64) };
                assert!(word.may_be_in(&file, &line), "{found} at {at}");
                let short = Line { at: 0, body: Body::Huge((at + 5) as u64) };
                assert!(!word.may_be_in(&file, &short) || found.starts_with('\\'), "{at}");
            }
        }
    }
}
