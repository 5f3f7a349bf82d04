//! Sessions in JSON files, as OpenCode up to 1.1.65 wrote them: which there are, and what is read of one.

use super::{DB, ID, STORE, opencode, put, put_json, stub};
use crate::world::{Machine, at, key, machine};
use agentctl_core::{
    agent::{Claim, Depth, Listing, Server, Stub},
    evidence::{Ending, Record, Role, Tokens, Turn},
    host::Cell,
    proof::Source,
};
use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
    slice,
};

const FILE: &str = "/store/storage/session/global/ses_e1f7b6bd9ffeXM7NCCIsxbHspv.json";
/// Shorter than any id that OpenCode makes: a part of one.
const PART: &str = "ses_e1f7b6bd9ffeXM7NCCIsxbHsp";

fn session() -> Value {
    json!({"id": ID, "version": "1.1.65", "projectID": "global", "directory": "/work",
        "title": "mine", "time": {"created": 1_000_100_000, "updated": 1_000_100_000}})
}

/// A store with one session.
fn store() -> Machine {
    let mut machine = machine(Vec::new());
    put_json(&mut machine, &format!("storage/session/global/{ID}.json"), &session());
    machine
}

/// Adds a message, and its parts.
fn say(machine: &mut Machine, name: &str, message: &Value, parts: &[Value]) {
    put_json(machine, &format!("storage/message/{ID}/{name}.json"), message);
    for (number, part) in parts.iter().enumerate() {
        put_json(machine, &format!("storage/part/{name}/prt_{number}.json"), part);
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn answer(tokens: u64) -> Value {
    json!({"role": "assistant", "providerID": "p", "modelID": "m", "finish": "stop", "cost": 0.5,
        "tokens": {"input": tokens, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}},
        "time": {"created": 1_000_200_000, "completed": 1_000_300_000}})
}

fn talk() -> Machine {
    let mut machine = store();
    let user = json!({"role": "user", "time": {"created": 1_000_110_000}});
    say(&mut machine, "msg_1", &user, &[text("hello")]);
    let parts = [text("first"), text("then"), text(""), json!({"type": "tool", "text": "none"})];
    say(&mut machine, "msg_2", &answer(1), &parts);
    say(&mut machine, "msg_3", &answer(10), &[]);
    machine
}

fn list(machine: &Machine) -> Listing {
    opencode().list(machine, Path::new(STORE)).expect("it can be looked at")
}

/// Paths of sessions, and of what cannot be looked at.
fn found(machine: &Machine) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let listing = list(machine);
    let problems = listing.problems.into_iter().map(|trouble| trouble.path);
    (listing.stubs.into_iter().map(|stub| stub.path).collect(), problems.collect())
}

fn find(machine: &Machine, id: &str) -> Option<Stub> {
    let mut stubs = opencode().find(machine, Path::new(STORE), id, None);
    assert!(stubs.len() <= 1);
    stubs.pop()
}

fn written(machine: &mut Machine, path: &str, second: i64) {
    machine.files.get_mut(Path::new(path)).expect("it is there").0.modified = at(second);
}

#[test]
fn every_file_of_a_session_tells_something_of_it() {
    let machine = talk();
    let record = opencode().read(&machine, &stub(FILE), Depth::Whole).expect("it is understood");
    let millis = |number| jiff::Timestamp::from_millisecond(number).expect("a time");
    let path = format!("/store/storage/message/{ID}/msg_3.json").into();
    let line = Source::File { path, shows: "\"finish\": \"stop\",".into() };
    let turn = Turn::Ended { at: millis(1_000_300_000), how: Ending::Completed, line };
    let whole = Record {
        cwd: Some("/work".into()),
        model: Some("p/m".into()),
        title: Some("mine".into()),
        prompt: Some("hello".into()),
        last: Some("then".into()),
        version: Some("1.1.65".into()),
        started: Some(millis(1_000_100_000)),
        updated: Some(at(200)),
        cost_usd: Some(1.0),
        tokens: Some(Tokens { input: 11, output: 10, cache_read: 8, cache_write: 10 }),
        ..Record::of(turn)
    };
    assert_eq!(record, whole);
    let glance = opencode().read(&machine, &stub(FILE), Depth::Glance).expect("it is understood");
    assert_eq!(glance, Record { tokens: None, cost_usd: None, ..whole });
    let silent = opencode().read(&store(), &stub(FILE), Depth::Glance).expect("it is understood");
    assert_eq!((silent.turn, silent.prompt, silent.last), (Turn::None, None, None));
}

#[test]
fn what_a_session_is_called_made_by_and_put_away_is_read() {
    let read = |more: Value| {
        let mut machine = machine(Vec::new());
        put_json(
            &mut machine,
            &format!("storage/session/global/{ID}.json"),
            &super::with(session(), &more),
        );
        opencode().read(&machine, &stub(FILE), Depth::Glance).expect("it is understood")
    };
    let title = |title: &str| read(json!({"title": title})).title;
    assert_eq!(title("New session - 2026-11-15T18:46:44.509Z"), None);
    assert_eq!(title("Child session - 2026-11-15T18:46:44.509Z"), None);
    assert_eq!(title("New session - of mine").as_deref(), Some("New session - of mine"));
    let rule = |permission: &str, action: &str| json!({"permission": permission, "action": action});
    let made_by = |rules: Value| read(json!({"permission": rules})).made_by;
    let deny = json!([rule("edit", "allow"), rule("question", "deny")]);
    assert_eq!(made_by(deny.clone()), Some(Role::Headless));
    assert_eq!(made_by(deny.to_string().into()), Some(Role::Headless));
    assert_eq!(made_by(json!([rule("question", "allow"), rule("edit", "deny")])), None);
    assert_eq!(made_by(json!({})), None);
    assert_eq!(read(json!({"parentID": "ses_p"})).parent.as_deref(), Some("ses_p"));
    assert!(read(json!({"time": {"created": 1, "archived": 2}})).archived);
    assert!(!read(json!({})).archived);
    let chosen = json!({"model": json!({"providerID": "p", "id": "m"}).to_string()});
    assert_eq!(read(chosen).model.as_deref(), Some("p/m"));
}

#[test]
fn sessions_are_listed_with_the_moment_of_their_newest_message() {
    let mut machine = talk();
    // A stray file has nothing below it.
    put(&mut machine, "storage/session/.DS_Store", b"");
    put(&mut machine, "storage/session/global/notes.txt", b"");
    written(&mut machine, FILE, 300);
    let listed = |machine: &Machine| {
        let listing = list(machine);
        assert_eq!(listing.problems, []);
        listing.stubs
    };
    let stub = Stub { updated: at(300), touched: at(300), ..stub(FILE) };
    assert_eq!(listed(&machine), slice::from_ref(&stub));
    assert_eq!(find(&machine, ID), Some(stub.clone()));
    written(&mut machine, &format!("/store/storage/message/{ID}"), 400);
    let newer = Stub { updated: at(400), touched: at(400), ..stub };
    assert_eq!(listed(&machine), slice::from_ref(&newer));
    assert_eq!(find(&machine, ID), Some(newer));
    assert_eq!(find(&machine, "ses_another"), None);
    assert_eq!(find(&machine, "ses/../ses"), None);
}

#[test]
fn what_cannot_be_looked_at_is_told_and_a_whole_id_may_be_there() {
    let closed = |path: &str| {
        let mut machine = talk();
        machine.closed = vec![path.into()];
        machine
    };
    let folder = "/store/storage/session/global";
    assert_eq!(found(&closed(folder)), (Vec::new(), vec![folder.into()]));
    assert_eq!(found(&closed(FILE)), (Vec::new(), vec![FILE.into()]));
    let top = "/store/storage/session";
    assert_eq!(found(&closed(top)), (Vec::new(), vec![top.into()]));
    for path in [folder, FILE] {
        assert_eq!(find(&closed(path), ID).map(|stub| stub.path), Some(FILE.into()), "{path}");
        assert_eq!(find(&closed(path), PART), None, "{path}");
    }
    let below = format!("{top}/{ID}.json");
    assert_eq!(find(&closed(top), ID).map(|stub| stub.path), Some(below.into()));
    assert_eq!(find(&closed(top), PART), None);
    let torn = |bytes: &[u8]| {
        let mut machine = store();
        put(&mut machine, &format!("storage/session/global/{ID}.json"), bytes);
        opencode().read(&machine, &stub(FILE), Depth::Glance).expect_err("it is torn").to_string()
    };
    let why = format!("{FILE} is no JSON object (it may be in the middle of a rewrite)");
    assert_eq!([torn(b""), torn(b"{\"id\":")], [why.clone(), why]);
}

/// A session of a database that cannot be read may be in files too, which know less of it.
#[test]
fn a_database_that_cannot_be_read_stands_for_its_sessions() {
    let broken = |tables: Vec<Vec<Cell>>| {
        let mut machine = talk();
        put(&mut machine, "opencode.db", b"");
        written(&mut machine, DB, 500);
        machine.rows =
            Some(Box::new(move |_, sql, _| match sql == "select 1 from sqlite_master limit 1" {
                true => Ok(tables.clone()),
                false => Err(io::Error::other("no such table")),
            }));
        machine
    };
    let strange = broken(vec![vec![Cell::Number(1)]]);
    assert_eq!(found(&strange), (vec![DB.into()], vec![DB.into()]));
    let stub = Stub { updated: at(500), touched: at(500), ..stub(DB) };
    assert_eq!(find(&strange, ID), Some(stub));
    assert_eq!(find(&strange, PART), None);
    assert!(opencode().spawned(&strange, Path::new(STORE), ID).is_err());
    // One without a table is being made.
    let new = broken(Vec::new());
    assert_eq!(found(&new), (vec![FILE.into()], Vec::new()));
    assert_eq!(find(&new, ID).map(|stub| stub.path), Some(FILE.into()));
    let spawned = opencode().spawned(&new, Path::new(STORE), ID).expect("it has none");
    assert_eq!(spawned.len(), 0);
}

/// There may be a database for each release channel.
#[test]
fn a_session_in_two_databases_is_that_of_the_usual_one() {
    let mut machine = machine(Vec::new());
    put(&mut machine, "opencode-dev.db", b"");
    put(&mut machine, "opencode.db", b"");
    let row =
        |id: &str| vec![Cell::Text(id.into()), Cell::Text("t".into()), Cell::Number(1_000_300_000)];
    machine.rows = Some(Box::new(move |db, sql, _| {
        let is_usual = db == Path::new(DB);
        match sql.ends_with("s.parent_id = ?1") {
            true if is_usual => Err(io::Error::other("no such column")),
            true => Ok(vec![row("ses_child")]),
            false => Ok(vec![row(ID), row(if is_usual { "ses_1" } else { "ses_2" })]),
        }
    }));
    let all = list(&machine).stubs.into_iter().map(|stub| (stub.id, stub.path));
    let dev = PathBuf::from("/store/opencode-dev.db");
    let both = [(ID, PathBuf::from(DB)), ("ses_1", DB.into()), ("ses_2", dev.clone())];
    assert_eq!(all.collect::<Vec<_>>(), both.map(|(id, path)| (id.to_owned(), path)));
    assert_eq!(find(&machine, ID).map(|stub| stub.path), Some(DB.into()));
    // What a session spawned stands in one of them: the other hides none of it.
    let spawned = opencode().spawned(&machine, Path::new(STORE), ID).expect("one can be read");
    let child = Stub { id: "ses_child".into(), title: Some("t".into()), ..stub("") };
    let child = Stub { path: dev.clone(), updated: at(300), touched: at(300), ..child };
    let query = "select parent_id from session where id = 'ses_child'".to_owned();
    assert_eq!(spawned, [(child, Source::Row { path: dev, query, shows: ID.to_owned() })]);
}

/// Rows come in any order, and SQLite is asked where a part may be understood in two ways.
#[test]
fn parts_of_a_message_are_in_the_order_of_their_ids() {
    let text = |text: &str| Cell::Text(text.to_owned());
    let says = move |words: &str| text(&json!({"type": "text", "text": words}).to_string());
    let told = |third: Cell| {
        let mut machine = machine(Vec::new());
        put(&mut machine, "opencode.db", b"");
        machine.rows = Some(Box::new(move |_, sql, _| {
            let answer = text(r#"{"role":"assistant","finish":"stop","time":{"created":1}}"#);
            let part = |id: &str, data| vec![answer.clone(), text(""), text(id), data];
            Ok(match sql.split_once(" from ").expect("a question").0 {
                "select id, data" => {
                    vec![vec![text("p2"), says("later")], vec![text("p1"), says("first")]]
                }
                "select m.data, m.decides, p.id, p.data" => {
                    vec![
                        part("p3", third.clone()),
                        part("p2", says("two")),
                        part("p1", says("one")),
                    ]
                }
                "select p.data" => vec![vec![says("by SQLite")]],
                _ => vec![vec![text("{}")]],
            })
        }));
        let record = opencode().read(&machine, &stub(DB), Depth::Glance).expect("it is understood");
        (record.prompt, record.last)
    };
    let words = |last: &str| (Some("first".to_owned()), Some(last.to_owned()));
    assert_eq!(told(text(r#"{"type":"tool"}"#)), words("two"));
    assert_eq!(told(says("")), words("two"));
    assert_eq!(told(text(r#"{"type":"tool","type":"text"}"#)), words("by SQLite"));
    assert_eq!(told(Cell::Bytes(br#"{"type":"tool"}"#.into())), words("by SQLite"));
}

/// No server that writes files was ever seen to answer, so of what may run there nothing is said.
#[test]
fn a_server_is_silent_of_files_that_were_written_since_it_began() {
    let process = key(7, 100);
    let serves = |machine: &Machine, since: i64| -> Option<Vec<Claim>> {
        let server = Server { process: &process, since: at(since), serves: true };
        opencode().serves(machine, Path::new(STORE), &server).expect("it can be looked at")
    };
    let mut machine = talk();
    written(&mut machine, FILE, 300);
    assert_eq!(serves(&machine, 300), None);
    assert_eq!(serves(&machine, 301), Some(Vec::new()));
    machine.closed = vec![FILE.into()];
    assert_eq!(serves(&machine, 301), None);
}
