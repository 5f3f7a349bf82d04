//! A server that does what it is told to, once for each request.

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

/// What it does with a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// Answers with this status.
    Says(u16),
    /// Answers with these bytes.
    Bytes(&'static str),
    /// Hangs up after it has heard all.
    Closes,
    /// Hangs up at once.
    Slams,
    /// Says nothing, for as long as the other one waits.
    Hangs,
    /// Says a letter at a time, for as long as the other one listens.
    Trickles,
}

/// What it heard.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Heard {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(one, _)| one.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// A server.
pub(super) struct Server {
    address: SocketAddr,
    script: Arc<Mutex<VecDeque<Does>>>,
    pub(super) heard: mpsc::Receiver<Heard>,
}

impl Server {
    /// Does these in turn, and then answers 200.
    pub(super) fn new(script: &[Does]) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = socket.local_addr().expect("it is bound");
        let script = Arc::new(Mutex::new(script.iter().copied().collect::<VecDeque<_>>()));
        let (tell, heard) = mpsc::channel();
        let shared = Arc::clone(&script);
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let does = shared.lock().expect("nobody panics").pop_front();
                serve(stream, does.unwrap_or(Does::Says(200)), &tell);
            }
        });
        Self { address, script, heard }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook/t0ken", self.address)
    }

    /// All that it was to do is done.
    pub(super) fn is_through(&self) -> bool {
        self.script.lock().expect("nobody panics").is_empty()
    }
}

fn serve(mut stream: TcpStream, does: Does, tell: &mpsc::Sender<Heard>) {
    if matches!(does, Does::Slams) {
        return;
    }
    let Some(heard) = hear(&mut stream) else { return };
    let _ = tell.send(heard);
    match does {
        Does::Says(status) => {
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
        Does::Bytes(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
        }
        Does::Closes | Does::Slams => {}
        Does::Hangs => {
            let _ = stream.read(&mut [0]); // until the other one hangs up
        }
        Does::Trickles => trickle(&mut stream),
    }
}

/// Never so slowly that nothing comes for long.
fn trickle(stream: &mut TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    let _ = stream.write_all(b"HTTP/1.1 200 X\r\nx: ");
    // It reads nothing until the other one hangs up, and waits as long for that as for the next letter.
    while matches!(stream.read(&mut [0]), Err(why) if why.kind() == ErrorKind::WouldBlock) {
        let _ = stream.write_all(b"x");
    }
}

fn hear(stream: &mut TcpStream) -> Option<Heard> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.extend(byte);
    }
    let head = String::from_utf8(bytes).ok()?;
    let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length?.1.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some(Heard { headers, body: String::from_utf8(body).ok()? })
}
