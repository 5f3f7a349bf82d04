//! A line of JSON that is too long to hold, as a stream of which no part is: long texts are cut short, and of what is
//! nested deep only the outermost brackets are left. What is sound stays sound.

use memchr::memchr2;
use std::io::{self, Read};

/// How much is left of a text: more than any field has that decides something.
const LONGEST: usize = 64 << 10;
/// How many nests are left of those in each other: more than any field is in that is picked.
const DEEPEST: u64 = 128;
/// No character is written longer: two escapes.
const CHARACTER: usize = 12;

/// Such a stream.
pub(super) struct Trimmed<R> {
    stream: R,
    /// Arrays and objects that are open.
    depth: u64,
    text: Option<Text>,
}

/// A text that has begun.
#[derive(Default)]
struct Text {
    /// How much of it came so far.
    length: usize,
    /// The rest of it goes.
    is_cut: bool,
    escape: Escape,
    /// An escape has just ended that is one half of a character.
    is_half: bool,
}

/// What of an escape comes next.
#[derive(Clone, Copy, Default, PartialEq)]
enum Escape {
    #[default]
    Nothing,
    Letter,
    /// How many digits came, and what they make.
    Digits(u8, u32),
}

impl<R> Trimmed<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, depth: 0, text: None }
    }

    /// Moves what is left of these bytes to their beginning, and says how much that is.
    fn trim(&mut self, bytes: &mut [u8]) -> usize {
        let (mut at, mut left) = (0, 0);
        loop {
            at += self.hidden(&bytes[at..]);
            let Some(&byte) = bytes.get(at) else { return left };
            if self.keeps(byte) {
                bytes[left] = byte;
                left += 1;
            }
            at += 1;
        }
    }

    /// How many of these bytes only go on with a text of which nothing is left: found at the speed of the memory.
    fn hidden(&self, bytes: &[u8]) -> usize {
        match &self.text {
            Some(text) if text.escape == Escape::Nothing && (text.is_cut || self.is_deep()) => {
                memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len())
            }
            Some(_) | None => 0,
        }
    }

    /// What stands here is too deep to be left.
    fn is_deep(&self) -> bool {
        self.depth >= DEEPEST
    }

    /// Passes a byte, and says whether it is left.
    fn keeps(&mut self, byte: u8) -> bool {
        let is_shown = !self.is_deep();
        match (&mut self.text, byte) {
            (Some(text), b'"') if text.escape == Escape::Nothing => self.text = None,
            (Some(text), _) => return text.keeps(byte) && is_shown,
            (None, b'"') => self.text = Some(Text::default()),
            (None, b'[' | b'{') => {
                self.depth += 1;
                return is_shown;
            }
            (None, b']' | b'}') => {
                self.depth = self.depth.saturating_sub(1);
                return !self.is_deep();
            }
            (None, _) => {}
        }
        is_shown
    }
}

impl Text {
    /// Passes a byte of it. It is cut before a character, not within.
    fn keeps(&mut self, byte: u8) -> bool {
        let is_within = self.escape != Escape::Nothing
            || byte & 0b1100_0000 == 0b1000_0000
            || (self.is_half && byte == b'\\');
        let is_sound = self.length < LONGEST + CHARACTER;
        self.is_cut |= self.length >= LONGEST && !(is_within && is_sound);
        self.length += 1;
        self.is_half = false;
        self.escape = match (self.escape, byte) {
            (Escape::Nothing, b'\\') => Escape::Letter,
            (Escape::Letter, b'u') => Escape::Digits(0, 0),
            (Escape::Digits(came, code), _) => self.digit(came + 1, code << 4 | hex(byte)),
            (Escape::Nothing | Escape::Letter, _) => Escape::Nothing,
        };
        !self.is_cut
    }

    fn digit(&mut self, came: u8, code: u32) -> Escape {
        if came < 4 {
            return Escape::Digits(came, code);
        }
        self.is_half = (0xd800..0xdc00).contains(&code);
        Escape::Nothing
    }
}

fn hex(digit: u8) -> u32 {
    char::from(digit).to_digit(16).unwrap_or_default()
}

impl<R: Read> Read for Trimmed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.stream.read(buf)?;
            let left = self.trim(&mut buf[..read]);
            if left > 0 || read == 0 {
                return Ok(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::Value;

    /// What is left where the stream comes in steps of this many bytes.
    fn trimmed(line: &[u8], step: usize) -> Vec<u8> {
        let (mut stream, mut all) = (Trimmed::new(line), Vec::new());
        let mut buf = vec![0; step];
        while let Ok(read @ 1..) = stream.read(&mut buf) {
            all.extend_from_slice(&buf[..read]);
        }
        all
    }

    #[test]
    fn long_texts_are_cut_before_a_character() {
        for one in ["x", "é", "😀", r"\n", r#"\""#, r"\\", r"\u00e9", r"\uD83d\ude00"] {
            for shift in 0..one.len() {
                let before = "x".repeat(shift);
                let line = format!(r#"{{"{before}{}":["{before}{}"]}}"#, one.repeat(70_000), one);
                let left = trimmed(line.as_bytes(), 1000);
                let long = before.len() + (LONGEST - shift).div_ceil(one.len()) * one.len();
                let name = &line[2..2 + long];
                let expected = format!(r#"{{"{name}":["{before}{one}"]}}"#);
                assert!(left == expected.as_bytes(), "{one} {shift}");
                assert!(serde_json::from_slice::<Value>(&left).is_ok(), "{one} {shift}");
            }
        }
    }

    #[test]
    fn what_is_no_text_is_cut_too() {
        for one in [&b"\x80"[..], br"\ud83d"] {
            let line = [b"[\"", &*one.repeat(70_000), b"\"]"].concat();
            let left = trimmed(&line, 1000).len();
            assert!((LONGEST..LONGEST + 2 * CHARACTER).contains(&left), "{left}");
        }
    }

    #[test]
    fn of_deep_nests_the_outermost_are_left() {
        let nested = |depth: usize, inside: &str| {
            format!(r#"{}{inside}{}"#, "[".repeat(depth), "]".repeat(depth))
        };
        let deepest = nested(128, "");
        for inside in ["", r#"1,"]]]","\"",{"a":[]},[[2]]"#, &nested(100_000, "1")] {
            let line = nested(128, inside);
            assert_eq!(trimmed(line.as_bytes(), 77), deepest.as_bytes());
        }
        let least = nested(127, r#"1,"]]]""#);
        assert_eq!(trimmed(least.as_bytes(), 77), least.as_bytes());
    }

    proptest! {
        #[test]
        fn what_is_short_and_flat_is_left_as_it_is(line in any::<Vec<u8>>(), step in 1usize..40) {
            prop_assert_eq!(trimmed(&line, step), line);
        }

        #[test]
        fn what_is_sound_stays_sound(
            outside in prop::collection::vec(any::<bool>(), 120..140),
            inside in r#"(1|"\\"\]"|\[\]|\[\[1\],\{"a":\[2\]\}\])(,"\{"|,\{"b":\[\]\}|,3){0,4}"#,
            step in 1usize..400,
        ) {
            let opened: String = outside.iter().map(|array| if *array { "[" } else { r#"[{"a":"# }).collect();
            let closed: String = outside.iter().rev().map(|array| if *array { "]" } else { "}]" }).collect();
            let line = format!("{opened}[{inside}]{closed}");
            for line in [&line[..], &line[..line.len() - 1]] {
                let is_sound = |line: &[u8]| serde_json::from_slice::<IgnoredAny>(line).is_ok();
                prop_assert_eq!(is_sound(&trimmed(line.as_bytes(), step)), is_sound(line.as_bytes()));
            }
        }
    }
}
