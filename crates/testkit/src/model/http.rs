//! HTTP/1.1, as much of it as the agents use: requests in, whole or chunked responses out.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

/// The most headers a request may have.
const HEADERS: usize = 128;

/// A request, its body read to the end.
#[derive(Debug)]
pub(crate) struct Inbound {
    pub(crate) method: String,
    /// With its query.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Inbound {
    /// The first header of that name (in lower case).
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The target without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Whether the client wants the connection closed after the response.
    pub(crate) fn is_last(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    fn has(&self, name: &str, wanted: &str) -> bool {
        self.header(name).is_some_and(|value| value.to_ascii_lowercase().contains(wanted))
    }
}

/// One connection. Dropping it ends the connection even while others hold a clone of the socket.
pub(crate) struct Link {
    socket: TcpStream,
    /// Received, not yet used.
    spare: Vec<u8>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // The peer may be gone already: then there is nothing left to end.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Link {
    pub(crate) fn new(socket: TcpStream) -> Link {
        Link { socket, spare: Vec::new() }
    }

    /// The next request; `None` when the client closed the connection between two.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Inbound>> {
        let mut inbound = loop {
            if let Some((used, inbound)) = parse(&self.spare)? {
                self.spare.drain(..used);
                break inbound;
            }
            if self.read_more()? == 0 {
                return if self.spare.is_empty() { Ok(None) } else { Err(torn()) };
            }
        };
        if inbound.has("expect", "100-continue") {
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        inbound.body = if inbound.has("transfer-encoding", "chunked") {
            self.chunked()?
        } else {
            let length = inbound.header("content-length").unwrap_or("0");
            self.exactly(length.trim().parse().map_err(|_| invalid("content-length"))?)?
        };
        Ok(Some(inbound))
    }

    /// Sends a whole response with a JSON body.
    pub(crate) fn json(&mut self, status: u16, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        self.head(status, &[("content-length", &body.len().to_string())])?;
        self.raw(&body)
    }

    /// Sends a status line and headers; the body is the caller's.
    pub(crate) fn head(&mut self, status: u16, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n");
        if matches!(status, 429 | 503 | 529) {
            head.push_str("retry-after: 1\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.raw(&head)
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.socket.write_all(text.as_bytes())
    }

    /// Opens a response of server-sent events; [`Link::piece`] and [`Link::finish`] follow.
    pub(crate) fn open_events(&mut self) -> io::Result<()> {
        self.raw(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
             transfer-encoding: chunked\r\n\r\n",
        )
    }

    /// Sends a piece of the events.
    pub(crate) fn piece(&mut self, text: &str) -> io::Result<()> {
        self.raw(&format!("{:x}\r\n{text}\r\n", text.len()))
    }

    /// Ends the events; without this the client sees a broken stream.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.raw("0\r\n\r\n")
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let count = self.socket.read(&mut buffer)?;
        self.spare.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    fn more(&mut self) -> io::Result<()> {
        if self.read_more()? == 0 { Err(torn()) } else { Ok(()) }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.spare.len() < length {
            self.more()?;
        }
        Ok(self.spare.drain(..length).collect())
    }

    fn chunked(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.chunk_size()?;
            if size == 0 {
                // Trailers end with an empty line, like headers.
                while self.line()? != b"\r\n" {}
                return Ok(body);
            }
            body.extend(self.exactly(size)?);
            self.exactly(2)?;
        }
    }

    fn chunk_size(&mut self) -> io::Result<usize> {
        loop {
            match httparse::parse_chunk_size(&self.spare).map_err(|_| invalid("chunk size"))? {
                httparse::Status::Complete((used, size)) => {
                    self.spare.drain(..used);
                    return usize::try_from(size).map_err(|_| invalid("chunk size"));
                }
                httparse::Status::Partial => self.more()?,
            }
        }
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.spare.iter().position(|byte| *byte == b'\n') {
                return self.exactly(end + 1);
            }
            self.more()?;
        }
    }
}

/// The request at the start of `bytes` without its body, and its length; `None` while incomplete.
fn parse(bytes: &[u8]) -> io::Result<Option<(usize, Inbound)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(used) =
        request.parse(bytes).map_err(|_| invalid("request head"))?
    else {
        return Ok(None);
    };
    let header = |header: &httparse::Header<'_>| {
        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned())
    };
    let inbound = Inbound {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: request.headers.iter().map(header).collect(),
        body: Vec::new(),
    };
    Ok(Some((used, inbound)))
}

fn torn() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unreadable {what}"))
}
