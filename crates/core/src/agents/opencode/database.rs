//! Questions to `opencode.db`. Tables of accounts and credentials are never asked.
//!
//! The schema grows from release to release (1.2.1 has 18 columns of a session, 1.18.33 has 29): a
//! column that may be absent is asked for only where it is there.

use super::{
    adapter::Window,
    messages::Piece,
    record::{Said, Saved, Spent},
};
use crate::{
    agent::{Depth, Stub},
    agents::json,
    host::{Cell, Host},
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
    let sql = format!(
        "select distinct s.directory from session s join message n on n.id = (select m.id from \
         message m where m.session_id = s.id order by m.time_created desc, m.id desc limit 1) \
         where {UPDATED} >= ?1 and (json_extract(n.data, '$.time.completed') is null \
         or json_extract(n.data, '$.finish') in ('tool-calls', 'unknown'))"
    );
    let rows = rows(host, db, &sql, &[Cell::Number(since.as_millisecond())])?;
    Ok(rows.iter().filter_map(|row| Some(PathBuf::from(row.first()?.text()?))).collect())
}

fn stub(db: &Path, row: &[Cell]) -> Option<Stub> {
    let [id, title, updated] = row else { return None };
    Some(Stub {
        id: id.text()?.to_owned(),
        path: db.to_owned(),
        updated: Timestamp::from_millisecond(updated.number()?).ok()?,
        title: title.text().map(str::to_owned),
    })
}

/// What a session says of itself.
pub(super) fn saved(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Saved> {
    let asked = Asked { host, db: &stub.path, id: &stub.id };
    let newest = asked.message("desc")?;
    if newest.is_none() && asked.is_elsewhere() {
        let why = "its messages are in the table `session_message`, which is not understood";
        return Err(io::Error::other(why));
    }
    let spoken = "select p.data from message m join part p on p.message_id = m.id \
                  where m.session_id = ?1 and json_extract(m.data, '$.role') = 'assistant' \
                  and json_extract(p.data, '$.type') = 'text' \
                  and json_extract(p.data, '$.text') <> '' \
                  order by m.time_created desc, m.id desc, p.id desc limit 1";
    let info = asked.info()?;
    let known = info["tokens"].get("input").is_some_and(Value::is_number);
    let spent = match (depth, known) {
        (Depth::Glance, _) => None,
        (Depth::Whole, true) => Some(Spent::of(&info)),
        (Depth::Whole, false) => Some(asked.total()?),
    };
    Ok(Saved {
        info,
        first: asked.message("asc")?,
        newest,
        last: asked.values(spoken)?.pop(),
        spent,
    })
}

/// One session of one database.
struct Asked<'a> {
    host: &'a dyn Host,
    db: &'a Path,
    id: &'a str,
}

impl Asked<'_> {
    fn rows(&self, sql: &str) -> io::Result<Vec<Vec<Cell>>> {
        self.host.rows(self.db, sql, &[Cell::Text(self.id.to_owned())])
    }

    /// First column of each row, as JSON.
    fn values(&self, sql: &str) -> io::Result<Vec<Value>> {
        Ok(self.rows(sql)?.iter().filter_map(|row| Some(body(row.first()?))).collect())
    }

    /// The session's row, in the shape of the JSON files.
    fn info(&self) -> io::Result<Value> {
        let sql = "select name from pragma_table_info('session')";
        let rows = self.host.rows(self.db, sql, &[])?;
        let there: HashSet<&str> = rows.iter().filter_map(|row| row.first()?.text()).collect();
        let column = |name: &'static str| if there.contains(name) { name } else { "null" };
        let sql = format!(
            "select json_object('directory', directory, 'title', title, 'version', version, \
             'parentID', parent_id, 'model', {}, 'cost', {}, 'tokens', json_object('input', {}, \
             'output', {}, 'reasoning', {}, 'cache', json_object('read', {}, 'write', {})), \
             'time', json_object('created', time_created, 'updated', time_updated, \
             'archived', {})) from session where id = ?1",
            column("model"),
            column("cost"),
            column("tokens_input"),
            column("tokens_output"),
            column("tokens_reasoning"),
            column("tokens_cache_read"),
            column("tokens_cache_write"),
            column("time_archived"),
        );
        self.values(&sql)?.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The first or the newest message with its parts, and a query that shows what decides of it.
    fn message(&self, order: &str) -> io::Result<Option<Said>> {
        let pick = format!(
            "from message where session_id = {} order by time_created {order}, id {order} limit 1",
            quoted(self.id)
        );
        let decides =
            "json_extract(data, '$.role', '$.finish', '$.error.name', '$.time.completed')";
        let rows = self.host.rows(self.db, &format!("select id, data, {decides} {pick}"), &[])?;
        let Some([id, data, shows]) = rows.first().map(Vec::as_slice) else { return Ok(None) };
        let parts = "select data from part where message_id = ?1 order by id";
        let parts = self.host.rows(self.db, parts, std::slice::from_ref(id))?;
        Ok(Some(Said {
            body: body(data),
            parts: parts.iter().filter_map(|row| Some(body(row.first()?))).collect(),
            source: Source::Row {
                path: self.db.to_owned(),
                query: format!("select {decides} {pick}"),
                shows: shows.text().unwrap_or_default().to_owned(),
            },
        }))
    }

    /// Newer schemas may keep messages in another table, which 1.18.33 has and leaves empty.
    fn is_elsewhere(&self) -> bool {
        let sql = "select 1 from session_message where session_id = ?1 limit 1";
        self.rows(sql).is_ok_and(|rows| !rows.is_empty())
    }

    fn total(&self) -> io::Result<Spent> {
        let messages = self.values("select data from message where session_id = ?1")?;
        Ok(messages.iter().map(Spent::of).sum())
    }
}

/// Pieces of a session as they were said, oldest first.
pub(super) fn pieces(host: &dyn Host, stub: &Stub, window: Window) -> io::Result<Vec<Piece>> {
    let (among, limit) = match window {
        Window::Last(count) => (
            "m.id in (select id from message where session_id = ?1 \
             order by time_created desc, id desc limit ?2)",
            count as u64,
        ),
        Window::Since(at) => ("(m.time_updated > ?2 or p.time_updated > ?2)", at),
    };
    let sql = format!(
        "select m.id, m.data, m.time_updated, p.data, p.time_created, p.time_updated \
         from message m left join part p on p.message_id = m.id \
         where m.session_id = ?1 and {among} order by m.time_created, m.id, p.id"
    );
    let limit = Cell::Number(i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = host.rows(&stub.path, &sql, &[Cell::Text(stub.id.clone()), limit])?;
    let mut pieces = Vec::new();
    for of_message in rows.chunk_by(|one, other| one.first() == other.first()) {
        let [Some(said), Some(written)] = [1, 2].map(|at| of_message[0].get(at)) else { continue };
        let said = body(said);
        for row in of_message {
            if let [_, _, _, part @ Cell::Text(_), created, updated] = row.as_slice() {
                let (created, updated) = (millis(created), millis(updated));
                pieces.push(Piece::part(&said, body(part), (created, updated)));
            }
        }
        pieces.extend(Piece::error(&said, millis(written)));
    }
    Ok(pieces)
}

fn millis(cell: &Cell) -> u64 {
    cell.number().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

fn body(cell: &Cell) -> Value {
    cell.text().map(|text| json::object(text.as_bytes())).unwrap_or_default()
}

/// Text as a word of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
