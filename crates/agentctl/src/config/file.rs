//! One file: what is set in it and where, what nobody knows, and what cannot be.

use super::{
    key::{Key, TABLES, nearest},
    value::{Holds, Raw, Value},
};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Something that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// The name within a table of pairs.
    pub(super) part: Option<String>,
    pub(super) value: Value,
    pub(super) line: Option<usize>,
}

/// Something to say about a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) what: String,
}

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) entries: Vec<Entry>,
    /// Names that nobody knows: a later version may.
    pub(super) unknown: Vec<Remark>,
    /// What cannot be so.
    pub(super) wrong: Vec<Remark>,
    /// What is understood and has no effect.
    pub(super) idle: Vec<Remark>,
}

/// Reads the text of a file.
pub(super) fn parse(text: &str) -> Content {
    let mut reader = Reader { text, content: Content::default() };
    let (document, wrong) = DeTable::parse_recoverable(text);
    match wrong.is_empty() {
        true => reader.table("", document.get_ref()),
        // What can be recovered of a broken file is not what was meant.
        false => {
            for why in wrong {
                let span = why.span().unwrap_or_default();
                let remark = reader.at(&span, why.message().replace('\n', "; "));
                reader.content.wrong.push(remark);
            }
        }
    }
    reader.content.entries.sort_by_key(|one| (one.line, one.key));
    reader.content
}

struct Reader<'a> {
    text: &'a str,
    content: Content,
}

impl Reader<'_> {
    fn at(&self, span: &Range<usize>, what: String) -> Remark {
        let (line, column) = place(self.text, span.start);
        Remark { line, column, what }
    }

    fn table(&mut self, above: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = match above {
                "" => name.get_ref().to_string(),
                _ => format!("{above}.{}", name.get_ref()),
            };
            let (from, span) = (name.span(), value.span());
            match (Key::named(&full), value.get_ref()) {
                (Some(key), DeValue::Table(pairs)) if key.holds() == Holds::Pairs => {
                    self.pairs(key, pairs);
                }
                (Some(key), value) => self.value(key, value, (&from, &span)),
                (None, DeValue::Table(below)) if TABLES.contains(&full.as_str()) => {
                    self.table(&full, below);
                }
                (None, _) if TABLES.contains(&full.as_str()) => {
                    let remark = self.at(&span, format!("{full} is a table: write [{full}]"));
                    self.content.wrong.push(remark);
                }
                (None, _) => {
                    let meant = nearest(&full).map(|name| format!("; did you mean {name}?"));
                    let what = format!("unknown key {full}{}", meant.unwrap_or_default());
                    let remark = self.at(&from, what);
                    self.content.unknown.push(remark);
                }
            }
        }
    }

    fn pairs(&mut self, key: Key, pairs: &DeTable<'_>) {
        for (name, value) in pairs {
            let (part, full) = (name.get_ref().to_string(), name.span());
            let wrong = match value.get_ref() {
                _ if part.is_empty() || part.contains(['=', '\0']) => "this cannot be a name",
                DeValue::String(text) if text.contains('\0') => "it holds a NUL",
                DeValue::String(text) => {
                    let line = Some(place(self.text, full.start).0);
                    let value = Value::Text(text.to_string());
                    self.content.entries.push(Entry { key, part: Some(part), value, line });
                    continue;
                }
                _ => "it holds text, in quotes",
            };
            let what = format!("{}.{part}: {wrong}", key.name());
            let remark = self.at(&value.span(), what);
            self.content.wrong.push(remark);
        }
    }

    fn value(&mut self, key: Key, value: &DeValue<'_>, at: (&Range<usize>, &Range<usize>)) {
        match key.holds().of(&raw(value)) {
            Ok(value) => {
                let line = Some(place(self.text, at.0.start).0);
                self.content.entries.push(Entry { key, part: None, value, line });
            }
            Err(why) => {
                let remark = self.at(at.1, format!("{}: {why}", key.name()));
                self.content.wrong.push(remark);
            }
        }
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(on) => Raw::Switch(*on),
        DeValue::Array(all) => Raw::List(all.iter().map(|one| raw(one.get_ref())).collect()),
        DeValue::Integer(_) | DeValue::Float(_) => Raw::Other("a number"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}

/// Line and column of a byte, both from 1.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: Key, value: Value, line: usize) -> Entry {
        Entry { key, part: None, value, line: Some(line) }
    }

    #[test]
    fn what_is_set_is_found_with_its_line() {
        let text = "trust = ['~/work']\n[launch]\nmodel = 'opus'\nsteerable = true\n\
                    labels = { team = 'web' }\n[launch.env]\nA = 'b'\n[hooks]\non_complete = ''\n";
        let word = |text: &str| Value::Text(text.to_owned());
        let pair = |key, name: &str, value: &str, line| Entry {
            part: Some(name.to_owned()),
            ..entry(key, word(value), line)
        };
        let expected = Content {
            entries: vec![
                entry(Key::Trust, Value::List(vec!["~/work".to_owned()]), 1),
                entry(Key::Model, word("opus"), 3),
                entry(Key::Steerable, Value::Switch(true), 4),
                pair(Key::Labels, "team", "web", 5),
                pair(Key::Env, "A", "b", 7),
                entry(Key::OnComplete, word(""), 9),
            ],
            ..Content::default()
        };
        assert_eq!(parse(text), expected);
    }

    fn wrong(text: &str) -> Vec<String> {
        let shown = |one: &Remark| format!("{}:{}: {}", one.line, one.column, one.what);
        parse(text).wrong.iter().map(shown).collect()
    }

    #[test]
    fn what_cannot_be_is_told_with_its_place() {
        let holds = "it holds a duration in quotes, such as \"90s\" or \"10m\", or \"none\"";
        let cases = [
            ("[launch]\ntimeout = 90", format!("2:11: launch.timeout: {holds}, not a number")),
            (
                "launch.timeout = '90'",
                "1:18: launch.timeout: it has no unit: 90ms, 90s, 90m or 90h".to_owned(),
            ),
            (
                "[hooks]\ntimeout = 'none'",
                "2:11: hooks.timeout: leave it out for no limit, or use such as 90s".to_owned(),
            ),
            (
                "launch.model = '--yolo'",
                "1:16: launch.model: it must not begin with a dash".to_owned(),
            ),
            ("launch.model = ' '", "1:16: launch.model: it is empty".to_owned()),
            (
                "launch.group = \"a\\u001b\"",
                "1:16: launch.group: it must not hold control characters".to_owned(),
            ),
            (
                "launch.steerable = 'yes'",
                "1:20: launch.steerable: it holds true or false, not text".to_owned(),
            ),
            (
                "launch.permission = 'all'",
                "1:21: launch.permission: it holds \"read\", \"default\", \"edit\" or \"full\""
                    .to_owned(),
            ),
            (
                "launch.cwd = 'src'",
                "1:14: launch.cwd: it must be a directory from the root or from ~".to_owned(),
            ),
            ("launch.env.A = 1", "1:16: launch.env.A: it holds text, in quotes".to_owned()),
            (
                "launch.env = 'A=b'",
                "1:14: launch.env: it holds a table of names with text, such as { team = \"web\" }"
                    .to_owned(),
            ),
            (
                "trust = '/x'",
                "1:9: trust: it holds a list of directories, such as [\"~/work\"], not text"
                    .to_owned(),
            ),
            (
                "trust = ['x']",
                "1:9: trust: it must be a directory from the root or from ~".to_owned(),
            ),
            ("hooks = true", "1:9: hooks is a table: write [hooks]".to_owned()),
        ];
        for (text, told) in cases {
            assert_eq!(wrong(text), [told], "{text}");
        }
        let agent = wrong("launch.agent = 'clod'");
        assert!(
            agent[0].starts_with(
                "1:16: launch.agent: there is no agent \"clod\"; there are claude-code"
            ),
            "{agent:?}"
        );
        for broken in ["[launch\n", "a = 1\na = 2\n", "x = \n", "\u{0}", "é = = 1"] {
            assert!(wrong(broken)[0].starts_with(|c: char| c.is_ascii_digit()), "{broken:?}");
        }
    }

    #[test]
    fn a_name_that_nobody_knows_is_no_error() {
        let content = parse("[launch]\nmodle = 1\nagent = 'codex'\n[colours]\nx = 1\n");
        assert_eq!(content.entries, [entry(Key::Agent, Value::Text("codex".to_owned()), 3)]);
        let told: Vec<_> = content.unknown.iter().map(|one| (one.line, &*one.what)).collect();
        let expected = [
            (4, "unknown key colours"),
            (2, "unknown key launch.modle; did you mean launch.model?"),
        ];
        assert_eq!((told, content.wrong), (expected.to_vec(), Vec::new()));
    }
}
