//! Rows in columns as wide as their widest cell.

use super::paint::Paint;
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

/// Prints a line of heads and one for each row; `painted` is handed the row, the column and the cell.
pub(super) fn columns<const N: usize>(
    heads: [&str; N],
    rows: &[[String; N]],
    painted: impl Fn(usize, usize, &str) -> String,
) -> io::Result<()> {
    let heads = heads.map(str::to_owned);
    let width = |at: usize| {
        rows.iter().chain([&heads]).map(|row| row[at].width()).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: &[String; N], painted: &dyn Fn(usize, &str) -> String| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            line.push_str(&painted(at, cell));
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
        }
        line.trim_end().to_owned()
    };
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", paint.faint(&line(&heads, &|_, cell| cell.to_owned())))?;
    for (number, row) in rows.iter().enumerate() {
        writeln!(out, "{}", line(row, &|at, cell| painted(number, at, cell)))?;
    }
    out.flush()
}
