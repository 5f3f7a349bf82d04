//! What is answered on the socket, to whom, and what is not.

use crate::home::{Agents, Caller, Daemon, lines::id, until};
use serde_json::{Value, json};
use std::{io::Write, os::unix::net::UnixStream, os::unix::process::CommandExt};

/// A daemon of the user who runs the tests, with a session of his.
/// Of our own user's agents all tests' are seen: whatever is told is of this test's alone, by its id and directory.
fn own() -> (String, String) {
    let number = std::process::id();
    (id(number), format!("/home/dev/live-{number}"))
}

/// What a process is registered with.
fn says(status: &str) -> Value {
    json!({"status": status, "cwd": own().1})
}

fn served() -> (Agents, Daemon, crate::home::StandIn) {
    let agents = Agents::new();
    let home = &agents.home;
    let us = rustix::process::geteuid().as_raw();
    let process = home.stand_in_of(us);
    home.register(&process, &own().0, says("busy"));
    let daemon = Daemon::of(home, &mut home.as_us(&["daemon", "run"]));
    (agents, daemon, process)
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer:#}"))
}

/// The same shapes as `--json`, from params that are named as the flags are.
#[test]
fn answers_are_those_of_the_command_line() {
    let (agents, daemon, _process) = served();
    let home = &agents.home;
    let mut caller = Caller::new(&home.socket());
    let version = caller.ask("version", json!({}))["result"].clone();
    let known = (&version["schema"], &version["protocol"], &version["pid"]);
    assert_eq!(known, (&json!(1), &json!(1), &json!(daemon.pid())));
    let cli = |words: &[&str]| home.ask(&mut home.as_us(words)).json();
    let (id, dir) = own();
    let mut same = |method: &str, params: Value, words: &[&str]| {
        let answer = caller.ask(method, params);
        assert_eq!(answer["result"], cli(words), "{method}: {answer:#}");
    };
    let list = json!({"cwd": [dir], "agent": ["claude"], "timeout": "none", "sort": "cwd"});
    same(
        "list",
        list,
        &[
            "list",
            "--cwd",
            &dir,
            "--agent",
            "claude",
            "--timeout",
            "none",
            "--sort",
            "cwd",
            "--json",
        ],
    );
    let past = json!({"since": "all", "state": ["done"], "limit": 1, "cwd": ["/home/dev/good"]});
    same(
        "list",
        past,
        &[
            "list",
            "--since",
            "all",
            "--state",
            "done",
            "-n",
            "1",
            "--cwd",
            "/home/dev/good",
            "--json",
        ],
    );
    same("status", json!({"id": id}), &["status", &id, "--json"]);
    same("explain", json!({"id": id}), &["explain", &id, "--json"]);
    same("fuses", json!({"all": true}), &["fuses", "-a", "--json"]);
    let locks = caller.ask("locks", json!({}))["result"]["locks"].clone();
    let own = |lock: &&Value| lock["session_id"] == id;
    assert_eq!(locks.as_array().expect("locks").iter().filter(own).count(), 1, "{locks:#}");
    let daemon = caller.ask("daemon", json!({}))["result"].clone();
    assert_eq!(daemon, cli(&["daemon", "status", "--json"]));
}

#[test]
fn what_is_no_question_is_told_so_and_harms_nobody() {
    let (agents, daemon, _process) = served();
    let mut caller = Caller::new(&agents.home.socket());
    let mut told = |line: &[u8]| {
        assert!(caller.send(&[line, b"\n"].concat()));
        code(&caller.line().expect("an answer"))
    };
    assert_eq!(told(b"{"), -32700);
    assert_eq!(told(b"\xff\xfe"), -32700);
    assert_eq!(told(b"[]"), -32600);
    assert_eq!(told(br#"{"jsonrpc":"1.0","id":1,"method":"list"}"#), -32600);
    assert_eq!(told(br#"{"jsonrpc":"2.0","id":1,"method":"explode"}"#), -32601);
    assert_eq!(told(br#"{"jsonrpc":"2.0","id":1,"method":"list","params":{"colour":1}}"#), -32602);
    assert_eq!(told(br#"{"jsonrpc":"2.0","id":1,"method":"list","params":[true]}"#), -32602);
    for params in [
        json!({"agent": ["nobody"]}),
        json!({"state": ["up"]}),
        json!({"since": "soon"}),
        json!({"timeout": "3"}),
        json!({"sort": "colour"}),
    ] {
        assert_eq!(code(&caller.ask("list", params)), -32602);
    }
    assert_eq!(code(&caller.ask("events", json!({"since": "c1.x"}))), -32602);
    assert_eq!(code(&caller.ask("events", json!({"filter": ["colour=red"]}))), -32602);
    // On a busy machine an agent may answer late, and then nobody can say that it is not there.
    let missing = until("an answer of all agents", || {
        let answer = caller.ask("status", json!({"id": "zzz"}));
        (answer["error"]["data"]["kind"] != "unreadable").then_some(answer)
    });
    assert_eq!((code(&missing), &missing["error"]["data"]["kind"]), (-32003, &json!("no_session")));
    // Without an id nothing is done, and nothing answered.
    assert!(caller.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"stop\"}\n\n"));
    assert_eq!(caller.ask("version", json!({}))["result"]["pid"], daemon.pid());
}

#[test]
fn lines_have_an_end_and_callers_a_number() {
    let (agents, daemon, _process) = served();
    let socket = agents.home.socket();
    let mut caller = Caller::new(&socket);
    caller.send(&vec![b' '; 5 << 20]);
    assert_eq!(code(&caller.line().expect("an answer")), -32600);
    assert_eq!(caller.line(), None, "and he is hung up on");
    let mut callers: Vec<Caller> = (0..32).map(|_| Caller::new(&socket)).collect();
    for caller in &mut callers {
        assert_eq!(caller.ask("version", json!({}))["result"]["pid"], daemon.pid());
    }
    // There is room for who looks after it, and for nothing else.
    let mut spare = [(); 2].map(|()| Caller::new(&socket));
    for caller in &mut spare {
        assert_eq!(caller.ask("version", json!({}))["result"]["pid"], daemon.pid());
        assert_eq!(code(&caller.ask("list", json!({}))), -32005);
    }
    let mut late = Caller::new(&socket);
    let refused = late.line().expect("an answer");
    assert_eq!((code(&refused), late.line()), (-32005, None), "{refused:#}");
    drop((callers, spare));
    // Their seats are free again.
    until("a free seat", || {
        let mut caller = Caller::new(&socket);
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "version"});
        caller.send(format!("{line}\n").as_bytes());
        caller.line().filter(|answer| answer["result"]["pid"] == daemon.pid())
    });
}

/// The kernel says who calls, whoever may open the socket.
#[test]
fn others_are_not_served() {
    let agents = Agents::new();
    let home = &agents.home;
    let _daemon = home.daemon();
    if !crate::security::is_root(home) {
        return;
    }
    let mut root = Caller::new(&home.socket());
    let refused = root.line().expect("an answer");
    assert_eq!((code(&refused), root.line()), (-32005, None), "{refused:#}");
    let stranger = crate::home::other_user();
    let mut cat = home.command("/bin/cat");
    cat.uid(stranger).gid(stranger).arg(home.socket());
    let answer = crate::home::Answer::of(&mut cat, &home.root().join("out"));
    assert!(answer.stderr.contains("Permission denied"), "{answer:#?}");
}

/// From now on, or from a cursor with what was missed, without a break and each thing once.
#[test]
fn whoever_subscribes_is_told() {
    let (agents, _daemon, process) = served();
    let home = &agents.home;
    let mut now = Caller::new(&home.socket());
    let begun = now.ask("events", json!({"filter": ["type=session"]}));
    let cursor = begun["result"]["cursor"].as_str().expect("a cursor").to_owned();
    let (id, _) = own();
    home.register(&process, &id, says("idle"));
    let next = |caller: &mut Caller| loop {
        let line = caller.line().expect("an event");
        assert_eq!(line["method"], "event", "{line:#}");
        if line["params"]["session"]["id"] == id && line["params"]["type"] != "session.changed" {
            return (line["params"]["type"].to_string(), line["params"]["id"].to_string());
        }
    };
    let idle = next(&mut now);
    assert_eq!(idle.0, "\"session.idle\"");
    let mut later = Caller::new(&home.socket());
    later.ask("events", json!({"since": cursor}));
    assert_eq!(next(&mut later), idle);
    home.register(&process, &id, says("busy"));
    let (one, other) = (next(&mut now), next(&mut later));
    assert_eq!((one.0.as_str(), &one), ("\"session.working\"", &other));
    let mut once = Caller::new(&home.socket());
    once.ask("events", json!({"since": cursor, "once": true}));
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "cursor") {
        let line = once.line().expect("an event");
        kinds.push(line["params"]["type"].as_str().expect("a type").to_owned());
    }
    assert_eq!(kinds[0], "gap");
    assert_eq!(once.ask("version", json!({}))["result"]["schema"], 1, "and then goes on");
    // A cursor may be long, for the daemon and for the command line.
    let long = json!({"since": cursor, "once": true, "filter": vec!["type=lock"; 20_000]});
    assert_eq!(once.ask("events", long)["result"]["schema"], 1);
    home.write("cursor", format!("{cursor}\n"));
    let file = std::fs::File::open(home.path("cursor")).expect("a file");
    let told = home.as_us(&["events", "--once", "--since", "-"]).stdin(file).output();
    let told = told.expect("an answer");
    assert!(told.status.success() && told.stdout.starts_with(b"{"), "{told:?}");
}

/// Who subscribes and never reads is dropped, and keeps nobody waiting.
#[test]
fn who_does_not_read_is_hung_up_on() {
    let (agents, daemon, _process) = served();
    let home = &agents.home;
    let mut deaf = UnixStream::connect(home.socket()).expect("a daemon");
    deaf.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"events\"}\n").expect("a write");
    let mut heard = Caller::new(&home.socket());
    heard.ask("events", json!({"filter": ["type=lock"]}));
    let dir = home.path("mine");
    std::fs::create_dir(&dir).expect("a folder");
    // Long reasons fill what the kernel keeps for him; then the queue.
    let reason = "x".repeat(30_000);
    let dir = dir.to_str().expect("a name");
    let dropped = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).expect("it lives");
        let links = files.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    };
    let mut next = || loop {
        let line = heard.line().expect("others are served");
        if line["params"]["lock"]["directory"] == dir {
            return line["params"]["type"].clone();
        }
    };
    let before = dropped();
    for _ in 0..400 {
        home.ask(&mut home.as_us(&["lock", dir, "--reason", &reason]));
        assert_eq!(next(), "lock.taken");
        home.ask(&mut home.as_us(&["unlock", dir]));
        assert_eq!(next(), "lock.released");
        if dropped() < before {
            return;
        }
    }
    panic!("he is still connected: {} of {before}", dropped());
}
