//! A launch that a daemon and a watcher look at: the daemon is killed, and nothing is lost.

use super::{Ground, kernel::Process, truth::Launch, until};
use crate::home::Stream;
use serde_json::Value;
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Stdio},
};

/// A daemon, and a watcher who does not need it; both end with this value.
pub(super) struct Watched<'a> {
    ground: &'a dyn Ground,
    daemons: Vec<(Child, PathBuf)>,
    events: Stream,
}

impl<'a> Watched<'a> {
    /// Both watch by now.
    pub(super) fn start(ground: &'a dyn Ground) -> Self {
        let once = ground.ask(&["events", "--once", "--json"]);
        let last: Value =
            serde_json::from_str(once.stdout.lines().last().unwrap_or_default()).expect("JSON");
        let cursor = last["cursor"].as_str().expect("a cursor");
        let mut events =
            ground.command(&ground.agentctl(), &["events", "--json", "--since", cursor]);
        let mut watched = Self { ground, daemons: Vec::new(), events: Stream::of(&mut events) };
        assert_eq!(watched.events.next()["type"], "gap");
        watched.daemon();
        watched
    }

    /// Starts a daemon, and waits until it listens.
    fn daemon(&mut self) {
        let log = self.ground.root().join(format!("daemon-{}.log", self.daemons.len()));
        let mut run = self.ground.command(&self.ground.agentctl(), &["daemon", "run"]);
        run.stdin(Stdio::null()).stdout(Stdio::null());
        let child = run.stderr(File::create(&log).expect("the ground is ours")).spawn();
        self.daemons.push((child.expect("a daemon"), log));
        until("daemon that listens", || self.said().contains("listens on").then_some(()));
    }

    /// What the newest daemon said.
    fn said(&self) -> String {
        let log = self.daemons.last().map(|(_, log)| log);
        log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default()
    }

    /// The newest daemon.
    pub(super) fn process(&self) -> Process {
        let child = self.daemons.last().map(|(child, _)| child.id());
        child.and_then(Process::of).expect("it runs")
    }

    /// Another daemon tells what the killed one did not; the watcher was told all the time.
    pub(super) fn is_told(&mut self, launch: &Launch) {
        let answer = self.ground.ask(&["list", "--all", "--json"]);
        let rows = self.ground.own(&answer, "sessions");
        let row = rows.iter().find(|row| row["launch_id"] == *launch.name);
        let id = row.and_then(|row| row["id"].as_str()).expect("it has a session").to_owned();
        loop {
            let event = self.events.next();
            if event["type"] == "session.ended" && event["session"]["id"] == *id {
                break;
            }
        }
        let own = self.events.of_session(&id);
        let of = |kind: &str| own.iter().filter(|(what, _)| what.starts_with(kind)).count();
        assert_eq!([of("session.started"), of("session.ended")], [1, 1], "{own:#?}");
        self.events.are_unique();
        self.daemon();
        let agent = row.and_then(|row| row["agent"].as_str()).unwrap_or_default();
        for kind in ["session.started", "session.ended"] {
            let line = format!("{kind} {agent} {id} ");
            let logs = || self.daemons.iter().filter_map(|(_, log)| fs::read_to_string(log).ok());
            until(&line, || logs().any(|log| log.contains(&line)).then_some(()));
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        for (child, _) in &mut self.daemons {
            let _ = child.kill(); // one of them was
            let _ = child.wait();
        }
    }
}
