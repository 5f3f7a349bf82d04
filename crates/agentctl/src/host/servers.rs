//! Questions to servers on this machine, each limited in time: one that hangs delays nobody.

use agentctl_core::host::{Servers, Talk};
use std::{
    io::{self, Read},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::{Duration, Instant},
};
use tungstenite::{Message, WebSocket, client::client};

/// Longest answer that is read.
const LIMIT: u64 = 32 << 20;

/// The real servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loopback {
    /// Longest wait for one page, or for a whole conversation.
    pub(crate) patience: Duration,
}

impl Servers for Loopback {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        let config = ureq::Agent::config_builder().timeout_global(Some(self.patience)).proxy(None);
        let agent: ureq::Agent = config.build().into();
        let mut request = agent.get(url);
        if let Some((name, password)) = user {
            request = request.header("authorization", &basic(name, password));
        }
        let mut answer = request.call().map_err(io::Error::other)?;
        let mut body = Vec::new();
        answer.body_mut().as_reader().take(LIMIT).read_to_end(&mut body)?;
        Ok(body)
    }

    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        let until = Instant::now() + self.patience;
        let stream = TcpStream::connect_timeout(&address(url)?, self.patience)?;
        limit(&stream, until)?;
        let (socket, _) = client(url, stream).map_err(|why| told(&why, "it does not answer"))?;
        Ok(Box::new(Line { socket, until }))
    }
}

struct Line {
    socket: WebSocket<TcpStream>,
    until: Instant,
}

impl Talk for Line {
    fn say(&mut self, frame: &str) -> io::Result<()> {
        limit(self.socket.get_ref(), self.until)?;
        self.socket.send(Message::text(frame)).map_err(|why| told(&why, "it does not listen"))
    }

    fn hear(&mut self) -> io::Result<String> {
        loop {
            limit(self.socket.get_ref(), self.until)?;
            match self.socket.read().map_err(|why| told(&why, "it does not answer"))? {
                Message::Text(text) => return Ok(text.to_string()),
                Message::Close(_) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

/// Lets no read or write last beyond that moment.
fn limit(stream: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time"));
    }
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}

/// Whoever stays silent is told as such: the kernel's words for it ("try again") mislead.
fn told(why: &dyn std::error::Error, silent: &str) -> io::Error {
    let text = why.to_string();
    let late = ["Interrupted handshake", "WouldBlock", "temporarily unavailable", "timed out"];
    match late.iter().any(|sign| text.contains(sign)) {
        true => io::Error::new(io::ErrorKind::TimedOut, format!("{silent} in time")),
        false => io::Error::other(text),
    }
}

/// Only this machine is asked: what runs elsewhere is another host's to tell.
fn address(url: &str) -> io::Result<SocketAddr> {
    let place = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = place.split('/').next().unwrap_or_default();
    let found = place.to_socket_addrs()?.find(|address| address.ip().is_loopback());
    found.ok_or_else(|| io::Error::other(format!("{place} is not on this machine")))
}

fn basic(name: &str, password: &str) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn basic_authentication_is_base64() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("a", "bc"), "Basic YTpiYw==");
        assert_eq!(basic("a", "b"), "Basic YTpi");
    }

    #[test]
    fn nobody_elsewhere_is_asked() {
        assert!(address("ws://192.0.2.1:80/x").is_err());
        assert!(address("ws://127.0.0.1:80/x").is_ok());
    }
}
