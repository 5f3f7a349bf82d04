//! What is asked of the server in a process of OpenCode, page by page.

use super::{DB, ID, STORE, opencode, put, stub};
use crate::world::{Machine, at, key, machine, runs};
use agentctl_core::{
    agent::{Claim, Server, Trail},
    control::{Question, Request, Target, Unheard},
    evidence::{Need, Role, Say},
    host::Cell,
    ident::ProcKey,
    proof::Source,
    push::Line,
};
use serde_json::{Value, json};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
};

const PLACE: &str = "http://127.0.0.1:4096";

pub(super) fn target(process: &ProcKey) -> Target<'_> {
    let store = Path::new(STORE);
    Target { id: ID, store, process, cwd: Some(Path::new("/a b")) }
}

/// Who asked which page, and what was sent there.
type Asked = Arc<Mutex<Vec<(Option<String>, String, Option<String>)>>>;

/// A process that listens at a page of these answers, by what stands between the host and the directory.
fn listening(answers: impl Fn(&str) -> io::Result<Value> + Sync + 'static) -> (Machine, Asked) {
    let process = runs(7, 100, &["serve"]);
    let mut machine = machine(vec![process.with("OPENCODE_SERVER_PASSWORD", "secret")]);
    let ports = ["0.0.0.0:4096", "192.168.0.1:80"];
    machine.ports = Ok(ports.map(|at| (key(7, 100), at.parse().expect("a port"))).to_vec());
    let asked = Asked::default();
    let heard = Arc::clone(&asked);
    machine.pages = Some(Box::new(move |url, user, body| {
        let user = user.map(|(name, password)| format!("{name}:{password}"));
        let (page, _) = url.split_once('?').expect("it names a directory");
        let all = (user, url.to_owned(), body.map(str::to_owned));
        heard.lock().expect("one thread").push(all);
        answers(page.strip_prefix(PLACE).expect("nobody else is asked"))
    }));
    (machine, asked)
}

/// A server that has the session, and what it asks a person.
fn serves() -> (Machine, Asked) {
    let asks = json!([
        {"id": "per_1", "sessionID": "ses_other", "permission": "bash", "patterns": ["rm"]},
        {"id": "per_2", "sessionID": ID, "permission": "bash", "patterns": ["ls", "cat"]},
    ]);
    listening(move |page| {
        Ok(match page {
            "/permission" => asks.clone(),
            page if page == format!("/session/{ID}") => json!({"id": ID}),
            _ => json!({}),
        })
    })
}

/// What was sent, and where.
fn sent(request: Request<'_>) -> (String, Value) {
    let (machine, asked) = serves();
    opencode().control(&machine, &target(&key(7, 100)), request).expect("it is heard");
    let (user, url, body) = asked.lock().expect("one thread").pop().expect("it was asked");
    assert_eq!(user.as_deref(), Some("opencode:secret"));
    let page = url.strip_prefix(PLACE).and_then(|page| page.strip_suffix("?directory=/a%20b"));
    let body = serde_json::from_str(&body.expect("something was sent")).expect("JSON");
    (page.expect("of its directory").to_owned(), body)
}

#[test]
fn requests_are_put_into_the_words_of_its_server() {
    let say = json!({"parts": [{"type": "text", "text": "more"}]});
    assert_eq!(sent(Request::Say("more")), (format!("/session/{ID}/prompt_async"), say));
    assert_eq!(sent(Request::Interrupt), (format!("/session/{ID}/abort"), json!({})));
    let reply = |word: &str| ("/permission/per%3F2/reply".to_owned(), json!({"reply": word}));
    assert_eq!(sent(Request::Allow("per?2")), reply("once"));
    assert_eq!(sent(Request::Deny("per?2")), reply("reject"));
    let questions = opencode().asks(&serves().0, &target(&key(7, 100))).expect("it answers");
    assert_eq!(questions, [Question { id: "per_2".into(), words: "bash: ls, cat".into() }]);
}

#[test]
fn whoever_does_not_know_the_session_is_told_nothing() {
    let asked = |answer: fn() -> io::Result<Value>| {
        let (machine, asked) = listening(move |_| answer());
        let told = opencode().control(&machine, &target(&key(7, 100)), Request::Interrupt);
        let sent = asked.lock().expect("one thread").iter().any(|(_, _, body)| body.is_some());
        assert!(!sent);
        told.expect_err("it is not there")
    };
    let none = asked(|| Ok(json!({"id": "ses_other"})));
    assert!(matches!(none, Unheard::NoChannel), "{none:?}");
    let silent = asked(|| Err(io::ErrorKind::TimedOut.into()));
    assert!(matches!(silent, Unheard::Failed(_)), "{silent:?}");
    let deaf = opencode().asks(&machine(Vec::new()), &target(&key(7, 100)));
    assert!(matches!(deaf, Err(Unheard::NoChannel)), "{deaf:?}");
}

#[test]
fn a_server_is_shown_and_listened_to_on_loopback() {
    let (machine, process) = (serves().0, key(7, 100));
    let leads = |role| opencode().attaches(&machine, &target(&process), role);
    let found = leads(Some(Role::Server)).expect("it can be shown");
    assert_eq!(found.words.join(" "), format!("attach {PLACE} --session {ID}"));
    assert_eq!(found.secrets, ["OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME"]);
    assert_eq!(leads(Some(Role::Interactive)), None);
    let server = Server { process: &process, since: at(100), serves: true };
    let push = opencode().pushes(&machine, Path::new(STORE), &server).expect("it tells of changes");
    assert!(push.wakes.contains(&r#""type":"session.idle""#) && push.process == process);
    let Line::Events { at, page, user } = push.line else { panic!("a page") };
    assert_eq!((at, page.as_str()), (vec!["127.0.0.1:4096".parse().expect("it")], "/global/event"));
    assert_eq!(user, Some(("opencode".to_owned(), "secret".to_owned())));
    let deaf = crate::world::machine(Vec::new());
    assert!(opencode().pushes(&deaf, Path::new(STORE), &server).is_none());
}

/// A database whose sessions are these, with the newest message of each, or why it cannot be read.
fn database(
    machine: &mut Machine,
    sessions: &'static [(&str, &str)],
    newest: impl Fn(&str) -> io::Result<Value> + Sync + 'static,
) {
    put(machine, "opencode.db", b"");
    let row = |(id, directory): &(&str, &str)| vec![text(id), text(directory)];
    let listed = |(id, _): &(&str, &str)| vec![text(id), text("t"), Cell::Number(1_000_900_000)];
    machine.rows = Some(Box::new(move |_, sql, args| {
        if sql.starts_with("select s.id, s.directory from session s where ") {
            assert_eq!(args, [Cell::Number(at(100).as_millisecond())]);
            return Ok(sessions.iter().map(row).collect());
        }
        if sql.starts_with("select s.id, s.title, ") {
            return Ok(sessions.iter().map(listed).collect());
        }
        if sql.starts_with("select m.data, m.decides, ") {
            let id = args[0].text().expect("an id");
            let row = |said: Value| vec![text(&said.to_string()), text(""), Cell::Null, Cell::Null];
            return newest(id).map(|said| vec![row(said)]);
        }
        Ok(Vec::new())
    }));
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn open() -> Value {
    json!({"role": "assistant", "time": {"created": 1_000_900_000}})
}

fn ended() -> Value {
    json!({"role": "assistant", "finish": "stop",
        "time": {"created": 1_000_900_000, "completed": 1_000_950_000}})
}

fn claims(machine: &Machine) -> io::Result<Option<Vec<Claim>>> {
    let process = key(7, 100);
    let server = Server { process: &process, since: at(100), serves: true };
    opencode().serves(machine, Path::new(STORE), &server)
}

fn claim(id: &str, page: &str, directory: &str, say: Say) -> Claim {
    let url = format!("{PLACE}/{page}?directory={directory}");
    let source = Source::Answer { url, shows: id.to_owned() };
    Claim {
        session: id.to_owned(),
        trail: Trail::Known(key(7, 100)),
        source: source.clone(),
        about: agentctl_core::agent::About { says: Some((say, source)), ..Default::default() },
    }
}

/// It answers for one directory at a time and loads what it is asked about.
#[test]
fn a_server_is_asked_about_directories_in_which_a_turn_is_open() {
    const SESSIONS: &[(&str, &str)] =
        &[("ses_1", "/one"), ("ses_2", "/one"), ("ses_3", "/two"), ("ses_4", "/lost")];
    let status = |status: Value, waits: Value| {
        listening(move |page| {
            Ok(match page {
                "/session/status" => status.clone(),
                "/permission" => waits.clone(),
                "/question" => json!([{"sessionID": "ses_3"}]),
                page => panic!("{page} was asked for"),
            })
        })
    };
    let busy =
        json!({"ses_1": {"type": "busy"}, "ses_2": {"type": "retry"}, "ses_3": {"type": "busy"}});
    let (mut machine, asked) = status(busy, json!([{"sessionID": "ses_2"}]));
    database(&mut machine, SESSIONS, |id| match id {
        "ses_3" => Ok(ended()),
        "ses_4" => Err(io::Error::other("malformed")),
        _ => Ok(open()),
    });
    let all = claims(&machine).expect("it answers").expect("it is asked");
    let named = |directory: &str| {
        [
            claim("ses_2", "permission", directory, Say::Waiting(Need::Approval)),
            claim("ses_3", "question", directory, Say::Waiting(Need::Answer)),
        ]
    };
    let mut expected = named("/one").to_vec();
    expected.push(claim("ses_1", "session/status", "/one", Say::Busy));
    expected.extend(named("/lost"));
    assert_eq!(all, expected);
    assert_eq!(asked.lock().expect("one thread").len(), 6);

    let (mut strange, _) = status(json!({"ses_1": {"type": "dreaming"}}), json!([]));
    database(&mut strange, SESSIONS, |_| Ok(open()));
    let why = claims(&strange).expect_err("it is not understood");
    assert_eq!(why.to_string(), "its answer for ses_1 is not understood");
    // Nobody is asked where no turn is open, and idle sessions are not named.
    let (mut over, asked) = status(json!({}), json!([{"sessionID": "ses_2"}]));
    database(&mut over, SESSIONS, |_| Ok(ended()));
    assert_eq!(claims(&over).expect("all is known"), Some(Vec::new()));
    assert_eq!(asked.lock().expect("one thread").len(), 0);
    database(&mut over, SESSIONS, |_| Ok(open()));
    assert_eq!(claims(&over).expect("it answers"), Some(Vec::new()));
}

#[test]
fn what_a_server_runs_is_not_known_where_its_database_is_locked_or_nobody_listens() {
    const ONE: &[(&str, &str)] = &[("ses_1", "/one")];
    let (mut locked, _) = serves();
    database(&mut locked, ONE, |_| Err(io::ErrorKind::TimedOut.into()));
    let why = claims(&locked).expect_err("it cannot be read now");
    assert_eq!(why.kind(), io::ErrorKind::TimedOut);
    let (mut deaf, _) = serves();
    database(&mut deaf, ONE, |_| Ok(open()));
    deaf.ports = Ok(Vec::new());
    assert_eq!(claims(&deaf).expect("nobody listens"), None);
    let (mut silent, _) = listening(|_| Err(io::ErrorKind::TimedOut.into()));
    database(&mut silent, ONE, |_| Ok(open()));
    assert!(claims(&silent).is_err());
}

/// A message has come once a row of its words was made since.
#[test]
fn a_row_shows_that_a_message_came() {
    let (mut machine, _) = serves();
    let mark = opencode().mark(&machine, &stub(DB)).expect("it is a moment");
    assert_eq!(mark, u64::try_from(machine.now.as_millisecond()).expect("a moment"));
    machine.rows = Some(Box::new(move |_, _, args| {
        assert_eq!(args, [text(ID), Cell::Number(i64::try_from(mark).expect("a moment"))]);
        Ok(vec![vec![text("prt_1"), text("another")], vec![text("prt_'2"), text("more\n")]])
    }));
    let shows = |path: &str, words: &str| {
        opencode().shows(&machine, &stub(path), (mark, words)).expect("it can be read")
    };
    let query = "select data from part where id = 'prt_''2'".to_owned();
    let row = Source::Row { path: DB.into(), query, shows: "more".into() };
    assert_eq!(shows(DB, "more"), Some(row));
    assert_eq!(shows(DB, "less"), None);
    assert_eq!(shows("/store/storage/session/global/x.json", "more"), None);
}
