//! A webhook that is at times out of order: what it did not take must come again.

use super::{chance::Chance, collect::Log};
use crate::support::Stage;
use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

/// How long anybody may take to say what he wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server on loopback; it goes on to the end of the test.
pub(super) struct Hook {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Hook {
    pub(super) fn new(seed: u64) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = socket.local_addr().expect("it is bound");
        let log = Arc::new(Log::default());
        let (own, mut chance) = (Arc::clone(&log), Chance::new(seed, 5));
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                serve(stream, &own, &mut chance);
            }
        });
        Self { address, log }
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }
}

/// The daemons of this stage tell it what begins and ends.
pub(super) fn configured(stage: &Stage, hook: &Hook) {
    let dir = stage.sandbox.home().join(".config/agentctl");
    fs::create_dir_all(&dir).expect("the sandbox is ours");
    let text = format!(
        "[webhook.soak]\nurl = \"http://{}/soak\"\nformat = \"agentctl\"\n\
         filter = \"type=session.started,type=session.ended,type=fuse.fired\"\n",
        hook.address
    );
    fs::write(dir.join("config.toml"), text).expect("the sandbox is ours");
}

fn serve(mut stream: TcpStream, log: &Log, chance: &mut Chance) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let Some(body) = hear(&mut stream) else { return };
    let Ok(event) = serde_json::from_str(&body) else {
        return log.fault(format!("no JSON: {body}"));
    };
    // It hears, and hangs up or complains: whoever sent it cannot know.
    let fate = chance.below(12);
    log.add(event, fate > 1);
    let status = match fate {
        0 => return,
        1 => 503,
        _ => 200,
    };
    let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}

fn hear(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).ok()?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}
