//! Daemons of other versions, and those that do not answer: told, not broken.

use crate::home::{Agents, Home};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixListener,
    thread,
};

/// Somebody who holds the lock and listens, and answers these methods with these words.
struct Other {
    _lock: File,
}

impl Other {
    fn begin(home: &Home, answers: fn(&str) -> Option<Value>) -> Self {
        let state = home.path(".local/state/agentctl");
        fs::create_dir_all(state.join("run")).expect("a folder");
        let socket = home.socket();
        let told = json!({"pid": std::process::id(), "version": "9.9.9", "socket": socket});
        fs::write(state.join("daemon.lock"), told.to_string()).expect("a file");
        let lock = File::open(state.join("daemon.lock")).expect("a file");
        flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("nobody else");
        let listener = UnixListener::bind(socket).expect("a socket");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|count| count > 0) {
                    let request: Value = serde_json::from_str(&line).expect("JSON");
                    let method = request["method"].as_str().expect("a method");
                    let unknown = json!({"code": -32601, "message": "no such method"});
                    let answer = match answers(method) {
                        Some(Value::Null) => break, // silence
                        Some(result) => {
                            json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
                        }
                        None => json!({"jsonrpc": "2.0", "id": request["id"], "error": unknown}),
                    };
                    let _ = writeln!(reader.get_mut(), "{answer}");
                    line.clear();
                }
            }
        });
        Self { _lock: lock }
    }
}

fn version(version: &str, protocol: u32) -> Value {
    let since = "2026-11-15T12:00:00Z";
    json!({"schema": 1, "protocol": protocol, "version": version, "pid": std::process::id(),
           "since": since, "later": "a field of tomorrow"})
}

fn status(home: &Home) -> (Option<i32>, Value) {
    let answer = home.ask(&mut home.as_us(&["daemon", "status", "--json"]));
    (answer.code, answer.json())
}

#[test]
fn another_version_is_named_with_the_way_out() {
    let agents = Agents::new();
    let home = &agents.home;
    let _other = Other::begin(home, |method| match method {
        "version" => Some(version("9.9.9", 7)),
        _ => None,
    });
    let (code, told) = status(home);
    assert_eq!(
        (code, &told["running"], &told["version"]),
        (Some(8), &json!(true), &json!("9.9.9"))
    );
    let problem = told["problems"][0]["message"].as_str().expect("a problem");
    assert!(problem.contains("9.9.9") && problem.contains("protocol 7"), "{problem}");
    assert!(problem.contains("agentctl daemon restart"), "{problem}");
    let start = home.ask(&mut home.as_us(&["daemon", "start"]));
    assert_eq!(start.code, Some(0), "it runs: {start:#?}");
    assert_eq!(home.ask(&mut home.as_us(&["list"])).code, Some(0), "and nothing else asks it");
}

#[test]
fn who_does_not_answer_is_running_and_said_to_be_silent() {
    let agents = Agents::new();
    let home = &agents.home;
    let _other = Other::begin(home, |_| Some(Value::Null));
    let (code, told) = status(home);
    assert_eq!((code, &told["running"]), (Some(8), &json!(true)), "{told:#}");
    assert!(
        told["problems"][0]["message"].as_str().expect("a problem").contains("does not answer")
    );
    let stop = home.ask(&mut home.as_us(&["daemon", "stop"]));
    assert_eq!(stop.code, Some(7), "nobody is signalled: {stop:#?}");
}

/// Who answers there under another pid than the kernel tells is not believed, and not waited for.
#[test]
fn who_lies_about_his_pid_is_not_believed() {
    let agents = Agents::new();
    let home = &agents.home;
    let _other = Other::begin(home, |method| match method {
        "version" => {
            let mut told = version("2.0.0", 1);
            told["pid"] = json!(1);
            Some(told)
        }
        _ => panic!("asked to {method}"),
    });
    let (code, told) = status(home);
    assert_eq!(code, Some(8), "{told:#}");
    assert!(told["problems"][0]["message"].as_str().expect("a problem").contains("answers for"));
    assert_eq!(home.ask(&mut home.as_us(&["daemon", "stop"])).code, Some(7));
}
