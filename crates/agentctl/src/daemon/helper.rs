//! Answers about the past may be as long as the past: they are worked out by a process of their own, whose memory
//! goes with it, and pass through the daemon in small pieces.

use super::{
    answer::{self, Caller, Events, List, Said},
    hub::Missed,
    rpc::{self, Fault, LONGEST},
    shared::{Shared, locked},
};
use crate::error::{Error, Kind};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

/// The words that start it.
const WORDS: &str = "__answer";
/// So much of an answer is held at a time.
const PIECE: usize = 64 << 10;
/// The watcher is never so far behind.
const NEW: SignedDuration = SignedDuration::from_secs(10);

/// A helper at work; it ends with this value.
struct Helper {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Helper {
    fn begin(portable: bool, request: &Value) -> Result<Self, Fault> {
        Self::start(portable, request).map_err(|why| failed(&why))
    }

    fn start(portable: bool, request: &Value) -> io::Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(WORDS).env("AGENTCTL_PORTABLE", if portable { "1" } else { "0" });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (mut input, out) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let helper = Self { child, out: BufReader::with_capacity(PIECE, out) };
        input.write_all(format!("{request}\n").as_bytes())?;
        Ok(helper)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
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
    let mut helper = Helper::begin(portable, &json!({"id": id, "list": params}))?;
    // Nothing may come between the pieces.
    let mut to = locked(&caller.out);
    let mut sent = false;
    loop {
        let piece = helper.out.fill_buf().map_err(|why| failed(&why))?;
        if piece.is_empty() {
            return if sent { Ok(Said::Already) } else { Err(failed(&"it ended without a word")) };
        }
        let count = piece.len();
        if to.write_all(piece).is_err() {
            let _ = caller.stream.shutdown(std::net::Shutdown::Both); // half an answer is none
            return Ok(Said::Already);
        }
        sent = true;
        helper.out.consume(count);
    }
}

/// Sends what happened until now, and says which ids that was.
pub(super) fn missed(shared: &Shared, caller: &Caller, params: &Value) -> Result<Missed, Fault> {
    // What was before the daemon began, and what is older than this, its watcher knows.
    let new = shared.since.max(Timestamp::now() - NEW);
    let mut helper = Helper::begin(shared.portable, &json!({"id": null, "events": params}))?;
    let mut told = Missed::default();
    loop {
        let mut line = String::new();
        let read = helper.out.read_line(&mut line).map_err(|why| failed(&why))?;
        if read == 0 {
            return Ok(told);
        }
        let value: Value = serde_json::from_str(&line).map_err(|why| failed(&why))?;
        let event = &value["params"];
        let id = event["id"].as_str().filter(|_| event["type"] != "gap").map(str::to_owned);
        let at = event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        told.new.extend(id.clone().filter(|_| at.is_some_and(|at| at > new)));
        told.all.extend(id);
        if caller.lines.send(line.into()).is_err() {
            return Ok(told); // nobody listens
        }
    }
}

/// The helper's own life: one question from standard input, its answer to standard output.
pub(crate) fn answer(portable: bool) -> Result<(), Error> {
    let mut line = Vec::new();
    let limit = u64::try_from(LONGEST * 2).unwrap_or(u64::MAX);
    io::stdin().lock().take(limit).read_until(b'\n', &mut line)?;
    let mut asked: Value = serde_json::from_slice(&line)
        .map_err(|why| Error::new(Kind::Usage, format!("this is for the daemon alone: {why}")))?;
    let (id, list, events) = (asked["id"].take(), asked["list"].take(), asked["events"].take());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let said = match list.is_null() {
        true => rpc::params::<Events>(events).and_then(|params| {
            answer::past(portable, params, |line| Ok(out.write_all(line.as_bytes())?))
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
