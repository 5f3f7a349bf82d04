//! The socket: who may call, how many, how long their lines may be, and what becomes of who does not listen.

use super::{
    answer::{self, Said},
    hub::Line,
    lines::{Lines, Next},
    rpc::{self, CONNECTIONS, Fault, LONGEST, PATIENCE, QUEUE, SPARE},
    shared::{Shared, locked},
};
use crate::{
    error::{Error, Kind},
    host::other_end,
    write::make_dir,
};
use rustix::process::geteuid;
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    io::Write,
    net::Shutdown,
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Duration,
};

/// When no more descriptors are to be had, somebody has to hang up first.
const BREATH: Duration = Duration::from_millis(200);

/// Listens there. Whoever calls has the kernel's lock of the state that the name belongs to: what lies there is nobody's.
pub(super) fn listen(path: &Path) -> Result<UnixListener, Error> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let refused = |why: &dyn std::fmt::Display| {
        Error::new(Kind::Io, format!("cannot listen on {}: {why}", path.display()))
            .hint("make its directory yours and writable, or set XDG_RUNTIME_DIR or AGENTCTL_HOME")
    };
    make_dir(dir).map_err(|why| refused(&why))?;
    match fs::symlink_metadata(path) {
        Ok(stat) if !stat.file_type().is_socket() => {
            return Err(refused(&"something else lies there"));
        }
        Ok(_) => fs::remove_file(path).map_err(|why| refused(&why))?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(|why| refused(&why))?;
    // Nobody else gets into the directory meanwhile.
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(|why| refused(&why))?;
    Ok(listener)
}

/// Takes calls, for ever.
pub(super) fn run(shared: &Arc<Shared>, listener: &UnixListener) {
    let open = Arc::new(AtomicUsize::new(0));
    let number = AtomicU64::new(0);
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(BREATH);
            continue;
        };
        if let Some(why) = unwanted(&stream, &open) {
            refuse(&stream, why);
            continue;
        }
        let connection = number.fetch_add(1, Ordering::Relaxed);
        let (own, seat) = (Arc::clone(shared), Seat::take(&open));
        let serve = move || serve(&own, &stream, &seat, connection);
        let _ = thread::Builder::new().name("caller".to_owned()).spawn(serve); // else he is hung up on
    }
}

/// One of those who may be connected at once.
struct Seat {
    open: Arc<AtomicUsize>,
    /// All others are taken.
    spare: bool,
}

impl Seat {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        let spare = open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS;
        Self { open: Arc::clone(open), spare }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn unwanted(stream: &UnixStream, open: &AtomicUsize) -> Option<&'static str> {
    let own = geteuid().as_raw();
    match other_end(stream).map(|other| other.uid) {
        Ok(None) => {}
        Ok(Some(uid)) if uid == own => {}
        Ok(Some(_)) | Err(_) => return Some("this daemon is another user's"),
    }
    (open.load(Ordering::Relaxed) >= CONNECTIONS + SPARE).then_some("too many connections")
}

fn refuse(stream: &UnixStream, why: &str) {
    let line = rpc::answer(&Value::Null, Err(&Fault::from(Error::new(Kind::Refused, why))));
    let _ = stream.set_nonblocking(true); // a line fits, and nobody is waited for
    let _ = (&*stream).write_all(line.as_bytes());
    let _ = stream.shutdown(Shutdown::Both);
}

/// Serves one caller until he hangs up.
fn serve(shared: &Shared, stream: &UnixStream, seat: &Seat, connection: u64) {
    let (tell, lines) = mpsc::sync_channel::<Line>(QUEUE);
    let (Ok(writer), Ok(twin)) = (stream.try_clone(), stream.try_clone()) else { return };
    let _ = writer.set_write_timeout(Some(PATIENCE));
    let out = Arc::new(Mutex::new(writer));
    let shared_out = Arc::clone(&out);
    let write = move || write(&shared_out, &lines);
    let Ok(teller) = thread::Builder::new().name("teller".to_owned()).spawn(write) else { return };
    let caller = answer::Caller { connection, spare: seat.spare, lines: tell, stream: twin, out };
    let after = attend(shared, &caller, Lines::new(stream, seat.spare.then_some(PATIENCE)));
    shared.hub.remove(connection);
    drop(caller);
    if after == After::End {
        let _ = teller.join(); // what was said last was heard, or nobody listened
        shared.end();
    }
}

/// What comes after a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Next,
    Nothing,
    /// The end of the daemon.
    End,
}

fn attend(shared: &Shared, caller: &answer::Caller, mut lines: Lines<'_>) -> After {
    loop {
        let after = match lines.next() {
            Next::Nobody => After::Nothing,
            Next::TooLong => {
                let fault = Fault::invalid(format!("a line is longer than {LONGEST} bytes"));
                say(&caller.lines, rpc::answer(&Value::Null, Err(&fault)));
                After::Nothing // what was said is still sent
            }
            Next::Line(line) if line.bytes.iter().all(u8::is_ascii_whitespace) => After::Next,
            Next::Line(line) => one(shared, caller, &line.bytes),
        };
        if after != After::Next {
            return after;
        }
    }
}

/// Answers one line.
fn one(shared: &Shared, caller: &answer::Caller, line: &[u8]) -> After {
    let (id, said) = match rpc::request(line) {
        Err((id, fault)) => (id, Err(fault)),
        Ok(request) if request.id.is_none() => return After::Next, // it wants no answer, and nothing is done unasked
        Ok(request) => {
            let id = request.id.clone().unwrap_or_default();
            (id.clone(), answer::answer(shared, caller, &id, request))
        }
    };
    let heard = match &said {
        Ok(Said::Result(result) | Said::Last(result)) => {
            say(&caller.lines, rpc::answer(&id, Ok(result)))
        }
        Ok(Said::Already) => true,
        Err(fault) => say(&caller.lines, rpc::answer(&id, Err(fault))),
    };
    match said {
        Ok(Said::Last(_)) => After::End,
        Ok(Said::Result(_) | Said::Already) | Err(_) if heard => After::Next,
        Ok(Said::Result(_) | Said::Already) | Err(_) => After::Nothing,
    }
}

fn say(lines: &SyncSender<Line>, line: String) -> bool {
    lines.send(line.into()).is_ok()
}

/// Sends what waits, until nobody has anything to say or nobody listens. Who takes something, however slowly, goes
/// on being served, but for the queue behind him.
fn write(out: &Mutex<UnixStream>, lines: &Receiver<Line>) {
    for line in lines {
        if locked(out).write_all(line.as_bytes()).is_err() {
            break;
        }
    }
    let _ = locked(out).shutdown(Shutdown::Both);
}
