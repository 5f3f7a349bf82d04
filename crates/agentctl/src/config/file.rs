//! One file: what is set in it and where, what nobody knows, and what cannot be.

use super::{
    key::{Key, TABLES, WEBHOOKS, nearest},
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
            let below =
                above == WEBHOOKS && Key::named(&format!("{above}.{}", name.get_ref())).is_none();
            if let (true, DeValue::Table(keys)) = (below, value.get_ref()) {
                self.webhook(name.get_ref(), name.span(), keys);
                continue;
            }
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
                    let remark = self.unknown(&full, &from);
                    self.content.unknown.push(remark);
                }
            }
        }
    }

    fn unknown(&self, full: &str, at: &Range<usize>) -> Remark {
        let meant = nearest(full).map(|name| format!("; did you mean {name}?"));
        self.at(at, format!("unknown key {full}{}", meant.unwrap_or_default()))
    }

    /// The keys of a webhook that has a name.
    fn webhook(&mut self, part: &str, at: Range<usize>, keys: &DeTable<'_>) {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if part.is_empty() || part.len() > 64 || !part.chars().all(plain) {
            let what = format!("{WEBHOOKS}.{part}: a name is of letters, digits, - and _");
            let remark = self.at(&at, what);
            return self.content.wrong.push(remark);
        }
        for (name, value) in keys {
            let (from, span) = (name.span(), value.span());
            let full = format!("{WEBHOOKS}.{}", name.get_ref());
            match Key::named(&full) {
                Some(key) => self.part(key, Some(part), value.get_ref(), (&from, &span)),
                None => {
                    let full = format!("{WEBHOOKS}.{part}.{}", name.get_ref());
                    let remark = self.unknown(&full, &from);
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
        let first = key.first();
        self.part(key, first.as_deref(), value, at);
    }

    fn part(
        &mut self,
        key: Key,
        part: Option<&str>,
        value: &DeValue<'_>,
        at: (&Range<usize>, &Range<usize>),
    ) {
        match key.holds().of(&raw(value)) {
            Ok(value) => {
                let line = Some(place(self.text, at.0.start).0);
                let part = part.map(str::to_owned);
                self.content.entries.push(Entry { key, part, value, line });
            }
            Err(why) => {
                let remark = self.at(at.1, format!("{}: {why}", key.full_name(part)));
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
        DeValue::Integer(number) => Raw::Number(number.to_string()),
        DeValue::Float(number) => Raw::Number(number.to_string()),
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

    /// A line of a file, and what is wrong with it.
    const WRONG: &[(&str, &str)] = &[
        ("launch.timeout = '90'", "18: launch.timeout: it has no unit: 90ms, 90s, 90m or 90h"),
        (
            "hooks.timeout = 'none'",
            "17: hooks.timeout: leave it out for no limit, or use such as 90s",
        ),
        ("launch.model = '--yolo'", "16: launch.model: it must not begin with a dash"),
        ("launch.model = ' '", "16: launch.model: it is empty"),
        ("launch.model = 1.5", "16: launch.model: it holds text, in quotes, not a number"),
        ("launch.group = \"\\u001b\"", "16: launch.group: it must not hold control characters"),
        ("launch.steerable = 'yes'", "20: launch.steerable: it holds true or false, not text"),
        ("launch.cwd = 'src'", "14: launch.cwd: it must be a directory from the root or from ~"),
        ("launch.env.A = 1", "16: launch.env.A: it holds text, in quotes"),
        ("launch.env.\"A=\" = 'b'", "19: launch.env.A=: this cannot be a name"),
        ("trust = ['x']", "9: trust: it must be a directory from the root or from ~"),
        ("hooks = true", "9: hooks is a table: write [hooks]"),
    ];

    #[test]
    fn what_cannot_be_is_told_with_its_place() {
        for (text, told) in WRONG {
            assert_eq!(wrong(&format!("\n{text}\n")), [format!("2:{told}")], "{text}");
        }
        let begins = |text: &str, told: &str| {
            let found = wrong(text);
            assert!(found.len() == 1 && found[0].starts_with(told), "{found:?}");
        };
        begins(
            "launch.agent = 'clod'",
            "1:16: launch.agent: there is no agent \"clod\"; there are ",
        );
        begins(
            "launch.permission = 'all'",
            "1:21: launch.permission: it holds \"read\", \"default\"",
        );
        begins("[launch]\ntimeout = 90", "2:11: launch.timeout: it holds a duration in quotes");
        begins("launch.env = 'A=b'", "1:14: launch.env: it holds a table of names with text");
        begins("trust = '/x'", "1:9: trust: it holds a list of directories");
        for broken in ["[launch\n", "a = 1\na = 2\n", "x = \n", "\u{0}", "é = = 1"] {
            assert!(wrong(broken)[0].starts_with(|c: char| c.is_ascii_digit()), "{broken:?}");
        }
    }

    #[test]
    fn a_name_that_nobody_knows_is_no_error() {
        let content = parse("[launch]\nmodelx = 1\nagent = 'codex'\n[colours]\nx = 1\n");
        assert_eq!(content.entries, [entry(Key::Agent, Value::Text("codex".to_owned()), 3)]);
        let told: Vec<_> = content.unknown.iter().map(|one| (one.line, &*one.what)).collect();
        let expected = [
            (4, "unknown key colours"),
            (2, "unknown key launch.modelx; did you mean launch.model?"),
        ];
        assert_eq!((told, content.wrong), (expected.to_vec(), Vec::new()));
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// A project's file may be anybody's.
        #[test]
        fn any_text_is_understood_or_refused_with_its_place() {
            let run = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                let content = parse(&text);
                for remark in content.wrong.iter().chain(&content.unknown) {
                    assert!(remark.line > 0 && remark.column > 0, "{remark:?}");
                    assert!(remark.line <= text.split('\n').count(), "{remark:?}");
                    assert!(!remark.what.contains('\n'), "{remark:?}");
                }
                assert!(content.wrong.is_empty() || !text.is_empty());
            };
            Target::new("config", run).holds(3_000);
        }
    }
}
