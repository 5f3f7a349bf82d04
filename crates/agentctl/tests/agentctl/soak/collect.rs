//! Those who listen: each is cut off again and again, and goes on from the last cursor that it read.

use super::{Soak, chance::Chance, record::locked};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

/// How long a read may take, so that the end is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// An event, and when it was heard.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) event: Value,
    pub(super) heard: Timestamp,
    /// It was said yes to: only a webhook can say no.
    pub(super) taken: bool,
}

/// What one of them heard.
#[derive(Default)]
pub(super) struct Log {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    told: Vec<Told>,
    faults: Vec<String>,
    /// Since when it was told all that happens, and until when, each time.
    spells: Vec<(Timestamp, Timestamp)>,
}

impl Log {
    pub(super) fn add(&self, event: Value, taken: bool) {
        locked(&self.inside).told.push(Told { event, heard: Timestamp::now(), taken });
    }

    pub(super) fn fault(&self, what: String) {
        locked(&self.inside).faults.push(what);
    }

    fn spell(&self, from: Timestamp) {
        locked(&self.inside).spells.push((from, Timestamp::now()));
    }

    pub(super) fn told(&self) -> Vec<Told> {
        locked(&self.inside).told.clone()
    }

    pub(super) fn faults(&self) -> Vec<String> {
        locked(&self.inside).faults.clone()
    }

    pub(super) fn spells(&self) -> Vec<(Timestamp, Timestamp)> {
        locked(&self.inside).spells.clone()
    }
}

/// Subscribes to whatever daemon there is.
pub(super) fn subscriber(soak: &Soak<'_>, cursor: &str, log: &Log) {
    let sockets = soak.stage.sandbox.root().join("run/agentctl");
    let (mut cursor, mut chance) = (cursor.to_owned(), soak.chance(3));
    while !soak.heard.is_over() {
        match socket(&sockets).and_then(UnixStream::connect) {
            Ok(stream) => subscribed(soak, stream, &mut cursor, (log, &mut chance)),
            Err(_) => soak.heard.pause(Duration::from_millis(5)),
        }
    }
}

/// Where the daemon of this sandbox listens; it has no other.
fn socket(dir: &Path) -> io::Result<PathBuf> {
    let first = fs::read_dir(dir)?.next().ok_or(io::ErrorKind::NotFound)?;
    Ok(first?.path())
}

/// One subscription, until one of both is gone.
fn subscribed(
    soak: &Soak<'_>,
    stream: UnixStream,
    cursor: &mut String,
    (log, chance): (&Log, &mut Chance),
) {
    stream.set_read_timeout(Some(GLANCE)).expect("a limit");
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "events", "params": {"since": cursor}});
    let mut stream = BufReader::new(stream);
    if writeln!(stream.get_mut(), "{ask}").is_err() {
        return;
    }
    let mut since = None;
    while let Some(line) = line(&mut stream, soak) {
        let message: Value = match serde_json::from_str(&line) {
            Ok(message) => message,
            Err(why) => return log.fault(format!("no JSON: {why}: {line}")),
        };
        if !message["error"].is_null() {
            log.fault(format!("{}: a cursor of {} bytes", message["error"], cursor.len()));
            return soak.heard.pause(GLANCE);
        }
        if message["method"] == "event" {
            heard(&message["params"], cursor, log);
            since.get_or_insert_with(Timestamp::now);
        }
        if chance.once_in(60) {
            break;
        }
    }
    if let Some(since) = since {
        log.spell(since);
    }
}

fn heard(event: &Value, cursor: &mut String, log: &Log) {
    event["cursor"].as_str().expect("every event has one").clone_into(cursor);
    log.add(event.clone(), true);
}

/// A whole line; none is the end. What was cut off in the middle of a line was not said.
fn line(from: &mut impl BufRead, soak: &Soak<'_>) -> Option<String> {
    let mut line = Vec::new();
    loop {
        match from.read_until(b'\n', &mut line) {
            Ok(_) if line.ends_with(b"\n") => return String::from_utf8(line).ok(),
            Ok(_) => return None,
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return None,
        }
        if soak.heard.is_over() {
            return None;
        }
    }
}

/// One `agentctl events` after the other, each killed at a moment of chance.
pub(super) fn watchers(soak: &Soak<'_>, cursor: &str, log: &Log) {
    let (mut cursor, mut chance) = (cursor.to_owned(), soak.chance(4));
    while !soak.heard.is_over() {
        let time = match chance.below(4) {
            0 => chance.between(0, 400),
            1 | 2 => chance.between(400, 4000),
            _ => chance.between(4000, 15000),
        };
        // The last one has all the time that it needs.
        let time = if soak.calm.is_over() { 10 * time + Duration::from_secs(10) } else { time };
        watcher(soak, time, &mut cursor, (log, &mut chance));
    }
}

fn watcher(
    soak: &Soak<'_>,
    time: Duration,
    cursor: &mut String,
    (log, chance): (&Log, &mut Chance),
) {
    let sandbox = &soak.stage.sandbox;
    let mut command = sandbox.command(sandbox.program());
    command.args(["events", "--json", "--since", cursor]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a watcher");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut complaints = child.stderr.take().expect("a pipe");
    let (tell, lines) = mpsc::channel();
    let end = Instant::now() + time;
    let mut since = None;
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(line) = line(&mut out, soak) {
                let _ = tell.send(line); // nobody may listen any more
            }
        });
        while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now()))
            && !soak.heard.is_over()
        {
            heard(&serde_json::from_str(&line).expect("JSON"), cursor, log);
            since.get_or_insert_with(Timestamp::now);
        }
        if let Some(since) = since {
            log.spell(since);
        }
        let ended = child.try_wait().expect("a child");
        let _ = child.kill();
        let _ = child.wait();
        // What it has said is heard, or lost with a reader that is killed with it.
        if chance.once_in(2) {
            for line in lines.iter() {
                heard(&serde_json::from_str(&line).expect("JSON"), cursor, log);
            }
        }
        if ended.is_some() {
            let mut text = String::new();
            let _ = complaints.read_to_string(&mut text);
            log.fault(format!("events ended by itself: {ended:?}: {text}"));
        }
    });
}
