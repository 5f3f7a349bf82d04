//! Words that lines are searched for before they are taken apart.

use memchr::memmem::Finder;
use std::sync::OnceLock;

/// Longer words are searched for by their ends: up to here a search looks at 32 bytes at once.
const LONGEST: usize = 32;

/// A word, made ready when it is first looked for: to do that for each line takes longer than to look.
pub(super) struct Sign {
    word: &'static str,
    finder: OnceLock<Finder<'static>>,
}

impl Sign {
    /// Nothing is made ready yet.
    pub(super) const fn new(word: &'static str) -> Self {
        Self { word, finder: OnceLock::new() }
    }

    fn finder(&self) -> &Finder<'static> {
        self.finder.get_or_init(|| Finder::new(self.word))
    }

    /// It stands in this line.
    pub(super) fn is_in(&self, line: &[u8]) -> bool {
        self.finder().find(line).is_some()
    }

    /// What follows each place of it, as of a key in its quotes, wherever in the line; `None` where that is no plain text.
    pub(super) fn values<'l>(&'l self, line: &'l [u8]) -> impl Iterator<Item = Option<&'l str>> {
        self.finder().find_iter(line).map(move |at| {
            let rest = line.get(at + self.word.len()..)?.strip_prefix(b":\"")?;
            let text = rest.get(..memchr::memchr2(b'"', b'\\', rest)?)?;
            str::from_utf8(text).ok().filter(|_| rest.get(text.len()) == Some(&b'"'))
        })
    }
}

/// Finds the lines that may hold this word: all that do, and in theory some more.
pub(super) fn finder(word: &str) -> Finder<'static> {
    let end = word.len().saturating_sub(LONGEST);
    Finder::new(&word.as_bytes()[end..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_found_again_and_again() {
        static SIGN: Sign = Sign::new("\"at\"");
        assert!(SIGN.is_in(br#"{"at":1}"#) && !SIGN.is_in(br#"{"a":"t"}"#) && !SIGN.is_in(b""));
        let line = br#"{"at":"x","b":{"at":"y\n"},"at":7,"at" :"z","at":"","at":"torn"#;
        let told = [Some("x"), None, None, None, Some(""), None];
        assert_eq!(SIGN.values(line).collect::<Vec<_>>(), told);
    }

    #[test]
    fn whoever_holds_a_long_word_is_found() {
        let uuid = "8f2562be-1350-4693-85a6-3d142d74d7cb";
        for word in [uuid, &uuid[..8], ""] {
            let line = format!("{{\"parentUuid\":\"{word}\"}}");
            assert!(finder(word).find(line.as_bytes()).is_some(), "{word}");
        }
        assert!(finder(uuid).find(b"8f2562be-1350-4693-85a6-3d142d74d7c").is_none());
    }
}
