//! What a request says, whatever its dialect: the history, the tools offered, and how to answer.

use serde_json::Value;

use super::script::{self, Plan};

/// A request to the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conversation {
    /// The model asked for.
    pub(crate) model: String,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
    /// The history, oldest first; instructions are left out.
    pub(crate) turns: Vec<Turn>,
    /// The tools the model may call.
    pub(crate) tools: Vec<Tool>,
}

/// One item of the history.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Turn {
    /// Texts in the user's name; clients put reminders of their own before what was typed.
    User(Vec<String>),
    /// Anything the model said: text, thinking or a tool call.
    Model,
    /// What came of a tool call.
    Result,
}

/// A tool the client offers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    /// The name to call it by.
    pub(crate) name: String,
    /// The JSON schema of its arguments; null when the client sent none.
    pub(crate) schema: Value,
}

impl Conversation {
    /// What the script in this history wants done now.
    pub(crate) fn plan(&self) -> Plan {
        let scripted = self.turns.iter().enumerate().rev().find_map(|(at, turn)| match turn {
            Turn::User(texts) => {
                let lines: Vec<String> = texts.iter().flat_map(|t| script::lines(t)).collect();
                Some((at, lines)).filter(|(_, lines)| !lines.is_empty())
            }
            Turn::Model | Turn::Result => None,
        });
        let Some((at, lines)) = scripted else { return Plan::Plain };
        if self.tools.is_empty() {
            return Plan::Side;
        }
        let step = calls(&self.turns[at..]);
        match lines.get(step) {
            None => Plan::Over,
            Some(line) => {
                Plan::Line { line: line.clone(), place: format!("{at}+{step} of {lines:?}") }
            }
        }
    }

    /// The newest text of the user.
    pub(crate) fn prompt(&self) -> &str {
        let newest = self.turns.iter().rev().find_map(|turn| match turn {
            Turn::User(texts) => texts.last().map(String::as_str),
            Turn::Model | Turn::Result => None,
        });
        newest.unwrap_or_default()
    }
}

/// How many model calls left a trace in `turns`: each run of model items is one.
fn calls(turns: &[Turn]) -> usize {
    turns.windows(2).filter(|pair| pair[0] != Turn::Model && pair[1] == Turn::Model).count()
}

/// The texts of a content field: a string, or a list of parts with a `text` each.
pub(crate) fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// The elements of a list, none when `value` is not one.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A string field, empty when `value` is not one.
pub(crate) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(turns: &[Turn]) -> Conversation {
        let tools = vec![Tool { name: "bash".into(), schema: Value::Null }];
        Conversation { turns: turns.to_vec(), tools, ..Conversation::default() }
    }

    fn user(text: &str) -> Turn {
        Turn::User(vec!["a reminder".into(), text.into()])
    }

    fn line(turns: &[Turn]) -> Option<String> {
        match with(turns).plan() {
            Plan::Line { line, .. } => Some(line),
            Plan::Plain | Plan::Side | Plan::Over => None,
        }
    }

    #[test]
    fn each_call_performs_the_next_line() {
        let script = user("please\nMOCK:tool a\n  MOCK:tool b");
        assert_eq!(line(std::slice::from_ref(&script)), Some("tool a".into()));
        let one = [script.clone(), Turn::Model, Turn::Model, Turn::Result, Turn::Result];
        assert_eq!(line(&one), Some("tool b".into()));
        let mut two = one.to_vec();
        two.extend([user("a reminder without lines"), Turn::Model]);
        assert_eq!(with(&two).plan(), Plan::Over);
    }

    #[test]
    fn the_last_script_wins_and_starts_at_its_first_line() {
        let turns = [user("MOCK:text a"), Turn::Model, user("MOCK:text b")];
        assert_eq!(line(&turns), Some("text b".into()));
    }

    #[test]
    fn calls_without_tools_use_up_no_line() {
        let mut side = with(&[user("MOCK:text a")]);
        side.tools.clear();
        assert_eq!(side.plan(), Plan::Side);
        assert_eq!(with(&[user("hello")]).plan(), Plan::Plain);
    }
}
