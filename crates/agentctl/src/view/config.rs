//! What is configured, as people read it and as a file would say it.

use super::paint::Paint;
use agentctl_core::{
    text::{is_hostile, one_line},
    wire::{ConfigFile, Setting},
};
use serde_json::Value;
use std::io::{self, BufWriter, Write};

/// A line for each, as it would stand in a file.
pub(crate) fn settings(all: &[Setting], with_origin: bool) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let line = |one: &Setting| format!("{} = {}", one.key, value(&one.value));
    let lines: Vec<String> = all.iter().map(line).collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    for (line, one) in lines.iter().zip(all) {
        match with_origin {
            false => writeln!(out, "{line}")?,
            true => {
                let room = " ".repeat(width - line.chars().count());
                writeln!(out, "{line}{room}  {}", paint.faint(&format!("# {}", origin(one))))?;
            }
        }
    }
    out.flush()
}

/// Files, and what became of each.
pub(crate) fn files(all: &[ConfigFile]) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for one in all {
        let path = one_line(&one.path.to_string_lossy());
        let why = one.message.as_ref().map(|why| format!(": {}", one_line(why)));
        let (layer, state) = (one.layer.name(), one.state.name());
        writeln!(out, "{layer:<8} {path} ({state}{})", why.unwrap_or_default())?;
    }
    out.flush()
}

/// A name within a table, in quotes where it must be.
pub(crate) fn name(part: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !part.is_empty() && part.chars().all(plain) {
        true => part.to_owned(),
        false => quoted(part),
    }
}

fn origin(one: &Setting) -> String {
    let layer = one.layer.name();
    match (&one.path, one.line, &one.variable) {
        (Some(path), Some(line), _) => {
            format!("{layer}: {}:{line}", one_line(&path.to_string_lossy()))
        }
        (Some(path), None, _) => format!("{layer}: {}", one_line(&path.to_string_lossy())),
        (None, _, Some(variable)) => format!("{layer}: {variable}"),
        (None, _, None) => layer.to_owned(),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(self::value).collect();
            format!("[{}]", all.join(", "))
        }
        other => other.to_string(),
    }
}

/// Text as TOML has it, with nothing in it that steers a terminal.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if c.is_control() || is_hostile(c) => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeValue;

    #[test]
    fn what_is_shown_reads_back_the_same() {
        for text in ["plain", "a \"b\" \\ c", "\n\t\u{1b}[31m\u{202e}\u{9b}é\u{e0041}", ""] {
            let shown = quoted(text);
            assert!(!shown.contains(is_hostile), "{shown:?}");
            let read = DeValue::parse(&shown).expect("TOML");
            assert_eq!(read.get_ref().as_str(), Some(text));
        }
        assert_eq!((name("a-b_1"), name("a b")), ("a-b_1".to_owned(), "\"a b\"".to_owned()));
    }
}
