//! Words between quotes, without which a line tells nothing: most lines have none, and are not taken apart.

use crate::{
    host::Bytes,
    lines::{Body, Line, Span},
};
use memchr::memmem::Finder;
use std::io::Read;

/// How much of a long line is looked at at once.
const PIECE: usize = 128 << 10;
/// How much is searched for a word, and then for letters that are written as escapes, while the processor still has it at hand.
const BLOCK: usize = 16 << 10;
/// No word that is looked for is longer, with its quotes.
const LONGEST_WORD: usize = 32;

/// Tells lines that may hold a word between quotes from those that cannot, at the speed of the memory.
pub(in crate::agents) struct Word {
    plain: Finder<'static>,
    escape: Finder<'static>,
}

impl Word {
    /// The word with its quotes.
    pub(in crate::agents) fn new(quoted: &'static str) -> Self {
        assert!(quoted.len() <= LONGEST_WORD, "it would be missed where it stands across");
        Self { plain: Finder::new(quoted), escape: Finder::new("\\u00") }
    }

    /// A line may hold it: as it is, or with letters of it written as escapes, as no agent does.
    pub(in crate::agents) fn may_be_in(&self, file: &dyn Bytes, line: &Line<'_>) -> bool {
        match line.body {
            Body::Whole(bytes) => self.is_in(bytes),
            Body::Huge(size) => self.may_be_within(Span::new(file, line.at, size)),
        }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.place(bytes).is_some()
    }

    /// Where the first line is that may hold it: any place within.
    pub(in crate::agents) fn place(&self, lines: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let block = &lines[from..lines.len().min(from + BLOCK)];
            let plain = self.plain.find(block);
            let found = letter(&self.escape, &block[..plain.unwrap_or(block.len())]).or(plain);
            if let Some(at) = found {
                return Some(from + at);
            }
            if from + block.len() == lines.len() {
                return None;
            }
            from += BLOCK - LONGEST_WORD; // a word may stand across
        }
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
            if self.is_in(&piece[..end]) {
                return true;
            }
            held = end.min(LONGEST_WORD);
            piece.copy_within(end - held..end, 0);
        }
    }
}

/// Where a letter is written as an escape, as no agent does. What finds `\u00` is made once.
fn letter(escape: &Finder<'_>, text: &[u8]) -> Option<usize> {
    let is_letter = |at: &usize| text.get(at + 4).is_some_and(|it| (b'2'..b'8').contains(it));
    escape.find_iter(text).find(is_letter)
}

/// Several words, of which a line has any or none.
pub(in crate::agents) struct Words {
    plain: Vec<Finder<'static>>,
    escape: Finder<'static>,
}

impl Words {
    /// The words with their quotes.
    pub(in crate::agents) fn new(quoted: &[&'static str]) -> Self {
        let plain = quoted.iter().map(|word| Finder::new(*word)).collect();
        Self { plain, escape: Finder::new("\\u00") }
    }

    /// A line may hold one of them: as it is, or with letters of it written as escapes, as no agent does.
    pub(in crate::agents) fn may_be_in(&self, line: &[u8]) -> bool {
        let is_in = |word: &Finder<'_>| word.find(line).is_some();
        self.plain.iter().any(is_in) || letter(&self.escape, line).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_they_are_written() {
        let words = Words::new(&["\"usage\"", "\"model_change\""]);
        let found = |line: &str| words.may_be_in(line.as_bytes());
        assert!(found(r#"{"usage":1}"#) && found(r#"{"type":"model_change"}"#));
        assert!(found(r#"{"\u0075sage":1}"#) && found(r#"{"type":"model\u005Fchange"}"#));
        assert!(!found(r#"{"text":"\"usage\" \u001b[1m model_change"}"#));
        assert!(!found("") && !found(r"\u00") && !found(r#""usage"#));
    }

    #[test]
    fn a_word_is_found_wherever_it_stands_in_lines() {
        let word = Word::new("\"usage\"");
        for at in (0..40).chain(BLOCK - 40..BLOCK + 2).chain(2 * BLOCK - 80..2 * BLOCK + 2) {
            for found in ["\"usage\"", "\\u0075sage"] {
                let lines = [&b"x".repeat(at), found.as_bytes(), b"\\u001b", &b"y".repeat(BLOCK)];
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
