//! Server-sent events: lines of an answer that has no end.

use super::{Ear, line::Held};
use crate::host::servers;
use agentctl_core::push::BEGINNING;
use std::{
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
};

/// Longest head of an answer.
const HEAD: usize = 16 << 10;
/// Longest line that says how long a chunk is.
const SIZE: usize = 256;

/// What is asked for, without the place that it is asked of.
pub(super) fn ask(page: String, user: Option<(String, String)>) -> String {
    let user = user.map(|(name, password)| servers::basic(&name, &password));
    let user = user.map(|user| format!("authorization: {user}\r\n")).unwrap_or_default();
    format!("GET {page} HTTP/1.1\r\naccept: text/event-stream\r\n{user}")
}

/// Listens where the first of these places gives a stream.
pub(super) fn hear(ear: &Ear<'_>, at: &[SocketAddr], ask: &str) -> io::Result<()> {
    let mut failed = Ok(());
    for place in at {
        match begun(ear, *place, ask) {
            Ok((mut body, chunked)) => {
                let mut lines = Lines { ear, begun: Vec::new() };
                return match chunked {
                    true => chunks(&mut body, &mut |bytes| lines.take(bytes)),
                    false => whole(&mut body, &mut |bytes| lines.take(bytes)),
                };
            }
            Err(why) => failed = Err(why),
        }
    }
    failed
}

type Body<'a> = BufReader<Held<'a, TcpStream>>;

/// The stream behind the head of an answer, and whether it comes in chunks.
fn begun<'a>(ear: &Ear<'a>, place: SocketAddr, ask: &str) -> io::Result<(Body<'a>, bool)> {
    let mut held = Held::new(ear.connected(place)?, ear.stop)?;
    write!(held, "{ask}host: {place}\r\n\r\n")?;
    let mut body = BufReader::new(held);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        bounded(&mut body, &mut head, HEAD)?;
    }
    let chunked = is_chunked(&head)?;
    body.get_mut().until = None;
    Ok((body, chunked))
}

/// An answer that is a stream of events comes in chunks, or as it is; any other is none.
fn is_chunked(head: &[u8]) -> io::Result<bool> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut answer = httparse::Response::new(&mut headers);
    answer.parse(head).map_err(io::Error::other)?;
    let header = |name: &str| {
        let mut all = answer.headers.iter().filter(|one| one.name.eq_ignore_ascii_case(name));
        all.next().map(|one| String::from_utf8_lossy(one.value).to_ascii_lowercase())
    };
    let stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    match (answer.code, stream) {
        (Some(200), true) => Ok(header("transfer-encoding").is_some_and(|how| how == "chunked")),
        (code, _) => {
            Err(io::Error::other(format!("no stream, http status: {}", code.unwrap_or_default())))
        }
    }
}

/// Adds one more line, with its end; all of it must stay within `limit`.
fn bounded(body: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<()> {
    loop {
        let bytes = body.fill_buf()?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |at| at + 1);
        line.extend(&bytes[..count]);
        body.consume(count);
        if line.len() > limit {
            return Err(io::Error::other("a line has no end"));
        }
        if end.is_some() {
            return Ok(());
        }
    }
}

fn chunks(body: &mut impl BufRead, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        bounded(body, &mut line, SIZE)?;
        let line = String::from_utf8_lossy(&line);
        let digits = line.split(';').next().unwrap_or_default().trim();
        let mut left = u64::from_str_radix(digits, 16).map_err(io::Error::other)?;
        if left == 0 {
            return Ok(());
        }
        while left > 0 {
            let bytes = body.fill_buf()?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            each(&bytes[..count]);
            body.consume(count);
            left -= count as u64;
        }
        bounded(body, &mut Vec::new(), SIZE)?;
    }
}

fn whole(body: &mut impl BufRead, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    loop {
        let bytes = body.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        each(bytes);
        let count = bytes.len();
        body.consume(count);
    }
}

/// Lines, of which only the beginning is kept, and only until they end.
struct Lines<'a> {
    ear: &'a Ear<'a>,
    begun: Vec<u8>,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = BEGINNING - self.begun.len();
            self.begun.extend(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.ear.heard(&self.begun);
                self.begun.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(text: &str) -> io::Result<String> {
        let mut all = Vec::new();
        chunks(&mut text.as_bytes(), &mut |bytes| all.extend(bytes))?;
        Ok(String::from_utf8_lossy(&all).into_owned())
    }

    #[test]
    fn chunks_are_put_together() {
        let text = "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(sized(text).ok().as_deref(), Some("abc0123456789"));
        assert!(sized("3\r\nab").is_err(), "it was cut");
        assert!(sized("x\r\n").is_err());
        assert!(sized(&"1".repeat(1000)).is_err(), "it has no end");
    }

    #[test]
    fn only_a_stream_is_listened_to() {
        let head = |status: &str, kind: &str| {
            is_chunked(format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n\r\n").as_bytes())
        };
        assert_eq!(head("200 OK", "text/event-stream").ok(), Some(false));
        assert!(head("200 OK", "text/html").is_err());
        assert!(head("401 Unauthorized", "text/event-stream").is_err());
        assert!(is_chunked(b"words\r\n\r\n").is_err());
    }
}
