//! Questions to servers on this machine, each limited in time: one that hangs delays nobody.

use super::peer;
use agentctl_core::{
    control::Unheard,
    host::{Servers, Talk},
    ident::ProcKey,
    text::one_line,
};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};
use tungstenite::{HandshakeError, Message, WebSocket, client::client};

/// Longest answer that is read.
const LIMIT: u64 = 32 << 20;
/// So much of a refusal is told.
const WORDS: u64 = 300;

/// How long servers may keep us waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// So long for each page or conversation.
    Each(Duration),
    /// Until then for all of them, however many there are.
    Until(Instant),
}

impl Patience {
    /// How long that is from now.
    pub(super) fn left(self) -> Duration {
        self.until().saturating_duration_since(Instant::now())
    }

    fn until(self) -> Instant {
        match self {
            Self::Each(patience) => Instant::now() + patience,
            Self::Until(moment) => moment,
        }
    }
}

/// The real servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loopback {
    /// Longest wait.
    pub(crate) patience: Patience,
}

impl Servers for Loopback {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        let mut request = self.agent(url)?.get(url);
        if let Some((name, password)) = user {
            request = request.header("authorization", &basic(name, password));
        }
        body(request.call())
    }

    fn post(&self, url: &str, user: Option<(&str, &str)>, json: &str) -> Result<(), Unheard> {
        let agent = self.agent(url).map_err(Unheard::Failed)?;
        let mut request = agent.post(url).header("content-type", "application/json");
        if let Some((name, password)) = user {
            request = request.header("authorization", &basic(name, password));
        }
        let mut answer = request.send(json).map_err(|why| match is_unsent(&why) {
            true => Unheard::Failed(plain(why)),
            false => Unheard::Silent(plain(why)),
        })?;
        if answer.status().is_success() {
            return Ok(());
        }
        let mut words = Vec::new();
        let read = answer.body_mut().as_reader().take(WORDS).read_to_end(&mut words);
        let words = one_line(&String::from_utf8_lossy(&words));
        let words =
            if read.is_ok() && !words.is_empty() { format!(": {words}") } else { String::new() };
        Err(Unheard::Refused(format!("it refuses: {}{words}", status(&answer))))
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        let until = self.patience.until();
        let stream = TcpStream::connect_timeout(&address(url)?, left(until, UNANSWERED)?)?;
        shake(url, Limited { stream, until })
    }

    fn dial_file(&self, path: &Path, peer: &ProcKey) -> io::Result<Box<dyn Talk>> {
        let stream = peer::connected(path, peer)?;
        shake("ws://localhost/", Limited { stream, until: self.patience.until() })
    }
}

impl Loopback {
    fn agent(&self, url: &str) -> io::Result<ureq::Agent> {
        address(url)?;
        let left = left(self.patience.until(), UNANSWERED)?;
        // A redirection may lead off this machine.
        let config = ureq::Agent::config_builder().proxy(None).max_redirects(0);
        let config = config.http_status_as_error(false);
        Ok(config.timeout_global(Some(left)).build().into())
    }
}

fn body(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> io::Result<Vec<u8>> {
    let mut answer = answer.map_err(plain)?;
    if !answer.status().is_success() {
        return Err(io::Error::other(status(&answer)));
    }
    let mut body = Vec::new();
    answer.body_mut().as_reader().take(LIMIT).read_to_end(&mut body)?;
    Ok(body)
}

fn status(answer: &ureq::http::Response<ureq::Body>) -> String {
    format!("http status: {}", answer.status().as_u16())
}

fn plain(why: ureq::Error) -> io::Error {
    match why {
        ureq::Error::Io(why) => plainly(why, UNANSWERED),
        ureq::Error::Timeout(_) => late(UNANSWERED),
        other => io::Error::other(other),
    }
}

/// Nobody can have heard it. What ends a connection once it is there leaves that open.
fn is_unsent(why: &ureq::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    match why {
        ureq::Error::Io(why) => matches!(
            why.kind(),
            ConnectionRefused | AddrNotAvailable | HostUnreachable | NetworkUnreachable
        ),
        ureq::Error::Http(_)
        | ureq::Error::BadUri(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed => true,
        _ => false,
    }
}

fn shake<S: Patient + 'static>(url: &str, stream: Limited<S>) -> io::Result<Box<dyn Talk>> {
    let (socket, _) = client(url, stream).map_err(|why| match why {
        HandshakeError::Failure(why) => told(why),
        HandshakeError::Interrupted(_) => late(UNANSWERED),
    })?;
    Ok(Box::new(Line { socket }))
}

struct Line<S: Patient> {
    socket: WebSocket<Limited<S>>,
}

impl<S: Patient> Talk for Line<S> {
    fn say(&mut self, frame: &str) -> io::Result<()> {
        self.socket.send(Message::text(frame)).map_err(told)
    }

    fn hear(&mut self) -> io::Result<String> {
        loop {
            match self.socket.read().map_err(told)? {
                Message::Text(text) => return Ok(text.to_string()),
                Message::Close(_) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// A stream that nothing is read from or written to after a moment: one frame may take many reads, and
/// a peer that sends a byte at a time would make each of them short and all of them long.
struct Limited<S> {
    stream: S,
    until: Instant,
}

/// A stream whose reads and writes can be limited in time.
trait Patient: Read + Write {
    fn limit_reads(&self, time: Duration) -> io::Result<()>;
    fn limit_writes(&self, time: Duration) -> io::Result<()>;
}

impl Patient for TcpStream {
    fn limit_reads(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }

    fn limit_writes(&self, time: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(time))
    }
}

impl Patient for UnixStream {
    fn limit_reads(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }

    fn limit_writes(&self, time: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(time))
    }
}

const UNANSWERED: &str = "it does not answer in time";
const UNHEARD: &str = "it does not listen in time";

impl<S: Patient> Read for Limited<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.stream.limit_reads(left(self.until, UNANSWERED)?)?;
        self.stream.read(buf).map_err(|why| plainly(why, UNANSWERED))
    }
}

impl<S: Patient> Write for Limited<S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.limit_writes(left(self.until, UNHEARD)?)?;
        self.stream.write(buf).map_err(|why| plainly(why, UNHEARD))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The time until then, if there is any.
fn left(until: Instant, silent: &'static str) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late(silent)) } else { Ok(left) }
}

fn late(silent: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, silent)
}

/// Whoever stays silent is told as such: the kernel's words for it ("try again") mislead.
fn plainly(why: io::Error, silent: &'static str) -> io::Error {
    match why.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => late(silent),
        _ => why,
    }
}

fn told(why: tungstenite::Error) -> io::Error {
    match why {
        tungstenite::Error::Io(why) => why,
        other => io::Error::other(other.to_string()),
    }
}

/// Only this machine is asked, by number: what runs elsewhere is another host's to tell.
fn address(url: &str) -> io::Result<SocketAddr> {
    let place = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = place.split('/').next().unwrap_or_default();
    let found = place.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
    found.ok_or_else(|| io::Error::other(format!("{place} is not on this machine")))
}

pub(super) fn basic(name: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("Basic ");
    for group in format!("{name}:{password}").as_bytes().chunks(3) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            let shown = if place <= group.len() { DIGITS[digit as usize] } else { b'=' };
            text.push(char::from(shown));
        }
    }
    text
}

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, thread};

    #[test]
    fn basic_authentication_is_base64() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("a", "bc"), "Basic YTpiYw==");
        assert_eq!(basic("a", "b"), "Basic YTpi");
    }

    #[test]
    fn nobody_elsewhere_is_asked() {
        assert!(address("ws://192.0.2.1:80/x").is_err());
        assert!(address("ws://localhost:80/x").is_err(), "names may lead anywhere");
        assert!(address("ws://127.0.0.1@192.0.2.1:80/x").is_err());
        assert!(address("ws://127.0.0.1:80/x").is_ok());
        assert!(address("ws://[::1]:80/x").is_ok());
        let servers = Loopback { patience: Patience::Each(Duration::from_secs(1)) };
        let why = servers.get("http://192.0.2.1:80/x", None).expect_err("it is elsewhere");
        assert_eq!(why.to_string(), "192.0.2.1:80 is not on this machine");
    }

    /// A server that says this to each who connects: at once, then a byte at a time for ever.
    fn server(at_once: String, then: u8) -> SocketAddr {
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let place = socket.local_addr().expect("it is bound");
        thread::spawn(move || {
            for stream in socket.incoming() {
                let mut stream = stream.expect("somebody connects");
                let _ = stream.write_all(at_once.as_bytes());
                while stream.write_all(&[then]).is_ok() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        });
        place
    }

    #[test]
    fn a_peer_that_trickles_is_given_up_in_time() {
        const PATIENCE: Duration = Duration::from_millis(200);
        let place = server("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\nx: ".into(), b'x');
        let body = server("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n".into(), b'x');
        let began = Instant::now();
        let servers = Loopback { patience: Patience::Until(began + PATIENCE) };
        let why = servers.dial(&format!("ws://{place}/")).err().expect("it never ends");
        assert_eq!((why.kind(), why.to_string()), (io::ErrorKind::TimedOut, UNANSWERED.into()));
        let why = servers.get(&format!("http://{body}/"), None).expect_err("no time is left");
        assert_eq!(why.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < PATIENCE * 4, "{:?}", began.elapsed());

        let began = Instant::now();
        let servers = Loopback { patience: Patience::Each(PATIENCE) };
        assert!(servers.get(&format!("http://{body}/"), None).is_err());
        assert!(began.elapsed() < PATIENCE * 4, "{:?}", began.elapsed());
    }

    /// A server that hears what is said to it, and then says this and hangs up.
    fn curt(says: &'static str) -> SocketAddr {
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let place = socket.local_addr().expect("it is bound");
        thread::spawn(move || {
            for stream in socket.incoming() {
                let mut stream = stream.expect("somebody connects");
                let (mut heard, mut byte) = (Vec::new(), [0]);
                while !heard.ends_with(b"{}") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
                    heard.extend(byte);
                }
                let _ = stream.write_all(says.as_bytes());
            }
        });
        place
    }

    #[test]
    fn what_may_have_been_heard_has_not_failed() {
        let servers = Loopback { patience: Patience::Each(Duration::from_secs(5)) };
        let post = |place: SocketAddr| servers.post(&format!("http://{place}/"), None, "{}");
        assert!(post(curt("HTTP/1.1 204 No Content\r\n\r\n")).is_ok());
        let no = "HTTP/1.1 404 Not Found\r\ncontent-length: 18\r\n\r\n{\"no\": \n\"session\"}";
        match post(curt(no)) {
            Err(Unheard::Refused(why)) => {
                assert_eq!(why, "it refuses: http status: 404: {\"no\": \"session\"}");
            }
            other => panic!("{other:?}"),
        }
        for says in ["", "HTTP/1.1 200", "words"] {
            let answer = post(curt(says));
            assert!(matches!(answer, Err(Unheard::Silent(_))), "{says}: {answer:?}");
        }
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let place = socket.local_addr().expect("it is bound");
        drop(socket);
        let answer = post(place);
        assert!(matches!(answer, Err(Unheard::Failed(_))), "{answer:?}");
    }

    #[test]
    fn redirections_are_not_followed() {
        let other = server("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n".into(), b'x');
        let found = format!("HTTP/1.1 302 Found\r\nlocation: http://{other}/\r\n");
        let place = server(format!("{found}content-length: 0\r\n\r\n"), b'x');
        let servers = Loopback { patience: Patience::Each(Duration::from_secs(5)) };
        assert_eq!(servers.get(&format!("http://{other}/"), None).ok(), Some(b"x".to_vec()));
        let why = servers.get(&format!("http://{place}/"), None).expect_err("it is no answer");
        assert_eq!(why.to_string(), "http status: 302");
    }
}
