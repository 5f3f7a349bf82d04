//! Foreign JSON read leniently: a field that is absent or of another type is `None`, never an error.

mod part;
mod skim;
mod told;
mod trimmed;
mod words;

pub(super) use part::Part;
pub(super) use told::{chosen_parts, light_parts, some_parts};
pub(super) use words::{Word, Words};

use crate::{
    host::Bytes,
    lines::{self, Body, Line, Span},
};
use jiff::Timestamp;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};
use std::{
    fmt,
    io::{BufReader, Read},
    path::PathBuf,
};
use trimmed::Trimmed;

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
    /// These of each object in the array in this field.
    Each(&'static str, &'static [Pick]),
    /// All of what is in this field.
    Whole(&'static str),
}

impl Pick {
    /// The field that it names.
    fn name(&self) -> &'static str {
        match self {
            Self::Field(name) | Self::Within(name, _) | Self::Each(name, _) | Self::Whole(name) => {
                name
            }
        }
    }

    /// It names this field. Most others begin with another letter: to compare all of them takes a call each.
    fn is(&self, name: &[u8]) -> bool {
        let own = self.name().as_bytes();
        own.first() == name.first() && own == name
    }

    /// The field that it names, and what is picked from what is there.
    fn of(&self) -> (&'static str, Picked) {
        match self {
            Self::Field(name) => (name, Picked::of(&[])),
            Self::Within(name, picks) => (name, Picked::of(picks)),
            Self::Each(name, picks) => (name, Picked { picks, from: From::Each }),
            Self::Whole(name) => (name, Picked { picks: &[], from: From::All }),
        }
    }
}

/// The picked fields of a JSON object, read as a stream: nothing else is held, however long or deep it
/// is, and of a long text its beginning. `Null` where it is none.
fn picked(stream: impl Read, picks: &'static [Pick]) -> Value {
    let stream = BufReader::with_capacity(64 << 10, Trimmed::new(stream));
    let mut reader = serde_json::Deserializer::from_reader(stream);
    Picked::of(picks).deserialize(&mut reader).unwrap_or_default()
}

/// The picked fields of a line, where nothing else of it is wanted. What [`line()`] mends, or cannot
/// hold, is read as it does.
pub(super) fn parts<'l>(file: &dyn Bytes, line: &Line<'l>, picks: &'static [Pick]) -> Part<'l> {
    if let Some((found, _)) = line.whole().and_then(|bytes| skim::skim(bytes, picks)) {
        return found;
    }
    let light = line.whole().map(|bytes| first_of(bytes, picks)).filter(Value::is_object);
    Part::of(light.unwrap_or_else(|| self::line(file, line, picks)), picks)
}

/// The picked fields of what a line begins with, whatever stands behind it.
fn first_of(line: &[u8], picks: &'static [Pick]) -> Value {
    let mut reader = serde_json::Deserializer::from_slice(line);
    Picked::of(picks).deserialize(&mut reader).unwrap_or_default()
}

/// The same of a whole line, where the rest of it is passed over and not even kept for a moment. `Null`
/// where it is no object, or not all of one.
pub(super) fn light(line: &[u8], picks: &'static [Pick]) -> Value {
    if let Some(value) = sound(line, picks) {
        return value;
    }
    let mut reader = serde_json::Deserializer::from_slice(line);
    let value = Picked::of(picks).deserialize(&mut reader).unwrap_or_default();
    if reader.end().is_ok() { value } else { Value::Null }
}

/// The picked fields of a line that is plainly an object, and of which [`object`] makes one.
pub(super) fn sound(line: &[u8], picks: &'static [Pick]) -> Option<Value> {
    sound_parts(line, picks).map(Part::value)
}

/// The same where they stand.
pub(super) fn sound_parts<'l>(line: &'l [u8], picks: &'static [Pick]) -> Option<Part<'l>> {
    let (found, rest) = skim::skim(line, picks)?;
    rest.iter().all(|byte| *byte == b' ').then_some(found)
}

/// The picked fields of what [`object`] takes for one; it may have others too. Of what is longer than a line that is held, texts
/// are cut as in such a line.
pub(super) fn some_of(line: &[u8], picks: &'static [Pick]) -> Value {
    let few = match line.len() > lines::LIMIT {
        true => Some(picked(line, picks)).filter(Value::is_object),
        false => sound(line, picks),
    };
    few.unwrap_or_else(|| object(line))
}

/// The picked fields of what [`line()`] reads, which may have others too; of what cannot be held these few.
pub(super) fn read(
    file: &dyn Bytes,
    line: &Line<'_>,
    picks: &'static [Pick],
    few: &'static [Pick],
) -> Value {
    let sound = line.whole().and_then(|bytes| sound(bytes, picks));
    sound.unwrap_or_else(|| self::line(file, line, few))
}

/// The picked fields of a line where it can be held and is sound, else these few as [`line()`] reads them.
pub(super) fn chosen(
    file: &dyn Bytes,
    line: &Line<'_>,
    picks: &'static [Pick],
    few: &'static [Pick],
) -> Value {
    let light = line.whole().map(|bytes| light(bytes, picks)).filter(Value::is_object);
    light.unwrap_or_else(|| self::line(file, line, few))
}

/// A line as an object: all of it where that can be held, else the picked fields.
pub(super) fn line(file: &dyn Bytes, line: &Line<'_>, picks: &'static [Pick]) -> Value {
    match line.body {
        Body::Huge(size) => picked(Span::new(file, line.at, size), picks),
        Body::Whole(bytes) => match object(bytes) {
            Value::Null => first_of(bytes, picks), // nested too deep, perhaps
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
        lines::until(answer.is_some())
    })
    .ok()?;
    answer
}

/// What is picked of a value.
struct Picked {
    picks: &'static [Pick],
    from: From,
}

/// What it is picked from.
#[derive(PartialEq)]
enum From {
    /// The value itself, if it is an object.
    Itself,
    /// Each object in it.
    Each,
    /// Nothing is left out.
    All,
}

impl Picked {
    fn of(picks: &'static [Pick]) -> Self {
        Self { picks, from: From::Itself }
    }
}

impl<'de> DeserializeSeed<'de> for Picked {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match self.from {
            From::All => Value::deserialize(from),
            From::Itself | From::Each => from.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Picked {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let picks = if self.from == From::Each { &[] } else { self.picks };
        let mut object = Map::new();
        while let Some(pick) = map.next_key_seed(Chosen(picks))? {
            match pick {
                Some((key, inside)) => {
                    object.insert(key.to_owned(), map.next_value_seed(inside)?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(object))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        if self.from != From::Each {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        }
        let mut all = Vec::new();
        while let Some(one) = seq.next_element_seed(Self::of(self.picks))? {
            all.push(one);
        }
        Ok(Value::Array(all))
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

/// The pick that a key names: most name none, and are not even kept.
struct Chosen(&'static [Pick]);

impl<'de> DeserializeSeed<'de> for Chosen {
    type Value = Option<(&'static str, Picked)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Chosen {
    type Value = Option<(&'static str, Picked)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().map(Pick::of).find(|(name, _)| *name == key))
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
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(70_000));
        assert_eq!(picked(long.as_bytes(), PICKS)["a"].as_str().map(str::len), Some(64 << 10));
    }

    #[test]
    fn of_what_is_too_long_texts_are_cut() {
        static PICKS: &[Pick] = &[Pick::Field("a")];
        let length = |more: usize, end: &str| {
            let line =
                format!(r#"{{"a":"{}{end}"}}"#, "x".repeat(lines::LIMIT - 8 + more - end.len()));
            some_of(line.as_bytes(), PICKS)["a"].as_str().map(str::len)
        };
        assert_eq!(length(0, ""), Some(lines::LIMIT - 8));
        assert_eq!(length(1, ""), Some(64 << 10));
        assert_eq!(length(1, r"\ud83d"), Some(64 << 10), "what is torn may stand behind the cut");
        let half = format!(r#"{{"a":"\ud83d","b":"{}"}}"#, "x".repeat(lines::LIMIT));
        assert_eq!(some_of(half.as_bytes(), PICKS)["a"], "\u{fffd}");
    }

    #[test]
    fn each_object_of_an_array_is_picked_from() {
        static PICKS: &[Pick] = &[Pick::Each("a", &[Pick::Field("b"), Pick::Field("c")])];
        let of = |line: &str| light(line.as_bytes(), PICKS);
        let picked = json!({"a": [{"b": 1}, "x", {"c": {}}, null]});
        assert_eq!(of(r#"{"a":[{"b":1,"d":[2]},"x",{"c":{"e":1}},[{"b":1}]]}"#), picked);
        assert_eq!(of(r#"{"a":{"b":1}}"#), json!({"a": {}}));
        assert_eq!(of(r#"{"a":"x"}"#), json!({"a": "x"}));
        assert_eq!(of(r#"{"a":-1}"#), json!({"a": -1}));
    }

    #[test]
    fn parts_of_a_line_are_those_of_the_whole() {
        static PICKS: &[Pick] = &[Pick::Field("a"), Pick::Within("usage", &[Pick::Field("n")])];
        let lines: [(&[u8], Value); 9] = [
            (br#"{"usage":{"n":1},"a":"x"}"#, json!({"usage": {"n": 1}, "a": "x"})),
            (b"{ \"usage\" :\t{ \"n\" : 1 } }", json!({"usage": {"n": 1}})),
            (br#"{"us\u0061ge":{"\u006e":1}}"#, json!({"usage": {"n": 1}})),
            (br#"{"b":"\"usage\":{\"n\":9}","c":{"usage":{"n":9}}}"#, json!({})),
            (br#"{"usage":{"n":9},"usage":{}}"#, json!({"usage": {}})),
            (br#"{"usage":{"n":9,"n":2}}"#, json!({"usage": {"n": 2}})),
            (br#"{"usage":{"n":9},"b"#, Value::Null),
            (br#"["usage"]"#, Value::Null),
            // Only what is mended can be read.
            (br#"{"a":"\ud83d","\ud83d":1}"#, json!({"a": "\u{fffd}"})),
        ];
        let word = Word::new("\"usage\"");
        for (bytes, picked) in lines {
            let line = Line { at: 0, body: Body::Whole(bytes) };
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(parts(&Vec::new(), &line, PICKS).value(), picked, "{text}");
            assert!(word.place(bytes).is_some() || picked.get("usage").is_none(), "{text}");
        }
        assert_eq!(word.place(br#"{"a":"\u001b[1m usage"}"#), None);
    }
}
