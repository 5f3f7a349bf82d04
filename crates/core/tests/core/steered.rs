//! What is said to the app-server of Codex, frame by frame, and what its answers mean.

use crate::world::{Answers, Machine, key, machine};
use agentctl_core::{
    agents,
    control::{Question, Request, Target, Unheard},
    evidence::Role,
    host::Host,
    push::{Door, Line},
};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

const SOCKET: &str = "/store/app-server-control/app-server-control.sock";

/// A server that has the thread `t`, in this state; and all that it was told.
struct Server {
    machine: Machine,
    heard: Arc<Mutex<Vec<Value>>>,
}

/// How it stands with the thread: its status, and what is asked of a person.
fn server(status: Value, asks: Vec<Value>) -> Server {
    answering(move |frame| {
        let answer = |result: Value| vec![json!({"id": frame["id"], "result": result})];
        match frame["method"].as_str() {
            Some("initialize") => {
                let mut all = vec![json!({"method": "note"})];
                all.extend(answer(json!({})));
                all
            }
            Some("thread/read") => answer(json!({"thread": {"status": status}})),
            Some("thread/turns/list") => answer(json!({"data": [{"id": "turn-1"}]})),
            Some("thread/resume") => asks.clone(),
            Some(_) if frame.get("id").is_some() => answer(json!({})),
            Some(_) => Vec::new(),
            // Our answer to a question of its own.
            None => vec![json!({"method": "serverRequest/resolved",
                "params": {"requestId": frame["id"]}})],
        }
    })
}

fn answering(answers: impl Fn(&Value) -> Vec<Value> + Send + Sync + 'static) -> Server {
    let mut machine = machine(Vec::new());
    machine.file(SOCKET, b"");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&heard);
    let answers: Answers = Arc::new(move |frame| {
        all.lock().expect("one thread").push(frame.clone());
        answers(frame)
    });
    machine.answers = Some((key(7, 100), answers));
    Server { machine, heard }
}

fn asked(server: &Server, request: Request<'_>) -> Result<(), String> {
    asked_of(server, request, 7).map_err(|why| why.to_string())
}

fn asked_of(server: &Server, request: Request<'_>, pid: u32) -> Result<(), Unheard> {
    let process = key(pid, 100);
    codex().control(&server.machine, &target(&process), request)
}

fn codex() -> &'static dyn agentctl_core::agent::Agent {
    agents::named("codex").expect("an agent")
}

fn target(process: &agentctl_core::ident::ProcKey) -> Target<'_> {
    Target { id: "t", store: Path::new("/store"), process, cwd: Some(Path::new("/work")) }
}

/// The methods that it was called by after the greeting, with what was said.
fn calls(server: &Server) -> Vec<(String, Value)> {
    let heard = server.heard.lock().expect("one thread");
    let method = |frame: &Value| frame["method"].as_str().unwrap_or("answer").to_owned();
    assert_eq!(method(&heard[0]), "initialize");
    assert_eq!(method(&heard[1]), "initialized");
    let said = |frame: &Value| match frame.get("params") {
        Some(params) => params.clone(),
        None => frame.clone(),
    };
    heard[2..].iter().map(|frame| (method(frame), said(frame))).collect()
}

fn active() -> Value {
    json!({"type": "active", "activeFlags": []})
}

fn waiting() -> Value {
    json!({"type": "active", "activeFlags": ["other", "waitingOnApproval"]})
}

fn question(id: u32, item: &str, thread: &str) -> Value {
    json!({"id": id, "method": "item/commandExecution/requestApproval",
        "params": {"threadId": thread, "itemId": item, "command": format!("run {item}")}})
}

#[test]
fn a_message_goes_into_the_turn_that_runs() {
    let server = server(active(), Vec::new());
    assert_eq!(asked(&server, Request::Say("more")), Ok(()));
    let input = json!([{"type": "text", "text": "more"}]);
    let steer = json!({"threadId": "t", "expectedTurnId": "turn-1", "input": input});
    assert_eq!(calls(&server).pop(), Some(("turn/steer".to_owned(), steer)));
}

#[test]
fn a_message_begins_a_turn_where_none_runs() {
    let server = server(json!({"type": "idle"}), Vec::new());
    assert_eq!(asked(&server, Request::Say("more")), Ok(()));
    let start = json!({"threadId": "t", "input": [{"type": "text", "text": "more"}]});
    let read = ("thread/read".to_owned(), json!({"threadId": "t"}));
    assert_eq!(calls(&server), [read, ("turn/start".to_owned(), start)]);
}

#[test]
fn a_turn_that_ends_while_it_is_steered_is_followed_by_a_new_one() {
    let ended = Arc::new(Mutex::new(false));
    let refuses = |stays: bool| {
        let ended = Arc::clone(&ended);
        *ended.lock().expect("one thread") = false;
        answering(move |frame| {
            let mut over = ended.lock().expect("one thread");
            let state = if *over { "idle" } else { "active" };
            match frame["method"].as_str() {
                Some("turn/steer") => {
                    *over = !stays;
                    vec![json!({"id": frame["id"], "error": {"message": "too late"}})]
                }
                Some("thread/turns/list") => {
                    vec![json!({"id": frame["id"], "result": {"data": [{"id": "turn-1"}]}})]
                }
                _ => vec![json!({"id": frame["id"],
                    "result": {"thread": {"status": {"type": state}}}})],
            }
        })
    };
    let server = refuses(false);
    assert_eq!(asked(&server, Request::Say("more")), Ok(()));
    assert_eq!(calls(&server).pop().map(|(method, _)| method).as_deref(), Some("turn/start"));
    let why = asked(&refuses(true), Request::Say("more")).expect_err("it goes on");
    assert_eq!(why, "it refuses turn/steer: too late");
}

#[test]
fn an_interruption_ends_the_turn_and_what_it_left_running() {
    let server = server(active(), Vec::new());
    assert_eq!(asked(&server, Request::Interrupt), Ok(()));
    let mut last = calls(&server).split_off(2);
    let interrupt = json!({"threadId": "t", "turnId": "turn-1"});
    assert_eq!(last.remove(0), ("turn/interrupt".to_owned(), interrupt));
    assert_eq!(last[0].0, "thread/backgroundTerminals/clean");
    let idle = self::server(json!({"type": "idle"}), Vec::new());
    assert_eq!(asked(&idle, Request::Interrupt), Err("no turn runs".to_owned()));
}

#[test]
fn the_question_of_that_name_is_answered_and_no_other() {
    let joined = || json!({"id": "agentctl-3", "result": {}});
    let ours = || [question(2, "a", "t"), question(3, "b", "t")];
    let asks = || [vec![joined(), question(1, "x", "other")], ours().to_vec()].concat();
    for (request, decision) in [(Request::Allow("b"), "accept"), (Request::Deny("b"), "decline")] {
        let server = server(waiting(), asks());
        assert_eq!(asked(&server, request), Ok(()));
        let (method, frame) = calls(&server).pop().expect("an answer");
        let said = json!({"id": 3, "result": {"decision": decision}});
        assert_eq!((method.as_str(), frame), ("answer", said));
    }
    let why = asked(&server(active(), asks()), Request::Allow("a")).expect_err("it does not wait");
    assert_eq!(why, "it asks for no approval");
    let process = key(7, 100);
    let found = codex().asks(&server(waiting(), asks()).machine, &target(&process));
    let first = Question { id: "a".into(), words: "run a".into() };
    assert_eq!(found.expect("it answers"), [first]);
    let none = codex().asks(&server(active(), asks()).machine, &target(&process));
    assert_eq!(none.expect("it answers"), []);
}

/// 0.166: any other name would become the originator of threads that are made later.
#[test]
fn it_is_greeted_in_the_name_of_its_own_daemon() {
    let server = server(active(), Vec::new());
    assert_eq!(asked(&server, Request::Interrupt), Ok(()));
    let heard = server.heard.lock().expect("one thread");
    let client = &heard[0]["params"]["clientInfo"];
    let names = ["name", "title"].map(|field| client[field].as_str());
    assert_eq!(names, [Some("codex_app_server_daemon"), Some("agentctl")]);
}

#[test]
fn an_approval_is_asked_for_where_a_flag_says_so_and_given_once_it_is_settled() {
    let flags = |flags: Value| json!({"type": "active", "activeFlags": flags});
    let allowed = |flags: Value, settled: Value| {
        let asks = question(2, "a", "t");
        let server = answering(move |frame| match frame["method"].as_str() {
            Some("thread/read") => {
                vec![json!({"id": frame["id"], "result": {"thread": {"status": flags}}})]
            }
            Some("thread/resume") => vec![asks.clone()],
            Some(_) => vec![json!({"id": frame["id"], "result": {}})],
            None => vec![settled.clone()],
        });
        asked_of(&server, Request::Allow("a"), 7)
    };
    let resolved = |method: &str, id: u32| json!({"method": method, "params": {"requestId": id}});
    let ours = || resolved("serverRequest/resolved", 2);
    let waits = || flags(json!(["waitingOnApproval"]));
    assert!(allowed(waits(), ours()).is_ok());
    let other = allowed(flags(json!(["waitingOnUserInput"])), ours());
    assert!(matches!(other, Err(Unheard::Refused(_))), "{other:?}");
    for settled in [resolved("serverRequest/resolved", 3), resolved("serverRequest/begun", 2)] {
        let unsettled = allowed(waits(), settled);
        assert!(matches!(unsettled, Err(Unheard::Silent(_))), "{unsettled:?}");
    }
}

#[test]
fn whole_permissions_are_not_granted_as_a_command_is() {
    let mut asks = question(2, "a", "t");
    asks["method"] = "item/permissions/requestApproval".into();
    let why =
        asked(&server(waiting(), vec![asks]), Request::Allow("a")).expect_err("another shape");
    assert_eq!(why, "it asks for permissions, not for a command");
    let gone = vec![json!({"id": "agentctl-3", "error": {"message": "no such thread"}})];
    let why = asked(&server(waiting(), gone), Request::Allow("a")).expect_err("it is gone");
    assert_eq!(why, "it refuses thread/resume: no such thread");
}

#[test]
fn only_the_process_that_has_the_thread_is_spoken_to() {
    let server = server(active(), Vec::new());
    let another = asked_of(&server, Request::Interrupt, 8);
    assert!(matches!(another, Err(Unheard::NoChannel)), "{another:?}");
    let unloaded = self::server(json!({"type": "notLoaded"}), Vec::new());
    let none = asked_of(&unloaded, Request::Interrupt, 7);
    assert!(matches!(none, Err(Unheard::NoChannel)), "{none:?}");
    let strange = self::server(json!({}), Vec::new());
    let why = asked(&strange, Request::Interrupt).expect_err("no status");
    assert_eq!(why, "its answer is not understood");
    assert_eq!(server.heard.lock().expect("one thread").len(), 0);
}

#[test]
fn a_server_is_listened_to_and_shown_where_its_socket_is() {
    let server = server(active(), Vec::new());
    let process = key(7, 100);
    let leads = |role| {
        let host: &dyn Host = &server.machine;
        codex().attaches(host, &target(&process), role).map(|leads| leads.words.join(" "))
    };
    let words = format!("resume --remote unix://{SOCKET} -C /work t");
    assert_eq!(leads(Some(Role::Server)), Some(words));
    assert_eq!(leads(Some(Role::Interactive)), None);
    assert_eq!(codex().interrupts_by(), "turn/interrupt");
    let listened = |machine: &Machine| {
        let since = agentctl_core::agent::Server {
            process: &process,
            since: crate::world::at(100),
            serves: true,
        };
        codex().pushes(machine, Path::new("/store"), &since)
    };
    let push = listened(&server.machine).expect("it tells of changes");
    let Line::Frames { at: Door::File(path), says } = push.line else { panic!("a socket") };
    assert_eq!((path.to_str(), says.len(), push.process), (Some(SOCKET), 2, key(7, 100)));
    assert!(push.wakes.contains(&r#""method":"thread/started""#));
    assert!(listened(&machine(Vec::new())).is_none());
}
