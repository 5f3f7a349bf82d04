//! Servers that tell of changes which no file shows, played by a stand-in for OpenCode's.

use crate::home::{Home, Stream};
use jiff::Timestamp;
use rusqlite::Connection;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Everything is looked at this often though nobody says anything: what is told twice in less time
/// was told because of something else.
const SCAN: Duration = Duration::from_secs(15);
const TABLES: &str = "
    create table session (id text, parent_id text, directory text, title text, version text,
        permission text, time_created integer, time_updated integer);
    create table message (id text, session_id text, time_created integer, time_updated integer,
        data text);
    create table part (id text, message_id text, session_id text, time_created integer,
        time_updated integer, data text);";

/// A server that runs one session; it is ended with this value.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(home: &Home, id: &str) -> Self {
        let program = home.program("opencode");
        if !program.exists() {
            let done = Command::new("cp").arg("/usr/bin/perl").arg(&program).status();
            assert!(done.is_ok_and(|done| done.success()), "no perl");
            fs::write(home.work().join("serve"), include_str!("serve.pl")).expect("a script");
        }
        let mut command = home.command(program);
        command.arg("serve").arg(database(home)).arg(id);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it tells its port");
        let port = line.trim().parse().unwrap_or_else(|why| panic!("{line:?}: {why}"));
        Self { child, port }
    }

    fn page(&self, page: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        write!(stream, "GET {page} HTTP/1.1\r\n\r\n").expect("it hears");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer.split("\r\n\r\n").nth(1).expect("a body").to_owned()
    }

    fn looks(&self) -> u64 {
        self.page("/looks").parse().expect("a number")
    }

    /// A question and its answer, both told; how long that took.
    fn asks(&self, events: &mut Stream, id: &str) -> Duration {
        let began = Instant::now();
        self.page("/ask");
        assert_eq!(events.told(id), "session.waiting: working waiting");
        self.page("/answer");
        assert_eq!(events.told(id), "session.working: waiting working");
        began.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone
        let _ = self.child.wait();
    }
}

fn database(home: &Home) -> PathBuf {
    home.path(".local/share/opencode/opencode.db")
}

/// A home in which OpenCode was started once.
fn home() -> Home {
    let home = Home::new();
    fs::create_dir_all(database(&home).parent().expect("a folder")).expect("a folder");
    let made = Connection::open(database(&home)).expect("a database");
    made.execute_batch(TABLES).expect("tables");
    home
}

/// A session whose turn begins now.
fn begins(home: &Home, id: &str) {
    let (now, dir) = (Timestamp::now().as_millisecond(), home.work());
    let dir = dir.to_string_lossy();
    let open = Connection::open(database(home)).expect("a database");
    let add = |sql: String| open.execute_batch(&sql).expect("a row");
    add(format!(
        "begin; insert into session values ('{id}', null, '{dir}', 'one', '1.18.33', null, {now}, \
         {now}); insert into message values ('msg_{id}', '{id}', {now}, {now}, \
         '{{\"role\":\"assistant\",\"time\":{{\"created\":{now}}}}}'); commit;"
    ));
}

/// What a server says is looked into at once: five questions and answers take less time than two scans
/// are apart, and no file changes.
#[test]
fn what_only_a_server_knows_is_told_when_it_says_so() {
    let (home, id) = (home(), "ses_e1edb027cffeZ4jmiBvS8iAWza");
    let mut events = home.events();
    let server = Server::start(&home, id);
    begins(&home, id);
    assert_eq!(events.told(id), "session.started: - idle");
    assert_eq!(events.told(id), "session.working: idle working");
    server.asks(&mut events, id); // by now somebody listens
    let took: Duration = (0..5).map(|_| server.asks(&mut events, id)).sum();
    assert!(took < SCAN, "{took:?}");

    let before = server.looks();
    server.page("/flood");
    server.asks(&mut events, id);
    let looks = server.looks() - before;
    assert!(looks < 10, "{looks} looks because of words that matter to nobody");

    // Whoever is hung up on calls again.
    server.page("/hush");
    server.asks(&mut events, id);
    let took: Duration = (0..5).map(|_| server.asks(&mut events, id)).sum();
    assert!(took < SCAN, "{took:?}");
    events.are_unique();
}

/// A server that is killed is no longer listened to, and the next one is, wherever it listens.
#[test]
fn the_next_server_is_listened_to() {
    let home = home();
    let mut events = home.events();
    for id in ["ses_e1edb027cffeZ4jmiBvS8iAWza", "ses_e1edb03dcffe1w68e2KAWAliZc"] {
        let server = Server::start(&home, id);
        begins(&home, id);
        assert_eq!(events.told(id), "session.started: - idle");
        assert_eq!(events.told(id), "session.working: idle working");
        server.asks(&mut events, id);
        let took: Duration = (0..5).map(|_| server.asks(&mut events, id)).sum();
        assert!(took < SCAN, "{took:?}");
        drop(server);
        assert_eq!(events.told(id), "session.ended: working died");
    }
    events.are_unique();
}
