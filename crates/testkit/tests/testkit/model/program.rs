//! The scripted model as a program.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::client::{exchange, http};

const PROGRAM: &str = env!("CARGO_BIN_EXE_scripted-model");

#[test]
fn it_tells_where_it_serves_and_logs_what_it_is_asked() {
    let room = tempfile::tempdir().unwrap();
    let (port_file, log) = (room.path().join("port"), room.path().join("log.jsonl"));
    let mut program = Command::new(PROGRAM)
        .args(["--port-file".as_ref(), port_file.as_os_str(), "--log".as_ref(), log.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let port = std::fs::read_to_string(port_file).unwrap();
    assert_eq!(url, format!("http://127.0.0.1:{port}\n"));
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;
    let reply =
        exchange(port.parse().unwrap(), &http("POST", "/v1/messages", body)).unwrap().json();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(reply["content"][0]["text"], "ok");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!((&line["dialect"], &line["prompt"]), (&"anthropic".into(), &"hello".into()));
}

#[test]
fn it_refuses_what_it_does_not_know() {
    let output = Command::new(PROGRAM).arg("--prot").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: unknown argument `--prot`\n\
                    usage: scripted-model [--port N] [--port-file FILE] [--log FILE]\n";
    assert_eq!(said, expected);
}
