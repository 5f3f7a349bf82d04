//! The vocabulary of scripts: which lines of a prompt are one, and what each means.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

/// What a history asks for next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    /// No script anywhere.
    Plain,
    /// A script stands, but this call offers no tools: not the call that was meant.
    Side,
    /// All lines are done.
    Over,
    /// This line, without its mark; `place` tells it from the same line elsewhere.
    Line {
        /// The line.
        line: String,
        /// Where in the history the script stands, the step in it, and the whole script.
        place: String,
    },
}

/// What one line makes the model do; the table at the top of `model` says it in full.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verb {
    Text(String),
    Slow(Duration, String),
    Hang(Duration),
    Stall(Duration, String),
    Until(PathBuf),
    Tool(String),
    Escalate(String),
    Call { name: String, arguments: Value },
    Ask(String),
    Multi(Vec<String>),
    Err { status: u16, times: Option<u32> },
    Failed,
    Cut,
    Big(usize),
    Tokens(u64),
}

/// The script lines of a prompt, without their mark.
pub(crate) fn lines(prompt: &str) -> Vec<String> {
    prompt.lines().filter_map(line).collect()
}

/// One script line. Some clients put quotes around a prompt that came as one argument.
fn line(text: &str) -> Option<String> {
    let text = text.trim();
    let line = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_prefix("MOCK:")?.trim_end_matches('"'),
        None => text.strip_prefix("MOCK:")?,
    };
    Some(line.trim().to_owned())
}

impl Verb {
    /// Reads a line; the error says what is wrong with it.
    pub(crate) fn parse(line: &str) -> Result<Verb, String> {
        let (verb, rest) = split(line);
        Ok(match verb {
            "text" => Verb::Text(or(rest, "ok")),
            "slow" => {
                let (time, words) = timed(rest)?;
                Verb::Slow(time, if words.is_empty() { ticks(time) } else { words.to_owned() })
            }
            "hang" => Verb::Hang(timed(rest)?.0),
            "stall" => {
                let (time, words) = timed(rest)?;
                Verb::Stall(time, or(words, "first half, second half"))
            }
            "until" => Verb::Until(wanted(rest, "a file")?.into()),
            "tool" => Verb::Tool(wanted(rest, "a command")?),
            "escalate" => Verb::Escalate(wanted(rest, "a command")?),
            "call" => call(rest)?,
            "ask" => Verb::Ask(or(rest, "Go on?")),
            "multi" => {
                let commands = wanted(rest, "commands")?;
                Verb::Multi(commands.split('|').map(|command| command.trim().to_owned()).collect())
            }
            "err" => error(rest)?,
            "failed" => Verb::Failed,
            "cut" => Verb::Cut,
            "big" => Verb::Big(number(rest, "a number of KiB")?),
            "tokens" => Verb::Tokens(number(rest, "a number of tokens")?),
            other => return Err(format!("no verb `{other}`")),
        })
    }
}

fn split(text: &str) -> (&str, &str) {
    let (head, tail) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (head, tail.trim())
}

fn or(words: &str, otherwise: &str) -> String {
    if words.is_empty() { otherwise.to_owned() } else { words.to_owned() }
}

fn wanted(rest: &str, what: &str) -> Result<String, String> {
    if rest.is_empty() { Err(format!("{what} is missing")) } else { Ok(rest.to_owned()) }
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not {what}"))
}

fn timed(rest: &str) -> Result<(Duration, &str), String> {
    let (seconds, words) = split(rest);
    let number: f64 = number(seconds, "a number of seconds")?;
    let time = Duration::try_from_secs_f64(number).map_err(|why| format!("{seconds} s: {why}"))?;
    Ok((time, words))
}

fn ticks(time: Duration) -> String {
    let count = (time.as_millis() / 500).max(1);
    (1..=count).map(|n| format!("tick{n}")).collect::<Vec<_>>().join(" ")
}

fn call(rest: &str) -> Result<Verb, String> {
    let (name, text) = split(rest);
    let name = wanted(name, "a tool name")?;
    if text.is_empty() {
        return Ok(Verb::Call { name, arguments: json!({}) });
    }
    let arguments = serde_json::from_str(text).map_err(|why| format!("arguments: {why}"))?;
    Ok(Verb::Call { name, arguments })
}

fn error(rest: &str) -> Result<Verb, String> {
    let (code, times) = split(rest);
    let status: u16 = number(code, "an HTTP status")?;
    if !(400..600).contains(&status) {
        return Err(format!("{status} is not an HTTP error"));
    }
    let times = if times.is_empty() { None } else { Some(number(times, "a number of times")?) };
    Ok(Verb::Err { status, times })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_lines_are_a_script() {
        let prompt = "Do MOCK:text no\n MOCK:text yes \n\"MOCK:tool echo 'a'\"\nMOCK:cut";
        assert_eq!(lines(prompt), ["text yes", "tool echo 'a'", "cut"]);
    }

    #[test]
    fn verbs_read_their_arguments() {
        let cases = [
            ("text", Verb::Text("ok".into())),
            ("text a  b", Verb::Text("a  b".into())),
            ("slow 1.5", Verb::Slow(Duration::from_millis(1500), "tick1 tick2 tick3".into())),
            ("slow 0.1 x y", Verb::Slow(Duration::from_millis(100), "x y".into())),
            ("until /tmp/a b", Verb::Until("/tmp/a b".into())),
            ("multi a 1 | b", Verb::Multi(vec!["a 1".into(), "b".into()])),
            ("err 529 2", Verb::Err { status: 529, times: Some(2) }),
            ("err 400", Verb::Err { status: 400, times: None }),
            ("call X", Verb::Call { name: "X".into(), arguments: json!({}) }),
            (
                "call s/X {\"a\": [1, 2]}",
                Verb::Call { name: "s/X".into(), arguments: json!({"a": [1, 2]}) },
            ),
            ("tokens 7", Verb::Tokens(7)),
        ];
        for (line, verb) in cases {
            assert_eq!(Verb::parse(line), Ok(verb), "{line}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("sing", "no verb `sing`"),
            ("tool", "a command is missing"),
            ("slow fast", "`fast` is not a number of seconds"),
            ("err 200", "200 is not an HTTP error"),
            ("big", "`` is not a number of KiB"),
        ];
        for (line, why) in cases {
            assert_eq!(Verb::parse(line), Err(why.to_owned()), "{line}");
        }
    }
}
