//! The file of agentctl 1.x, `~/.agentctl/config.json`: read where there is no newer one.

use super::{
    file::{Content, Entry, Remark, place},
    key::Key,
    value::{Raw, Value},
};
use serde_json::Value as Json;

/// Its names, and ours.
const NAMES: &[(&str, Key)] = &[
    ("adapter", Key::Agent),
    ("model", Key::Model),
    ("cwd", Key::Cwd),
    ("timeout", Key::Timeout),
    ("webhook_url", Key::WebhookUrl),
    ("webhook_secret", Key::WebhookSecret),
];

/// Reads the text of that file.
pub(super) fn parse(text: &str) -> Content {
    let mut content = Content::default();
    let wrong = |line, column, what: String| Remark { line, column, what };
    let fields = match serde_json::from_str::<Json>(text) {
        Ok(Json::Object(fields)) => fields,
        Ok(_) => {
            content.wrong.push(wrong(1, 1, "it holds an object".to_owned()));
            return content;
        }
        Err(why) => {
            let what = why.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            content.wrong.push(wrong(why.line(), why.column(), what));
            return content;
        }
    };
    for (name, value) in &fields {
        // Its place is where its name stands first: values of this file hold no such thing.
        let (line, column) = place(text, text.find(&format!("\"{name}\"")).unwrap_or_default());
        let known = NAMES.iter().find(|(known, _)| known == name);
        match known.map(|(_, key)| *key) {
            None => {
                let what = format!("unknown key {name}");
                content.unknown.push(wrong(line, column, what));
            }
            Some(key) => match held(key, value) {
                Ok(value) => {
                    let part = key.first();
                    content.entries.push(Entry { key, part, value, line: Some(line) });
                }
                Err(why) => content.wrong.push(wrong(line, column, format!("{name}: {why}"))),
            },
        }
    }
    content
}

/// Times were numbers of seconds.
fn held(key: Key, value: &Json) -> Result<Value, String> {
    let raw = match value {
        Json::String(text) => Raw::Text(text.clone()),
        Json::Number(seconds) if key == Key::Timeout => match seconds.as_u64() {
            Some(seconds) => Raw::Text(format!("{seconds}s")),
            None => return Err("it holds a whole number of seconds".to_owned()),
        },
        Json::Bool(on) => Raw::Switch(*on),
        Json::Number(_) => Raw::Other("a number"),
        Json::Array(_) => Raw::Other("a list"),
        Json::Object(_) => Raw::Other("an object"),
        Json::Null => Raw::Other("null"),
    };
    key.holds().of(&raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_keys_are_ours_under_other_names() {
        let text = "{\n \"adapter\": \"codex\",\n \"timeout\": 90,\n \"webhook_url\": \"http://x/\",\n \"y\": 1\n}";
        let word = |key: Key, text: &str, line| Entry {
            key,
            part: key.first(),
            value: Value::Text(text.to_owned()),
            line: Some(line),
        };
        let remark = |line, what: &str| Remark { line, column: 2, what: what.to_owned() };
        let expected = Content {
            entries: vec![
                word(Key::Agent, "codex", 2),
                word(Key::Timeout, "90s", 3),
                word(Key::WebhookUrl, "http://x/", 4),
            ],
            unknown: vec![remark(5, "unknown key y")],
            wrong: Vec::new(),
        };
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn what_cannot_be_is_told_with_its_place() {
        let wrong = |text: &str| {
            let all = parse(text).wrong;
            all.iter().map(|one| format!("{}:{}: {}", one.line, one.column, one.what)).collect()
        };
        let cases = [
            ("{\"timeout\": -1}", "1:2: timeout: it holds a whole number of seconds"),
            ("{\"model\": 7}", "1:2: model: it holds text, in quotes, not a number"),
            ("[]", "1:1: it holds an object"),
            ("{\n\"model\" 1}", "2:9: expected `:`"),
        ];
        for (text, told) in cases {
            let found: Vec<String> = wrong(text);
            assert_eq!(found, [told], "{text}");
        }
    }
}
