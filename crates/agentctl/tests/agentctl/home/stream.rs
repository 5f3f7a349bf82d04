//! A running `agentctl events`, read line by line.

use super::Home;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// How long any event may take; most take some hundredths of a second.
const LIMIT: Duration = Duration::from_secs(30);

/// A watcher; it is killed with this value.
pub(crate) struct Stream {
    child: Child,
    lines: Receiver<String>,
    /// All that was read.
    pub(crate) read: Vec<Value>,
}

impl Home {
    /// Where a watcher stands that has just looked.
    pub(crate) fn cursor(&self) -> String {
        let answer = self.run(&["events", "--once", "--json"]);
        let last = answer.stdout.lines().last().expect("a cursor").to_owned();
        let last: Value = serde_json::from_str(&last).expect("JSON");
        last["cursor"].as_str().expect("a cursor").to_owned()
    }

    /// A watcher that watches by now.
    pub(crate) fn events(&self) -> Stream {
        let mut stream = self.events_since(&self.cursor(), &[]);
        let gap = stream.next();
        assert_eq!(gap["type"], "gap", "{gap:#}");
        stream
    }

    /// A watcher that goes on from a cursor.
    pub(crate) fn events_since(&self, cursor: &str, more: &[&str]) -> Stream {
        let words = [&["events", "--json", "--since", cursor], more].concat();
        Stream::of(&mut self.agentctl(&words))
    }
}

impl Stream {
    /// The output of a command.
    pub(crate) fn of(command: &mut std::process::Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a watcher");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = tell.send(line); // the test may have ended
            }
        });
        Self { child, lines, read: Vec::new() }
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(LIMIT).unwrap_or_else(|why| {
            let kinds: Vec<_> = self.read.iter().map(|one| one["type"].to_string()).collect();
            panic!("no event ({why}) after {kinds:?}")
        });
        let event: Value = serde_json::from_str(&line).expect("JSON");
        self.read.push(event.clone());
        event
    }

    /// All that has come by now, of one that still tells.
    pub(crate) fn heard(&mut self) -> Vec<Value> {
        let ended = self.child.try_wait().expect("a child");
        assert!(ended.is_none(), "it tells no more: {ended:?}");
        let lines = self.lines.try_iter();
        let new: Vec<Value> =
            lines.map(|line| serde_json::from_str(&line).expect("JSON")).collect();
        self.read.extend(new.iter().cloned());
        new
    }

    /// The next event of a session, and no other: its type, and the states before and after.
    pub(crate) fn told(&mut self, id: &str) -> String {
        loop {
            let event = self.next();
            // A title or a model that becomes known is no step.
            let step = event["type"] != "session.changed" || event["before"] != event["after"];
            if step && event["session"]["id"] == id {
                return short(&event);
            }
        }
    }

    /// Reads on until a session is in this state. Others that may be over before anybody looks are told or not.
    pub(crate) fn becomes(&mut self, id: &str, passing: &[&str], state: &str) {
        loop {
            let step = self.told(id);
            let after = step.rsplit(' ').next().unwrap_or_default();
            if after == state {
                return;
            }
            assert!(passing.contains(&after), "{step}, on the way to {state}");
        }
    }

    /// The id of the session that starts in this process.
    pub(crate) fn named(&mut self, pid: u32) -> String {
        loop {
            let event = self.next();
            let session = &event["session"];
            if let Some(id) = session["id"].as_str().filter(|_| session["pid"] == pid) {
                assert_eq!(short(&event), "session.started: - idle");
                return id.to_owned();
            }
        }
    }

    /// The cursor of the last event that was read.
    pub(crate) fn cursor(&self) -> String {
        let last = self.read.last().expect("an event");
        last["cursor"].as_str().expect("a cursor").to_owned()
    }

    /// What was read of a session: each event in short, and its id.
    pub(crate) fn of_session(&self, id: &str) -> Vec<(String, String)> {
        told(&self.read, id)
    }

    /// No id was told twice.
    pub(crate) fn are_unique(&self) {
        let mut ids: Vec<String> = self.read.iter().map(|event| event["id"].to_string()).collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all, "{:#?}", self.read);
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
    }
}

/// What lines say of a session: each event in short, and its id.
pub(crate) fn of(lines: &str, id: &str) -> Vec<(String, String)> {
    let events = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    told(&events.collect::<Vec<Value>>(), id)
}

fn told(events: &[Value], id: &str) -> Vec<(String, String)> {
    let step = |event: &&Value| event["type"] != "session.changed";
    let own = events.iter().filter(step).filter(|event| event["session"]["id"] == id);
    own.map(|event| (short(event), event["id"].to_string())).collect()
}

/// An event in a few words.
pub(crate) fn short(event: &Value) -> String {
    let word = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
    format!("{}: {} {}", word("type"), word("before"), word("after"))
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone
        let _ = self.child.wait();
    }
}
