//! What must be true in every situation.

use super::{Scene, cast::ALL};
use crate::kills::Process;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is said of one session, or of a process without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) state: String,
    pub(crate) live: bool,
    pub(crate) pid: Option<u64>,
    /// It was written to at the moment of the look, which then says nothing of it.
    pub(crate) is_late: bool,
}

impl Said {
    /// What a row says.
    fn of(row: &Value) -> Self {
        let state = row["state"].as_str().expect("a state").to_owned();
        let is_late = row["reason"] == "written to while processes were read";
        Self { state, live: row["live"] == true, pid: row["pid"].as_u64(), is_late }
    }

    pub(crate) fn new(state: &str, process: Option<Process>) -> Self {
        let pid = process.map(|process| u64::from(process.pid));
        Self { state: state.to_owned(), live: pid.is_some(), pid, is_late: false }
    }
}

/// A whole list that was seen to be true.
#[derive(Debug)]
pub(crate) struct Told {
    /// By id, or by `pid:N`.
    pub(crate) rows: BTreeMap<String, Said>,
    /// What could not be read, and why.
    pub(crate) problems: Vec<Value>,
    /// The whole answer.
    pub(crate) list: Value,
}

impl Told {
    /// What is said of one in full.
    pub(crate) fn row(&self, id: &str) -> &Value {
        let mut rows = self.list["sessions"].as_array().expect("sessions").iter();
        rows.find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is not in {:#}", self.list))
    }
}

/// How often the faces of a real agent's session may disagree.
const LOOKS: usize = 3;
const ENDED: &[&str] = &["done", "failed", "stopped", "died"];

impl Scene {
    /// All that is said, seen to agree with itself and with the kernel. A real agent may go on between
    /// two looks: only faces that disagree again and again do.
    pub(crate) fn truth(&self) -> Told {
        let more = if self.is_played() { 0 } else { LOOKS };
        let told = (0..more).fold(self.look(), |told, _| told.or_else(|_| self.look()));
        told.unwrap_or_else(|why| panic!("{why}"))
    }

    /// One look; an error is that its faces disagree.
    fn look(&self) -> Result<Told, String> {
        let answer = self.place.ask(&["list", "--since", "all", "--json", "--timeout", "none"]);
        let list = answer.json();
        let rows = list["sessions"].as_array().expect("sessions").clone();
        let problems = list["problems"].as_array().cloned().unwrap_or_default();
        let code = if problems.is_empty() { 0 } else { 8 };
        assert_eq!(answer.code, Some(code), "{answer:#?}");
        let mut told = Told { rows: BTreeMap::new(), problems, list };
        for row in &rows {
            let twice = told.rows.insert(name(row), Said::of(row));
            assert!(twice.is_none(), "listed twice: {:#}", told.list);
            self.is_true(row);
            self.agrees(row)?;
        }
        self.shows_who_lives(&told.list);
        self.shows_what_is_open(&rows)?;
        self.harmed_nobody();
        Ok(told)
    }

    /// One row, against the kernel.
    fn is_true(&self, row: &Value) {
        let said = Said::of(row);
        if said.live {
            let number = |field: &str| row["process"][field].as_u64().expect("a number");
            let pid = u32::try_from(number("pid")).expect("pids are small");
            let process = Process { pid, start: number("start") };
            assert!(process.lives(), "live without a process: {row:#}");
            let innocent = self.innocents.iter().any(|one| one.process == process);
            assert!(!innocent, "held by an innocent: {row:#}");
        }
        let ended = ENDED.contains(&said.state.as_str());
        assert!(!(said.live && ended), "{row:#}");
        let held = self.is_held(row);
        assert!(!(held && ended), "ended, and its process lives: {row:#}");
    }

    /// A process of this world has loaded what is told there, and lives.
    fn is_held(&self, row: &Value) -> bool {
        let others = self.others.iter().filter_map(|(id, player)| Some(((*id)?, player)));
        let mut all = others.chain([(self.id.as_str(), &self.holder)]);
        all.any(|(id, player)| row["id"] == id && player.process.lives())
    }

    /// `status` and `explain` say of one what `list` says.
    fn agrees(&self, row: &Value) -> Result<(), String> {
        for face in ["status", "explain"] {
            let answer = self.place.ask(&[face, &name(row), "--json"]);
            assert!(matches!(answer.code, Some(0 | 8)), "{answer:#?}");
            let alone = &answer.json()["session"];
            let same = ["id", "agent", "state", "live", "pid", "reason", "outcome"];
            let same = same.iter().all(|field| alone[field] == row[field]);
            if !same {
                return Err(format!("`{face}` says {alone:#}\n`list` says {row:#}"));
            }
        }
        Ok(())
    }

    /// Whoever lives and is told by its name is listed, or named as who may have a session.
    fn shows_who_lives(&self, list: &Value) {
        let others = self.others.iter().map(|(id, player)| {
            let guest = ALL.iter().find(|kind| *id == Some(kind.part().id));
            (player, *guest.unwrap_or(&self.kind), guest.is_some())
        });
        for (player, kind, guest) in others.chain([(&self.holder, self.kind, false)]) {
            let process = player.process;
            if !process.lives() {
                continue;
            }
            let rows = list["sessions"].as_array().expect("sessions").iter();
            let named = |row: &Value| {
                let reason = row["reason"].as_str().unwrap_or_default();
                let there = row["pid"] == process.pid || names(reason, process.pid);
                there && row["agent"] == kind.name()
            };
            let theirs = self.theirs(process);
            let shown = rows.clone().any(named);
            let expected = (guest || kind.is_told_by_name()) && !theirs;
            assert!(shown || !expected, "{process:?} lives and is not shown: {list:#}");
            assert!(!(shown && theirs), "another user's {process:?} is shown: {list:#}");
        }
    }

    fn theirs(&self, process: Process) -> bool {
        use std::os::unix::fs::MetadataExt;
        let owner = std::fs::metadata(format!("/proc/{}", process.pid)).map(|stat| stat.uid());
        owner.ok().zip(self.place.user()).is_some_and(|(owner, user)| owner != user)
    }

    /// A plain `list` shows what is live or unknown, and nothing else.
    fn shows_what_is_open(&self, rows: &[Value]) -> Result<(), String> {
        let answer = self.place.ask(&["list", "--json", "--timeout", "none"]).json();
        let plain = answer["sessions"].as_array().expect("sessions");
        let short = |row: &Value| json!([name(row), row["state"], row["live"], row["pid"]]);
        let mut plain: Vec<String> = plain.iter().map(|row| short(row).to_string()).collect();
        // Who has locked a session of Copilot's and goes by no name of it is told by whoever asks for more: decision 0015.
        let is_unasked = |row: &Value| {
            let why = row["reason"].as_str().unwrap_or_default();
            let words = ["which is not known to be such an agent", "is not in the process table"];
            row["agent"] == "copilot" && words.iter().any(|words| why.ends_with(words))
        };
        let open = rows.iter().filter(|row| row["live"] == true || row["state"] == "unknown");
        let open = open.filter(|row| !is_unasked(row));
        let mut open: Vec<String> = open.map(|row| short(row).to_string()).collect();
        plain.sort();
        open.sort();
        match plain == open {
            true => Ok(()),
            false => Err(format!("`list` shows {plain:?}, and all that is open is {open:?}")),
        }
    }

    /// Who has nothing to do with it lives, and no signal has reached him.
    pub(crate) fn harmed_nobody(&self) {
        for innocent in &self.innocents {
            let Process { pid, .. } = innocent.process;
            assert!(innocent.process.lives(), "an innocent was ended: {pid}");
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
            let field = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            let none = "0".repeat(16);
            let pending = [field("SigPnd:"), field("ShdPnd:")];
            assert_eq!(pending, [none.clone(), none], "an innocent was signalled");
            assert!(!field("State:").starts_with('T'), "an innocent was halted");
        }
    }

    /// What is said of the session.
    pub(crate) fn said(&self) -> Option<Said> {
        self.truth().rows.remove(&self.id)
    }
}

/// The words tell of this pid: `pid 7`, or one of `pid 6 or 7`.
fn names(reason: &str, pid: u32) -> bool {
    let listed = reason.split("pid ").skip(1).flat_map(|rest| rest.split(" or "));
    let number = |word: &str| word.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    listed.into_iter().any(|word| number(word) == Some(pid))
}

fn name(row: &Value) -> String {
    match row["id"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("pid:{}", row["pid"]),
    }
}
