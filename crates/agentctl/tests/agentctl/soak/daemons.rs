//! Daemons, each killed at a moment of chance: before it listens, while it works, or told to end.

use super::{Soak, chance::Chance, record::Reign};
use jiff::Timestamp;
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Stdio},
    time::Duration,
};

/// A daemon in the foreground; it is killed with this value.
pub(super) struct Daemon {
    child: Child,
    log: PathBuf,
    listens: Option<Timestamp>,
}

/// The first one, once it listens: from then on nothing may be lost.
pub(super) fn first(soak: &Soak<'_>) -> Daemon {
    let mut daemon = Daemon::start(soak, 0);
    daemon.lives(soak, Duration::from_secs(30), true);
    assert!(daemon.listens.is_some(), "it does not listen: {}", daemon.said());
    daemon
}

/// One after the other; the last one lives on.
pub(super) fn reign(soak: &Soak<'_>, first: Daemon) -> Daemon {
    let mut chance = soak.chance(1);
    let mut daemon = first;
    for number in 1.. {
        if soak.calm.is_over() {
            daemon.lives(soak, Duration::from_secs(10), true);
            return daemon;
        }
        let time = moment(&mut chance, soak.plan.reign);
        daemon.lives(soak, time, false);
        let told = chance.once_in(6);
        if told && daemon.listens.is_some() {
            let answer = soak.ask(&["daemon", "stop"]);
            assert_eq!(answer.code, Some(0), "{answer:?}");
        }
        daemon.kill();
        let listened = daemon.listens.is_some();
        soak.record.reign(Reign { listened, killed: !told || !listened });
        soak.calm.pause(chance.between(0, 700));
        daemon = Daemon::start(soak, number);
    }
    unreachable!("it goes on until it returns")
}

/// How long it may live: often not even until it listens.
fn moment(chance: &mut Chance, longest: Duration) -> Duration {
    let longest = u64::try_from(longest.as_millis()).expect("not long");
    match chance.below(10) {
        0..=2 => chance.between(0, 300),
        3..=7 => chance.between(300, longest / 3),
        _ => chance.between(longest / 3, longest),
    }
}

impl Daemon {
    fn start(soak: &Soak<'_>, number: u32) -> Self {
        let sandbox = &soak.stage.sandbox;
        let log = sandbox.root().join(format!("out/daemon-{number}.log"));
        let mut command = sandbox.command(sandbox.program());
        command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(File::create(&log).expect("the sandbox is ours")).spawn();
        Self { child: child.expect("a daemon"), log, listens: None }
    }

    /// Lets it live for so long, and notes when it was first seen to listen.
    fn lives(&mut self, soak: &Soak<'_>, time: Duration, only_until: bool) {
        let end = std::time::Instant::now() + time;
        while std::time::Instant::now() < end && !(only_until && self.listens.is_some()) {
            let ended = self.child.try_wait().expect("a child");
            assert!(ended.is_none(), "it ended by itself: {ended:?}\n{}", self.said());
            if self.listens.is_none() && self.said().contains("listens on") {
                self.listens = Some(Timestamp::now());
            }
            let step = if self.listens.is_some() { 200 } else { 10 };
            let left = end.saturating_duration_since(std::time::Instant::now());
            soak.heard.pause(left.min(Duration::from_millis(step)));
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn kill(&mut self) {
        let _ = self.child.kill(); // it may have ended as it was told
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}
