//! What is skimmed is what serde_json reads, of lines that are sound, torn or spoiled.

use super::*;
use crate::agents::json::object;
use proptest::prelude::*;
use serde::de::DeserializeSeed;
use serde_json::json;

static PICKS: &[Pick] = &[
    Pick::Field("a"),
    Pick::Within("b", &[Pick::Field("a"), Pick::Within("c", &[Pick::Field("d")])]),
    Pick::Each("c", &[Pick::Field("a"), Pick::Whole("d")]),
    Pick::Whole("d"),
];

/// As serde_json picks, whatever stands behind the object.
fn picked(line: &[u8]) -> Option<Value> {
    let mut reader = serde_json::Deserializer::from_slice(line);
    Picked::of(PICKS).deserialize(&mut reader).ok()
}

/// What is skimmed, which must be what serde_json picks and finds in the whole.
fn skimmed(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    let (found, rest) = skim(line, PICKS)?;
    let found = found.value();
    assert_eq!(Some(&found), picked(line).as_ref(), "{text}");
    let whole = &line[..line.len() - rest.len()];
    // Not by way of a text: numbers come back from it as those next to them.
    assert_eq!(Some(&found), Picked::of(PICKS).deserialize(object(whole)).ok().as_ref(), "{text}");
    Some(found)
}

/// Any value, not too deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "[ -~é\"\\\\\n\t\r\u{8}\u{c}\u{1b}/]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-e]|long name|é", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn object_of() -> impl Strategy<Value = String> {
    prop::collection::vec(("[a-e]", value()), 0..6).prop_map(|fields| {
        let field = |(name, value): (String, Value)| format!("{:?}:{value}", name);
        format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
    })
}

proptest! {
    #[test]
    fn a_sound_line_is_skimmed(line in object_of()) {
        let is_plain = !line.contains('é') && !line.contains("e+") && !line.contains("e-");
        prop_assert!(skimmed(line.as_bytes()).is_some() || !is_plain, "{}", line);
    }

    /// Bytes are changed, taken out, and put in: mostly such as mean something.
    #[test]
    fn a_spoiled_line_is_refused_or_read_the_same(
        line in object_of(),
        spoils in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, spoil()), 1..4),
    ) {
        let mut bytes = line.into_bytes();
        for (at, how, byte) in spoils {
            let at = at.index(bytes.len() + 1);
            match how {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ => drop(bytes.drain(at.min(bytes.len())..(at + 1).min(bytes.len()))),
            }
        }
        skimmed(&bytes);
    }

    #[test]
    fn a_torn_line_with_another_behind_it_is_read_the_same(
        one in object_of(),
        other in object_of(),
        at in any::<prop::sample::Index>(),
    ) {
        let torn = &one.as_bytes()[..at.index(one.len())];
        skimmed(&[torn, other.as_bytes()].concat());
        skimmed(torn);
    }
}

fn spoil() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(&b"{}[]\",:\\ 0-.eEu\t\n/ntf"[..]), any::<u8>()]
}

#[test]
fn what_is_not_json_is_refused() {
    let refused = [
        "",
        "[]",
        "1",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{,}",
        "{\"x\":1,}",
        "{\"x\":[1,]}",
        "{\"x\":[,1]}",
        "{\"x\":{\"y\":1,}}",
        "{\"x\":{\"y\"}}",
        "{\"x\":{\"y\":}}",
        "{\"x\":{1:1}}",
        "{\"x\":[1}}",
        "{\"x\":{\"y\":[1}]}",
        "{\"x\":[{\"y\":1]}}",
        "{\"x\":[[],]}",
        "{\"x\":[]]}",
        "{\"d\":[1}}",
        "{\"d\":{\"y\":1]}",
        "{\"x\":{]}",
        "{\"x\":01}",
        "{\"x\":-}",
        "{\"x\":-01}",
        "{\"x\":1.}",
        "{\"x\":.1}",
        "{\"x\":+1}",
        "{\"x\":1 2}",
        "{\"x\":t}",
        "{\"x\":nul",
        "{\"x\":\"\\x\"}",
        "{\"x\":\"\\u12g4\"}",
        "{\"x\":\"\\u12\"}",
        "{\"x\":\"\\\"}",
        "{\"x\":\"",
        "{\"x\" 1}",
        "{\"x\"::1}",
        "{\"x\":1;\"a\":2}",
        "{\"x\":1 \"a\":2}",
        "{x:1}",
        "{\"c\":[1,]}",
        "{\"c\":[1 2]}",
        "{\"c\":[",
        "{\"a\":\"\\ud800\"}",
    ];
    for line in refused {
        assert_eq!(skimmed(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn what_is_rare_is_left_to_others() {
    let deep = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let long = |digits: usize| format!("{{\"x\":{}}}", "1".repeat(digits));
    let deepest = DEEPEST as usize - 1; // in an object
    assert!(skimmed(deep(deepest).as_bytes()).is_some());
    assert!(skimmed(long(LONGEST).as_bytes()).is_some());
    let left = [
        deep(deepest + 1),
        long(LONGEST + 1),
        "{\"x\":1e5}".to_owned(),
        "{\"x\":1E999}".to_owned(),
        "{\"a\":\t1}".to_owned(),
        "{\"x\":\"\t\"}".to_owned(),
        "{\"\\u0061\":1}".to_owned(),
        "{\"é\":1}".to_owned(),
    ];
    for line in left {
        assert_eq!(skimmed(line.as_bytes()), None, "{line}");
    }
    assert_eq!(skimmed(b"{\"a\":\"\xff\"}"), None, "no text");
    assert_eq!(skimmed(b"{\"x\":\"\xff\"}"), Some(json!({})), "no text that is asked for");
}

#[test]
fn the_last_of_a_name_counts_and_what_stands_behind_is_told() {
    let line = br#" { "b" : {"a":1,"a":2} , "c":[{"a":1,"d":[{}]},7,[1]], "a":"x\n","b":{}} more"#;
    let (found, rest) = skim(line, PICKS).expect("sound");
    assert_eq!((found.get("b"), rest), (&Part::Object(Vec::new()), &b" more"[..]));
    let whole = json!({"a": "x\n", "b": {}, "c": [{"a": 1, "d": [{}]}, 7, null]});
    assert_eq!(skimmed(line), Some(whole));
}

#[test]
fn control_characters_are_left_to_others_but_behind_the_object() {
    let line = format!(r#"{{"x":[{{"y":"{}"}},1,true],"a":"x"}}"#, r#"\n\""#.repeat(40));
    for at in 0..line.len() {
        for byte in *b"\0\t\n\r\x1f" {
            let mut spoiled = line.clone().into_bytes();
            spoiled[at] = byte;
            assert_eq!(skimmed(&spoiled), None, "{byte} at {at}");
            spoiled[at] = line.as_bytes()[at];
            spoiled.insert(at, byte);
            assert_eq!(skimmed(&spoiled), None, "{byte} before {at}");
        }
    }
    let (found, rest) = skim(b"{\"a\":1}\r", PICKS).expect("sound");
    assert_eq!((found.value(), rest), (json!({"a": 1}), &b"\r"[..]));
    assert_eq!(crate::agents::json::sound(b"{\"a\":1}\r", PICKS), None);
}

#[test]
fn numbers_are_those_of_serde_json() {
    for number in [
        "0",
        "-0",
        "7",
        "-7",
        "999999999999999999",
        "1000000000000000000",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "0.1",
        "100.0",
    ] {
        let line = format!("{{\"a\":{number},\"d\":{number}}}");
        let value: Value = serde_json::from_str(number).expect("a number");
        assert_eq!(skimmed(line.as_bytes()), Some(json!({"a": value, "d": value})), "{number}");
    }
}

#[test]
fn a_text_ends_at_its_quote_wherever_that_stands() {
    for size in 0..200 {
        for end in ["", "\\\"", "\\\\", "é", "\\u00e9", "\\b\\f\\n\\r\\t\\/", "\\n\\ud83d\\ude00"]
        {
            let text = format!("\"{}{end}\"", "x".repeat(size));
            let line = format!("{{\"x\":{text},\"a\":{text}}}");
            let value: Value = serde_json::from_str(&text).expect("a text");
            assert_eq!(skimmed(line.as_bytes()), Some(json!({"a": value})), "{line}");
        }
    }
}
