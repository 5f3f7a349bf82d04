//! One question to an open database, within limits.

use agentctl_core::host::Cell;
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
    let is_late = move || Instant::now() >= until;
    db.progress_handler(STEPS, Some(is_late)).map_err(io::Error::other)?;
    let mut query = db.prepare_cached(sql).map_err(told)?;
    let width = query.column_count();
    let mut answer = query.query(params_from_iter(args.iter().map(value))).map_err(told)?;
    let (mut rows, mut room) = (Vec::new(), BYTES);
    while let Some(row) = answer.next().map_err(told)? {
        if rows.len() == ROWS {
            return Err(io::Error::other(format!("its answer has more than {ROWS} rows")));
        }
        rows.push(cells(row, width, &mut room)?);
    }
    Ok(rows)
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

fn cells(row: &Row<'_>, width: usize, room: &mut usize) -> io::Result<Vec<Cell>> {
    let one = |at| {
        let value = row.get_ref(at).map_err(told)?;
        let size = match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 0,
        };
        let too_long = || io::Error::other(format!("its answer is longer than {BYTES} bytes"));
        *room = room.checked_sub(size).ok_or_else(too_long)?;
        Ok(cell(value))
    };
    (0..width).map(one).collect()
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
fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        ValueRef::Real(number) => Cell::Fraction(number),
        ValueRef::Text(bytes) => Cell::Text(match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(), // several times quicker than looking for what to mend
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        }),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}
