//! One question to an open database, within limits.

use agentctl_core::{
    host::{Cell, Shown},
    lines::Flow,
    text,
};
use rusqlite::{
    Connection, Row,
    ffi::ErrorCode,
    params_from_iter,
    types::{Value, ValueRef},
};
use std::{io, time::Instant};

/// Most rows of an answer: many times what any store is known to hold.
const ROWS: usize = 500_000;
/// Most bytes of an answer, all its cells together.
const BYTES: usize = 256 << 20;
/// Steps of SQLite's machine between two looks at the clock: some microseconds.
const STEPS: i32 = 10_000;

/// The rows of a query, if they come in time and are not too many.
pub(super) fn rows(
    db: &mut Connection,
    sql: &str,
    args: &[Cell],
    until: Instant,
) -> io::Result<Vec<Vec<Cell>>> {
    let (mut rows, mut room) = (Vec::new(), BYTES);
    let mut take = |row: &[Shown<'_>]| {
        if rows.len() == ROWS {
            return Err(io::Error::other(format!("its answer has more than {ROWS} rows")));
        }
        room = room.checked_sub(size(row)).ok_or_else(too_long)?;
        rows.push(row.iter().map(cell).collect());
        Ok(())
    };
    let mut taken = Ok(());
    show(db, (sql, args), until, &mut |row| {
        taken = take(row);
        if taken.is_ok() { Flow::Continue(()) } else { Flow::Break(()) }
    })?;
    taken.map(|()| rows)
}

/// Shows each row where it stands, until the visitor has enough. One that is longer than an answer may be is an error.
pub(super) fn show(
    db: &mut Connection,
    (sql, args): (&str, &[Cell]),
    until: Instant,
    visit: &mut dyn FnMut(&[Shown<'_>]) -> Flow,
) -> io::Result<()> {
    let is_late = move || Instant::now() >= until;
    db.progress_handler(STEPS, Some(is_late)).map_err(io::Error::other)?;
    let mut query = db.prepare_cached(sql).map_err(told)?;
    let width = query.column_count();
    let mut answer = query.query(params_from_iter(args.iter().map(value))).map_err(told)?;
    while let Some(row) = answer.next().map_err(told)? {
        let cells = (0..width).map(|at| shown(row, at)).collect::<io::Result<Vec<Shown<'_>>>>()?;
        if size(&cells) > BYTES {
            return Err(too_long());
        }
        if visit(&cells).is_break() {
            break;
        }
    }
    Ok(())
}

/// The answer took too long.
pub(super) fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "its answer does not come in time")
}

fn told(why: rusqlite::Error) -> io::Error {
    match why.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => late(),
        _ => io::Error::other(why),
    }
}

fn shown<'r>(row: &'r Row<'_>, at: usize) -> io::Result<Shown<'r>> {
    Ok(match row.get_ref(at).map_err(told)? {
        ValueRef::Null => Shown::Null,
        ValueRef::Integer(number) => Shown::Number(number),
        ValueRef::Real(number) => Shown::Fraction(number),
        ValueRef::Text(bytes) => Shown::Text(bytes),
        ValueRef::Blob(bytes) => Shown::Bytes(bytes),
    })
}

/// The bytes of a row.
fn size(row: &[Shown<'_>]) -> usize {
    let size = |cell: &Shown<'_>| match cell {
        Shown::Text(bytes) | Shown::Bytes(bytes) => bytes.len(),
        Shown::Null | Shown::Number(_) | Shown::Fraction(_) => 0,
    };
    row.iter().map(size).fold(0, usize::saturating_add)
}

fn too_long() -> io::Error {
    io::Error::other(format!("its answer is longer than {BYTES} bytes"))
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Number(number) => Value::Integer(*number),
        Cell::Fraction(number) => Value::Real(*number),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Blob(bytes.clone()),
    }
}

/// SQLite keeps any bytes as text: those that are none are mended, so that one does not hide the rest.
fn cell(shown: &Shown<'_>) -> Cell {
    match *shown {
        Shown::Null => Cell::Null,
        Shown::Number(number) => Cell::Number(number),
        Shown::Fraction(number) => Cell::Fraction(number),
        Shown::Text(bytes) => Cell::Text(text::mended(bytes).into_owned()),
        Shown::Bytes(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
