//! Sound JSON, walked without being taken apart: most of a line is only passed over.
//!
//! What is picked is what serde_json picks, and what it refuses is refused. Of what is rare (control characters, names
//! with escapes, exponents, deep nests) `None` is said too, and serde_json is asked.

use super::{From, Part, Pick, Picked};
use memchr::memchr2;
use serde_json::Value;

/// How deep nests may be: less than what serde_json holds.
const DEEPEST: usize = 64;
/// Longer numbers may be too large for any.
const LONGEST: usize = 64;
/// Whole numbers of so many digits are no larger than what 64 bits hold.
const DIGITS: usize = 18;
/// Farther ends of texts are looked for with what is quicker then.
const NEAR: usize = 32;

const ONES: u64 = u64::from_le_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const ESCAPES: u64 = u64::from_le_bytes([b'\\'; 8]);

/// The picked fields of an object, and what stands behind it.
pub(super) fn skim<'l>(line: &'l [u8], picks: &'static [Pick]) -> Option<(Part<'l>, &'l [u8])> {
    let lowest = line.iter().fold(u8::MAX, |lowest, byte| lowest.min(*byte));
    let mut skim = Skim { line, at: 0, room: DEEPEST };
    if lowest < b' ' || skim.next()? != b'{' {
        return None;
    }
    let object = skim.object(picks)?;
    Some((object, line.get(skim.at..)?))
}

/// A walk over a line without control characters.
struct Skim<'l> {
    line: &'l [u8],
    at: usize,
    /// How much deeper it may go.
    room: usize,
}

impl<'l> Skim<'l> {
    /// The next byte that is no space, which is passed.
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.line.get(self.at)?;
            self.at += 1;
            if byte != b' ' {
                return Some(byte);
            }
        }
    }

    fn is_next(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    /// The picked fields of an object, from behind its brace on.
    fn object(&mut self, picks: &'static [Pick]) -> Option<Part<'l>> {
        let mut fields = Vec::with_capacity(picks.len());
        let mut byte = self.next()?;
        if byte == b'}' {
            return Some(Part::Object(fields));
        }
        loop {
            match self.chosen(byte, picks)? {
                Some((name, inside)) => fields.push((name, self.value(&inside)?)),
                None => self.pass()?,
            }
            match self.next()? {
                b',' => byte = self.next()?,
                b'}' => return Some(Part::Object(fields)),
                _ => return None,
            }
        }
    }

    /// The pick that a name, which begins with this byte, and its colon name.
    fn chosen(&mut self, first: u8, picks: &'static [Pick]) -> Option<Option<Chosen>> {
        let (name, is_plain) = (first == b'"').then(|| self.text())??;
        self.is_next(b':')?;
        let chosen = picks.iter().map(Pick::of).find(|(pick, _)| pick.as_bytes() == name);
        (is_plain && name.is_ascii()).then_some(chosen)
    }

    /// What is picked of the next value.
    fn value(&mut self, picked: &Picked) -> Option<Part<'l>> {
        let byte = self.next()?;
        let from = self.at - 1;
        match (byte, &picked.from) {
            (b'{', From::Itself) => return self.object(picked.picks),
            (b'{', From::Each) => return self.object(&[]),
            (b'[', From::Each) => return self.each(picked.picks),
            _ => self.pass_from(byte)?,
        }
        let found = self.line.get(from..self.at)?;
        Some(match byte {
            b'[' if picked.from == From::Itself => Part::Other(Value::Null),
            b'"' if !found.contains(&b'\\') => {
                Part::Text(str::from_utf8(found.get(1..found.len() - 1)?).ok()?)
            }
            b'0'..=b'9' if found.len() <= DIGITS && !found.contains(&b'.') => {
                let digit = |number: u64, digit: &u8| number * 10 + u64::from(digit - b'0');
                Part::Count(found.iter().fold(0, digit))
            }
            _ => Part::Other(serde_json::from_slice(found).ok()?),
        })
    }

    /// What is picked of each value of an array, from behind its bracket on.
    fn each(&mut self, picks: &'static [Pick]) -> Option<Part<'l>> {
        let (mut all, one) = (Vec::new(), Picked::of(picks));
        if self.next()? == b']' {
            return Some(Part::List(all));
        }
        self.at -= 1;
        loop {
            all.push(self.value(&one)?);
            match self.next()? {
                b',' => {}
                b']' => return Some(Part::List(all)),
                _ => return None,
            }
        }
    }

    /// Passes the next value.
    fn pass(&mut self) -> Option<()> {
        let byte = self.next()?;
        self.pass_from(byte)
    }

    /// Passes the rest of a value that begins with this byte.
    fn pass_from(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'"' => self.text().map(|_| ()),
            b'{' | b'[' => self.pass_nest(byte),
            b'-' | b'0'..=b'9' => self.pass_number(byte),
            b't' => self.pass_word(b"true"),
            b'f' => self.pass_word(b"false"),
            b'n' => self.pass_word(b"null"),
            _ => None,
        }
    }

    fn pass_nest(&mut self, open: u8) -> Option<()> {
        self.room = self.room.checked_sub(1)?;
        let close = if open == b'{' { b'}' } else { b']' };
        let mut byte = self.next()?;
        while byte != close {
            if open == b'{' {
                (byte == b'"').then(|| self.text())??;
                self.is_next(b':')?;
                byte = self.next()?;
            }
            self.pass_from(byte)?;
            byte = self.next()?;
            if byte == b',' {
                byte = self.next().filter(|byte| *byte != close)?;
            } else if byte != close {
                return None;
            }
        }
        self.room += 1;
        Some(())
    }

    /// What is between quotes, from behind the first one on, and whether it has no escapes.
    fn text(&mut self) -> Option<(&'l [u8], bool)> {
        let (from, mut is_plain) = (self.at, true);
        loop {
            self.at += mark(self.line.get(self.at..)?)?;
            match self.line.get(self.at..)? {
                [b'"', ..] => break,
                [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                [_, b'u', digits @ ..] if is_hex(digits.get(..4)?) => self.at += 6,
                _ => return None,
            }
            is_plain = false;
        }
        let text = self.line.get(from..self.at)?;
        self.at += 1;
        Some((text, is_plain))
    }

    /// Passes this word, of which the first letter is passed already.
    fn pass_word(&mut self, word: &[u8]) -> Option<()> {
        let from = self.at - 1;
        self.line.get(from..)?.starts_with(word).then_some(())?;
        self.at = from + word.len();
        Some(())
    }

    fn pass_number(&mut self, first: u8) -> Option<()> {
        let from = self.at;
        let leading = match first {
            b'-' => self.digits()?,
            _ => {
                self.at -= 1;
                self.digits()?
            }
        };
        if leading.len() > 1 && leading[0] == b'0' {
            return None;
        }
        if self.line.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        let is_over = !matches!(self.line.get(self.at), Some(b'e' | b'E'));
        (is_over && self.at - from < LONGEST).then_some(())
    }

    /// Digits, at least one.
    fn digits(&mut self) -> Option<&'l [u8]> {
        let rest = self.line.get(self.at..)?;
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        rest.get(..count).filter(|digits| !digits.is_empty())
    }
}

/// The field that a name names, and what is picked of it.
type Chosen = (&'static str, Picked);

fn is_hex(digits: &[u8]) -> bool {
    digits.iter().all(u8::is_ascii_hexdigit)
}

/// Where the first quote or backslash is. Most texts are short: eight bytes at once are quicker than a call.
fn mark(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk)
        && at < NEAR
    {
        let eight = u64::from_le_bytes(*eight);
        let found = zeros(eight ^ QUOTES) | zeros(eight ^ ESCAPES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Some(at + memchr2(b'"', b'\\', text.get(at..)?)?)
}

/// The high bit of the first byte that is zero, and of none before it.
fn zeros(eight: u64) -> u64 {
    eight.wrapping_sub(ONES) & !eight & HIGHS
}

#[cfg(test)]
mod tests;
