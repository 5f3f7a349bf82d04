//! One session as the driver knows it: which process it gave life to, what that was told, and how it went.

use super::step::Kind;
use crate::kills::{Process, until};
use rustix::{fs::OFlags, process::Signal};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Child,
};

/// What it is doing, by its own record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Open,
    Asking,
    Rest,
}

/// What is known to be in a file of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    /// Nobody wrote it.
    None,
    Good,
    /// A fault of the driver's destroyed it, or kept it from being written.
    Lost,
}

/// Whether `agentctl` stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    No,
    /// It was killed over it, or could not write that down.
    Perhaps,
    Yes,
}

/// A session that the driver began, with what is true of it.
pub(super) struct Life {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) dir: usize,
    pub(super) record: PathBuf,
    pub(super) process: Process,
    /// Ours to collect.
    pub(super) child: Option<Child>,
    pub(super) shim: Option<Process>,
    /// All its launches, and the labels that they gave it.
    pub(super) launches: Vec<String>,
    pub(super) labels: Vec<String>,
    /// The newest launch.
    pub(super) launch: Option<String>,
    pub(super) receipt: Paper,
    pub(super) exit: Paper,
    /// By what a shell would show.
    pub(super) code: Option<i32>,
    /// The label that its launches gave it.
    pub(super) label: Option<String>,
    pub(super) key: Option<String>,
    pub(super) turn: Turn,
    pub(super) stopped: Stopped,
    /// Its record was spoiled: only whether it lives is still certain.
    pub(super) spoiled: bool,
    pub(super) halted: bool,
    pub(super) steerable: bool,
    /// Its process ended, and whoever listens was not told yet.
    pub(super) untold: bool,
    orders: usize,
}

/// What a stand-in says of itself once it has written its first prompt.
pub(super) struct Birth {
    pub(super) file: PathBuf,
    pub(super) value: Value,
}

impl Birth {
    /// All that are written down.
    pub(super) fn all(dir: &Path) -> Vec<Self> {
        let entries = fs::read_dir(dir).expect("the home is ours").flatten();
        let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_none());
        paths
            .filter_map(|file| {
                let value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
                Some(Self { file, value })
            })
            .collect()
    }

    pub(super) fn text(&self, field: &str) -> String {
        self.value[field].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn process(&self) -> Process {
        let number = |field: &str| self.value[field].as_u64().expect("a number");
        let pid = u32::try_from(number("pid")).expect("pids are small");
        Process { pid, start: number("start") }
    }
}

impl Life {
    pub(super) fn new(birth: &Birth, kind: Kind, dir: usize) -> Self {
        Self {
            kind,
            id: birth.text("id"),
            dir,
            record: PathBuf::from(birth.text("record")),
            process: birth.process(),
            child: None,
            shim: None,
            launches: Vec::new(),
            labels: Vec::new(),
            launch: None,
            receipt: Paper::None,
            exit: Paper::None,
            code: None,
            label: None,
            key: None,
            turn: Turn::Open,
            stopped: Stopped::No,
            spoiled: false,
            halted: false,
            steerable: false,
            untold: false,
            orders: 0,
        }
    }

    /// By `agentctl`, under this label.
    pub(super) fn launched(&mut self, birth: &Birth) {
        self.process = birth.process();
        self.shim = self.process.parent();
        self.launches.push(birth.text("launch"));
        self.launch = self.launches.last().cloned();
        (self.receipt, self.exit, self.code) = (Paper::Good, Paper::None, None);
        (self.turn, self.stopped, self.halted) = (Turn::Open, Stopped::No, false);
        self.orders = 0;
    }

    pub(super) fn lives(&self) -> bool {
        self.process.lives()
    }

    fn fifo(&self, home: &Path) -> PathBuf {
        home.join("orders").join(format!("{}-{}", self.process.pid, self.process.start))
    }

    /// Gives an order to one that hears.
    pub(super) fn order(&mut self, home: &Path, order: &str) {
        assert!(self.ordered(home, order), "it takes no order");
    }

    /// Gives an order; tells whether somebody is there to hear it.
    pub(super) fn ordered(&mut self, home: &Path, order: &str) -> bool {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).custom_flags(nonblocking).open(self.fifo(home));
        let sent = file.and_then(|mut file| file.write_all(format!("{order}\n").as_bytes()));
        self.orders += usize::from(sent.is_ok());
        sent.is_ok()
    }

    /// Waits until all orders are obeyed, or it is gone.
    pub(super) fn obeyed(&self, home: &Path) {
        let done = self.fifo(home).with_added_extension("done");
        until("obedience", || {
            let done = fs::read_to_string(&done).unwrap_or_default();
            (done.lines().count() >= self.orders || !self.lives()).then_some(())
        });
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Waits until it is gone, is collected, and its shim has written that down. What the kernel said of
    /// one that is ours must be what it was ended by.
    pub(super) fn gone(&mut self, code: Option<i32>, paper: Paper) {
        until("end of an agent", || (!self.lives()).then_some(()));
        if let Some(mut child) = self.child.take() {
            let status = child.wait().expect("a child");
            assert!(code.is_none_or(|code| shown(status) == Some(code)), "{status}, not {code:?}");
        }
        if let Some(shim) = self.shim.take() {
            until("end of a shim", || (!shim.lives()).then_some(()));
            (self.exit, self.code) = (paper, code);
        }
        self.halted = false;
        self.untold = true;
    }
}

fn shown(status: std::process::ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or(status.signal().map(|signal| signal + 128))
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill(); // it is ours, and not collected
            let _ = child.wait();
        }
    }
}
