//! Foreign JSON read leniently: a field that is absent or of another type is `None`, never an error.

use crate::{
    host::Bytes,
    lines::{self, Body, Flow, Line, Span},
};
use jiff::Timestamp;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{
    fmt,
    io::{BufReader, Read},
    path::PathBuf,
};

/// A JSON object, or `Null` where a line is torn or something else.
///
/// Text that is not Unicode is mended first: JavaScript writes halves of characters, and tools print
/// any bytes.
pub(super) fn object(line: &[u8]) -> Value {
    let read = serde_json::from_slice(line).or_else(|_| serde_json::from_str(&mended(line)));
    read.ok().filter(Value::is_object).unwrap_or_default()
}

/// The same line with `\ufffd` in place of what is no character.
fn mended(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut mended = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let (whole, fine) = escape_at(escape);
        mended.push_str(if fine { &escape[..whole] } else { "\\ufffd" });
        rest = &escape[whole..];
    }
    mended.push_str(rest);
    mended
}

/// Length of the escape sequence that `text` begins with, and whether it is a whole character.
fn escape_at(text: &str) -> (usize, bool) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (None, _) => {
            let escaped = text[1..].chars().next().map_or(0, char::len_utf8);
            (1 + escaped, true)
        }
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, true),
        (Some(0xd800..=0xdfff), _) => (6, false),
        (Some(_), _) => (6, true),
    }
}

/// Fields to pick from an object, and from objects in it.
pub(super) enum Pick {
    /// This field, if it is no array or object.
    Field(&'static str),
    /// These of the object in this field.
    Within(&'static str, &'static [Pick]),
}

/// The picked fields of a JSON object, read as a stream: nothing else is held, however long or deep it
/// is. `Null` where it is none.
pub(super) fn picked(stream: impl Read, picks: &'static [Pick]) -> Value {
    let mut reader =
        serde_json::Deserializer::from_reader(BufReader::with_capacity(64 << 10, stream));
    Picked(picks).deserialize(&mut reader).unwrap_or_default()
}

/// The same of a whole line, where the rest of it is passed over and not even kept for a moment. `Null`
/// where it is no object, or not all of one.
pub(super) fn light(line: &[u8], picks: &'static [Pick]) -> Value {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let value = Picked(picks).deserialize(&mut reader).unwrap_or_default();
    if reader.end().is_ok() { value } else { Value::Null }
}

/// A line as an object: all of it where that can be held, else the picked fields.
pub(super) fn line(file: &dyn Bytes, line: &Line<'_>, picks: &'static [Pick]) -> Value {
    match line.body {
        Body::Huge(size) => picked(Span::new(file, line.at, size), picks),
        Body::Whole(bytes) => match object(bytes) {
            Value::Null => picked(bytes, picks), // nested too deep, perhaps
            whole => whole,
        },
    }
}

/// The first answer a line of a transcript gives, from its beginning on.
pub(super) fn first<T>(file: &dyn Bytes, ask: impl Fn(&Value) -> Option<T>) -> Option<T> {
    let mut answer = None;
    lines::forward(file, 0, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            answer = ask(&object(bytes));
        }
        match answer {
            Some(_) => Flow::Break(()),
            None => Flow::Continue(()),
        }
    })
    .ok()?;
    answer
}

struct Picked(&'static [Pick]);

impl<'de> DeserializeSeed<'de> for Picked {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Picked {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let pick = self.0.iter().find_map(|pick| match pick {
                Pick::Field(name) if *name == key => Some([].as_slice()),
                Pick::Within(name, picks) if *name == key => Some(*picks),
                Pick::Field(_) | Pick::Within(..) => None,
            });
            match pick {
                Some(picks) => {
                    object.insert(key, map.next_value_seed(Picked(picks))?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Value, E> {
        Ok(yes.into())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// A text field.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// A text field, kept.
pub(super) fn string(value: &Value, key: &str) -> Option<String> {
    text(value, key).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A path field.
pub(super) fn path(value: &Value, key: &str) -> Option<PathBuf> {
    text(value, key).filter(|text| text.starts_with('/')).map(PathBuf::from)
}

/// An RFC 3339 time.
pub(super) fn time(value: &Value, key: &str) -> Option<Timestamp> {
    text(value, key)?.parse().ok()
}

/// A time in milliseconds since 1970.
pub(super) fn millis(value: &Value, key: &str) -> Option<Timestamp> {
    Timestamp::from_millisecond(value.get(key)?.as_i64()?).ok()
}

/// A yes.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool) == Some(true)
}

/// A count.
pub(super) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Names of all fields of an object.
pub(super) fn fields(value: &Value) -> Vec<String> {
    value.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn halves_of_characters_and_stray_bytes_are_mended() {
        let line = b"{\"a\":\"x\\ud83dy\\\\ud83d\\ud83d\\ude00\xff\"}";
        assert_eq!(object(line), json!({"a": "x\u{fffd}y\\ud83d😀\u{fffd}"}));
        assert_eq!(object(b"{\"a\":"), Value::Null);
        assert_eq!(object(b"[1]"), Value::Null);
    }

    #[test]
    fn only_what_is_picked_is_kept() {
        static PICKS: &[Pick] = &[Pick::Field("a"), Pick::Within("b", &[Pick::Field("c")])];
        let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
        let line = format!(r#"{{"x":{deep},"a":1,"a":null,"b":{{"c":"yes","d":{deep}}},"a":[1]}}"#);
        assert_eq!(picked(line.as_bytes(), PICKS), json!({"a": null, "b": {"c": "yes"}}));
        assert_eq!(picked(&b"{\"a\":"[..], PICKS), Value::Null);
    }
}
