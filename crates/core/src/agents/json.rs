//! Foreign JSON read leniently: a field that is absent or of another type is `None`, never an error.

use jiff::Timestamp;
use serde_json::Value;
use std::path::PathBuf;

/// A JSON object, or `Null` where a line is torn or something else.
pub(super) fn object(line: &[u8]) -> Value {
    serde_json::from_slice(line).ok().filter(Value::is_object).unwrap_or_default()
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
