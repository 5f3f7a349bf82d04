//! Sessions in columns that fit the terminal.

use super::{paint::Paint, words};
use agentctl_core::wire::{Session, Sessions};
use jiff::Timestamp;
use std::{
    collections::{HashMap, HashSet},
    env,
    io::{self, BufWriter, IsTerminal, Write},
};
use unicode_width::UnicodeWidthStr;

/// What to show.
pub(crate) struct Columns {
    /// More columns, nothing cut.
    pub(crate) wide: bool,
    /// Tokens and cost.
    pub(crate) usage: bool,
}

const GAP: &str = "  ";
/// Columns that may be cut to fit are never cut below this.
const LEAST: usize = 12;

/// Prints sessions; nothing at all where there are none.
pub(crate) fn sessions(found: &Sessions, columns: &Columns, now: Timestamp) -> io::Result<()> {
    if found.sessions.is_empty() {
        return Ok(());
    }
    let sessions = families(&found.sessions);
    let names = words::names(&sessions);
    let rows = sessions.iter().zip(&names).map(|(one, name)| row(one, name, columns, now));
    let mut table = Table { heads: heads(columns), rows: rows.collect() };
    let screen = screen().filter(|_| !columns.wide);
    let widths = table.fit(screen);
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let head: Vec<String> = table.heads.iter().map(|head| (*head).to_owned()).collect();
    writeln!(out, "{}", paint.faint(line(&head, &widths, |_, cell| cell).trim_end()))?;
    for (row, session) in table.rows.iter().zip(&sessions) {
        let painted = |at: usize, cell: String| match table.heads[at] {
            "ID" => paint.name(&cell),
            "STATE" => paint.state(session.state, &cell),
            "UPDATED" | "STARTED" => paint.faint(&cell),
            _ => cell,
        };
        writeln!(out, "{}", line(row, &widths, painted).trim_end())?;
    }
    out.flush()
}

/// Columns and their cells.
struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Widths that fit the screen: where it is too narrow, the last columns are cut, then the columns
    /// that say least are left out.
    fn fit(&mut self, screen: Option<usize>) -> Vec<usize> {
        const LEAVE_OUT: [&str; 5] = ["DIRECTORY", "UPDATED", "AGENT", "CACHE", "COST"];
        let Some(screen) = screen else { return self.widest() };
        for name in LEAVE_OUT {
            if self.least() <= screen {
                break;
            }
            self.leave_out(name);
        }
        let mut widths = self.widest();
        while total(&widths) > screen {
            let may_shrink = |at: &usize| widths[*at] > LEAST && self.is_elastic(*at);
            let elastic = (0..widths.len()).filter(may_shrink).max_by_key(|at| widths[*at]);
            let any =
                || (0..widths.len()).filter(|at| widths[*at] > 1).max_by_key(|at| widths[*at]);
            match elastic.or_else(any) {
                Some(at) => widths[at] -= 1,
                None => break,
            }
        }
        widths
    }

    fn is_elastic(&self, at: usize) -> bool {
        matches!(self.heads[at], "DIRECTORY" | "SUBJECT")
    }

    /// The width of each column that holds every cell.
    fn widest(&self) -> Vec<usize> {
        let cells = |at: usize| self.rows.iter().map(move |row| row[at].width()).max();
        let widest = |(at, head): (usize, &&str)| head.width().max(cells(at).unwrap_or(0));
        self.heads.iter().enumerate().map(widest).collect()
    }

    /// The least this table can be shown in without cutting what is not meant to be cut.
    fn least(&self) -> usize {
        let widths = self.widest();
        let least = |(at, width): (usize, &usize)| match self.is_elastic(at) {
            true => LEAST.min(*width),
            false => *width,
        };
        total(&widths.iter().enumerate().map(least).collect::<Vec<_>>())
    }

    fn leave_out(&mut self, name: &str) {
        if let Some(at) = self.heads.iter().position(|head| *head == name) {
            self.heads.remove(at);
            for row in &mut self.rows {
                row.remove(at);
            }
        }
    }
}

/// Sub-agents stand below their parents, where both are shown; nobody is shown twice or left out.
fn families(sessions: &[Session]) -> Vec<&Session> {
    let mut children: HashMap<&str, Vec<usize>> = HashMap::new();
    let known: HashSet<&str> = sessions.iter().filter_map(|one| one.id.as_deref()).collect();
    let parent = |one: &Session| one.parent.clone().filter(|id| known.contains(id.as_str()));
    let mut roots = Vec::new();
    for (at, one) in sessions.iter().enumerate() {
        match one.parent.as_deref().filter(|_| parent(one).is_some()) {
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

fn row(session: &Session, name: &str, columns: &Columns, now: Timestamp) -> Vec<String> {
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
    row.push(match &session.reason {
        Some(why) if !columns.wide => format!("({})", agentctl_core::text::one_line(why)),
        Some(why) => {
            format!("({}) {}", agentctl_core::text::one_line(why), words::subject(session))
        }
        None => words::subject(session),
    });
    row
}

/// Width of a line of these columns.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn line(cells: &[String], widths: &[usize], paint: impl Fn(usize, String) -> String) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cut(cell, *width);
        let pad = width.saturating_sub(cell.width());
        if at > 0 {
            line.push_str(GAP);
        }
        line.push_str(&paint(at, cell));
        line.extend(std::iter::repeat_n(' ', pad));
    }
    line
}

/// The text, with `…` in place of what does not fit.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // Characters join: only the width of the whole beginning counts.
    let fits = |end: &usize| text[..*end].width() < width;
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(fits).last().unwrap_or(0);
    format!("{}…", &text[..end])
}

/// Width of the terminal; `None` where output goes elsewhere and nothing need be cut.
fn screen() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let told = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = || rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into());
    told.or_else(size).filter(|columns: &usize| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice_and_are_never_halved() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 2), "a…");
    }

    #[test]
    fn a_narrow_screen_cuts_the_last_columns_and_then_leaves_some_out() {
        let table = || Table {
            heads: vec!["ID", "AGENT", "DIRECTORY", "SUBJECT"],
            rows: vec![vec!["x".repeat(8), "a".repeat(11), "/d".repeat(30), "s".repeat(100)]],
        };
        for screen in [200, 100, 80, 60, 40, 20, 10] {
            let mut table = table();
            let widths = table.fit(Some(screen));
            assert!(total(&widths) <= screen, "{screen}: {widths:?}");
        }
        let mut table = table();
        assert_eq!(table.fit(Some(80)), [8, 11, 28, 27]);
        assert_eq!(table.fit(Some(20)).len(), 2);
        assert_eq!(table.heads, ["ID", "SUBJECT"]);
    }
}
