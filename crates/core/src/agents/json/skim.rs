//! Sound JSON, walked without being taken apart: most of a line is only passed over.
//!
//! What is picked is what serde_json picks, and what it refuses is refused. Of what is rare (control characters, names
//! with escapes, exponents, deep nests) `None` is said too, and serde_json is asked.

mod marks;

use super::{From, Part, Pick, Picked};
use marks::{Marked, Marks};
use memchr::memchr;
use serde_json::Value;
use std::ops::Range;

/// How deep nests may be, with what is picked from: a bit each, and less than what serde_json holds.
const DEEPEST: u32 = 62;
/// Longer numbers may be too large for any.
const LONGEST: usize = 64;
/// Whole numbers of so many digits are no larger than what 64 bits hold.
const DIGITS: usize = 18;

/// The picked fields of an object, and what stands behind it.
pub(super) fn skim<'l>(line: &'l [u8], picks: &'static [Pick]) -> Option<(Part<'l>, &'l [u8])> {
    let marked = Marked::of(line);
    let mut skim = Skim::of(line, marked.marks())?;
    let object = skim.object(picks)?;
    Some((object, line.get(skim.at..)?))
}

/// A walk over a line.
#[derive(Clone)]
struct Skim<'l, 'm> {
    line: &'l [u8],
    at: usize,
    /// Those from there on. Outside of texts there are none but the quotes that begin one: what else is met there is
    /// refused.
    marks: Marks<'m>,
}

/// What is inlined here is called for every few bytes.
impl<'l, 'm> Skim<'l, 'm> {
    /// From behind the brace on that an object begins with.
    fn of(line: &'l [u8], marks: Marks<'m>) -> Option<Self> {
        let mut skim = Self { line, at: 0, marks };
        (skim.next()? == b'{').then_some(skim)
    }

    /// The next byte that is no space, which is passed.
    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.line.get(self.at)?;
            self.at += 1;
            if byte != b' ' {
                return Some(byte);
            }
        }
    }

    /// The picked fields of an object, from behind its brace on.
    fn object(&mut self, picks: &'static [Pick]) -> Option<Part<'l>> {
        let mut fields = Vec::with_capacity(picks.len());
        let mut byte = self.next()?;
        if byte == b'}' {
            return Some(Part::Object(fields));
        }
        while let Some((pick, first)) = self.seek(byte, Nests::of(b'{'), picks)? {
            let (name, inside) = pick.of();
            fields.push((name, self.value(first, &inside)?));
            match self.next()? {
                b',' => byte = self.next()?,
                b'}' => break,
                _ => return None,
            }
        }
        Some(Part::Object(fields))
    }

    /// What is picked of a value that begins with this byte.
    fn value(&mut self, byte: u8, picked: &Picked) -> Option<Part<'l>> {
        let from = self.at - 1;
        match (byte, &picked.from) {
            (b'{', From::Itself) => return self.object(picked.picks),
            (b'{', From::Each) => return self.object(&[]),
            (b'[', From::Each) => return self.each(picked.picks),
            (b'{' | b'[', _) => self.pass_nest(byte)?,
            (b'"', _) => {
                let (text, is_plain) = self.text()?;
                let text = str::from_utf8(self.line.get(text)?).ok()?;
                if is_plain {
                    return Some(Part::Text(text));
                }
                if let Some(text) = unescaped(text) {
                    return Some(Part::Other(text.into()));
                }
            }
            _ => self.pass_leaf(byte)?,
        }
        if byte == b'[' && picked.from == From::Itself {
            return Some(Part::Other(Value::Null));
        }
        let found = self.line.get(from..self.at)?;
        Some(match count(found) {
            Some(count) => Part::Count(count),
            None => Part::Other(serde_json::from_slice(found).ok()?),
        })
    }

    /// What is picked of each value of an array, from behind its bracket on.
    fn each(&mut self, picks: &'static [Pick]) -> Option<Part<'l>> {
        let (mut all, one) = (Vec::new(), Picked::of(picks));
        let mut byte = self.next()?;
        if byte == b']' {
            return Some(Part::List(all));
        }
        loop {
            all.push(self.value(byte, &one)?);
            match self.next()? {
                b',' => byte = self.next()?,
                b']' => return Some(Part::List(all)),
                _ => return None,
            }
        }
    }

    /// Passes the rest of an array or an object.
    fn pass_nest(&mut self, open: u8) -> Option<()> {
        let (byte, nests) = (self.next()?, Nests::of(open));
        if byte != nests.close() {
            self.seek(byte, nests, &[])?;
        }
        Some(())
    }

    /// The next picked field of an object, and the first byte of its value; or none, and the object is passed. Of an array
    /// nothing is picked. What the next name or value of it begins with was met; what is not picked is passed, with all
    /// nests in it.
    fn seek(
        &mut self,
        mut byte: u8,
        mut nests: Nests,
        picks: &'static [Pick],
    ) -> Option<Option<(&'static Pick, u8)>> {
        let mut walk = self.clone(); // the compiler keeps a copy in registers, which it cannot do with what is lent
        loop {
            if nests.is_in_object() {
                let (name, is_plain) = (byte == b'"').then(|| walk.text())??;
                byte = (walk.next()? == b':').then(|| walk.next())??;
                if nests == Nests::of(b'{') {
                    let name = walk.line.get(name)?;
                    if let Some(pick) = picks.iter().find(|pick| pick.is(name)) {
                        *self = walk;
                        return Some(Some((pick, byte)));
                    }
                    (is_plain && name.is_ascii()).then_some(())?;
                }
            }
            if byte == b'{' || byte == b'[' {
                nests = nests.with(byte)?;
                byte = walk.next()?;
                if byte != nests.close() {
                    continue;
                }
            } else {
                walk.pass_leaf(byte)?;
                byte = walk.next()?;
            }
            while byte != b',' {
                nests = (byte == nests.close()).then(|| nests.without())?;
                if nests == Nests::NONE {
                    *self = walk;
                    return Some(None);
                }
                byte = walk.next()?;
            }
            byte = walk.next()?;
        }
    }

    /// Passes the rest of a value that begins with this byte and has no others in it.
    #[inline(always)]
    fn pass_leaf(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'"' => self.text().map(|_| ()),
            b'-' => self.pass_number(),
            b'0'..=b'9' => {
                self.at -= 1;
                self.pass_number()
            }
            b't' => self.pass_word(b"true"),
            b'f' => self.pass_word(b"false"),
            b'n' => self.pass_word(b"null"),
            _ => None,
        }
    }

    /// Where the text is of which the first quote is passed, and whether it has no escapes.
    #[inline(always)]
    fn text(&mut self) -> Option<(Range<usize>, bool)> {
        let (from, mut is_plain) = (self.at, true);
        let begin = self.marks.next()?;
        debug_assert_eq!(begin + 1, from, "no other mark is outside of texts");
        let mut at = self.marks.next()?;
        while *self.line.get(at)? != b'"' {
            self.pass_escape(at)?;
            at = self.marks.next()?;
            is_plain = false;
        }
        self.at = at + 1;
        Some((from..at, is_plain))
    }

    /// Passes what may be an escape. Tests are quicker than a table of places to go to.
    #[inline(always)]
    fn pass_escape(&mut self, at: usize) -> Option<()> {
        let [b'\\', byte, digits @ ..] = self.line.get(at..)? else { return None };
        if matches!(byte, b'"' | b'\\') {
            self.marks.next()?;
        } else if !matches!(byte, b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
            (*byte == b'u' && is_hex(digits.get(..4)?)).then_some(())?;
        }
        Some(())
    }

    /// Passes this word, of which the first letter is passed already.
    #[inline(always)]
    fn pass_word(&mut self, word: &[u8]) -> Option<()> {
        let rest = word.get(1..)?;
        self.line.get(self.at..)?.starts_with(rest).then_some(())?;
        self.at += rest.len();
        Some(())
    }

    /// Passes a number, but for its sign.
    #[inline(always)]
    fn pass_number(&mut self) -> Option<()> {
        let from = self.at;
        self.pass_digits()?;
        if self.at > from + 1 && self.line.get(from) == Some(&b'0') {
            return None;
        }
        if self.line.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.pass_digits()?;
        }
        let is_over = !matches!(self.line.get(self.at), Some(b'e' | b'E'));
        (is_over && self.at - from <= LONGEST).then_some(())
    }

    /// Passes digits, at least one.
    #[inline(always)]
    fn pass_digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.line.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }
}

/// Arrays and objects that are open: a bit for each, the innermost lowest, and one above them all.
#[derive(Clone, Copy, PartialEq)]
struct Nests(u64);

impl Nests {
    const NONE: Self = Self(1);

    fn of(open: u8) -> Self {
        Self(0b10 | u64::from(open == b'{'))
    }

    /// One more, if it is not too deep.
    fn with(self, open: u8) -> Option<Self> {
        (self.0 >> DEEPEST == 0).then(|| Self(self.0 << 1 | u64::from(open == b'{')))
    }

    fn without(self) -> Self {
        Self(self.0 >> 1)
    }

    fn is_in_object(self) -> bool {
        self.0 & 1 == 1
    }

    /// What closes the innermost.
    fn close(self) -> u8 {
        if self.is_in_object() { b'}' } else { b']' }
    }
}

/// A text whose escapes are a letter each, in room that is large enough from the first: serde_json's grows with the text. None
/// of one with others, which were seen to be sound.
fn unescaped(text: &str) -> Option<String> {
    let (mut told, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        told.push_str(&rest[..at]);
        told.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            sign @ (b'"' | b'\\' | b'/') => char::from(*sign),
            _ => return None,
        });
        rest = &rest[at + 2..];
    }
    told.push_str(rest);
    Some(told)
}

/// A number of a few digits, and of nothing else.
fn count(found: &[u8]) -> Option<u64> {
    let digit =
        |count: u64, byte: &u8| byte.is_ascii_digit().then(|| count * 10 + u64::from(byte - b'0'));
    (found.len() <= DIGITS).then(|| found.iter().try_fold(0, digit))?
}

fn is_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests;
