//! The running server: its socket, its threads and their end.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use super::halt::Halt;
use super::http::Link;
use super::journal::{Journal, Request};
use super::lock::locked;
use super::routes;

/// How to start a [`Model`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port to listen on; 0 for any that is free.
    pub port: u16,
    /// A file to which every request is appended as a line of JSON.
    pub log: Option<PathBuf>,
}

/// A scripted model on loopback. Dropping it ends every connection and all waiting at once.
pub struct Model {
    shared: Arc<Shared>,
    address: SocketAddr,
    door: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts on a free port.
    pub fn start() -> io::Result<Model> {
        Model::start_with(&Options::default())
    }

    /// Starts as `options` say.
    pub fn start_with(options: &Options) -> io::Result<Model> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let log = match &options.log {
            Some(path) => Some(File::options().create(true).append(true).open(path)?),
            None => None,
        };
        let shared = Arc::new(Shared::new(Journal::new(log)));
        let inside = Arc::clone(&shared);
        let door = thread::spawn(move || accept(&listener, &inside));
        Ok(Model { shared, address, door: Some(door) })
    }

    /// The base URL, without a trailing slash and without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.journal.requests()
    }

    /// Blocks until `holds` for the requests so far; false when `limit` passed first. A request is
    /// seen here before its answer begins, so "the agent is being held by `until`" can be awaited.
    pub fn wait_for(&self, holds: impl Fn(&[Request]) -> bool, limit: Duration) -> bool {
        self.shared.journal.wait_for(holds, limit)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.halt.stop();
        // Wakes the thread that accepts; if that fails it cannot be waited for.
        let awake = TcpStream::connect(self.address).is_ok();
        if let Some(door) = self.door.take().filter(|_| awake) {
            let _ = door.join();
        }
        let peers = std::mem::take(&mut *locked(&self.shared.peers));
        for peer in &peers {
            let _ = peer.socket.shutdown(Shutdown::Both);
        }
        for peer in peers {
            let _ = peer.thread.join();
        }
    }
}

/// What the threads of one model have in common.
pub(crate) struct Shared {
    pub(crate) journal: Journal,
    pub(crate) halt: Halt,
    peers: Mutex<Vec<Peer>>,
    /// How often each script line was refused.
    refusals: Mutex<HashMap<String, u32>>,
    brand: String,
    serial: AtomicU64,
}

/// A connection and the thread that serves it.
struct Peer {
    socket: TcpStream,
    thread: JoinHandle<()>,
}

impl Shared {
    fn new(journal: Journal) -> Shared {
        // Ids must differ between servers too: a resumed session meets a new one.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Shared {
            journal,
            halt: Halt::default(),
            peers: Mutex::default(),
            refusals: Mutex::default(),
            brand: format!("{:x}", now.as_nanos()),
            serial: AtomicU64::new(1),
        }
    }

    /// An id nothing else has.
    pub(crate) fn fresh_id(&self) -> String {
        format!("{}x{}", self.brand, self.serial.fetch_add(1, Ordering::Relaxed))
    }

    /// Counts one more visit to `place` and says how many there were before.
    pub(crate) fn visits(&self, place: &str) -> u32 {
        let mut refusals = locked(&self.refusals);
        let count = refusals.entry(place.to_owned()).or_default();
        *count += 1;
        *count - 1
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.halt.is_stopped() {
            return;
        }
        // A connection that broke before it was accepted is the client's affair.
        let Ok(socket) = socket else { continue };
        let _ = socket.set_nodelay(true);
        let Ok(link) = socket.try_clone().map(Link::new) else { continue };
        let inside = Arc::clone(shared);
        let thread = thread::spawn(move || routes::serve(link, &inside));
        let mut peers = locked(&shared.peers);
        peers.retain(|peer| !peer.thread.is_finished());
        peers.push(Peer { socket, thread });
    }
}
