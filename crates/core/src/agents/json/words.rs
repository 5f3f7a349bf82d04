//! Several words, of which a line has any or none, as [`Word`](super::Word) is one.

use super::letter;
use memchr::memmem::Finder;

/// Words between quotes.
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
}
