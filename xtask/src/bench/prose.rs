//! Text for transcripts: made once, then cut into pieces at the ends of its lines.
//!
//! It is escaped for JSON already, so that writing gigabytes of it is copying.

use super::chance::Chance;
use std::sync::OnceLock;

/// How much text there is to cut from; more than any cache of a processor near the core.
const SIZE: usize = 4 << 20;

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "the", "a", "test", "file", "function", "returns", "value", "when", "error", "handler", "parse",
    "module", "request", "session", "index", "cache", "is", "not", "and", "with", "from", "to",
    "add", "remove", "fix", "check", "failing", "branch", "commit", "build", "config", "option",
    "default", "path", "line", "record", "token", "stream", "buffer", "client", "server", "query",
    "now", "because", "before", "after", "change", "refactor", "rename", "type", "trait", "impl",
];

const LEAD: &[&str] = &["", "", "", "    ", "        ", "- ", "+ ", "  - ", "// ", "   12→"];
const TAIL: &[&str] = &["", "", ".", ";", ",", " {", "}", ");", " \\\"ok\\\"", " = 42;", " …"];

/// Escaped text and the places where it may be cut.
pub(super) struct Prose {
    text: String,
    ends: Vec<usize>,
}

/// The one text of all homes.
pub(super) fn prose() -> &'static Prose {
    static PROSE: OnceLock<Prose> = OnceLock::new();
    PROSE.get_or_init(|| Prose::new(SIZE))
}

impl Prose {
    fn new(size: usize) -> Self {
        let mut chance = Chance::new(0x70_726f_7365);
        let (mut text, mut ends) = (String::with_capacity(size + 256), vec![0]);
        while text.len() < size {
            text.push_str(chance.pick(LEAD));
            for word in 0..chance.between(2, 14) {
                text.push_str(if word > 0 { " " } else { "" });
                text.push_str(chance.pick(WORDS));
            }
            text.push_str(chance.pick(TAIL));
            text.push_str("\\n");
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// About `size` bytes of text; at most as much as there is.
    pub(super) fn cut(&self, chance: &mut Chance, size: usize) -> &str {
        let last = self.ends.partition_point(|end| end + size <= self.text.len());
        let from = self.ends[chance.below(last.max(1))];
        let to = self.ends.partition_point(|end| *end < from + size);
        &self.text[from..self.ends[to.min(self.ends.len() - 1)]]
    }

    /// A few words without a line's end: a title or a short prompt.
    pub(super) fn phrase(&self, chance: &mut Chance, words: usize) -> String {
        (0..words.max(1)).map(|_| chance.pick(WORDS)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Prose};

    #[test]
    fn every_cut_is_a_json_string() {
        let prose = Prose::new(1 << 14);
        let mut chance = Chance::new(3);
        for size in [1, 100, 5000, 1 << 20] {
            let cut = format!("\"{}\"", prose.cut(&mut chance, size));
            let text: String = serde_json::from_str(&cut).expect("a JSON string");
            assert!(text.ends_with('\n') && cut.len() >= size.min(1 << 14), "{size}");
        }
    }
}
