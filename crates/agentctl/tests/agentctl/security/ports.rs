//! What a web page could reach: ports of ours, and what is answered there.

use crate::home::{Agents, Daemon};
use std::{
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long a caller who says a letter at a time waits before the next.
const STEP: Duration = Duration::from_millis(100);
/// So many are served at once.
const SEATS: usize = 8;
/// No head is longer.
const HEAD: usize = 8 << 10;

/// Ports on which a process takes calls, by the kernel's own tables.
fn ports(pid: u32) -> usize {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).expect("it lives").flatten();
    let links = fds.filter_map(|fd| fs::read_link(fd.path()).ok());
    let own: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let tables = ["tcp", "tcp6", "udp", "udp6"]
        .map(|table| fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    // `0A` is a socket that listens, `07` one of UDP; the tenth word is its number.
    let open = lines.filter(|line| matches!(line.split_whitespace().nth(3), Some("0A" | "07")));
    let numbers = open.filter_map(|line| line.split_whitespace().nth(9));
    numbers.filter(|number| own.contains(&format!("socket:[{number}]"))).count()
}

#[test]
fn a_daemon_has_no_port_unless_it_is_given_one() {
    let agents = Agents::new();
    let home = &agents.home;
    let daemon = home.daemon();
    assert_eq!(ports(daemon.pid()), 0);
    drop(daemon);
    let words = ["daemon", "run", "--metrics-addr", "127.0.0.1:0"];
    let (daemon, _) = Daemon::of_figures(home, &words);
    assert_eq!(ports(daemon.pid()), 1, "and one that is asked for is seen");
}

fn call(place: &str) -> TcpStream {
    let stream = TcpStream::connect(place).expect("somebody listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    stream
}

/// All that is answered to these bytes.
fn asked(place: &str, bytes: &str) -> String {
    let mut stream = call(place);
    stream.write_all(bytes.as_bytes()).expect("somebody listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_web_page_is_shown_nothing() {
    let agents = Agents::new();
    let (_served, place) = Daemon::of_figures(&agents.home, &["metrics", "--addr", "127.0.0.1:0"]);
    let own = format!("Host: {place}\r\n");
    let page = "Origin: http://evil.example\r\n";
    for (line, headers, status) in [
        ("GET /metrics", own.clone(), "200 OK"),
        ("GET /metrics", format!("{own}{page}"), "200 OK"), // and no browser shows it to the page
        ("HEAD /metrics", own.clone(), "200 OK"),
        ("OPTIONS /metrics", format!("{own}{page}"), "405 Method Not Allowed"),
        ("POST /metrics", own.clone(), "405 Method Not Allowed"),
        ("PUT /metrics", own.clone(), "405 Method Not Allowed"),
        ("DELETE /metrics", own.clone(), "405 Method Not Allowed"),
        ("GET /", own.clone(), "404 Not Found"),
        ("GET /metrics/../state", own.clone(), "404 Not Found"),
        ("GET /metrics", "Host: evil.example\r\n".to_owned(), "403 Forbidden"),
        ("GET /metrics", "Host: localhost.evil.example\r\n".to_owned(), "403 Forbidden"),
        ("GET /metrics", format!("{own}Host: evil.example\r\n"), "400 Bad Request"),
        ("GET /metrics", String::new(), "400 Bad Request"),
    ] {
        let answer = asked(&place, &format!("{line} HTTP/1.1\r\n{headers}\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{line} {headers}: {head}");
        assert!(!head.to_ascii_lowercase().contains("access-control"), "{head}");
        let is_shown = line.starts_with("GET") && status == "200 OK";
        assert_eq!(!body.is_empty(), is_shown, "{line} {headers}: {body}");
    }
}

/// Says a letter at a time, until he is hung up on; what he was told.
fn trickled(place: &str) -> io::Result<String> {
    let mut stream = call(place);
    stream.set_read_timeout(Some(STEP))?;
    let (mut told, mut part) = (Vec::new(), [0; 512]);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ")?;
    for _ in 0..LIMIT.as_millis() / STEP.as_millis() {
        match stream.read(&mut part) {
            Ok(0) => return Ok(String::from_utf8_lossy(&told).into_owned()),
            Ok(read) => told.extend(&part[..read]),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                let _ = stream.write_all(b"x"); // hung up on, he is told so by the next reading
            }
            Err(why) if why.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(String::from_utf8_lossy(&told).into_owned());
            }
            Err(why) => return Err(why),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Whoever says nothing, too much, or a letter at a time keeps nobody else from the page for long.
#[test]
fn nobody_keeps_the_page_busy() {
    let agents = Agents::new();
    let (_served, place) = Daemon::of_figures(&agents.home, &["metrics", "--addr", "127.0.0.1:0"]);
    let ask = format!("GET /metrics HTTP/1.1\r\nHost: {place}\r\n\r\n");
    let long = asked(&place, &format!("GET /{}", "x".repeat(HEAD + 1 - "GET /".len())));
    assert!(long.starts_with("HTTP/1.1 400 "), "{long}");
    let silent: Vec<TcpStream> = (0..SEATS).map(|_| call(&place)).collect();
    let refused = asked(&place, ""); // he need not ask to be told
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    for mut stream in silent {
        // He never asked; sooner or later he is hung up on.
        assert_eq!(stream.read(&mut [0; 512]).ok(), Some(0));
    }
    let told = trickled(&place).expect("he is hung up on");
    assert!(!told.contains(" 200 "), "{told}");
    let page = asked(&place, &ask);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
}
