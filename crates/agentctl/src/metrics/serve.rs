//! A page for Prometheus: `GET /metrics`, and nothing else.

use crate::error::{Error, Kind};
use std::{
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What the page is.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Nobody asks in more words.
const LONGEST: usize = 8 << 10;
/// Nobody has more to say in a head.
const HEADERS: usize = 64;
/// So many are served at once; others are told to come back.
const CONNECTIONS: usize = 8;
/// How long one may take to ask, and to hear the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Listens. What is to be read names sessions and directories of their user: other machines must be let in on
/// purpose.
pub(crate) fn bind(address: SocketAddr, remote: bool) -> Result<TcpListener, Error> {
    if !remote && !address.ip().is_loopback() {
        let what = format!("{address} can be reached from other machines");
        return Err(Error::new(Kind::Refused, what).hint(
            "use an address such as 127.0.0.1:9464, or let them in on purpose: `--help` says how",
        ));
    }
    TcpListener::bind(address).map_err(|why| {
        Error::new(Kind::Io, format!("cannot listen on {address}: {why}"))
            .hint("use another port; 0 is any that is free")
    })
}

/// Serves what `text` says at each time of asking, until the program ends. It is asked by one at a time.
pub(crate) fn serve(listener: &TcpListener, remote: bool, text: impl Fn() -> String + Sync) {
    let (busy, turn) = (AtomicUsize::new(0), Mutex::new(()));
    let page = || {
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        text()
    };
    thread::scope(|scope| {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(Duration::from_millis(100)); // no descriptors are left: some may come free
                continue;
            };
            let (busy, page) = (&busy, &page);
            if busy.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
                let _ = answer(&stream, "503 Service Unavailable", "", false);
                busy.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let begun = thread::Builder::new().spawn_scoped(scope, move || {
                let _ = one(&stream, remote, page); // whoever hangs up gets nothing
                busy.fetch_sub(1, Ordering::SeqCst);
            });
            if begun.is_err() {
                busy.fetch_sub(1, Ordering::SeqCst); // no threads are left: he is hung up on
            }
        }
    });
}

fn one(stream: &TcpStream, remote: bool, page: impl Fn() -> String) -> io::Result<()> {
    let head = head(stream)?;
    match judge(&head, remote) {
        Ok(asked) => answer(stream, "200 OK", &page(), asked == Asked::Head),
        Err(status) => answer(stream, status, "", false),
    }
}

/// All up to the empty line; an error where that does not come in time, or at all.
fn head(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Ok(Vec::new());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend(&part[..read]),
        }
    }
    Ok(head)
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Page,
    Head,
}

/// What is asked for, or the status that refuses it.
fn judge(head: &[u8], remote: bool) -> Result<Asked, &'static str> {
    const BAD: &str = "400 Bad Request";
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if !request.parse(head).is_ok_and(|parsed| parsed.is_complete()) {
        return Err(BAD);
    }
    let hosts: Vec<&[u8]> = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("host"))
        .map(|header| header.value)
        .collect();
    let [host] = hosts[..] else { return Err(BAD) };
    // A page of the web may be shown by a name that leads here: its script would read all of this.
    if !remote && !is_here(host) {
        return Err("403 Forbidden");
    }
    let path = request.path.unwrap_or_default().split('?').next();
    match (request.method, path) {
        (Some("GET"), Some("/metrics")) => Ok(Asked::Page),
        (Some("HEAD"), Some("/metrics")) => Ok(Asked::Head),
        (_, Some("/metrics")) => Err("405 Method Not Allowed"),
        (_, _) => Err("404 Not Found"),
    }
}

/// It names this machine as nobody else can.
fn is_here(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let host = host.trim();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

fn answer(mut stream: &TcpStream, status: &str, page: &str, only_head: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let length = page.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if !only_head {
        stream.write_all(page.as_bytes())?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_lead_here() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.8.9.1:1", "[::1]", "[::1]:80"] {
            assert!(is_here(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            ":",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:80.evil.example",
            "evil.example:80",
            "127.evil.example",
            "[::1].evil.example",
            "localhost@evil.example",
            "0.0.0.0",
            "[::]",
            "128.0.0.1",
            "xlocalhost",
            "127.1",
            "\u{fb04}ocalhost",
        ] {
            assert!(!is_here(host.as_bytes()), "{host}");
        }
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;
        use std::net::{Ipv4Addr, Ipv6Addr};

        /// Said another way than the program does: what is left of a host without its port is a name of this
        /// machine, whole.
        fn is_ours(host: &str) -> bool {
            let bare = host.trim_end_matches(|c: char| c.is_ascii_digit());
            let name = bare.strip_suffix(':').unwrap_or(host);
            let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
            let v6 = in_brackets.unwrap_or(name).parse::<Ipv6Addr>();
            let v4 = in_brackets.unwrap_or(name).parse::<Ipv4Addr>();
            name == "localhost"
                || v6.is_ok_and(|ip| ip == Ipv6Addr::LOCALHOST)
                || v4.is_ok_and(|ip| ip.octets()[0] == 127)
        }

        /// Only who names this machine, in one plain head, is shown the page.
        #[test]
        fn any_head_is_answered_and_only_ours_with_the_page() {
            let run = |head: &[u8]| {
                for remote in [true, false] {
                    let Ok(_) = judge(head, remote) else { continue };
                    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
                    let hosts: Vec<&str> =
                        text.lines().filter_map(|line| line.strip_prefix("host:")).collect();
                    assert_eq!(hosts.len(), 1, "{text:?}");
                    assert!(remote || is_ours(hosts[0].trim()), "{:?}", hosts[0]);
                }
            };
            Target::new("http", run).holds(5_000);
        }
    }
}
