//! Sessions in columns that fit the terminal.

use super::{
    columns::{Rows, Table, screen},
    paint::Paint,
    words,
};
use agentctl_core::{
    text::one_line,
    wire::{Session, Sessions},
};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    io,
    path::Path,
    thread,
};

/// How much of a prompt tells what a session is about where no screen cuts it, in characters: whoever reads a list there, a
/// program or a model, need not be given pages.
const SUBJECT: usize = 120;

/// From this many sessions on, a second thread saves more than it costs.
const WORTH_A_THREAD: usize = 2000;

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
    let named: Vec<(&Session, String)> = sessions.iter().copied().zip(names).collect();
    let table = Table {
        heads: heads(columns),
        rows: spread(&named, |part| rows(part, (columns, most), now)),
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

/// All rows, on a second thread where there are very many.
fn spread<'s>(
    all: &[(&'s Session, String)],
    rows: impl Fn(&[(&'s Session, String)]) -> Rows + Sync,
) -> Rows {
    if all.len() < WORTH_A_THREAD {
        return rows(all);
    }
    let (one, other) = all.split_at(all.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| rows(other));
        let mut rows = rows(one);
        rows.append(&other.join().expect("a bug ends the program"));
        rows
    })
}

/// A row for each of these.
fn rows(all: &[(&Session, String)], (columns, most): (&Columns, usize), now: Timestamp) -> Rows {
    let (mut rows, mut directories) = (Rows::default(), Directories::default());
    for (session, name) in all {
        begin(&mut rows, session, name, (columns, now));
        rows.add(directories.of(session.cwd.as_deref()));
        rows.add(&subject(session, (columns, most)));
    }
    rows
}

/// Sub-agents stand below their parents, where both are shown; nobody is shown twice or left out.
fn families(sessions: &[Box<Session>]) -> Vec<&Session> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    let parents: HashSet<&str> = sessions.iter().filter_map(|one| one.parent.as_deref()).collect();
    if parents.is_empty() {
        return sessions.iter().map(|one| &**one).collect(); // most are nobody's
    }
    let named = |one: &Session| one.id.as_deref().is_some_and(|id| parents.contains(id));
    let has_children: Vec<bool> = sessions.iter().map(|one| named(one)).collect();
    let known = sessions.iter().zip(&has_children).filter(|(_, has)| **has);
    let known: HashSet<&str> = known.filter_map(|(one, _)| one.id.as_deref()).collect();
    let mut roots = Vec::new();
    for (at, one) in sessions.iter().enumerate() {
        match one.parent.as_deref().filter(|id| known.contains(id)) {
            Some(id) => children.entry(id).or_default().push(at),
            None => roots.push(at),
        }
    }
    let mut shown = vec![false; sessions.len()];
    let mut ordered: Vec<&Session> = Vec::with_capacity(sessions.len());
    // Whoever is not reached from a root is in a circle of parents, and begins one.
    for root in roots.into_iter().chain(0..sessions.len()) {
        let mut todo = vec![root];
        while let Some(at) = todo.pop() {
            if std::mem::replace(&mut shown[at], true) {
                continue;
            }
            ordered.push(&sessions[at]);
            if has_children[at] {
                let below = sessions[at].id.as_deref().and_then(|id| children.get(id));
                todo.extend(below.into_iter().flatten().rev());
            }
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

/// Directories as they are shown, each worked out once: many sessions work in a few.
#[derive(Default)]
struct Directories<'s>(HashMap<Option<&'s OsStr>, String>);

impl<'s> Directories<'s> {
    fn of(&mut self, path: Option<&'s Path>) -> &str {
        self.0.entry(path.map(Path::as_os_str)).or_insert_with(|| words::directory(path))
    }
}

/// The cells of a session before its directory.
fn begin(rows: &mut Rows, session: &Session, name: &str, (columns, now): (&Columns, Timestamp)) {
    match session.parent {
        Some(_) => rows.add(&format!("└ {name}")),
        None => rows.add(name),
    }
    rows.add(&session.agent);
    rows.add(&words::state(session));
    if columns.wide {
        rows.add(&session.pid.map_or("-".to_owned(), |pid| pid.to_string()));
        rows.add(session.kind.map_or("-", words::kind));
        rows.add(&words::age(session.started_at, now));
    }
    rows.add(&words::age(session.updated_at, now));
    if columns.usage {
        let number = |pick: fn(&agentctl_core::evidence::Tokens) -> u64| {
            session.tokens.as_ref().map_or("-".to_owned(), |tokens| words::count(pick(tokens)))
        };
        rows.add(&number(|tokens| tokens.input));
        rows.add(&number(|tokens| tokens.output));
        rows.add(&number(|tokens| tokens.cache_read.saturating_add(tokens.cache_write)));
        rows.add(&session.cost_usd.map_or("-".to_owned(), |cost| format!("${cost:.2}")));
    }
    if columns.wide {
        for text in [&session.model, &session.branch] {
            rows.add(&one_line(text.as_deref().unwrap_or("-")));
        }
    }
}

/// Its last cell: what is the matter, or so many characters of what it is about.
fn subject(session: &Session, (columns, most): (&Columns, usize)) -> String {
    let over = super::budgets::warning(session).filter(|_| session.live);
    let why = session.reason.as_deref().map(one_line);
    let subject = || words::headline(words::subject(session), most);
    match (why, over) {
        (Some(why), _) if !columns.wide => format!("({why})"),
        (Some(why), _) | (None, Some(why)) => format!("({why}) {}", subject()),
        (None, None) => subject(),
    }
}
