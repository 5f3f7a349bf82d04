//! Sessions in columns that fit the terminal.

use super::{paint::Paint, words};
use agentctl_core::wire::{Session, Sessions};
use jiff::Timestamp;
use std::{
    env,
    io::{self, BufWriter, IsTerminal, Write},
};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

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
    let heads = heads(columns);
    let rows: Vec<Vec<String>> =
        sessions.iter().zip(&names).map(|(one, name)| row(one, name, columns, now)).collect();
    let widths = widths(&heads, &rows, screen().filter(|_| !columns.wide));
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let head: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    writeln!(out, "{}", paint.faint(line(&head, &widths, |_, cell| cell).trim_end()))?;
    for (row, session) in rows.iter().zip(&sessions) {
        let painted = |at: usize, cell: String| match heads[at] {
            "ID" => paint.name(&cell),
            "STATE" => paint.state(session.state, &cell),
            "UPDATED" | "STARTED" => paint.faint(&cell),
            _ => cell,
        };
        writeln!(out, "{}", line(row, &widths, painted).trim_end())?;
    }
    out.flush()
}

/// Sub-agents stand below their parents, where both are shown.
fn families(sessions: &[Session]) -> Vec<Session> {
    let has_parent = |child: &Session| {
        child.parent.is_some() && sessions.iter().any(|other| other.id == child.parent)
    };
    let mut ordered = Vec::with_capacity(sessions.len());
    let mut todo: Vec<&Session> = sessions.iter().rev().filter(|one| !has_parent(one)).collect();
    while let Some(next) = todo.pop() {
        ordered.push(next.clone());
        let children =
            sessions.iter().rev().filter(|one| one.parent.is_some() && one.parent == next.id);
        todo.extend(children);
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

/// Widths that hold every cell, with the last two columns cut where the screen is too narrow.
fn widths(heads: &[&str], rows: &[Vec<String>], screen: Option<usize>) -> Vec<usize> {
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        heads.iter().enumerate().map(|(at, head)| head.width().max(widest(at))).collect();
    let Some(screen) = screen else { return widths };
    let last = widths.len() - 1;
    let gaps = GAP.len() * last;
    let fixed: usize = widths[..last - 1].iter().sum::<usize>() + gaps;
    let left = screen.saturating_sub(fixed);
    let directory = widths[last - 1].min((left / 2).max(LEAST));
    widths[last - 1] = directory;
    widths[last] = widths[last].min(left.saturating_sub(directory).max(LEAST));
    widths
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
    let mut used = 1;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('…');
    short
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
    fn a_narrow_screen_cuts_the_last_columns_only() {
        let rows = vec![vec!["x".repeat(8), "/d".repeat(30), "s".repeat(100)]];
        let found = widths(&["ID", "DIRECTORY", "SUBJECT"], &rows, Some(60));
        assert_eq!(found, [8, 24, 24]);
        assert_eq!(found.iter().sum::<usize>() + 2 * GAP.len(), 60);
    }
}
