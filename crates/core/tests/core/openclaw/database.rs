//! Sessions since 2026.7: rows of a database, and the entries of their transcripts.

use super::{
    DATABASE, ID, KEY, SESSIONS, STORE, calls, find, gateway, message, openclaw, process, read,
    store, with_sessions,
};
use crate::world::{Machine, at};
use agentctl_core::{
    agent::{About, Claim, Depth, Message, Stub, Trail, Trouble},
    control::{Request, Target},
    evidence::{Ending, Pending, Record, Tokens, Turn},
    host::Cell,
    proof::Source,
};
use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

const OTHER: &str = "22222222-2222-4222-8222-222222222222";

/// What a database has: a session, or none, and its entries, which are numbered from 0. It knows the queries that are made
/// of it by their words, and no SQL.
#[derive(Clone, Default)]
struct Database {
    session: Vec<Vec<Cell>>,
    entries: Vec<Cell>,
    /// What is still to be read, since second 50.
    inputs: Vec<Value>,
    /// No table can be asked, and this is the number of its schema.
    broken: Option<i64>,
    /// Nothing says by which version it was written.
    unsigned: bool,
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn time(second: i64) -> Cell {
    Cell::Number(at(second).as_millisecond())
}

/// A row of this session, with these cells changed.
fn session(changes: &[(usize, Cell)]) -> Vec<Vec<Cell>> {
    let mut row = vec![Cell::Null; 13];
    row[..7].clone_from_slice(&[
        text(ID),
        text(KEY),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        time(2),
        time(20),
    ]);
    for (place, cell) in changes {
        row[*place] = cell.clone();
    }
    vec![row]
}

impl Database {
    fn of(session: Vec<Vec<Cell>>, entries: &[Value]) -> Self {
        let entries = entries.iter().map(|entry| text(&entry.to_string())).collect();
        Self { session, entries, ..Self::default() }
    }

    /// What it answers to the queries that are made of it.
    fn rows(&self, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        if sql.starts_with("pragma user_version") {
            return Ok(vec![vec![Cell::Number(self.broken.unwrap_or(23))]]);
        }
        if self.broken.is_some() {
            return Err(io::Error::other("it is broken"));
        }
        if sql.contains("schema_meta") {
            return match self.unsigned {
                true => Err(io::Error::other("no such table")),
                false => Ok(vec![vec![text("2026.9.6")]]),
            };
        }
        let own = self.session.iter().filter(|row| args.first().is_none_or(|id| row[0] == *id));
        if sql.starts_with("with ids") {
            return Ok(own.cloned().collect());
        }
        if sql.starts_with("select session_key") {
            return Ok(own.map(|row| vec![row[1].clone()]).collect());
        }
        if sql.starts_with("select current_session_id") {
            let end = args[0].text().unwrap_or_default();
            let ends = |row: &&Vec<Cell>| row[1].text().is_some_and(|key| key.ends_with(end));
            let found = self.session.iter().find(ends);
            return Ok(found.map(|row| vec![row[0].clone()]).into_iter().collect());
        }
        if sql.starts_with("select message_json") {
            let before = args[1].number() <= Some(at(50).as_millisecond());
            let inputs = self.inputs.iter().filter(|_| before);
            return Ok(inputs.map(|input| vec![text(&input.to_string())]).collect());
        }
        Ok(self.events(sql, args))
    }

    /// Entry `n` came at second `n`.
    fn events(&self, sql: &str, args: &[Cell]) -> Vec<Vec<Cell>> {
        let number = |place: usize| args[place].number().expect("a number");
        let numbered = self.entries.iter().zip(0i64..);
        if sql.contains("count(*)") {
            let seen = numbered.filter(|(_, seq)| *seq <= number(1));
            let last = seen.last().map(|(_, seq)| seq);
            let cell = |number: Option<i64>| number.map_or(Cell::Null, Cell::Number);
            let count = last.map_or(0, |last| last + 1);
            return vec![vec![Cell::Number(count), cell(last), Cell::Number(count)]];
        }
        let mut rows: Vec<Vec<Cell>> = numbered
            .map(|(entry, seq)| match entry {
                Cell::Text(_) => vec![Cell::Number(seq), entry.clone(), Cell::Null],
                _ => vec![Cell::Number(seq), Cell::Null, entry.clone()],
            })
            .collect();
        let seq = |row: &Vec<Cell>| row[0].number().expect("a number");
        if sql.contains("seq > ?2") {
            rows.retain(|row| seq(row) > number(1));
            rows.truncate(number(2) as usize);
            rows.iter_mut().for_each(|row| row.push(Cell::Number(1)));
        } else if sql.contains("seq >= ?2") {
            rows.retain(|row| seq(row) >= number(1));
        } else if sql.contains("created_at >= ?2") {
            rows.retain(|row| at(seq(row)).as_millisecond() >= number(1));
        } else {
            if sql.contains("desc") {
                rows.reverse();
            }
            rows.truncate(number(1) as usize);
        }
        rows
    }

    fn on(self, mut machine: Machine) -> Machine {
        machine.file(DATABASE, b"SQLite");
        machine.rows = Some(Box::new(move |_, sql, args| self.rows(sql, args)));
        machine
    }
}

/// A message that was billed.
fn billed(role: &str, text: &str) -> Value {
    let mut line = message(role, text);
    line["message"]["usage"] = json!({"input": 10, "output": 20, "cost": {"total": 0.5}});
    line
}

fn row(query: String, shows: &str) -> Source {
    Source::Row { path: DATABASE.into(), query, shows: shows.to_owned() }
}

fn status(id: &str, shows: &str) -> Source {
    let query = format!(
        "select coalesce((select status from session_windows where session_id = '{id}'), \
         (select status from session_nodes where current_session_id = '{id}'))"
    );
    row(query, shows)
}

fn admitted() -> Cell {
    text(r#"{"activeWriterRunId": "r", "lastRunError": "no quota", "spawnedCwd": "/spawned"}"#)
}

#[test]
fn rows_and_entries_tell_a_session() {
    let cells = [
        (2, text("failed")),
        (3, time(10)),
        (4, time(15)),
        (7, text("mine")),
        (8, text("m")),
        (9, time(18)),
        (10, text("source")),
        (11, admitted()),
        (12, text("parent")),
    ];
    let begins = json!({"type": "session", "cwd": "/work", "timestamp": at(1).to_string()});
    let said = [
        begins,
        billed("user", "do it"),
        billed("toolResult", "listed"),
        billed("assistant", "yes"),
    ];
    let database = Database::of(session(&cells), &said);
    let machine = database.clone().on(store());
    let title = Some(format!("mine ({KEY})"));
    let stub = Stub { title: title.clone(), ..Stub::new(ID, DATABASE, at(20)) };
    assert_eq!(find(&machine), stub);
    let listing = openclaw().list(&machine, Path::new(STORE)).expect("it can be looked at");
    assert_eq!((listing.stubs, listing.problems), (vec![stub], Vec::new()));
    let how = Ending::Failed("no quota".to_owned());
    let record = Record {
        cwd: Some("/spawned".into()),
        model: Some("m".to_owned()),
        title,
        prompt: Some("do it".to_owned()),
        last: Some("yes".to_owned()),
        version: Some("2026.9.6".to_owned()),
        started: Some(at(2)),
        updated: Some(at(20)),
        parent: Some("parent".to_owned()),
        forked_from: Some("source".to_owned()),
        archived: true,
        ..Record::of(Turn::Ended { at: at(15), how, line: status(ID, "failed") })
    };
    assert_eq!(read(&machine, Depth::Glance), record);
    let tokens = Tokens { input: 30, output: 60, ..Tokens::default() };
    let whole = Record { tokens: Some(tokens), cost_usd: Some(1.5), ..record.clone() };
    assert_eq!(read(&machine, Depth::Whole), whole);
    let unsigned = Database { unsigned: true, ..database }.on(store());
    let untold = Record { version: None, elsewhere: true, ..record };
    assert_eq!(read(&unsigned, Depth::Glance), untold);
}

/// Of what a tool answered nothing but its bill is read, and of nothing else.
#[test]
fn whatever_was_billed_is_counted() {
    let mut summary = billed("toolResult", "listed");
    summary["type"] = "compaction".into();
    summary["usage"] = json!({"output": 1});
    let said = [billed("assistant", "yes"), summary, billed("toolResult", "listed")];
    let record = read(&Database::of(session(&[]), &said).on(store()), Depth::Whole);
    assert_eq!(record.tokens, Some(Tokens { input: 20, output: 41, ..Tokens::default() }));
    assert_eq!(record.last.as_deref(), Some("yes"));
}

/// 2026.9.6 writes the run down when it lets it in, and its status once it has got ready.
#[test]
fn a_first_run_that_was_let_in_runs() {
    let of = |cells: &[(usize, Cell)]| {
        let machine = Database::of(session(cells), &[]).on(store());
        let claims = openclaw().claims(&machine, Path::new(STORE)).expect("it can be looked at");
        assert_eq!(claims.problems, []);
        (read(&machine, Depth::Glance).turn, claims.claims)
    };
    let claim = |source: Source| {
        let trail = Trail::Server { silent: "gateway unreachable" };
        vec![Claim { session: ID.to_owned(), trail, source, about: About::default() }]
    };
    let open = |line: Source| Turn::Open { alive: at(20), pending: Pending::Nothing, line };
    let query = format!("select entry_json from session_nodes where current_session_id = '{ID}'");
    let let_in = row(query, "activeWriterRunId");
    assert_eq!(of(&[(11, admitted())]), (open(let_in.clone()), claim(let_in)));
    let runs = status(ID, "running");
    assert_eq!(of(&[(2, text("running"))]), (open(runs.clone()), claim(runs.clone())));
    assert_eq!(of(&[(2, text("running")), (11, admitted())]), (open(runs.clone()), claim(runs)));
    assert_eq!(of(&[]), (Turn::None, Vec::new()));
    assert_eq!(of(&[(2, text(""))]), (Turn::None, Vec::new()));
    let (turn, claims) = of(&[(2, text("done")), (11, admitted())]);
    let done = Turn::Ended { at: at(20), how: Ending::Completed, line: status(ID, "done") };
    assert_eq!((turn, claims), (done, Vec::new()));
}

/// SQLite keeps a log beside a database that is open: what was found in the file alone may be old.
#[test]
fn what_was_not_found_in_a_database_is_looked_for_again_once_it_is_open() {
    let claimed = |change: &dyn Fn(&mut Machine)| {
        let mut machine = Database::of(session(&[(2, text("running"))]), &[]).on(store());
        machine.knows_none = true;
        change(&mut machine);
        openclaw().claims(&machine, Path::new(STORE)).expect("it can be looked at").claims.len()
    };
    let log = format!("{DATABASE}-wal");
    assert_eq!(claimed(&|_| {}), 0);
    assert_eq!(claimed(&|machine| machine.file(&log, b"")), 1);
    let logs = [log.clone(), format!("{DATABASE}-journal")].map(PathBuf::from);
    assert_eq!(claimed(&|machine| machine.closed = logs.to_vec()), 1);
}

/// 2026.9.6 makes its tables one by one, and numbers their schema when all are there.
#[test]
fn a_database_that_is_being_made_is_empty_and_one_that_is_broken_is_a_problem() {
    let listed = |broken: i64| {
        let database = Database { broken: Some(broken), ..Database::default() };
        let left = json!({KEY: {"sessionId": ID, "label": "mine"}});
        let machine = database.on(with_sessions(&left, &[]));
        let listing = openclaw().list(&machine, Path::new(STORE)).expect("it can be looked at");
        let claims = openclaw().claims(&machine, Path::new(STORE)).expect("it can be looked at");
        let paths = listing.stubs.into_iter().map(|stub| stub.path).collect::<Vec<_>>();
        assert_eq!(claims.problems, listing.problems);
        let found = |id: &str| {
            let found = openclaw().find(&machine, Path::new(STORE), id, None);
            found.into_iter().map(|stub| (stub.path, stub.title)).collect::<Vec<_>>()
        };
        (paths, listing.problems, [ID, OTHER, "2222"].map(found))
    };
    let index = PathBuf::from(format!("{SESSIONS}/sessions.json"));
    let title = Some(format!("mine ({KEY})"));
    let born = (vec![index.clone()], Vec::new(), [vec![(index, title.clone())], vec![], vec![]]);
    assert_eq!(listed(0), born);
    let path = PathBuf::from(DATABASE);
    let trouble = Trouble { path: path.clone(), why: "it is broken".to_owned() };
    // It may hold any session, and more of those that its files name.
    let found = [vec![(path.clone(), title)], vec![(path.clone(), None)], vec![]];
    assert_eq!(listed(23), (vec![path], vec![trouble], found));
}

#[test]
fn what_was_moved_into_the_database_is_told_by_it_alone() {
    let left = json!({KEY: {"sessionId": ID, "status": "running"},
        "agent:main:left": {"sessionId": OTHER, "status": "running"}});
    let database = Database::of(session(&[(2, text("done"))]), &[]);
    let machine = database.on(with_sessions(&left, &[]));
    let listing = openclaw().list(&machine, Path::new(STORE)).expect("it can be looked at");
    let paths: Vec<_> = listing.stubs.iter().map(|stub| (&*stub.id, stub.path.clone())).collect();
    let index = PathBuf::from(format!("{SESSIONS}/sessions.json"));
    assert_eq!(paths, [(ID, DATABASE.into()), (OTHER, index)]);
    let claims = openclaw().claims(&machine, Path::new(STORE)).expect("it can be looked at");
    let claimed: Vec<_> = claims.claims.iter().map(|claim| &*claim.session).collect();
    assert_eq!(claimed, [OTHER]);
    let mut closed = Database::default().on(store());
    closed.closed = vec![DATABASE.into()];
    closed.rows = None;
    let problems = openclaw().list(&closed, Path::new(STORE)).expect("the rest is read").problems;
    assert_eq!(problems.len(), 1, "it is there, and cannot be looked at");
}

fn words(found: io::Result<(Vec<Message>, u64)>) -> (Vec<String>, u64) {
    let (messages, next) = found.expect("it can be read");
    (messages.into_iter().map(|message| message.text).collect(), next)
}

fn all(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// An entry as 2026.9.6 packs it: a frame of one block, which is as it was.
fn packed(entry: &Value) -> Cell {
    let entry = entry.to_string().into_bytes();
    let size = u8::try_from(entry.len()).expect("a short one");
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, size];
    frame.extend(&((u32::from(size) << 3) | 1).to_le_bytes()[..3]);
    frame.extend(entry);
    Cell::Bytes(frame)
}

#[test]
fn messages_are_told_by_the_numbers_of_their_entries() {
    let silent = json!({"type": "custom"});
    let mut said = vec![message("user", "one"), silent.clone(), message("assistant", "two")];
    said.extend([message("user", "three"), silent.clone(), silent]);
    let mut database = Database::of(session(&[]), &said);
    database.entries[2] = packed(&said[2]);
    let machine = database.on(store());
    let stub = find(&machine);
    let tail = |count| words(openclaw().tail(&machine, &stub, count));
    assert_eq!(tail(1), (all(&["three"]), 6));
    assert_eq!(tail(2), (all(&["two", "three"]), 6));
    assert_eq!(tail(6), (all(&["one", "two", "three"]), 6));
    assert_eq!(tail(7), (all(&["one", "two", "three"]), 6));
    let since = |at: u64| words(openclaw().since(&machine, &stub, at));
    assert_eq!(since(0), (all(&["one", "two", "three"]), 6));
    assert_eq!(since(3), (all(&["three"]), 6));
    assert_eq!(since(6), (all(&[]), 6));
    assert_eq!(openclaw().turns(&machine, &stub).expect("it can be read"), 1);
    assert_eq!(openclaw().grows(&stub), Some(format!("{DATABASE}-wal").into()));
    let beside = ["-wal", "-journal"].map(|end| PathBuf::from(format!("{DATABASE}{end}")));
    assert_eq!(openclaw().told_by(&machine, &stub, Depth::Glance), Some(beside.to_vec()));
    let empty = Database::of(session(&[]), &[]).on(store());
    assert_eq!(words(openclaw().tail(&empty, &stub, 2)), (all(&[]), 0));
    assert_eq!(openclaw().turns(&empty, &stub).expect("it can be read"), 0);
}

/// While a run goes on it stands among the inputs that are still to be read.
#[test]
fn a_message_has_come_as_an_input_or_as_an_entry() {
    let mut said = [message("user", "go on"), message("user", "go on")];
    said[1]["message"]["idempotencyKey"] = "it's once".into();
    let shows = |database: Database, mark: i64, text: &str| {
        let machine = database.on(store());
        let mark = u64::try_from(at(mark).as_millisecond()).expect("after 1970");
        openclaw().shows(&machine, &find(&machine), (mark, text)).expect("it can be read")
    };
    let proof = |once: &str| {
        let query = format!(
            "select message_json from session_pending_inputs where session_id = '{ID}' and \
             idempotency_key = '{once}' union all select event_json from transcript_events join \
             transcript_event_identities using (session_id, seq) where session_id = '{ID}' and \
             message_idempotency_key = '{once}'"
        );
        Some(row(query, "go on"))
    };
    let written = || Database::of(session(&[]), &said);
    assert_eq!(shows(written(), 1, "go on"), proof("it''s once"));
    assert_eq!(shows(written(), 2, "go on"), None, "it came before");
    assert_eq!(shows(written(), 1, "stop"), None);
    let mut queued = message("user", "go on")["message"].clone();
    queued["idempotencyKey"] = "queued".into();
    let waits = || Database { inputs: vec![queued.clone()], ..Database::of(session(&[]), &[]) };
    assert_eq!(shows(waits(), 50, "go on"), proof("queued"));
    assert_eq!(shows(waits(), 51, "go on"), None);
    let machine = waits().on(store());
    let mark = openclaw().mark(&machine, &find(&machine)).expect("it can be read");
    assert_eq!(i64::try_from(mark), Ok(machine.now.as_millisecond()));
}

/// What is added while it is read is left to the next look.
#[test]
fn a_first_entry_that_comes_while_a_transcript_is_read_is_left_to_the_next_look() {
    let (empty, later) = (Database::of(session(&[]), &[]), billed("assistant", "yes"));
    let full = Database::of(session(&[]), &[later]);
    let has_come = AtomicBool::new(false);
    let mut machine = empty.clone().on(store());
    machine.rows = Some(Box::new(move |_, sql, args| {
        let reads = sql.contains("transcript_events");
        match reads && !has_come.fetch_or(reads, Ordering::Relaxed) {
            true => empty.rows(sql, args),
            false => full.rows(sql, args),
        }
    }));
    assert_eq!(read(&machine, Depth::Whole).tokens, Some(Tokens::default()));
}

#[test]
fn a_session_is_addressed_by_the_key_whose_newest_transcript_it_is() {
    let database = Database::of(session(&[(1, text("agent:main:agentctl-one"))]), &[]);
    let hosted = openclaw().hosted().expect("its server runs its sessions");
    let machine = database.clone().on(store());
    assert_eq!(hosted.session(&machine, Path::new(STORE), "one").as_deref(), Some(ID));
    assert_eq!(hosted.session(&machine, Path::new(STORE), "two"), None);
    let gateway = gateway(database.on(store()), |_, _| Ok(json!({})));
    let process = process();
    let target = Target { id: ID, store: Path::new(STORE), process: &process, cwd: None };
    openclaw().control(&gateway.machine, &target, Request::Say("more")).expect("it is heard");
    let (method, params) = calls(&gateway).pop().expect("a call");
    assert_eq!((&*method, &params["sessionKey"]), ("chat.send", &"agent:main:agentctl-one".into()));
}
