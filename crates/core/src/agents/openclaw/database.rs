//! Sessions since 2026.7: one SQLite database an agent, schema 23 in 2026.9.6.

use super::{
    adapter::AGENT,
    counted::Counted,
    entry::Entry,
    store,
    transcript::{GLANCED, Transcript},
};
use crate::{
    agent::{Depth, Message, Stub},
    agents::{
        files,
        json::{self, Pick},
        pi::messages,
    },
    control::plain,
    evidence::Record,
    host::{Cell, Host, Showing, Shown, Stat, Tables, each_row, together},
    lines::{self, Flow},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// How many entries of either end a glance reads.
const GLANCE: i64 = 16;
/// How often a transcript that is written anew while it is read is begun again.
const TRIES: usize = 5;
/// How many entries are asked for at once, and how many bytes of them are enough, packed and unpacked: each question has a time limit.
const PAGE: i64 = 1024;
const ENOUGH: i64 = 16 << 20;
/// How long an entry is, which is known before it is read.
const SIZE: &str = "coalesce(octet_length(event_json), octet_length(event_zstd))";
/// Longest entry that is unpacked; 2026.9.6 packs none longer.
const LIMIT: u64 = 4 << 20;

/// 2026.9.6 writes the run down when it lets it in, and its status once it has got ready: seconds later
/// on a slow machine.
const ADMITTED: &str = "activeWriterRunId";

/// A key has one current transcript, and those it had before a reset.
const IDS: &str = "
    select current_session_id, session_key from session_nodes
    union select session_id, session_key from session_windows";
/// The same for one id: SQLite would make all of them first, for each that is asked for.
const ID: &str = "
    select current_session_id, session_key from session_nodes where current_session_id = ?1
    union select session_id, session_key from session_windows where session_id = ?1";

/// The same by the keys of both tables, which have an index: as nearly all are found.
const KEYED: &str = "
    select w.session_id, w.session_key from session_windows w
    join session_nodes n on n.session_key = w.session_key and n.current_session_id = w.session_id
    where w.session_id = ?1";
/// Those that may be stored as running: most have ended, and need not be looked for in the other table.
const RUNNING: &str = "
    select current_session_id, session_key from session_nodes where coalesce(status, 'running') = 'running'
    union select session_id, session_key from session_windows where coalesce(status, 'running') = 'running'";

/// What is told of each of these ids.
const SESSIONS: &str = "
    select ids.id, ids.key, coalesce(w.status, n.status), w.started_at, w.ended_at,
        coalesce(w.created_at, n.created_at),
        max(coalesce(n.updated_at, 0), coalesce(w.updated_at, 0),
            coalesce(w.transcript_updated_at, 0)),
        n.label, w.model, n.archived_at, n.fork_source_session_id, n.entry_json, p.current_session_id
    from ids
    left join session_nodes n on n.session_key = ids.key and n.current_session_id = ids.id
    left join session_windows w on w.session_id = ids.id
    left join session_nodes p
        on p.session_key = coalesce(n.spawned_by, n.parent_session_key) and p.session_key != ids.key";

/// Every session of a database.
pub(super) fn all(host: &dyn Host, db: &Path) -> io::Result<Vec<Entry>> {
    sessions(host, db, (IDS, ""), &[])
}

fn sessions(
    tables: &dyn Tables,
    db: &Path,
    (ids, which): (&str, &str),
    args: &[Cell],
) -> io::Result<Vec<Entry>> {
    let sql = format!("with ids(id, key) as ({ids}) {SESSIONS} {which}");
    let rows = match tables.rows(db, &sql, args) {
        Err(_) if is_unborn(tables, db) => Vec::new(),
        rows => rows?,
    };
    Ok(rows.iter().filter_map(|row| entry(row)).collect())
}

/// 2026.9.6 makes its tables one by one, and numbers their schema when all are there.
fn is_unborn(tables: &dyn Tables, db: &Path) -> bool {
    let version = tables.rows(db, "pragma user_version", &[]);
    version.is_ok_and(|rows| rows.iter().flatten().all(|cell| cell.number() == Some(0)))
}

/// Those that are stored as running. Where nobody has the database open there are none, nearly always, and whole tables
/// need not be read for that until it changes.
pub(super) fn running(host: &dyn Host, db: &Path) -> io::Result<Vec<Entry>> {
    let look = || {
        let which = "where coalesce(w.status, n.status, 'running') = 'running'";
        let found = sessions(host, db, (RUNNING, which), &[])?;
        Ok(found.into_iter().filter(Entry::runs).collect::<Vec<_>>())
    };
    match at_rest(host, db) {
        Some(stat) => files::found(host, (AGENT, db, stat), look),
        None => look(),
    }
}

/// The file, if it alone is the content of the database: SQLite keeps a log beside one that is open.
fn at_rest(host: &dyn Host, db: &Path) -> Option<Stat> {
    let absent =
        |log: &PathBuf| host.stat(log).is_err_and(|why| why.kind() == io::ErrorKind::NotFound);
    files::logs(host, db).iter().all(absent).then(|| host.stat(db).ok())?
}

/// One session.
pub(super) fn one(tables: &dyn Tables, db: &Path, id: &str) -> io::Result<Option<Entry>> {
    let id = [Cell::Text(id.to_owned())];
    let mut found = sessions(tables, db, (KEYED, ""), &id)?;
    if found.is_empty() {
        found = sessions(tables, db, (ID, ""), &id)?;
    }
    Ok(found.into_iter().next())
}

/// The key whose newest transcript this is.
pub(super) fn key(host: &dyn Host, db: &Path, id: &str) -> Option<String> {
    let sql = "select session_key from session_nodes where current_session_id = ?1";
    first(host, db, sql, id)
}

/// The newest transcript of a key that ends so.
pub(super) fn of_key(host: &dyn Host, db: &Path, end: &str) -> Option<String> {
    let sql = "select current_session_id from session_nodes
        where substr(session_key, -length(?1)) = ?1";
    first(host, db, sql, end)
}

fn first(host: &dyn Host, db: &Path, sql: &str, arg: &str) -> Option<String> {
    let rows = host.rows(db, sql, &[Cell::Text(arg.to_owned())]).ok()?;
    rows.first()?.first()?.text().map(str::to_owned)
}

fn entry(row: &[Cell]) -> Option<Entry> {
    let text = |at: usize| string(row, at).filter(|text| !text.is_empty());
    let time = |at: usize| Timestamp::from_millisecond(row.get(at)?.number()?).ok();
    let more = text(11).map(|entry| json::some_of(entry.as_bytes(), MORE)).unwrap_or_default();
    Some(Entry {
        id: text(0)?,
        key: text(1),
        label: text(7),
        status: text(2),
        admitted: json::text(&more, ADMITTED).is_some(),
        error: json::string(&more, "lastRunError"),
        began: time(3),
        ended: time(4),
        created: time(5),
        updated: time(6),
        cwd: json::path(&more, "spawnedCwd"),
        model: text(8),
        version: None,
        parent: text(12),
        forked_from: text(10),
        archived: time(9).is_some(),
    })
}

fn string(row: &[Cell], at: usize) -> Option<String> {
    row.get(at)?.text().map(str::to_owned)
}

/// The row that shows a session's status.
pub(super) fn shown(db: &Path, entry: &Entry) -> Source {
    let id = entry.id.replace('\'', "''");
    if entry.status.is_none() && entry.admitted {
        let query =
            format!("select entry_json from session_nodes where current_session_id = '{id}'");
        return Source::Row { path: db.to_owned(), query, shows: ADMITTED.to_owned() };
    }
    let query = format!(
        "select coalesce((select status from session_windows where session_id = '{id}'), \
         (select status from session_nodes where current_session_id = '{id}'))"
    );
    let shows = entry.status.clone().unwrap_or_default();
    Source::Row { path: db.to_owned(), query, shows }
}

/// What one session says of itself.
pub(super) fn read(host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
    together(host, &stub.path, |tables| told(tables, stub, depth))
}

fn told(tables: &dyn Tables, stub: &Stub, depth: Depth) -> io::Result<Record> {
    let gone = || io::Error::new(io::ErrorKind::NotFound, "its row is gone");
    let mut entry = one(tables, &stub.path, &stub.id)?.ok_or_else(gone)?;
    let written = tables.rows(&stub.path, "select app_version from schema_meta limit 1", &[]);
    let elsewhere = written.is_err();
    entry.version = written.unwrap_or_default().first().and_then(|row| string(row, 0));
    let shown = shown(&stub.path, &entry);
    let said = match depth {
        Depth::Whole => whole(tables, stub, entry.is_told().then_some(&shown))?,
        Depth::Glance => {
            let mut said = Transcript::default();
            let end = |which| entries(tables, stub, (which, &[Cell::Number(GLANCE)]), &glanced);
            let (oldest, newest) =
                (end("order by seq limit ?2")?, end("order by seq desc limit ?2")?);
            for (_, entry) in oldest.iter().chain(newest.iter().rev()) {
                said.newer(entry, shown.clone());
            }
            said
        }
    };
    Ok(Record { elsewhere, ..entry.record(shown, said)? })
}

/// All that a transcript says. Where it is written anew while it is read (a compaction), entries of before and after it
/// are no transcript, and all are read again.
fn whole(tables: &dyn Tables, stub: &Stub, turn: Option<&Source>) -> io::Result<Transcript> {
    for _ in 0..TRIES {
        let mut counted = Counted::new(turn);
        if each(tables, stub, &mut |entry| counted.newer(entry))? == Showing::Sound {
            return Ok(counted.told());
        }
    }
    Err(io::Error::other("its transcript is written anew faster than it can be read"))
}

/// What tells one writing of a transcript from another.
#[derive(PartialEq, Eq)]
struct Extent {
    count: i64,
    last: i64,
    bytes: i64,
}

/// As far as this entry.
fn extent(tables: &dyn Tables, stub: &Stub, last: i64) -> io::Result<Extent> {
    let sql = format!(
        "select count(*), max(seq), sum({SIZE}) from transcript_events where session_id = ?1 and seq <= ?2"
    );
    let rows = tables.rows(&stub.path, &sql, &[Cell::Text(stub.id.clone()), Cell::Number(last)])?;
    let number = |at: usize| rows.first().and_then(|row| row.get(at)?.number());
    Ok(Extent {
        count: number(0).unwrap_or_default(),
        last: number(1).unwrap_or(-1),
        bytes: number(2).unwrap_or_default(),
    })
}

/// Every entry, the oldest first. What one question gives is of one moment; a longer transcript takes several, and must
/// then be what was read of it.
fn each(tables: &dyn Tables, stub: &Stub, visit: &mut dyn FnMut(&[u8])) -> io::Result<Showing> {
    let mut seen = Extent { count: 0, last: -1, bytes: 0 };
    loop {
        let before = (seen.count, seen.last);
        let (shown, more) = page(tables, stub, &mut seen, visit)?;
        if shown == Showing::Torn {
            return Ok(Showing::Torn);
        }
        if more && seen.last > before.1 {
            continue;
        }
        let is_one = before.0 == 0 || extent(tables, stub, seen.last)? == seen;
        return Ok(if is_one { Showing::Sound } else { Showing::Torn });
    }
}

/// The next few entries, and whether there may be more.
fn page(
    tables: &dyn Tables,
    stub: &Stub,
    seen: &mut Extent,
    visit: &mut dyn FnMut(&[u8]),
) -> io::Result<(Showing, bool)> {
    let sql = format!(
        "select seq, event_json, event_zstd, {SIZE} from transcript_events \
         where session_id = ?1 and seq > ?2 order by seq limit ?3"
    );
    let args = [Cell::Text(stub.id.clone()), Cell::Number(seen.last), Cell::Number(PAGE)];
    let (all, mut left, mut is_numbered) = (seen.count + PAGE, ENOUGH, true);
    let shown = tables.show(&stub.path, (&sql, &args), &mut |row| {
        let [Shown::Number(seq), written, packed, size] = row else {
            is_numbered = false;
            return Flow::Break(());
        };
        let size = if let Shown::Number(size) = size { *size } else { 0 };
        let bytes = seen.bytes.saturating_add(size);
        *seen = Extent { count: seen.count + 1, last: *seq, bytes };
        left = left.saturating_sub(size);
        if let Some(entry) = entry_of(written, packed) {
            if let Cow::Owned(unpacked) = &entry {
                left = left.saturating_sub(i64::try_from(unpacked.len()).unwrap_or(i64::MAX));
            }
            visit(&entry);
        }
        lines::until(left <= 0)
    })?;
    match is_numbered || shown == Showing::Torn {
        true => Ok((shown, seen.count == all || left <= 0)),
        false => Err(io::Error::other("its entries are not numbered")),
    }
}

/// An entry as far as a glance looks at it.
fn glanced(entry: &[u8]) -> Value {
    let light = (entry.len() <= lines::LIMIT).then(|| json::light(entry, GLANCED));
    light.filter(Value::is_object).unwrap_or_else(|| json::some_of(entry, GLANCED))
}

/// What is looked at of what a row holds besides its columns.
static MORE: &[Pick] =
    &[Pick::Field(ADMITTED), Pick::Field("lastRunError"), Pick::Field("spawnedCwd")];

/// The last messages, and the number of the entry that will come next.
pub(super) fn tail(host: &dyn Host, stub: &Stub, count: usize) -> io::Result<(Vec<Message>, u64)> {
    let mut limit = i64::try_from(count).unwrap_or(i64::MAX);
    loop {
        let mut events = events(host, stub, "order by seq desc limit ?2", &[Cell::Number(limit)])?;
        let all = i64::try_from(events.len()).unwrap_or(i64::MAX) < limit;
        let next = events.first().map_or(0, |(seq, _)| seq + 1);
        events.reverse();
        let mut said: Vec<Message> = events.iter().flat_map(|(_, one)| messages::of(one)).collect();
        if all || said.len() >= count {
            said.drain(..said.len().saturating_sub(count));
            return Ok((said, next));
        }
        limit = limit.saturating_mul(4); // many entries say nothing
    }
}

/// Messages from that entry on.
pub(super) fn since(host: &dyn Host, stub: &Stub, at: u64) -> io::Result<(Vec<Message>, u64)> {
    let from = Cell::Number(i64::try_from(at).unwrap_or(i64::MAX));
    let events = events(host, stub, "and seq >= ?2 order by seq", &[from])?;
    let next = events.last().map_or(at, |(seq, _)| seq + 1);
    Ok((events.iter().flat_map(|(_, one)| messages::of(one)).collect(), next))
}

/// What shows a message that came since then. While a run goes on it stands among the inputs that are
/// still to be read (2026.9.6), and in the transcript once the model is asked.
pub(super) fn received(
    host: &dyn Host,
    stub: &Stub,
    (since, text): (u64, &str),
) -> io::Result<Option<Source>> {
    let args =
        [Cell::Text(stub.id.clone()), Cell::Number(i64::try_from(since).unwrap_or(i64::MAX))];
    let sql = "select message_json from session_pending_inputs
        where session_id = ?1 and accepted_at >= ?2 and state = 'queued'";
    // Releases without that table keep no such inputs.
    let inputs = host.rows(&stub.path, sql, &args).unwrap_or_default().into_iter();
    let input = |row: Vec<Cell>| {
        let message = json::object(row.first()?.text()?.as_bytes());
        Some(json!({ "type": "message", "message": message }))
    };
    let written = events(host, stub, "and created_at >= ?2 order by seq", &args[1..])?;
    let mut all = inputs.filter_map(input).chain(written.into_iter().map(|(_, event)| event));
    let found = all.find(|event| store::is_prompt(event, text));
    let once = found.and_then(|event| json::string(&event["message"], "idempotencyKey"));
    Ok(once.map(|once| Source::Row {
        path: stub.path.clone(),
        query: wherever(&stub.id, &once),
        shows: plain(text).to_owned(),
    }))
}

/// A query for a message, read by the model or not yet.
fn wherever(id: &str, once: &str) -> String {
    let is_it = |name: &str| {
        let quoted = |text: &str| text.replace('\'', "''");
        format!("session_id = '{}' and {name} = '{}'", quoted(id), quoted(once))
    };
    format!(
        "select message_json from session_pending_inputs where {} union all \
         select event_json from transcript_events join transcript_event_identities \
         using (session_id, seq) where {}",
        is_it("idempotency_key"),
        is_it("message_idempotency_key")
    )
}

fn events(
    host: &dyn Host,
    stub: &Stub,
    which: &str,
    more: &[Cell],
) -> io::Result<Vec<(u64, Value)>> {
    together(host, &stub.path, |tables| entries(tables, stub, (which, more), &json::object))
}

/// Entries by their numbers, as `read` tells them.
fn entries(
    tables: &dyn Tables,
    stub: &Stub,
    (which, more): (&str, &[Cell]),
    read: &dyn Fn(&[u8]) -> Value,
) -> io::Result<Vec<(u64, Value)>> {
    let mut args = vec![Cell::Text(stub.id.clone())];
    args.extend_from_slice(more);
    let sql = format!(
        "select seq, event_json, event_zstd from transcript_events where session_id = ?1 {which}"
    );
    let entry = |row: &[Shown<'_>]| {
        let [Shown::Number(seq), written, packed] = row else { return None };
        Some((u64::try_from(*seq).ok()?, read(&entry_of(written, packed)?)))
    };
    let mut all = Vec::new();
    each_row(tables, &stub.path, (&sql, &args), &mut |row| all.extend(entry(row)))?;
    Ok(all)
}

/// An entry, which stands in one of two columns.
fn entry_of<'r>(written: &Shown<'r>, packed: &Shown<'r>) -> Option<Cow<'r, [u8]>> {
    match (written, packed) {
        (Shown::Text(entry), _) => Some(Cow::Borrowed(*entry)),
        (_, Shown::Bytes(packed)) => unpack(packed).map(Cow::Owned),
        _ => None,
    }
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let stream = ruzstd::decoding::StreamingDecoder::new(packed).ok()?;
    let mut event = Vec::new();
    stream.take(LIMIT).read_to_end(&mut event).ok()?;
    Some(event)
}

#[cfg(test)]
mod tests;
