//! Messages of a session, as a conversation.

use super::{json::json_line, paint::Paint, words};
use agentctl_core::{
    agent::{Message, Speaker},
    text::{many_lines, one_line},
};
use std::io::{self, Write};

/// How to show messages.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// As JSON Lines.
    pub(crate) json: bool,
    /// Long ones whole.
    pub(crate) full: bool,
}

/// Longer messages are cut, and say so.
const LINES: usize = 12;
const CHARACTERS: usize = 1500;

/// Prints messages, oldest first.
pub(crate) fn stream(messages: &[Message], style: Style) -> io::Result<()> {
    if style.json {
        return messages.iter().try_for_each(json_line);
    }
    let paint = Paint::stdout();
    let mut out = io::stdout().lock();
    for message in messages {
        let when = message.at.map(words::moment).unwrap_or_default();
        let text = match style.full {
            true => many_lines(&message.text),
            false => shortened(&many_lines(&message.text)),
        };
        writeln!(out, "{}  {}", paint.faint(&format!("{when:20}")), who(paint, message))?;
        for line in text.trim_end().lines() {
            writeln!(out, "    {line}")?;
        }
    }
    out.flush()
}

fn who(paint: Paint, message: &Message) -> String {
    let tool = message.tool.as_deref().map(one_line);
    match message.speaker {
        Speaker::User => paint.bold("user"),
        Speaker::Assistant => paint.good("assistant"),
        Speaker::Thinking => paint.faint("thinking"),
        Speaker::Call => paint.name(&format!("calls {}", tool.as_deref().unwrap_or("a tool"))),
        Speaker::Result if message.failed => paint.bad("result (failed)"),
        Speaker::Result => paint.faint("result"),
        Speaker::System if message.failed => paint.bad("error"),
        Speaker::System => paint.asking("note"),
    }
}

fn shortened(text: &str) -> String {
    let total = text.lines().count();
    let mut kept: String = text.lines().take(LINES).collect::<Vec<_>>().join("\n");
    let long = kept.char_indices().nth(CHARACTERS).map(|(at, _)| at);
    if let Some(at) = long {
        kept.truncate(at);
    }
    match (long, total > LINES) {
        (None, false) => kept,
        (Some(_), _) => format!("{kept}…\n(cut; --full shows all)"),
        (None, true) => format!("{kept}\n({} more lines; --full shows all)", total - LINES),
    }
}
