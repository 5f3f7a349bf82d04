//! Answers about the past may be as long as the past: they are worked out by a process of their own, whose memory
//! goes with it, and pass through the daemon in small pieces.

use super::{
    answer::{self, Caller, Events, List, Said},
    hub::{Line, Missed},
    rpc::{self, Fault, LONGEST},
    shared::{Shared, locked},
};
use crate::error::{Error, Kind};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    net::Shutdown,
    os::unix::{net::UnixStream, process::CommandExt},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::TrySendError,
    thread,
    time::{Duration, Instant},
};

/// The words that start it.
const WORDS: &str = "__answer";
/// So much of an answer is held at a time.
const PIECE: usize = 64 << 10;
/// The watcher is never so far behind.
const NEW: SignedDuration = SignedDuration::from_secs(10);
/// Who takes longer to hear one answer is hung up on: others wait for his place.
const SLOW: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(5);

/// Who works an answer out; it ends with this value.
struct Clerk {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Clerk {
    fn begin(portable: bool, request: &Value) -> Result<Self, Fault> {
        Self::start(portable, request).map_err(|why| failed(&why))
    }

    fn start(portable: bool, request: &Value) -> io::Result<Self> {
        let mut command = Command::new(this()?);
        command.arg0("agentctl").arg(WORDS);
        command.env("AGENTCTL_PORTABLE", if portable { "1" } else { "0" });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (mut input, out) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let clerk = Self { child, out: BufReader::with_capacity(PIECE, out) };
        input.write_all(format!("{request}\n").as_bytes())?;
        Ok(clerk)
    }

    /// It has nothing more to say: what it said is all only if it ended as it should.
    fn end(&mut self) -> io::Result<()> {
        match self.child.wait()? {
            end if end.success() => Ok(()),
            end => Err(io::Error::other(format!("it ended early, with {end}"))),
        }
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

/// This very program, also where another one was put in its place meanwhile.
fn this() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { env::current_exe() }
}

fn failed(why: &dyn std::fmt::Display) -> Fault {
    Error::new(Kind::Io, format!("cannot work it out: {why}")).into()
}

/// Sends what `list` answers about the past.
pub(super) fn list(
    portable: bool,
    caller: &Caller,
    id: &Value,
    params: &Value,
) -> Result<Said, Fault> {
    let mut clerk = Clerk::begin(portable, &json!({"id": id, "list": params}))?;
    // Nothing may come between the pieces.
    let mut to = locked(&caller.out);
    let mut sent = false;
    match pass(&mut clerk, &mut to, &mut sent) {
        Ok(()) => Ok(Said::Already),
        Err(why) if !sent => Err(failed(&why)),
        Err(_) => {
            let _ = caller.stream.shutdown(Shutdown::Both); // half an answer is none
            Ok(Said::Already)
        }
    }
}

fn pass(clerk: &mut Clerk, to: &mut UnixStream, sent: &mut bool) -> io::Result<()> {
    let (mut end, mut last) = (None, 0);
    loop {
        let piece = clerk.out.fill_buf()?;
        let Some(byte) = piece.last() else { break };
        (last, *sent) = (*byte, true);
        let count = piece.len();
        send(to, piece, *end.get_or_insert_with(|| Instant::now() + SLOW))?;
        clerk.out.consume(count);
    }
    match last {
        b'\n' => clerk.end(),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Sends a piece; who only ever takes a little of it has until the end of his time.
fn send(to: &mut UnixStream, mut piece: &[u8], end: Instant) -> io::Result<()> {
    while !piece.is_empty() {
        if Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let taken = to.write(piece)?;
        piece = &piece[taken..];
    }
    Ok(())
}

/// Sends what happened until now, and says which ids that was.
pub(super) fn missed(shared: &Shared, caller: &Caller, params: &Value) -> Result<Missed, Fault> {
    let mut told = Missed::since(params["since"].as_str().unwrap_or_default());
    // What was before the daemon began, and what is older than this, its watcher knows.
    let new = shared.since.max(Timestamp::now() - NEW);
    let mut clerk = Clerk::begin(shared.portable, &json!({"id": null, "events": params}))?;
    let mut waited = Duration::ZERO;
    loop {
        let mut line = String::new();
        let read = clerk.out.read_line(&mut line).map_err(|why| failed(&why))?;
        if read == 0 {
            clerk.end().map_err(|why| failed(&why))?;
            return Ok(told);
        }
        let value: Value = serde_json::from_str(&line).map_err(|why| failed(&why))?;
        let event = &value["params"];
        if !line.ends_with('\n') || !event.is_object() {
            return Err(failed(&"it told no event"));
        }
        let at = event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        if let Some(id) = event["id"].as_str().filter(|_| event["type"] != "gap") {
            told.add(id, at.is_some_and(|at| at > new));
        }
        if let Some(cursor) = event["cursor"].as_str() {
            told.stands(cursor);
        }
        say(caller, line.into(), &mut waited).map_err(|why| failed(&why))?;
    }
}

/// Says a line once there is room for it; all lines together wait no longer than one answer may.
fn say(caller: &Caller, mut line: Line, waited: &mut Duration) -> io::Result<()> {
    loop {
        line = match caller.lines.try_send(line) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Disconnected(_)) => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(TrySendError::Full(_)) if *waited >= SLOW => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(TrySendError::Full(line)) => line,
        };
        thread::sleep(TICK);
        *waited += TICK;
    }
}

/// The clerk's own life: one question from standard input, its answer to standard output.
pub(crate) fn answer(portable: bool) -> Result<(), Error> {
    let mut line = Vec::new();
    let limit = u64::try_from(LONGEST * 2).unwrap_or(u64::MAX);
    io::stdin().lock().take(limit).read_until(b'\n', &mut line)?;
    let mut asked: Value = serde_json::from_slice(&line)
        .map_err(|why| Error::new(Kind::Usage, format!("this is for the daemon alone: {why}")))?;
    let mut part = |name: &str| asked.get_mut(name).map(Value::take).unwrap_or_default();
    let (id, list, events) = (part("id"), part("list"), part("events"));
    let mut out = io::BufWriter::new(io::stdout().lock());
    let said = match list.is_null() {
        true => rpc::params::<Events>(events).and_then(|params| {
            answer::happened(portable, params, |line| Ok(out.write_all(line.as_bytes())?))
        }),
        false => rpc::params::<List>(list)
            .and_then(|params| answer::list(portable, params))
            .and_then(|found| Ok(rpc::write_answer(&mut out, &id, &found).map_err(Error::from)?)),
    };
    if let Err(fault) = said {
        out.write_all(rpc::answer(&id, Err(&fault)).as_bytes())?;
    }
    Ok(out.flush()?)
}
