//! The server around the script: other paths, connections, the journal and the end.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use agentctl_testkit::model::{Dialect, Model, Request};
use serde_json::json;

use super::client::{Agent, exchange, http};

#[test]
fn other_paths_are_served() {
    let model = Model::start().unwrap();
    let ask = |method, path| exchange(model.port(), &http(method, path, "{}")).unwrap();
    assert_eq!(ask("HEAD", "/").status, 200);
    assert_eq!(ask("GET", "/v1/models").json()["data"][0]["id"], "scripted-1");
    let counted = ask("POST", "/v1/messages/count_tokens?beta=true").json();
    assert_eq!(counted, json!({"input_tokens": 1000}));
    let counted = ask("POST", "/v1beta/models/m:countTokens").json();
    assert_eq!(counted, json!({"totalTokens": 1000}));
    let summary = ask("POST", "/v1/responses/compact").json();
    assert_eq!(summary["output"][0]["content"][0]["text"], "a scripted summary");
    assert_eq!(ask("GET", "/nowhere").status, 404);
    let upgrade = "GET /v1/responses HTTP/1.1\r\nupgrade: websocket\r\nconnection: close\r\n\r\n";
    assert_eq!(exchange(model.port(), upgrade).unwrap().status, 426);
}

#[test]
fn bodies_may_be_chunked_and_connections_reused() {
    let model = Model::start().unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    let body = r#"{"model":"m","input":"MOCK:text no tools"}"#;
    let (first, second) = body.split_at(10);
    let head = "POST /v1/responses HTTP/1.1\r\nhost: x\r\n";
    let pieces = format!(
        "{:x}\r\n{first}\r\n{:x};ext=1\r\n{second}\r\n0\r\nx-trailer: 1\r\n\r\n",
        first.len(),
        second.len()
    );
    write!(socket, "{head}transfer-encoding: chunked\r\n\r\n{pieces}").unwrap();
    write!(socket, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200").count(), 2, "{text}");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn unreadable_bodies_are_refused() {
    let model = Model::start().unwrap();
    let torn = exchange(model.port(), &http("POST", "/v1/messages", "{")).unwrap();
    assert_eq!(
        (torn.status, &torn.json()["error"]["type"]),
        (400, &json!("invalid_request_error"))
    );
    let packed = "POST /v1/messages HTTP/1.1\r\ncontent-encoding: zstd\r\n\
                  connection: close\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(exchange(model.port(), packed).unwrap().status, 415);
}

#[test]
fn requests_are_noted() {
    let model = Model::start().unwrap();
    Agent::new(&model, Dialect::Anthropic, "hi\nMOCK:text a").ask();
    let headers = BTreeMap::from([("user-agent".to_owned(), "raw/1".to_owned())]);
    let expected = Request {
        method: "POST".into(),
        path: "/v1/messages?beta=true".into(),
        dialect: Some(Dialect::Anthropic),
        model: "m-1".into(),
        prompt: "hi\nMOCK:text a".into(),
        directive: Some("text a".into()),
        tools: vec!["Bash".into(), "AskUserQuestion".into()],
        headers,
    };
    assert_eq!(model.requests(), [expected]);
    assert!(!model.wait_for(|requests| requests.len() > 1, Duration::from_millis(10)));
}

#[test]
fn the_end_does_not_wait_for_the_script() {
    for line in ["hang 100", "slow 100", "stall 100", "until /nonexistent/gate"] {
        let model = Model::start().unwrap();
        let request = format!(
            r#"{{"stream":true,"messages":[{{"role":"user","content":"MOCK:{line}"}}],
                "tools":[{{"function":{{"name":"bash"}}}}]}}"#
        );
        let mut socket = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
        socket.write_all(http("POST", "/v1/chat/completions", &request).as_bytes()).unwrap();
        assert!(model.wait_for(|requests| requests.len() == 1, Duration::from_secs(10)));
        let start = Instant::now();
        drop(model);
        assert!(start.elapsed() < Duration::from_secs(5), "{line}");
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = socket.read_to_end(&mut rest);
    }
}
