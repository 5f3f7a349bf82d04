//! Servers that tell of changes unasked, the good and the bad: this process is all of them.

use super::Running;
use crate::host::{Change, Listening, Native, Watch, key_of};
use agentctl_core::{
    ident::ProcKey,
    push::{Door, Line, Push, Step},
};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixListener,
    time::Duration,
};
use tungstenite::{Message, WebSocket, accept};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";

fn ours() -> ProcKey {
    key_of(std::process::id()).expect("we live")
}

fn events(socket: &TcpListener, process: ProcKey) -> Push {
    let at = vec![socket.local_addr().expect("it is bound")];
    let user = Some(("name".to_owned(), "word".to_owned()));
    let line = Line::Events { at, page: "/events?all".to_owned(), user };
    Push { process, line, wakes: &["asked", "begins"] }
}

fn listening(push: Push) -> (Watch, Listening) {
    let (watch, refused) = Watch::empty();
    assert!(refused.is_none(), "{refused:?}");
    let line = watch.server(push, 0).expect("a thread");
    (watch, line)
}

fn socket() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("there is a free port")
}

/// The next caller, and the head of what it asks.
fn called(socket: &TcpListener) -> (TcpStream, Vec<String>) {
    let (stream, _) = socket.accept().expect("somebody calls");
    let lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let head = lines.take_while(|line| !line.is_empty()).collect();
    (stream, head)
}

/// Nothing more comes from whoever called.
fn hangs_up(mut stream: impl Read) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest); // one who leaves much unread is cut off
    assert_eq!(String::from_utf8_lossy(&rest), "");
}

fn says(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).expect("somebody listens");
}

fn chunk(stream: &mut TcpStream, text: &str) {
    says(stream, &format!("{:x}\r\n{text}\r\n", text.len()));
}

#[test]
fn only_messages_that_matter_wake() {
    let socket = socket();
    let (watch, line) = listening(events(&socket, ours()));
    let (mut stream, head) = called(&socket);
    assert_eq!(head[0], "GET /events?all HTTP/1.1");
    assert!(head.contains(&"authorization: Basic bmFtZTp3b3Jk".to_owned()), "{head:?}");
    says(&mut stream, &format!("{STREAM}transfer-encoding: chunked\r\n\r\n"));
    chunk(&mut stream, "data: begins\n\n");
    assert_eq!(watch.next(SOON), Change::Pushed(ours()));
    chunk(&mut stream, "data: heartbeat\n\ndata: as");
    chunk(&mut stream, "k");
    assert_eq!(watch.next(Some(Duration::from_millis(50))), Change::TimedOut);
    chunk(&mut stream, "ed\n\ndata: heartbeat\n\n");
    assert_eq!(watch.next(SOON), Change::Pushed(ours()));
    drop(line);
    hangs_up(stream);
    assert_eq!(watch.next(SOON), Change::Hushed(ours(), 0));
}

#[test]
fn a_flood_is_heard_and_a_line_without_end_is_not_kept() {
    let socket = socket();
    let (watch, _line) = listening(events(&socket, ours()));
    let (mut stream, _) = called(&socket);
    says(&mut stream, &format!("{STREAM}\r\ndata: "));
    let piece = "a".repeat(1 << 16);
    for _ in 0..512 {
        says(&mut stream, &piece);
    }
    says(&mut stream, "asked\n"); // too far from the beginning of its line
    for _ in 0..50_000 {
        says(&mut stream, "data: delta\n\n");
    }
    assert_eq!(watch.next(Some(Duration::from_millis(50))), Change::TimedOut);
    for _ in 0..50_000 {
        says(&mut stream, "data: asked\n\n");
    }
    drop(stream);
    assert_eq!(watch.next(SOON), Change::Pushed(ours()));
    // What came while nobody asked is one change.
    let mut told = 1;
    while watch.next(SOON) != Change::Hushed(ours(), 0) {
        told += 1;
    }
    assert!(told < 50_000, "{told}");
}

#[test]
fn what_is_no_stream_is_over() {
    for answer in [
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: text/event-stream\r\n\r\ndata: asked\n\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\nasked\n",
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n",
        "asked\n\n",
        "",
    ] {
        let socket = socket();
        let (watch, _line) = listening(events(&socket, ours()));
        let (mut stream, _) = called(&socket);
        says(&mut stream, answer);
        drop(stream);
        assert_eq!(watch.next(SOON), Change::Hushed(ours(), 0), "{answer}");
    }
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let socket = socket();
    let (watch, _line) = listening(events(&socket, ours()));
    let (stream, _) = called(&socket);
    assert_eq!(watch.next(SOON), Change::Hushed(ours(), 0));
    hangs_up(stream);
}

#[test]
fn nobody_but_the_process_itself_hears_a_word() {
    let (socket, other) = (socket(), Running::sleeping());
    let other = other.key(&Native::new());
    let (watch, _line) = listening(events(&socket, other.clone()));
    let (stream, _) = socket.accept().expect("somebody calls");
    hangs_up(stream);
    assert_eq!(watch.next(SOON), Change::Hushed(other.clone(), 0));

    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let socket = UnixListener::bind(&path).expect("a socket");
    let line = Line::Frames { at: Door::File(path), says: Vec::new() };
    let (watch, _line) = listening(Push { process: other.clone(), line, wakes: &[] });
    let (stream, _) = socket.accept().expect("somebody calls");
    hangs_up(stream);
    assert_eq!(watch.next(SOON), Change::Hushed(other, 0));
}

#[test]
fn frames_are_said_one_after_another() {
    let (socket, dir) = (socket(), tempfile::tempdir().expect("a directory"));
    let path = dir.path().join("socket");
    let file = UnixListener::bind(&path).expect("a socket");
    let ports = Door::Port(socket.local_addr().expect("it is bound"));
    let (watch, line) = listening(frames(ports));
    let (stream, _) = socket.accept().expect("somebody calls");
    converses(&watch, accept(stream).expect("a WebSocket"));
    drop(line);
    assert_eq!(watch.next(SOON), Change::Hushed(ours(), 0));
    let (watch, line) = listening(frames(Door::File(path)));
    let (stream, _) = file.accept().expect("somebody calls");
    converses(&watch, accept(stream).expect("a WebSocket"));
    drop(line);
    assert_eq!(watch.next(SOON), Change::Hushed(ours(), 0));
}

fn frames(at: Door) -> Push {
    let step = |after, say: &str| Step { after, say: say.to_owned() };
    let says = vec![step(None, "hello"), step(Some("who"), "me"), step(Some("well"), "tell")];
    Push { process: ours(), line: Line::Frames { at, says }, wakes: &["asked"] }
}

fn converses<S: Read + Write>(watch: &Watch, mut server: WebSocket<S>) {
    let heard = |server: &mut WebSocket<S>| match server.read().expect("a frame") {
        Message::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    };
    let said =
        |server: &mut WebSocket<S>, text: &str| server.send(Message::text(text)).expect("it");
    assert_eq!(heard(&mut server), "hello");
    said(&mut server, "news");
    said(&mut server, "who are you");
    assert_eq!(heard(&mut server), "me");
    said(&mut server, "well");
    assert_eq!(heard(&mut server), "tell");
    said(&mut server, "news");
    said(&mut server, "asked");
    assert_eq!(watch.next(SOON), Change::Pushed(ours()));
}
