//! Questions to `opencode.db`. Tables of accounts and credentials are never asked.
//!
//! The schema grows from release to release (1.2.1 has 18 columns of a session, 1.18.33 has 29): a
//! column that may be absent is asked for only where it is there.

mod plain;

use super::{
    adapter::Window,
    messages::Piece,
    record::{self, Said, Saved, Spent},
};
use crate::{
    agent::{Depth, Stub},
    agents::json::{self, Pick},
    host::{Cell, Host, Shown, Tables, each_row, together},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

/// When a session was last written to. Its own time stands still in the middle of a turn.
const UPDATED: &str = "max(s.time_updated, coalesce((select max(m.time_created) from message m \
                       where m.session_id = s.id), 0))";

/// How a part begins that is no text: of a name that stands twice SQLite takes the first. Nothing else of it is looked at.
const TOOL: &str = r#"{"type":"tool","#;

/// The file that is written to first: the database itself follows much later.
pub(super) fn log(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// What a query over all sessions gives. A database that has no table yet is being made.
fn rows(host: &dyn Host, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
    host.rows(db, sql, args).or_else(|why| {
        match host.rows(db, "select 1 from sqlite_master limit 1", &[]) {
            Ok(tables) if tables.is_empty() => Ok(tables),
            Ok(_) | Err(_) => Err(why),
        }
    })
}

/// Every session of a database.
pub(super) fn list(host: &dyn Host, db: &Path) -> io::Result<Vec<Stub>> {
    let sql = format!("select s.id, s.title, {UPDATED} from session s");
    let rows = rows(host, db, &sql, &[])?;
    Ok(rows.iter().filter_map(|row| stub(db, row)).collect())
}

/// One session.
pub(super) fn find(host: &dyn Host, db: &Path, id: &str) -> io::Result<Option<Stub>> {
    let sql = format!("select s.id, s.title, {UPDATED} from session s where s.id = ?1");
    let rows = rows(host, db, &sql, &[Cell::Text(id.to_owned())])?;
    Ok(rows.first().and_then(|row| stub(db, row)))
}

/// Sessions whose parent this one is.
pub(super) fn spawned(host: &dyn Host, db: &Path, id: &str) -> io::Result<Vec<(Stub, Source)>> {
    let sql = format!("select s.id, s.title, {UPDATED} from session s where s.parent_id = ?1");
    let rows = rows(host, db, &sql, &[Cell::Text(id.to_owned())])?;
    let with_proof = |stub: Stub| {
        let query = format!("select parent_id from session where id = {}", quoted(&stub.id));
        (stub, Source::Row { path: db.to_owned(), query, shows: id.to_owned() })
    };
    Ok(rows.iter().filter_map(|row| stub(db, row)).map(with_proof).collect())
}

/// Directories of sessions written to since then whose newest turn has no end.
pub(super) fn busy(host: &dyn Host, db: &Path, since: Timestamp) -> io::Result<Vec<PathBuf>> {
    let sql = format!("select s.id, s.directory from session s where {UPDATED} >= ?1");
    let rows = rows(host, db, &sql, &[Cell::Number(since.as_millisecond())])?;
    let mut busy = Vec::new();
    for row in &rows {
        let [Cell::Text(id), Cell::Text(directory)] = row.as_slice() else { continue };
        let directory = PathBuf::from(directory);
        if busy.contains(&directory) {
            continue;
        }
        let is_open = match together(host, db, |tables| Asked { tables, db, id }.newest()) {
            Ok(newest) => newest.is_some_and(|newest| record::is_open(newest.said)),
            Err(why) if why.kind() == io::ErrorKind::TimedOut => return Err(why),
            Err(_) => true, // what cannot be read may be open, and must not hide the others
        };
        if is_open {
            busy.push(directory);
        }
    }
    Ok(busy)
}

fn stub(db: &Path, row: &[Cell]) -> Option<Stub> {
    let [id, title, updated] = row else { return None };
    let updated = Timestamp::from_millisecond(updated.number()?).ok()?;
    let title = title.text().map(str::to_owned);
    Some(Stub { title, ..Stub::new(id.text()?, db, updated) })
}

/// What a session says of itself.
pub(super) fn saved(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Saved> {
    together(host, &stub.path, |tables| told(Asked { tables, db: &stub.path, id: &stub.id }, depth))
}

fn told(asked: Asked<'_>, depth: Depth) -> io::Result<Saved> {
    let newest = asked.newest()?;
    if newest.is_none() && asked.is_elsewhere()? {
        let why = "its messages are in the table `session_message`, which is not understood";
        return Err(io::Error::other(why));
    }
    let session = asked.session()?;
    let known = session["tokens"].get("input").is_some_and(Value::is_number);
    let spent = match (depth, known) {
        (Depth::Glance, _) => None,
        (Depth::Whole, true) => Some(Spent::of(&session)),
        (Depth::Whole, false) => Some(asked.total()?),
    };
    let first = asked.first()?;
    let (newest, last) = newest.map_or((None, None), |newest| (Some(newest.said), newest.last));
    let last = match last {
        Some(part) => Some(part),
        None => asked.spoken()?,
    };
    Ok(Saved { session, first, newest, last, spent })
}

/// The newest message, and the last thing that it says, where that is plain and the agent's.
struct Newest {
    said: Said,
    last: Option<Value>,
}

/// A field of a column that holds JSON; nothing where it holds anything else, which would be an error.
fn field(column: &str, path: &str) -> String {
    format!("case when json_valid({column}) then json_extract({column}, '$.{path}') end")
}

/// One session of one database.
struct Asked<'a> {
    tables: &'a dyn Tables,
    db: &'a Path,
    id: &'a str,
}

impl Asked<'_> {
    fn rows(&self, sql: &str) -> io::Result<Vec<Vec<Cell>>> {
        self.tables.rows(self.db, sql, &[Cell::Text(self.id.to_owned())])
    }

    /// First column of each row, as JSON.
    fn values(&self, sql: &str) -> io::Result<Vec<Value>> {
        Ok(self.rows(sql)?.iter().filter_map(|row| Some(body(row.first()?))).collect())
    }

    /// What tools were given and have answered is long: rows are looked at where they stand.
    fn each(&self, sql: &str, visit: &mut dyn FnMut(&[Shown<'_>])) -> io::Result<()> {
        each_row(self.tables, self.db, (sql, &[Cell::Text(self.id.to_owned())]), visit)
    }

    /// The session's row, in the shape of the JSON files. Which columns there are is asked only where some are absent.
    fn session(&self) -> io::Result<Value> {
        let found = match self.values(&session(&|name| name)) {
            Err(why) if why.kind() != io::ErrorKind::TimedOut => {
                let sql = "select name from pragma_table_info('session')";
                let rows = self.tables.rows(self.db, sql, &[])?;
                let there: HashSet<&str> =
                    rows.iter().filter_map(|row| row.first()?.text()).collect();
                self.values(&session(&|name| if there.contains(name) { name } else { "null" }))
            }
            found => found,
        };
        found?.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Parts of the first message.
    fn first(&self) -> io::Result<Vec<Value>> {
        let mut parts = Vec::new();
        let sql = "select id, data from part where message_id = (select id from message \
                   where session_id = ?1 order by time_created, id limit 1)";
        self.each(sql, &mut |row| {
            if let [id, data] = row {
                parts.push((key(id), part(data)));
            }
        })?;
        Ok(in_order(parts).collect())
    }

    /// The last thing the agent said.
    fn spoken(&self) -> io::Result<Option<Value>> {
        let sql = format!(
            "select p.data from message m join part p on p.message_id = m.id \
             where m.session_id = ?1 and {} = 'assistant' and substr(p.data, 1, 15) <> '{TOOL}' \
             and {} = 'text' and {} <> '' \
             order by m.time_created desc, m.id desc, p.id desc limit 1",
            field("m.data", "role"),
            field("p.data", "type"),
            field("p.data", "text"),
        );
        let mut last = None;
        self.each(&sql, &mut |row| last = row.first().map(part))?;
        Ok(last)
    }

    /// The newest message with its parts, and a query that shows what decides of it.
    fn newest(&self) -> io::Result<Option<Newest>> {
        let pick = |id: &str| {
            format!(
                "from message where session_id = {id} order by time_created desc, id desc limit 1"
            )
        };
        let decides =
            "json_extract(data, '$.role', '$.finish', '$.error.name', '$.time.completed')";
        let sql = format!(
            "select m.data, m.decides, p.id, p.data from (select id, data, {decides} as decides {}) m \
             left join part p on p.message_id = m.id",
            pick("?1")
        );
        let (mut newest, mut parts) = (None, Vec::new());
        self.each(&sql, &mut |row| {
            let [said, decides, id, data] = row else { return };
            let (_, _, is_answer) = newest.get_or_insert_with(|| {
                let is_answer = said.text().is_some_and(|said| plain::is_answer(said.as_bytes()));
                (message(said), decides.text().unwrap_or_default().into_owned(), is_answer)
            });
            if *data != Shown::Null {
                let speaks = || plain::speaks(data.text()?.as_bytes());
                parts.push((key(id), (part(data), is_answer.then(speaks).flatten())));
            }
        })?;
        let Some((body, shows, _)) = newest else { return Ok(None) };
        let parts: Vec<(Value, Option<bool>)> = in_order(parts).collect();
        let last = parts.iter().rev().find(|(_, speaks)| *speaks != Some(false));
        Ok(Some(Newest {
            last: last.filter(|(_, speaks)| speaks.is_some()).map(|(part, _)| part.clone()),
            said: Said {
                body,
                parts: parts.into_iter().map(|(part, _)| part).collect(),
                source: Source::Row {
                    path: self.db.to_owned(),
                    query: format!("select {decides} {}", pick(&quoted(self.id))),
                    shows,
                },
            },
        }))
    }

    /// Newer schemas may keep messages in another table, which 1.18.33 has and leaves empty.
    fn is_elsewhere(&self) -> io::Result<bool> {
        let there = "select 1 from sqlite_master where name = 'session_message'";
        if self.tables.rows(self.db, there, &[])?.is_empty() {
            return Ok(false); // 1.2.1
        }
        let sql = "select 1 from session_message where session_id = ?1 limit 1";
        Ok(!self.rows(sql)?.is_empty())
    }

    fn total(&self) -> io::Result<Spent> {
        let messages = self.values("select data from message where session_id = ?1")?;
        Ok(messages.iter().map(Spent::of).sum())
    }
}

/// Pieces of a session as they were said, oldest first.
pub(super) fn pieces(host: &dyn Host, stub: &Stub, window: Window) -> io::Result<Vec<Piece>> {
    let sql = "select m.id, m.data, m.time_updated, p.id, p.data, p.time_created, \
               p.time_updated \
               from message m left join part p on p.message_id = m.id where m.session_id = ?1 \
               and (m.time_updated >= ?2 or p.time_updated >= ?2 or m.id in (select id from message \
               where session_id = ?1 order by time_created desc, id desc limit ?3)) \
               order by m.time_created, m.id, p.id";
    let number = |number| Cell::Number(i64::try_from(number).unwrap_or(i64::MAX));
    let (since, last) = (number(window.since.settled()), number(window.last as u64));
    let rows = host.rows(&stub.path, sql, &[Cell::Text(stub.id.clone()), since, last])?;
    let mut pieces = Vec::new();
    for of_message in rows.chunk_by(|one, other| one.first() == other.first()) {
        let [Cell::Text(id), said, written, ..] = of_message[0].as_slice() else { continue };
        let said = body(said);
        for row in of_message {
            if let [_, _, _, Cell::Text(id), part @ Cell::Text(_), times @ ..] = row.as_slice()
                && let [created, written] = times
            {
                let times = (millis(created), millis(written));
                pieces.push(Piece::part(&said, id, body(part), times));
            }
        }
        pieces.extend(Piece::error(&said, id, millis(written)));
    }
    Ok(pieces)
}

fn millis(cell: &Cell) -> u64 {
    cell.number().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn body(cell: &Cell) -> Value {
    cell.text().map(|text| json::object(text.as_bytes())).unwrap_or_default()
}

/// A message, as far as [`record`] looks at it.
fn message(cell: &Shown<'_>) -> Value {
    cell.text().map(|text| json::some_of(text.as_bytes(), MESSAGE)).unwrap_or_default()
}

static MESSAGE: &[Pick] = &[
    Pick::Field("role"),
    Pick::Field("finish"),
    Pick::Field("providerID"),
    Pick::Field("modelID"),
    Pick::Within("model", &[Pick::Field("providerID"), Pick::Field("modelID")]),
    Pick::Within("time", &[Pick::Field("created"), Pick::Field("completed")]),
    Pick::Whole("error"),
];

/// A part of a message, as far as [`record`] looks at it: what tools were given and have answered is long.
fn part(cell: &Shown<'_>) -> Value {
    cell.text().map(|text| json::some_of(text.as_bytes(), PART)).unwrap_or_default()
}

static PART: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("synthetic"),
    Pick::Field("text"),
    Pick::Field("tool"),
    Pick::Within("state", &[Pick::Field("status"), Pick::Field("error"), Pick::Field("metadata")]),
];

/// What comes later has a greater id. SQLite would hold all that it puts in order.
fn in_order<T>(mut parts: Vec<(Vec<u8>, T)>) -> impl Iterator<Item = T> {
    parts.sort_by(|(one, _), (other, _)| one.cmp(other));
    parts.into_iter().map(|(_, part)| part)
}

fn key(id: &Shown<'_>) -> Vec<u8> {
    if let Shown::Text(id) = id { id.to_vec() } else { Vec::new() }
}

/// Asks for a session's row, where a column goes by this name.
fn session(column: &dyn Fn(&'static str) -> &'static str) -> String {
    format!(
        "select json_object('directory', directory, 'title', title, 'version', version, \
         'parentID', parent_id, 'permission', {}, 'model', {}, 'cost', {}, 'tokens', json_object('input', {}, \
         'output', {}, 'reasoning', {}, 'cache', json_object('read', {}, 'write', {})), \
         'time', json_object('created', time_created, 'updated', time_updated, \
         'archived', {})) from session where id = ?1",
        column("permission"),
        column("model"),
        column("cost"),
        column("tokens_input"),
        column("tokens_output"),
        column("tokens_reasoning"),
        column("tokens_cache_read"),
        column("tokens_cache_write"),
        column("time_archived"),
    )
}

/// Text as a word of SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
