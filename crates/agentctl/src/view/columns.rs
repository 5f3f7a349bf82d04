//! Rows in columns that fit the terminal.

use super::paint::Paint;
use agentctl_core::text::is_plain;
use std::{
    borrow::Cow,
    env,
    io::{self, IsTerminal, Write},
};
use unicode_width::UnicodeWidthStr;

const GAP: &str = "  ";
/// Columns that may be cut to fit are never cut below this.
const LEAST: usize = 12;

/// So much is printed at once.
const PIECE: usize = 32 << 10;

/// Cells, row by row, in one text: there may be a hundred thousand.
#[derive(Default)]
pub(super) struct Rows {
    text: String,
    cells: Vec<Cell>,
}

/// Where it stands, and how wide it is.
#[derive(Clone, Copy)]
struct Cell {
    from: usize,
    to: usize,
    width: usize,
}

impl Rows {
    /// Adds the next cell.
    pub(super) fn add(&mut self, cell: &str) {
        let from = self.text.len();
        self.text.push_str(cell);
        self.cells.push(Cell { from, to: self.text.len(), width: width(cell) });
    }

    /// Adds these behind them.
    pub(super) fn append(&mut self, more: &Self) {
        let behind = self.text.len();
        self.text.push_str(&more.text);
        let moved = |cell: &Cell| Cell { from: cell.from + behind, to: cell.to + behind, ..*cell };
        self.cells.extend(more.cells.iter().map(moved));
    }

    /// A cell, and how wide it is.
    fn cell(&self, cell: &Cell) -> (&str, usize) {
        (&self.text[cell.from..cell.to], cell.width)
    }
}

impl FromIterator<Vec<String>> for Rows {
    fn from_iter<I: IntoIterator<Item = Vec<String>>>(rows: I) -> Self {
        let mut all = Self::default();
        rows.into_iter().flatten().for_each(|cell| all.add(&cell));
        all
    }
}

/// Columns and their cells.
pub(super) struct Table {
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Rows,
    /// Columns that are cut first where the screen is too narrow.
    pub(super) elastic: &'static [&'static str],
    /// Columns that are then left out, the first one first.
    pub(super) spare: &'static [&'static str],
}

impl Table {
    /// Prints a line of heads and one for each row, all within the screen; `painted` is handed the number
    /// of the row, the head of the column and the cell.
    pub(super) fn print(
        mut self,
        screen: Option<usize>,
        painted: impl for<'c> Fn(usize, &str, Cow<'c, str>) -> Cow<'c, str>,
    ) -> io::Result<()> {
        let widths = self.fit(screen);
        let mut out = io::stdout().lock();
        let mut text = String::new();
        line(&mut text, self.heads.iter().map(|head| (*head, width(head))), &widths, |_, cell| {
            cell
        });
        text = Paint::stdout().faint(text.trim_end());
        text.push('\n');
        for (number, row) in self.rows.cells.chunks_exact(self.heads.len()).enumerate() {
            let begin = text.len();
            let cells = row.iter().map(|cell| self.rows.cell(cell));
            line(&mut text, cells, &widths, |at, cell| painted(number, self.heads[at], cell));
            text.truncate(begin + text[begin..].trim_end().len());
            text.push('\n');
            if text.len() > PIECE {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Widths that fit the screen: where it is too narrow, the last columns are cut, then the columns
    /// that say least are left out.
    fn fit(&mut self, screen: Option<usize>) -> Vec<usize> {
        let Some(screen) = screen else { return self.widest() };
        for name in self.spare {
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
        self.elastic.contains(&self.heads[at])
    }

    /// The width of each column that holds every cell.
    fn widest(&self) -> Vec<usize> {
        let mut widest: Vec<usize> = self.heads.iter().map(|head| width(head)).collect();
        for row in self.rows.cells.chunks_exact(widest.len()) {
            for (widest, cell) in widest.iter_mut().zip(row) {
                *widest = cell.width.max(*widest);
            }
        }
        widest
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
            let (columns, mut number) = (self.heads.len(), 0);
            self.rows.cells.retain(|_| {
                number += 1;
                (number - 1) % columns != at
            });
            self.heads.remove(at);
        }
    }
}

/// Width of a line of these columns.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// Adds cells to a line, each with its width.
fn line<'c>(
    line: &mut String,
    cells: impl Iterator<Item = (&'c str, usize)>,
    widths: &[usize],
    paint: impl Fn(usize, Cow<'c, str>) -> Cow<'c, str>,
) {
    for (at, ((cell, own), width)) in cells.zip(widths).enumerate() {
        let cell = if own <= *width { Cow::Borrowed(cell) } else { cut(cell, *width) };
        // Nothing stands behind the last one, and it may be long.
        let pad = match cell {
            _ if at + 1 == widths.len() => 0,
            Cow::Borrowed(_) => width - own,
            Cow::Owned(ref cut) => width.saturating_sub(self::width(cut)),
        };
        if at > 0 {
            line.push_str(GAP);
        }
        line.push_str(&paint(at, cell));
        line.extend(std::iter::repeat_n(' ', pad));
    }
}

/// How many columns a text takes. Most are plain, and then that is how long they are.
fn width(text: &str) -> usize {
    match is_plain(text) {
        true => text.len(),
        false => text.width(),
    }
}

/// The text, with `…` in place of what does not fit.
fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if self::width(text) <= width {
        return Cow::Borrowed(text);
    }
    // Characters join: only the width of the whole beginning counts.
    let fits = |end: &usize| text[..*end].width() < width;
    let ends = text.char_indices().map(|(at, _)| at);
    let end = ends.take_while(fits).last().unwrap_or(0);
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Width of the terminal; `None` where output goes elsewhere and nothing need be cut.
pub(super) fn screen() -> Option<usize> {
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
            rows: [vec!["x".repeat(8), "a".repeat(11), "/d".repeat(30), "s".repeat(100)]]
                .into_iter()
                .collect(),
            elastic: &["DIRECTORY", "SUBJECT"],
            spare: &["DIRECTORY", "UPDATED", "AGENT"],
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
