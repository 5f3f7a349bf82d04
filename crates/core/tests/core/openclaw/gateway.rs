//! What a gateway tells of its runs, and who is believed to be one.

use super::{
    Gateway, LOCK, PORT, STORE, answering, calls, gateway, lock, openclaw, process, store,
};
use crate::world::{at, runs};
use agentctl_core::{
    agent::{About, Claim, Server, Trail},
    evidence::{Need, Role, Say},
    host::CannotTell,
    proof::Source,
    push::{Door, Line},
};
use serde_json::{Value, json};
use std::path::Path;

fn served(gateway: &Gateway) -> Result<Option<Vec<Claim>>, String> {
    let process = process();
    let server = Server { process: &process, since: at(100), serves: true };
    let told = openclaw().serves(&gateway.machine, Path::new(STORE), &server);
    told.map_err(|why| why.to_string())
}

/// A row of a session with a run.
fn row(id: &str) -> Value {
    json!({"key": format!("agent:main:{id}"), "sessionId": id, "hasActiveRun": true})
}

/// What each session that runs says.
fn says(gateway: &Gateway) -> Vec<(String, Say)> {
    let claims = served(gateway).expect("it answers").expect("it is one");
    let say = |claim: Claim| (claim.session, claim.about.says.expect("it says something").0);
    claims.into_iter().map(say).collect()
}

fn busy(ids: &[&str]) -> Vec<(String, Say)> {
    ids.iter().map(|&id| (id.to_owned(), Say::Busy)).collect()
}

/// It has these rows, and nobody waits.
fn rows(rows: Vec<Value>) -> Gateway {
    gateway(store(), move |method, _| match method {
        "sessions.list" => Ok(json!({"sessions": rows})),
        _ => Ok(json!({})),
    })
}

#[test]
fn a_gateway_tells_which_sessions_run_and_which_wait() {
    let gateway = gateway(store(), |method, params| match method {
        "sessions.list" => {
            assert_eq!(*params, json!({"activeOnly": true, "limit": 200, "offset": 0}));
            let (mut a, mut b, mut idle) = (row("a"), row("b"), row("idle"));
            a["label"] = "mine".into();
            a["createdAt"] = at(50).as_millisecond().into();
            a["spawnedCwd"] = "/a".into();
            a["workspaceDir"] = "/w".into();
            b["label"] = "".into();
            b["workspaceDir"] = "/w".into();
            idle["hasActiveRun"] = false.into();
            Ok(json!({"sessions": [a, b, row("c"), idle]}))
        }
        "exec.approval.list" => Ok(json!([{"id": "1", "request": {"sessionKey": "agent:main:b"}}])),
        "question.list" => Ok(json!({"questions": [{"sessionKey": "agent:main:c"}]})),
        _ => panic!("{method}"),
    });
    let claim = |id: &str, say, field: &str, about: About| {
        let shows = format!("\"{field}\":\"agent:main:{id}\"");
        let source = Source::Answer { url: format!("ws://127.0.0.1:{PORT}/"), shows };
        let about = About {
            says: Some((say, source.clone())),
            role: Some(Role::Server),
            version: Some("2026.9.6".to_owned()),
            ..about
        };
        Claim { session: id.to_owned(), trail: Trail::Known(process()), source, about }
    };
    let title = |text: &str| Some(text.to_owned());
    let a = About {
        cwd: Some("/a".into()),
        title: title("mine (agent:main:a)"),
        started: Some(at(50)),
        ..About::default()
    };
    let b = About { cwd: Some("/w".into()), title: title("agent:main:b"), ..About::default() };
    let c = About { title: title("agent:main:c"), ..About::default() };
    let all = vec![
        claim("a", Say::Busy, "key", a),
        claim("b", Say::Waiting(Need::Approval), "sessionKey", b),
        claim("c", Say::Waiting(Need::Answer), "sessionKey", c),
    ];
    assert_eq!(served(&gateway), Ok(Some(all)));
}

#[test]
fn a_gateway_is_told_who_asks_and_the_token_that_its_configuration_names() {
    let told = |config: &str, own: Option<&str>| {
        let mut gateway = rows(Vec::new());
        gateway.machine.file("/store/openclaw.json", config.as_bytes());
        if let Some(token) = own {
            gateway.machine.procs[0] = runs(7, 100, &[]).with("OPENCLAW_GATEWAY_TOKEN", token);
        }
        assert_eq!(served(&gateway), Ok(Some(Vec::new())));
        let heard = gateway.heard.lock().expect("one thread");
        heard[0]["params"].clone()
    };
    let mut hello = json!({
        "minProtocol": 4, "maxProtocol": 4, "role": "operator", "caps": [],
        "client": {"id": "gateway-client", "version": env!("CARGO_PKG_VERSION"),
            "platform": "linux", "mode": "backend"},
        "scopes": ["operator.read", "operator.approvals", "operator.questions", "operator.admin"],
        "auth": {"token": "secret"},
    });
    let written = |token: &str| format!("// mine\n{{gateway: {{auth: {{token: '{token}'}}}}}}");
    assert_eq!(told(&written("secret"), Some("other")), hello);
    let token = |config: &str, own| told(config, own)["auth"].clone();
    assert_eq!(token(&written(""), Some("other")), json!({"token": "other"}));
    assert_eq!(token(&written("${TOKEN}"), Some("other")), json!({"token": "other"}));
    let deep = format!("{{gateway: {{auth: {{token: 'secret', deep: {}", "[".repeat(100_000));
    assert_eq!(token(&deep, Some("other")), json!({"token": "other"}));
    hello["auth"] = json!({});
    assert_eq!(told("", None), hello);
}

#[test]
fn sessions_on_later_pages_run_too() {
    let pages = |last_offset: u64| {
        gateway(store(), move |method, params| match (method, params["offset"].as_u64()) {
            ("sessions.list", Some(0)) => {
                Ok(json!({"sessions": [row("a")], "hasMore": true, "nextOffset": 200}))
            }
            ("sessions.list", Some(200)) => {
                Ok(json!({"sessions": [row("b")], "hasMore": true, "nextOffset": last_offset}))
            }
            ("sessions.list", _) => Ok(json!({"sessions": [row("c")], "nextOffset": 999})),
            _ => Ok(json!({})),
        })
    };
    assert_eq!(says(&pages(400)), busy(&["a", "b", "c"]));
    assert_eq!(says(&pages(100)), busy(&["a", "b"]), "it would go round in circles");
    let stuck = pages(200);
    assert_eq!(says(&stuck), busy(&["a", "b"]));
    let asked = calls(&stuck).into_iter().filter(|(method, _)| method == "sessions.list");
    assert_eq!(asked.count(), 2);
}

#[test]
fn answers_count_by_their_number_and_not_by_their_order() {
    let waiting = answering(store(), |frame| {
        let answer = |id: &str, payload: Value| json!({"type": "res", "id": format!("agentctl-{id}"), "ok": true, "payload": payload});
        match frame["method"].as_str() {
            Some("connect") => vec![answer("1", json!({}))],
            Some("question.list") => vec![
                answer("4", json!({})),
                answer("3", json!([{"request": {"sessionKey": "agent:main:a"}}])),
                answer("2", json!({"sessions": [row("a")]})),
            ],
            _ => Vec::new(),
        }
    });
    assert_eq!(says(&waiting), [("a".to_owned(), Say::Waiting(Need::Approval))]);
}

/// What it does not tell is nobody's wish; what it does not say at all is not known.
#[test]
fn a_gateway_that_refuses_or_is_silent_says_so() {
    let refuses = |method: &'static str, error: Value| {
        gateway(store(), move |asked, _| match asked {
            _ if asked == method => Err(error.clone()),
            "sessions.list" => Ok(json!({"sessions": [row("a")]})),
            _ => Ok(json!({})),
        })
    };
    let forbidden = json!({"code": "FORBIDDEN", "details": {"code": "MISSING_SCOPE"}});
    for method in ["exec.approval.list", "question.list"] {
        assert_eq!(says(&refuses(method, forbidden.clone())), busy(&["a"]));
    }
    let why = |gateway: &Gateway| served(gateway).expect_err("it tells nothing");
    let list = |error: Value| why(&refuses("sessions.list", error));
    assert_eq!(list(forbidden), "gateway unreachable: it refuses: MISSING_SCOPE");
    let starting = json!({"code": "UNAVAILABLE", "message": "token secret"});
    assert_eq!(list(starting), "gateway unreachable: it refuses: UNAVAILABLE");
    assert_eq!(list(json!({})), "gateway unreachable: it refuses: no reason given");
    let strange = gateway(store(), |_, _| Ok(json!({})));
    assert_eq!(why(&strange), "gateway unreachable: its answer has no sessions");
    let silent = answering(store(), |frame| match frame["method"].as_str() {
        Some("exec.approval.list") => Vec::new(),
        _ => vec![json!({"type": "res", "id": frame["id"], "ok": true,
            "payload": {"sessions": [row("a")]}})],
    });
    assert_eq!(why(&silent), "gateway unreachable: timed out");
    let chatty = answering(store(), |_| vec![json!({"type": "event"}); 2000]);
    assert_eq!(why(&chatty), "gateway unreachable: it talks without answering");
}

#[test]
fn only_the_process_of_the_lock_is_asked_and_only_where_it_listens_on_loopback() {
    let with = |more: Value| {
        let mut gateway = rows(vec![row("a")]);
        lock(&mut gateway.machine, &more);
        gateway
    };
    assert_eq!(says(&with(json!({"role": "gateway"}))), busy(&["a"]));
    for more in [
        json!({"role": "agent-embedded"}),
        json!({"pid": 8}),
        json!({"startTime": 99}),
        json!({"port": null}),
        json!({"createdAt": null}),
    ] {
        let gateway = with(more.clone());
        assert_eq!(served(&gateway), Ok(None), "{more}");
        assert_eq!(gateway.heard.lock().expect("one thread").len(), 0);
    }
    let mut gateway = with(json!({}));
    gateway.machine.ports = Ok(vec![(process(), ([0, 0, 0, 0], PORT).into())]);
    assert_eq!(says(&gateway), busy(&["a"]));
    gateway.machine.ports = Ok(vec![(process(), ([127, 0, 0, 1], 80).into())]);
    let why = |gateway: &Gateway| served(gateway).expect_err("it is not asked");
    assert_eq!(why(&gateway), "gateway unreachable: it does not listen on port 18789");
    gateway.machine.ports = Ok(vec![(process(), ([192, 0, 2, 1], PORT).into())]);
    assert_eq!(why(&gateway), "gateway unreachable: it listens on port 18789, not on loopback");
    gateway.machine.ports = Err(CannotTell("no ports here".to_owned()));
    let untold =
        "gateway unreachable: nobody tells whether it listens on port 18789: no ports here";
    assert_eq!(why(&gateway), untold);
    gateway.machine.files.remove(Path::new(LOCK));
    assert_eq!(served(&gateway), Ok(None));
}

#[test]
fn a_gateway_is_listened_to_with_leave_to_read_alone() {
    let mut gateway = rows(Vec::new());
    gateway.machine.file("/store/mine.json", b"{gateway: {auth: {token: 'secret'}}}");
    lock(&mut gateway.machine, &json!({"configPath": "/store/mine.json"}));
    let process = process();
    let server = Server { process: &process, since: at(100), serves: true };
    let pushes = |gateway: &Gateway| openclaw().pushes(&gateway.machine, Path::new(STORE), &server);
    let push = pushes(&gateway).expect("it tells of changes");
    assert_eq!(push.process, process);
    assert!(push.wakes.contains(&r#""stream":"lifecycle""#));
    let Line::Frames { at: Door::Port(door), says } = push.line else { panic!("a port") };
    assert_eq!((door, says.len()), (([127, 0, 0, 1], PORT).into(), 1));
    assert_eq!(says[0].after, Some("connect.challenge"));
    let said: Value = serde_json::from_str(&says[0].say).expect("a frame");
    assert_eq!((&said["id"], &said["method"]), (&"agentctl-1".into(), &"connect".into()));
    assert_eq!(said["params"]["scopes"], json!(["operator.read"]));
    assert_eq!(said["params"]["auth"], json!({"token": "secret"}));
    gateway.machine.files.remove(Path::new(LOCK));
    assert!(pushes(&gateway).is_none());
}
