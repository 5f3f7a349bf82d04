//! The sessions of a group side by side, as people read them.

use super::{
    columns::{Table, screen},
    paint::Paint,
    words,
};
use agentctl_core::{
    text::one_line,
    wire::{Compared, Comparison},
};
use std::io;

const HEADS: [&str; 11] = [
    "ID", "AGENT", "MODEL", "STATE", "TIME", "TOKENS", "COST", "FILES", "LINES", "COMMITS",
    "BRANCH",
];

/// One line for each session.
pub(crate) fn table(found: &Comparison) -> io::Result<()> {
    let sessions: Vec<_> = found.rows.iter().map(|row| &row.session).collect();
    let names = words::names(&sessions);
    let rows = found.rows.iter().zip(names).map(|(one, name)| row(one, name).to_vec());
    let table = Table {
        heads: HEADS.to_vec(),
        rows: rows.collect(),
        elastic: &["MODEL", "STATE", "BRANCH"],
        spare: &["BRANCH", "MODEL", "COMMITS", "COST", "AGENT"],
    };
    let paint = Paint::stdout();
    table.print(screen(), |at, head, cell| match head {
        "ID" => paint.name(&cell).into(),
        "STATE" => paint.state(found.rows[at].session.state, &cell).into(),
        _ => cell,
    })?;
    for one in &found.rows {
        let notes = one.changes.as_ref().map(super::diff::notes).unwrap_or_default();
        for what in one.unknown.iter().chain(&notes) {
            super::note(&format!("{}: {what}", words::name(&one.session)));
        }
    }
    Ok(())
}

/// As much as a column holds; JSON has it all.
fn short(text: &str) -> String {
    const MOST: usize = 40;
    match text.chars().count() > MOST {
        true => text.chars().take(MOST - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn row(one: &Compared, name: String) -> [String; 11] {
    let session = &one.session;
    let none = || "-".to_owned();
    let plain = |text: Option<&str>| text.map_or_else(none, one_line);
    let state = match &session.outcome {
        Some(outcome) if session.state.name() != "done" => {
            format!("{}: {}", words::state(session), short(&one_line(outcome)))
        }
        _ => words::state(session).into_owned(),
    };
    let tokens = session
        .tokens
        .as_ref()
        .map(|tokens| words::count(tokens.input.saturating_add(tokens.output)));
    let of = |pick: fn(&agentctl_core::wire::Changes) -> String| {
        one.changes.as_ref().map_or_else(none, pick)
    };
    [
        name,
        session.agent.clone(),
        plain(session.model.as_deref()),
        state,
        one.seconds.map_or_else(none, words::span),
        tokens.unwrap_or_else(none),
        session.cost_usd.map_or_else(none, |cost| format!("${cost:.2}")),
        of(|changes| changes.files.len().to_string()),
        of(|changes| format!("+{} -{}", changes.added, changes.removed)),
        of(|changes| changes.commits.to_string()),
        plain(
            one.changes
                .as_ref()
                .and_then(|one| one.branch.as_deref())
                .or(session.branch.as_deref()),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_of_an_agent_is_cut() {
        assert_eq!(short("out of tokens"), "out of tokens");
        assert_eq!(short(&"é".repeat(41)), format!("{}…", "é".repeat(39)));
    }
}
