//! Entries that tell nothing, told from the others at the speed of the memory.

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
        let letter = |at: usize| line.get(at + 4).is_some_and(|digit| (b'2'..b'8').contains(digit));
        self.plain.iter().any(|word| word.find(line).is_some())
            || self.escape.find_iter(line).any(letter)
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
