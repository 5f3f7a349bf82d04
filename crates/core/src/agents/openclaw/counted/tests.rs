//! What is passed over tells nothing: of any entries the same is told as of those that are all taken apart.

use super::*;
use proptest::prelude::*;
use serde_json::json;

/// All that is told but the turn.
fn told(said: Transcript) -> impl PartialEq + std::fmt::Debug {
    let Transcript { cwd, model, started, prompt, last, turn: _, tokens, cost_usd } = said;
    ((cwd, model, started), (prompt, last), (tokens, cost_usd))
}

/// The same entries, passed over and taken apart.
fn same(entries: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let mut counted = Counted::new(None);
    let mut apart = Transcript::counted();
    for entry in entries {
        counted.newer(entry);
        apart.newer(&super::taken_apart(entry), Source::Blind);
    }
    prop_assert_eq!(told(counted.told()), told(apart));
    Ok(())
}

fn word() -> impl Strategy<Value = Value> {
    let words =
        "message|session|model_change|usage|compaction|user|assistant|toolResult|text|toolCall";
    prop_oneof![
        4 => words.prop_map(Value::from),
        1 => Just(Value::Null),
        1 => "[a-z \"\\\\\n\u{1b}é]{0,9}".prop_map(Value::from),
        1 => any::<i32>().prop_map(Value::from),
    ]
}

fn content() -> impl Strategy<Value = Value> {
    let part = (word(), word()).prop_map(|(kind, said)| json!({"type": kind, "text": said}));
    prop_oneof![
        word(),
        prop::collection::vec(prop_oneof![part, word()], 0..3).prop_map(Value::from)
    ]
}

fn usage() -> impl Strategy<Value = Value> {
    let bill = |(input, output, cost): (u64, u32, f64)| json!({"input": input, "output": output, "cost": {"total": cost}});
    prop_oneof![3 => (any::<u64>(), any::<u32>(), 0.0..9.0f64).prop_map(bill), 1 => word()]
}

fn entry() -> impl Strategy<Value = Value> {
    let message = (word(), content(), usage()).prop_map(
        |(role, content, usage)| json!({"role": role, "content": content, "usage": usage}),
    );
    let message = prop_oneof![6 => message, 1 => word()];
    let more = prop_oneof![Just("cwd"), Just("modelId"), Just("timestamp"), Just("usage")];
    (
        word(),
        message,
        more,
        prop_oneof![word(), usage(), Just(json!("/a")), Just(json!("2026-01-02T03:04:05Z"))],
    )
        .prop_map(
            |(kind, message, name, more)| json!({"type": kind, "message": message, name: more}),
        )
}

/// An entry as it may be written: also with letters as escapes, with names that stand twice, torn, or spoiled.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let how = prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(4)];
    (entry(), entry(), how, any::<prop::sample::Index>()).prop_map(|(entry, other, how, at)| {
        let line = entry.to_string();
        match how {
            0 => line.into_bytes(),
            1 => line.replace("us", "\\u0075s").replace("ssi", "\\u0073si").into_bytes(),
            2 => format!("{},{}", &line[..line.len() - 1], &other.to_string()[1..]).into_bytes(),
            3 => line.as_bytes()[..at.index(line.len())].to_vec(),
            _ => {
                let mut bytes = line.into_bytes();
                let at = at.index(bytes.len());
                bytes[at] = 0xff;
                bytes
            }
        }
    })
}

proptest! {
    #[test]
    fn what_is_passed_over_tells_nothing(entries in prop::collection::vec(written(), 0..6)) {
        same(&entries)?;
    }
}

fn answer(text: &str) -> Vec<u8> {
    let content = [json!({"type": "text", "text": text})];
    json!({"type": "message", "message": {"role": "assistant", "content": content}})
        .to_string()
        .into()
}

#[test]
fn the_last_words_are_those_before_answers_that_say_nothing() {
    let last = |entries: &[Vec<u8>]| {
        let mut counted = Counted::new(None);
        entries.iter().for_each(|entry| counted.newer(entry));
        counted.told().last
    };
    let empty = [answer(""), answer(" \n ")].concat();
    assert_eq!(last(&[empty]), None);
    assert_eq!(
        last(&[answer("one"), answer("two"), answer(""), answer(" \n")]),
        Some("two".into())
    );
    let long = answer(&" ".repeat(HELD));
    assert_eq!(last(&[answer("one"), long.clone(), answer(""), long]), Some("one".into()));
    let torn = [answer("three"), b"{".to_vec()].concat();
    assert_eq!(last(&[answer("one"), answer("two"), torn]), Some("two".into()));
}
