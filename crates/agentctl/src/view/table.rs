//! Sessions in columns that fit the terminal.

use super::{
    columns::{Table, screen},
    paint::Paint,
    words,
};
use agentctl_core::wire::{Session, Sessions};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    io,
};

/// How much of a prompt tells what a session is about where no screen cuts it, in characters: whoever reads a list there, a
/// program or a model, need not be given pages.
const SUBJECT: usize = 120;

/// What to show.
pub(crate) struct Columns {
    /// More columns, nothing cut.
    pub(crate) wide: bool,
    /// Tokens and cost.
    pub(crate) usage: bool,
}

/// Prints sessions; nothing at all where there are none.
pub(crate) fn sessions(found: &Sessions, columns: &Columns, now: Timestamp) -> io::Result<()> {
    if found.sessions.is_empty() {
        return Ok(());
    }
    let sessions = families(&found.sessions);
    let names = words::names(&sessions);
    let screen = screen().filter(|_| !columns.wide);
    let most = if columns.wide || screen.is_some() { usize::MAX } else { SUBJECT };
    let rows = sessions.iter().zip(&names).map(|(one, name)| row(one, name, (columns, most), now));
    let table = Table {
        heads: heads(columns),
        rows: rows.collect(),
        elastic: &["DIRECTORY", "SUBJECT"],
        spare: &["DIRECTORY", "UPDATED", "AGENT", "CACHE", "COST"],
    };
    let paint = Paint::stdout();
    table.print(screen, |at, head, cell| match head {
        _ if !paint.is_on() => cell,
        "ID" => paint.name(&cell).into(),
        "STATE" => paint.state(sessions[at].state, &cell).into(),
        "UPDATED" | "STARTED" => paint.faint(&cell).into(),
        _ => cell,
    })
}

/// Sub-agents stand below their parents, where both are shown; nobody is shown twice or left out.
fn families(sessions: &[Session]) -> Vec<&Session> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    let known: HashSet<&str> = sessions.iter().filter_map(|one| one.id.as_deref()).collect();
    let mut roots = Vec::new();
    for (at, one) in sessions.iter().enumerate() {
        match one.parent.as_deref().filter(|id| known.contains(id)) {
            Some(id) => children.entry(id).or_default().push(at),
            None => roots.push(at),
        }
    }
    let mut shown = vec![false; sessions.len()];
    let mut ordered = Vec::with_capacity(sessions.len());
    // Whoever is not reached from a root is in a circle of parents, and begins one.
    for root in roots.into_iter().chain(0..sessions.len()) {
        let mut todo = vec![root];
        while let Some(at) = todo.pop() {
            if std::mem::replace(&mut shown[at], true) {
                continue;
            }
            ordered.push(&sessions[at]);
            let below = sessions[at].id.as_deref().and_then(|id| children.get(id));
            todo.extend(below.into_iter().flatten().rev());
        }
    }
    ordered
}

fn heads(columns: &Columns) -> Vec<&'static str> {
    let mut heads = vec!["ID", "AGENT", "STATE"];
    if columns.wide {
        heads.extend(["PID", "KIND", "STARTED"]);
    }
    heads.push("UPDATED");
    if columns.usage {
        heads.extend(["INPUT", "OUTPUT", "CACHE", "COST"]);
    }
    if columns.wide {
        heads.extend(["MODEL", "BRANCH"]);
    }
    heads.extend(["DIRECTORY", "SUBJECT"]);
    heads
}

/// The cells of a session, and so many characters of its subject.
fn row(
    session: &Session,
    name: &str,
    (columns, most): (&Columns, usize),
    now: Timestamp,
) -> Vec<String> {
    let name = match session.parent {
        Some(_) => format!("└ {name}"),
        None => name.to_owned(),
    };
    let plain = |text: Option<&str>| agentctl_core::text::one_line(text.unwrap_or("-"));
    let mut row = vec![name, session.agent.clone(), words::state(session)];
    if columns.wide {
        row.push(session.pid.map_or("-".to_owned(), |pid| pid.to_string()));
        row.push(session.kind.map_or("-", words::kind).to_owned());
        row.push(words::age(session.started_at, now));
    }
    row.push(words::age(session.updated_at, now));
    if columns.usage {
        let number = |pick: fn(&agentctl_core::evidence::Tokens) -> u64| {
            session.tokens.as_ref().map_or("-".to_owned(), |tokens| words::count(pick(tokens)))
        };
        row.push(number(|tokens| tokens.input));
        row.push(number(|tokens| tokens.output));
        row.push(number(|tokens| tokens.cache_read.saturating_add(tokens.cache_write)));
        row.push(session.cost_usd.map_or("-".to_owned(), |cost| format!("${cost:.2}")));
    }
    if columns.wide {
        row.push(plain(session.model.as_deref()));
        row.push(plain(session.branch.as_deref()));
    }
    row.push(words::directory(session.cwd.as_deref()));
    let over = super::budgets::warning(session).filter(|_| session.live);
    let why = session.reason.as_deref().map(agentctl_core::text::one_line);
    let subject = || words::headline(words::subject(session), most);
    row.push(match (why, over) {
        (Some(why), _) if !columns.wide => format!("({why})"),
        (Some(why), _) | (None, Some(why)) => format!("({why}) {}", subject()),
        (None, None) => subject(),
    });
    row
}
