//! Native text made fit for people: untrusted, of any length, in any encoding.

use serde::Serializer;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

/// Longest excerpt of a prompt or message that a record carries, in characters.
pub const EXCERPT: usize = 2000;

/// The first [`EXCERPT`] characters, trimmed; `None` where nothing is left.
pub fn excerpt(text: &str) -> Option<String> {
    let text = text.trim();
    let end = match text.len() > EXCERPT {
        true => text.char_indices().nth(EXCERPT).map_or(text.len(), |(at, _)| at),
        false => text.len(), // a character has a byte at least
    };
    Some(text[..end].to_owned()).filter(|text| !text.is_empty())
}

/// Bytes as text, with `\u{fffd}` in place of what is none. To see that nothing has to be mended is several times quicker than
/// to look for it.
pub fn mended(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Must never reach a terminal: it would steer the terminal instead of being shown.
///
/// Control characters, and the invisible ones that reorder or hide what stands around them.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{061c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Nothing but letters, digits, signs and spaces of ASCII: it is as wide as it is long, and harmless. Looked at
/// without a way out in the middle, so that many bytes are compared at once.
pub fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~'))
}

/// One line, safe to show: white space folded, anything hostile dropped.
pub fn one_line(text: &str) -> String {
    if is_plain(text) && text.trim_ascii().len() == text.len() && !text.contains("  ") {
        return text.to_owned(); // most are
    }
    let mut line = String::with_capacity(text.len().min(EXCERPT));
    let (mut rest, mut gap) = (text, false);
    while let Some(c) = rest.chars().next() {
        let word = rest.bytes().position(|byte| !byte.is_ascii_graphic()).unwrap_or(rest.len());
        let (taken, left) = rest.split_at(word.max(c.len_utf8()));
        if c.is_whitespace() {
            gap = !line.is_empty();
        } else if word > 0 || !is_hostile(c) {
            if gap {
                line.push(' ');
            }
            gap = false;
            line.push_str(taken);
        }
        rest = left;
    }
    line
}

/// Many lines, safe to show: newlines and tabs stay, anything hostile is dropped.
pub fn many_lines(text: &str) -> String {
    text.chars().filter(|&c| matches!(c, '\n' | '\t') || !is_hostile(c)).collect()
}

/// A path as JSON text: names that are not UTF-8 are shown as well as they can be.
pub fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// The same for a path that may be missing.
pub fn path_if_any<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(found) => self::path(found, to),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_bidi_never_pass() {
        let hostile = "a\u{1b}[31m\u{9b}2J\u{202e}b\u{7}\u{200b}c\r\n\td\u{e0041}";
        assert_eq!(one_line(hostile), "a[31m2Jbc d");
        // Plain text goes another way, to the same end.
        assert_eq!(one_line(" a  b\r\n\tc "), "a b c");
        assert_eq!(["a b", " a b", "a b ", "a  b"].map(one_line), ["a b"; 4]);
        assert_eq!(one_line(" é  b\r\n\tc "), "é b c");
        assert_eq!((one_line(" \n"), one_line("")), (String::new(), String::new()));
        assert_eq!(many_lines(hostile), "a[31m2Jbc\n\td");
    }

    #[test]
    fn excerpts_are_cut_between_characters() {
        assert_eq!(excerpt("  \n "), None);
        assert_eq!(excerpt(&"é".repeat(3000)), Some("é".repeat(EXCERPT)));
    }
}
