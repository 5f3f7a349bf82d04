//! Figures, and who may read them.

use super::{
    Counters, bind, serve,
    text::{Seen, text},
};
use agentctl_core::{
    evidence::Tokens,
    host::Spent,
    wire::{Event, EventKind, Lock, LockKind, Session, StateName, Webhook},
};
use jiff::Timestamp;
use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn ended(id: &str, after: StateName, seconds: i64) -> Event {
    let mut session = crate::notify::some_session("s");
    session.ended_at = Some(at(1000 + seconds));
    Event {
        schema: 1,
        kind: EventKind::Ended,
        id: id.to_owned(),
        at: at(0),
        cursor: String::new(),
        before: None,
        after: Some(after),
        session: Some(Box::new(session)),
        lock: None,
        fuse: None,
        budget: None,
        from: None,
        to: None,
    }
}

fn live(id: &str) -> Session {
    Session {
        live: true,
        state: StateName::Working,
        tokens: Some(Tokens { input: 1, output: 2, cache_read: 3, cache_write: 4 }),
        cost_usd: Some(0.5),
        ..crate::notify::some_session(id)
    }
}

/// The lines with figures; those of one name come in any order.
fn figures(text: &str) -> BTreeSet<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

const NOTHING: Seen<'_> = Seen {
    sessions: &[],
    spent: &[],
    locks: &[],
    fuses: 0,
    times: &[],
    problems: &[],
    webhooks: &[],
    counters: None,
};

#[test]
fn what_1_x_told_is_told_under_its_names() {
    let mut counters = Counters::default();
    let events = [
        ended("a", StateName::Done, 30),
        ended("b", StateName::Died, 400),
        ended("c", StateName::Failed, 9000),
        ended("d", StateName::Stopped, 60),
        ended("a", StateName::Done, 30),
        ended("e", StateName::Unknown, 30),
    ];
    counters.count(&events);
    counters.count(&events[..2]);
    let lock = |kind| Lock {
        directory: "/work".into(),
        kind,
        session_id: None,
        agent: None,
        pid: None,
        by: None,
        reason: None,
        since: at(0),
    };
    let locks = [lock(LockKind::Session), lock(LockKind::Session), lock(LockKind::Manual)];
    let told = text(&Seen {
        sessions: &[live("s1"), crate::notify::some_session("s2")],
        locks: &locks,
        fuses: 3,
        counters: Some(&counters),
        ..NOTHING
    });
    let figures = figures(&told);
    for line in [
        "agentctl_sessions_active 1",
        "agentctl_locks_active{type=\"auto\"} 2.0",
        "agentctl_locks_active{type=\"manual\"} 1.0",
        "agentctl_fuses_active 3",
        "agentctl_sessions_total{status=\"completed\"} 1",
        "agentctl_sessions_total{status=\"failed\"} 2",
        "agentctl_sessions_total{status=\"stopped\"} 1",
        "agentctl_fuses_expired_total 0",
        "agentctl_session_duration_seconds_bucket{le=\"60.0\"} 2",
        "agentctl_session_duration_seconds_bucket{le=\"600.0\"} 3",
        "agentctl_session_duration_seconds_bucket{le=\"7200.0\"} 3",
        "agentctl_session_duration_seconds_bucket{le=\"+Inf\"} 4",
        "agentctl_session_duration_seconds_count 4",
        "agentctl_session_duration_seconds_sum 9490.0",
    ] {
        assert!(figures.contains(line), "no {line} in {told}");
    }
    assert!(told.ends_with("# EOF\n"), "{told}");
}

#[test]
fn sessions_agents_and_webhooks_have_figures() {
    let hook = Webhook {
        name: "team".to_owned(),
        url: "https://example.org".to_owned(),
        format: "slack".to_owned(),
        filter: String::new(),
        signed: false,
        waiting: 7,
        given_up: 1,
        dropped: 2,
        problem: None,
        problem_at: None,
    };
    let told = text(&Seen {
        sessions: &[live("quote\"d\n")],
        spent: &[Some(Spent { cpu: Duration::from_millis(1500), memory: 4096 })],
        times: &[("codex", Duration::from_millis(250)), ("pi", Duration::ZERO)],
        problems: &["codex".to_owned(), "codex".to_owned(), "late".to_owned()],
        webhooks: &[hook],
        ..NOTHING
    });
    let figures = figures(&told);
    for line in [
        "agentctl_sessions_by_state{agent=\"codex\",state=\"working\"} 1.0",
        "agentctl_session_tokens{agent=\"codex\",session=\"quote\\\"d\\n\",kind=\"cache_read\"} 3.0",
        "agentctl_session_cost_usd{agent=\"codex\",session=\"quote\\\"d\\n\"} 0.5",
        "agentctl_session_cpu_seconds_total{agent=\"codex\",session=\"quote\\\"d\\n\"} 1.5",
        "agentctl_session_memory_bytes{agent=\"codex\",session=\"quote\\\"d\\n\"} 4096.0",
        "agentctl_adapter_look_seconds{agent=\"codex\"} 0.25",
        "agentctl_adapter_problems{agent=\"codex\"} 2.0",
        "agentctl_adapter_problems{agent=\"pi\"} 0.0",
        "agentctl_adapter_problems{agent=\"late\"} 1.0",
        "agentctl_webhook_messages{target=\"team\",state=\"dropped\"} 2.0",
    ] {
        assert!(figures.contains(line), "no {line} in {told}");
    }
    assert!(!told.contains("agentctl_sessions_total"), "nobody counted: {told}");
}

#[test]
fn series_are_bounded() {
    let many: Vec<Session> = (0..250).map(|number| live(&format!("s{number}"))).collect();
    let told = text(&Seen { sessions: &many, ..NOTHING });
    assert!(told.contains("agentctl_sessions_without_figures 150\n"), "{told}");
    assert_eq!(told.matches("agentctl_session_cost_usd{").count(), 100);
}

/// What the page answers to these bytes.
fn asked(place: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(place).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn served() -> SocketAddr {
    let listener = bind(([127, 0, 0, 1], 0).into(), false).expect("a free port");
    let place = listener.local_addr().expect("it is bound");
    thread::spawn(move || serve(&listener, false, || "figures".to_owned()));
    place
}

#[test]
fn only_this_machine_reads_and_only_the_page() {
    let place = served();
    let page = |line: &str, host: &str| {
        let answer = asked(place, format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes());
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        (status, answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
    };
    let told = |status: &str, body: &str| (status.to_owned(), body.to_owned());
    for host in ["127.0.0.1:9464", "localhost", "LOCALHOST:1", "[::1]:9464", "127.8.8.8"] {
        assert_eq!(page("GET /metrics HTTP/1.1", host), told("200", "figures"), "{host}");
    }
    for host in ["example.org", "127.0.0.1.example.org", "localhost.example.org:80", "10.0.0.1", ""]
    {
        assert_eq!(page("GET /metrics HTTP/1.1", host), told("403", ""), "{host}");
    }
    let here = "localhost";
    assert_eq!(page("GET /metrics?x=1 HTTP/1.1", here).0, "200");
    assert_eq!(page("HEAD /metrics HTTP/1.1", here), told("200", ""));
    assert_eq!(page("POST /metrics HTTP/1.1", here).0, "405");
    assert_eq!(page("GET / HTTP/1.1", here).0, "404");
    assert_eq!(page("GET /metrics HTTP/1.1", "localhost\r\nHost: localhost").0, "400");
}

#[test]
fn words_that_are_none_are_refused_and_others_served() {
    let place = served();
    let status =
        |bytes: &[u8]| asked(place, bytes).split(' ').nth(1).unwrap_or_default().to_owned();
    assert_eq!(status(b"\0\xff\r\n\r\n"), "400");
    assert_eq!(status(b"GET /metrics HTTP/1.1\r\n\r\n"), "400");
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 20_000]].concat();
    assert!(matches!(status(&long).as_str(), "400" | ""), "it hangs up on whoever goes on");
    let silent: Vec<TcpStream> =
        (0..7).map(|_| TcpStream::connect(place).expect("it listens")).collect();
    assert_eq!(status(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200");
    drop(silent);
}

#[test]
fn other_machines_are_let_in_on_purpose_only() {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    assert!(bind(any, false).is_err());
    assert!(bind(any, true).is_ok());
}
