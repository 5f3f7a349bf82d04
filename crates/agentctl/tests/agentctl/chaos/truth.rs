//! What must be so after each step: what is said is what the kernel says, and what the driver did.

use super::{
    life::{Life, Paper, Stopped, Turn},
    step::{Fault, KINDS, Kind},
    world::World,
};
use crate::{
    home::{Answer, GOOD_CLAUDE, GOOD_CODEX},
    kills::Process,
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Demands something of an answer, and counts that.
macro_rules! sure {
    ($world:expr, $($rest:tt)+) => {{
        $world.checks.set($world.checks.get() + 1);
        assert!($($rest)+);
    }};
}

/// The same of two values.
macro_rules! same {
    ($world:expr, $($rest:tt)+) => {{
        $world.checks.set($world.checks.get() + 1);
        assert_eq!($($rest)+);
    }};
}

impl World {
    /// Compares all that is said with the truth: of the session that was touched and one more by all faces, of all by
    /// all faces at the end.
    pub(super) fn holds(&mut self, at_last: bool) {
        let young = !self.is_grown();
        let answer = self.ask(&["list", "--since", "all", "--json", "--timeout", "none"]);
        self.is_told(&answer);
        let list = answer.json();
        let rows = list["sessions"].as_array().expect("a list");
        self.problems(&answer);
        for life in &self.lives {
            self.one(life, rows, &answer);
        }
        self.no_more(rows, &list);
        let turn = usize::try_from(self.checks.get()).expect("not many");
        let turn = turn.checked_rem(self.lives.len());
        let chosen: BTreeSet<usize> = match at_last {
            true => (0..self.lives.len()).collect(),
            false => turn.into_iter().chain(self.touched).collect(),
        };
        for at in chosen {
            self.agrees(&self.lives[at], &list, young);
        }
        self.innocents_live();
        self.intents(rows);
        self.hear();
    }

    /// The exit code says whether something could not be read.
    fn is_told(&self, answer: &Answer) {
        let none = answer.json()["problems"].as_array().is_none_or(Vec::is_empty);
        same!(self, answer.code, Some(if none { 0 } else { 8 }), "{answer:#?}");
    }

    /// What cannot be read is what the driver has spoiled; and what it has spoiled of ours is told.
    fn problems(&self, answer: &Answer) {
        let problems = answer.json()["problems"].as_array().cloned().unwrap_or_default();
        let of = |problem: &Value| problem["path"].as_str().map(str::to_owned);
        for problem in &problems {
            let path = of(problem);
            let known = path.as_deref().is_some_and(|path| self.explains(Path::new(path)));
            sure!(self, known, "nothing is wrong with that: {problem:#}");
        }
        let named = |path: &Path| problems.iter().filter_map(of).any(|own| Path::new(&own) == path);
        let below =
            |dir: &Path| problems.iter().filter_map(of).any(|own| Path::new(&own).starts_with(dir));
        if self.is_cut() {
            sure!(self, below(&self.state_dir()), "our own state is not told: {problems:#?}");
        } else {
            let dirs = [self.launches_dir(), self.state_dir().join("stops")];
            let receipt = |path: &&PathBuf| dirs.iter().any(|dir| path.starts_with(dir));
            for path in self.spoiled.iter().filter(receipt) {
                // An exit is told with the receipt of its launch, if that is lost too.
                let told = named(path) || named(&path.with_extension("json"));
                sure!(self, told, "{} is not told: {problems:#?}", path.display());
            }
        }
        let closed = |kind: &&Kind| self.stores.get(kind.command()) == Some(&Fault::Closed);
        for store in KINDS.iter().filter(closed).map(|kind| self.store(*kind)) {
            sure!(self, below(&store), "{} is closed: {problems:#?}", store.display());
        }
    }

    fn explains(&self, path: &Path) -> bool {
        let stores = KINDS.iter().filter(|kind| self.is_faulty(**kind));
        stores.map(|kind| self.store(*kind)).any(|store| path.starts_with(store))
            || self.is_cut() && path.starts_with(self.state_dir())
            || self.spoiled.contains(path)
    }

    /// What is said of one session.
    fn one(&self, life: &Life, rows: &[Value], answer: &Answer) {
        let own: Vec<&Value> = rows.iter().filter(|row| row["id"] == *life.id).collect();
        sure!(self, own.len() < 2, "{} is listed twice: {own:#?}", life.id);
        let away = self.is_faulty(life.kind) || self.is_loose(life);
        if life.lives() {
            let held = |row: &&Value| process(row) == Some(life.process);
            let held: Vec<&Value> = rows.iter().filter(held).collect();
            let named = held.first().is_some_and(|row| row["id"] == *life.id);
            // A process without a trail, and the only session that it can have, are one row.
            let words = format!("may be held by pid {}", life.process.pid);
            let joined = own.first().is_some_and(|row| row["reason"] == *words);
            let fits = held.len() == 1 && (named || away) || away && joined;
            sure!(self, fits, "{} lives as {:?}: {answer:#?}", life.id, life.process);
            let ended = own.first().is_some_and(|row| is_ended(row));
            sure!(self, !ended, "{} lives, and is told as ended: {own:#?}", life.id);
        } else {
            sure!(self, away || own.len() == 1, "{} is not listed: {answer:#?}", life.id);
            let live = own.first().is_some_and(|row| row["live"] == true);
            sure!(self, !live, "{} is gone, and told as alive: {own:#?}", life.id);
        }
        let Some(row) = own.first() else { return };
        self.state(life, row);
        self.kept(life, row);
    }

    /// The very state, where nothing was spoiled; `unknown` only where something was, and with a reason.
    fn state(&self, life: &Life, row: &Value) {
        let state = row["state"].as_str().unwrap_or_default();
        let open: &[&str] = match life.stopped {
            Stopped::No => &["died"],
            Stopped::Perhaps => &["died", "stopped"],
            Stopped::Yes => &["stopped"],
        };
        let expected: &[&str] = match (life.lives(), life.turn) {
            (true, Turn::Open) => &["working"],
            (true, Turn::Asking) => &["waiting"],
            (true, Turn::Rest) => &["idle"],
            (false, Turn::Rest) => &["done"],
            (false, Turn::Open | Turn::Asking) => open,
        };
        let fits = expected.contains(&state) || self.excuses(life, row, expected);
        sure!(self, fits, "{expected:?}, not {row:#}");
        let reason = row["reason"].as_str().is_some_and(|why| !why.is_empty());
        sure!(self, state != "unknown" || reason, "unknown, and why is not told: {row:#}");
        let halted = row["halted"] == true;
        sure!(self, halted == life.halted || row["live"] != true, "{} and {row:#}", life.halted);
    }

    /// A state that is not the very one, and what excuses it.
    fn excuses(&self, life: &Life, row: &Value, expected: &[&str]) -> bool {
        let state = row["state"].as_str().unwrap_or_default();
        // A record that was cut, or has more behind it, says what was before; whoever stopped it is not in there.
        let earlier: &[&str] = match (life.spoiled, life.lives()) {
            (false, _) => &[],
            (true, true) => &["working", "waiting", "idle"],
            (true, false) if life.stopped == Stopped::No => &["done", "died"],
            (true, false) => &["done", "died", "stopped"],
        };
        let untold = life.spoiled || self.is_faulty(life.kind) || self.may_be_loose(life);
        let pids = self.innocents.iter().map(|(_, process)| process.pid);
        let innocent =
            pids.into_iter().any(|pid| row["reason"] == format!("may be held by pid {pid}"));
        earlier.contains(&state)
            || state == "unknown" && (untold || innocent && self.is_ownerless(life))
            || self.is_cut() && state == "died" && expected.contains(&"stopped")
    }

    /// What a person asked for with it, and what only our receipts know.
    fn kept(&self, life: &Life, row: &Value) {
        let (launch, label) = (&row["launch_id"], &row["labels"]["who"]);
        let told = (launch.as_str(), label.as_str());
        let whole = life.receipt == Paper::Good && !self.is_cut();
        let own = match whole {
            true => told == (life.launch.as_deref(), life.label.as_deref()),
            // One that it had before may be left.
            false => {
                told.0.is_none_or(|launch| life.launches.iter().any(|own| own == launch))
                    && told.1.is_none_or(|label| life.labels.iter().any(|own| own == label))
            }
        };
        sure!(self, own, "{:?} and {:?}, not {row:#}", life.launch, life.label);
        self.exit_code(life, row, whole);
    }

    /// The code is the one that it ended with, and nobody makes one up.
    fn exit_code(&self, life: &Life, row: &Value, whole: bool) {
        let told = row["exit_code"].as_i64();
        let ended_by = |code: i64| match life.code {
            Some(own) => code == i64::from(own),
            None => [130, 143, 137].contains(&code), // by a stop, whichever way
        };
        // A record that was written to after the exit was gone on with, for all that can be told.
        let sure = whole && is_ended(row) && !life.spoiled && !self.is_faulty(life.kind);
        let fits = match (life.lives(), life.exit) {
            (true, _) | (false, Paper::None) => told.is_none() || life.launches.len() > 1 && !whole,
            (false, Paper::Good) if sure => told.is_some_and(ended_by),
            (false, Paper::Good | Paper::Lost) => {
                told.is_none_or(ended_by) || life.launches.len() > 1 && !whole
            }
        };
        sure!(self, fits, "{:?} by {:?}: {row:#}", life.exit, life.code);
    }

    /// Nobody is listed who is not there, and nothing is left behind.
    fn no_more(&self, rows: &[Value], list: &Value) {
        let ids: BTreeSet<&str> = self.lives.iter().map(|life| life.id.as_str()).collect();
        let asleep: Vec<Process> = self.innocents.iter().map(|(_, process)| *process).collect();
        for row in rows {
            let known = match row["id"].as_str() {
                Some(id) => ids.contains(id) || [GOOD_CLAUDE, GOOD_CODEX].contains(&id),
                None => process(row).is_some_and(|own| {
                    let lives = self.lives.iter().any(|life| life.process == own && life.lives());
                    asleep.contains(&own) || lives
                }),
            };
            sure!(self, known, "who is that? {row:#}");
            let there = process(row).is_none_or(Process::lives);
            sure!(self, there || row["live"] != true, "it is gone, and told as alive: {row:#}");
        }
        for (kind, id) in [(Kind::Claude, GOOD_CLAUDE), (Kind::Codex, GOOD_CODEX)] {
            if !self.is_faulty(kind) {
                let count = rows.iter().filter(|row| row["id"] == *id).count();
                same!(self, count, 1, "{id} is good: {rows:#?}");
            }
        }
        same!(self, list["orphans"].as_array().map_or(0, Vec::len), 0, "{:#}", list["orphans"]);
    }

    /// `status` and `explain` say the same as `list`; if the innocents were young then, one may be suspected since.
    fn agrees(&self, life: &Life, list: &Value, young: bool) {
        let (rows, problems) = (list["sessions"].as_array().expect("a list"), &list["problems"]);
        let dir = self.state_dir();
        let ours = |problems: &Value| {
            let mut all = problems.as_array().cloned().unwrap_or_default();
            all.retain(|one| {
                one["path"].as_str().is_some_and(|path| Path::new(path).starts_with(&dir))
            });
            all
        };
        let own = rows.iter().find(|row| row["id"] == *life.id);
        for face in ["status", "explain"] {
            let answer = self.ask(&[face, &life.id, "--json"]);
            let Some(own) = own else {
                let known = self.is_faulty(life.kind) || self.is_loose(life);
                sure!(self, known && answer.code != Some(0), "not listed, and {answer:#?}");
                continue;
            };
            sure!(self, matches!(answer.code, Some(0 | 8)), "listed, and {answer:#?}");
            self.is_told(&answer);
            same!(self, ours(&answer.json()["problems"]), ours(problems), "{face} and list");
            let said = answer.json()["session"].clone();
            let doubts: &[&str] = match young && self.is_ownerless(life) {
                true => &[],
                false => &["state", "reason"],
            };
            for field in doubts.iter().chain(&["id", "live", "process", "labels", "exit_code"]) {
                same!(self, said[field], own[field], "{field}: {face} says {said:#}, list {own:#}");
            }
            let because = said["because"].as_array().map_or(0, Vec::len);
            sure!(self, because > 0, "it follows from nothing: {said:#}");
        }
    }

    fn innocents_live(&self) {
        for (_, process) in &self.innocents {
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid));
            let asleep = stat.unwrap_or_default().contains(") S ");
            sure!(self, process.lives() && asleep, "an innocent was signalled: {process:?}");
        }
    }

    /// Locks, fuses and budgets are there, or told as lost.
    fn intents(&self, rows: &[Value]) {
        let (locks, fuses) = (self.ask(&["locks", "--json"]), self.ask(&["fuses", "--json"]));
        let budgets = self.ask(&["budget", "list", "--json"]);
        if self.is_cut() {
            for answer in [&locks, &fuses, &budgets] {
                sure!(self, answer.code != Some(0), "they cannot be read: {answer:#?}");
            }
            return;
        }
        let (locks, fuses, budgets) = (locks.json(), fuses.json(), budgets.json());
        let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let manual = all(&locks["locks"]).into_iter().filter(|lock| lock["kind"] == "manual");
        let manual: BTreeSet<String> =
            manual.filter_map(|lock| lock["directory"].as_str().map(str::to_owned)).collect();
        let expected: BTreeSet<String> = self.locks.keys().map(|slot| self.dir(*slot)).collect();
        same!(self, manual, expected, "{locks:#}");
        let set: BTreeSet<String> = all(&fuses["fuses"])
            .iter()
            .filter_map(|fuse| fuse["id"].as_str().map(str::to_owned))
            .collect();
        let good = self.fuses.iter().filter(|(_, one)| one.paper == Paper::Good);
        same!(self, set, good.map(|(name, _)| name.clone()).collect(), "{fuses:#}");
        let told = |value: &Value, path: &Path| {
            all(&value["problems"])
                .iter()
                .any(|one| one["path"].as_str().map(Path::new) == Some(path))
        };
        let lost = |one: &&super::world::Intent| one.paper == Paper::Lost;
        for one in self.locks.values().filter(lost) {
            sure!(self, told(&locks, &one.path), "{} is not told: {locks:#}", one.path.display());
        }
        for one in self.fuses.values().filter(lost) {
            sure!(self, told(&fuses, &one.path), "{} is not told: {fuses:#}", one.path.display());
        }
        for (id, one) in &self.budgets {
            let own = |budget: &&Value| budget["session_id"] == **id;
            let listed = all(&budgets["budgets"]);
            let listed = listed.iter().find(own);
            let turns = listed.and_then(|budget| budget["limits"]["turns"].as_u64());
            if one.paper == Paper::Lost {
                sure!(self, told(&budgets, &one.path), "{id}: its budget is not told: {budgets:#}");
                continue;
            }
            same!(self, turns, Some(1000), "{id}: {budgets:#}");
            if let Some(row) = rows.iter().find(|row| row["id"] == **id) {
                same!(self, row["budget"]["limits"]["turns"], 1000, "{row:#}");
            }
        }
    }
}

/// The process that a row names.
fn process(row: &Value) -> Option<Process> {
    let number = |field: &str| row["process"][field].as_u64();
    Some(Process { pid: u32::try_from(number("pid")?).ok()?, start: number("start")? })
}

fn is_ended(row: &Value) -> bool {
    is_end(&row["state"])
}

/// A state of a session that has ended.
pub(super) fn is_end(state: &Value) -> bool {
    ["done", "failed", "stopped", "died"].iter().any(|end| state == end)
}
