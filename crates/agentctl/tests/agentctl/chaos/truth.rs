//! What must be so after each step: what is said is what the kernel says, and what the driver did.

use super::{
    life::{Life, Paper, Stopped, Turn},
    step::{Fault, KINDS},
    world::World,
};
use crate::{
    home::{Answer, GOOD_CLAUDE, GOOD_CODEX},
    kills::Process,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};

impl World {
    /// Compares all that is said with the truth: of the session that was touched and one more by all faces, of all by
    /// all faces at the end.
    pub(super) fn holds(&mut self, at_last: bool) {
        let answer = self.ask(&["list", "--all", "--json", "--timeout", "none"]);
        self.is_told(&answer);
        let list = answer.json();
        let rows = list["sessions"].as_array().expect("a list");
        self.problems(&answer, rows);
        for life in &self.lives {
            self.one(life, rows, &answer);
        }
        self.no_more(rows, &list);
        self.checks += 2 + u64::try_from(self.lives.len()).expect("not many");
        let turn = usize::try_from(self.checks).expect("not many").checked_rem(self.lives.len());
        let chosen: BTreeSet<usize> = match at_last {
            true => (0..self.lives.len()).collect(),
            false => turn.into_iter().chain(self.touched).collect(),
        };
        for at in chosen {
            self.agrees(&self.lives[at], rows);
            self.checks += 2;
        }
        self.innocents_live();
        self.intents(rows);
        self.checks += 4;
    }

    /// The exit code says whether something could not be read.
    fn is_told(&self, answer: &Answer) {
        let none = answer.json()["problems"].as_array().is_none_or(Vec::is_empty);
        assert_eq!(answer.code, Some(if none { 0 } else { 8 }), "{answer:#?}");
    }

    /// What cannot be read is what the driver has spoiled; and what it has spoiled of ours is told.
    fn problems(&self, answer: &Answer, rows: &[Value]) {
        let problems = answer.json()["problems"].as_array().cloned().unwrap_or_default();
        let of = |problem: &Value| problem["path"].as_str().map(str::to_owned);
        for problem in &problems {
            let path = of(problem);
            let known = path.as_deref().is_some_and(|path| self.explains(Path::new(path)));
            assert!(known, "nothing is wrong with that: {problem:#}");
        }
        let named = |path: &Path| problems.iter().filter_map(of).any(|own| Path::new(&own) == path);
        for path in self.spoiled.iter().filter(|path| path.starts_with(self.launches_dir())) {
            let told = named(path) || self.state.is_some_and(|fault| fault != Fault::Fixed);
            assert!(told, "{} is spoiled, and not told: {problems:#?}", path.display());
        }
        let dir = self.state_dir();
        let cut = self.state.is_some_and(|fault| matches!(fault, Fault::Closed | Fault::Replaced));
        let told = problems.iter().filter_map(of).any(|own| Path::new(&own).starts_with(&dir));
        assert!(told || !cut, "our own state cannot be read, and that is not told: {problems:#?}");
        for kind in KINDS {
            let closed = self.stores.get(kind.command()) == Some(&Fault::Closed);
            let store = self.store(kind);
            let told =
                problems.iter().filter_map(of).any(|own| Path::new(&own).starts_with(&store));
            assert!(told || !closed, "{} is closed: {rows:#?}", store.display());
        }
    }

    fn explains(&self, path: &Path) -> bool {
        let stores = KINDS.iter().filter(|kind| self.is_faulty(**kind));
        stores.map(|kind| self.store(*kind)).any(|store| path.starts_with(store))
            || self.state.is_some() && path.starts_with(self.state_dir())
            || self.spoiled.contains(path)
    }

    /// What is said of one session.
    fn one(&self, life: &Life, rows: &[Value], answer: &Answer) {
        let own: Vec<&Value> = rows.iter().filter(|row| row["id"] == *life.id).collect();
        assert!(own.len() < 2, "{} is listed twice: {own:#?}", life.id);
        let away = self.is_faulty(life.kind) || self.is_loose(life);
        if life.lives() {
            let held = |row: &&Value| process(row) == Some(life.process);
            let held: Vec<&Value> = rows.iter().filter(held).collect();
            let named = held.first().is_some_and(|row| row["id"] == *life.id);
            // A process without a trail, and the only session that it can have, are one row.
            let words = format!("may be held by pid {}", life.process.pid);
            let joined = own.first().is_some_and(|row| row["reason"] == *words);
            let fits = held.len() == 1 && (named || away) || away && joined;
            assert!(fits, "{} lives as {:?}: {answer:#?}", life.id, life.process);
            let ended = own.first().is_some_and(|row| is_ended(row));
            assert!(!ended, "{} lives, and is told as ended: {own:#?}", life.id);
        } else {
            assert!(away || own.len() == 1, "{} is not listed: {answer:#?}", life.id);
            let live = own.first().is_some_and(|row| row["live"] == true);
            assert!(!live, "{} is gone, and told as alive: {own:#?}", life.id);
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
        let loose = life.kind == super::step::Kind::Pi && self.has_loose();
        let cut = self.state.is_some_and(|fault| fault != Fault::Fixed);
        let vague = life.spoiled || self.is_faulty(life.kind) || loose;
        let unstopped = cut && state == "died" && expected.contains(&"stopped");
        assert!(vague || unstopped || expected.contains(&state), "{expected:?}, not {row:#}");
        let reason = row["reason"].as_str().is_some_and(|why| !why.is_empty());
        assert!(state != "unknown" || reason, "unknown, and why is not told: {row:#}");
        let halted = row["halted"] == true;
        assert!(halted == life.halted || row["live"] != true, "{} and {row:#}", life.halted);
    }

    /// What a person asked for with it, and what only our receipts know.
    fn kept(&self, life: &Life, row: &Value) {
        let cut = self.state.is_some_and(|fault| fault != Fault::Fixed);
        if life.receipt != Paper::Good || cut {
            return;
        }
        let (launch, label) = (&row["launch_id"], &row["labels"]["who"]);
        assert_eq!((launch, label), (&json!(life.launch), &json!(life.label)), "{row:#}");
        // A record that was written to after the exit was gone on with, for all that can be told.
        let ended = !life.lives() && is_ended(row) && !life.spoiled;
        let code = life.code.filter(|_| ended && life.exit == Paper::Good);
        assert!(code.is_none_or(|code| row["exit_code"] == code), "{code:?}: {row:#}");
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
            assert!(known, "who is that? {row:#}");
            let there = process(row).is_none_or(Process::lives);
            assert!(there || row["live"] != true, "it is gone, and told as alive: {row:#}");
        }
        assert_eq!(list["orphans"].as_array().map_or(0, Vec::len), 0, "{:#}", list["orphans"]);
    }

    /// `status` and `explain` say the same as `list`.
    fn agrees(&self, life: &Life, rows: &[Value]) {
        let own = rows.iter().find(|row| row["id"] == *life.id);
        for face in ["status", "explain"] {
            let answer = self.ask(&[face, &life.id, "--json"]);
            let Some(own) = own else {
                let known = self.is_faulty(life.kind) || self.is_loose(life);
                assert!(known && answer.code != Some(0), "not listed, and {answer:#?}");
                continue;
            };
            assert!(matches!(answer.code, Some(0 | 8)), "listed, and {answer:#?}");
            self.is_told(&answer);
            let said = answer.json()["session"].clone();
            for field in ["id", "state", "live", "process", "reason", "labels", "exit_code"] {
                assert_eq!(said[field], own[field], "{field}: {face} says {said:#}, list {own:#}");
            }
            let because = said["because"].as_array().map_or(0, Vec::len);
            assert!(because > 0, "it follows from nothing: {said:#}");
        }
    }

    fn innocents_live(&self) {
        for (_, process) in &self.innocents {
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid));
            let asleep = stat.unwrap_or_default().contains(") S ");
            assert!(process.lives() && asleep, "an innocent was signalled: {process:?}");
        }
    }

    /// Locks, fuses and budgets are there, or told as lost.
    fn intents(&self, rows: &[Value]) {
        let (locks, fuses) = (self.ask(&["locks", "--json"]), self.ask(&["fuses", "--json"]));
        if self.state.is_some_and(|fault| fault != Fault::Fixed) {
            let told = locks.code != Some(0) && fuses.code != Some(0);
            return assert!(told, "they cannot be read: {locks:#?} {fuses:#?}");
        }
        let (locks, fuses) = (locks.json(), fuses.json());
        let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let manual = all(&locks["locks"]).into_iter().filter(|lock| lock["kind"] == "manual");
        let manual: BTreeSet<String> =
            manual.filter_map(|lock| lock["directory"].as_str().map(str::to_owned)).collect();
        let expected: BTreeSet<String> = self.locks.keys().map(|slot| self.dir(*slot)).collect();
        assert_eq!(manual, expected, "{locks:#}");
        let set: BTreeSet<String> = all(&fuses["fuses"])
            .iter()
            .filter_map(|fuse| fuse["id"].as_str().map(str::to_owned))
            .collect();
        let good = self.fuses.iter().filter(|(_, one)| one.paper == Paper::Good);
        assert_eq!(set, good.map(|(name, _)| name.clone()).collect(), "{fuses:#}");
        let told = |value: &Value, path: &Path| {
            all(&value["problems"])
                .iter()
                .any(|one| one["path"].as_str().map(Path::new) == Some(path))
        };
        let lost = |one: &&super::world::Intent| one.paper == Paper::Lost;
        for one in self.locks.values().filter(lost) {
            assert!(told(&locks, &one.path), "{} is not told: {locks:#}", one.path.display());
        }
        for one in self.fuses.values().filter(lost) {
            assert!(told(&fuses, &one.path), "{} is not told: {fuses:#}", one.path.display());
        }
        for (id, one) in &self.budgets {
            let row = rows.iter().find(|row| row["id"] == **id);
            let kept = row.is_none_or(|row| !row["budget"].is_null());
            assert!(kept || one.paper == Paper::Lost, "its budget is lost: {row:#?}");
        }
    }
}

/// The process that a row names.
fn process(row: &Value) -> Option<Process> {
    let number = |field: &str| row["process"][field].as_u64();
    Some(Process { pid: u32::try_from(number("pid")?).ok()?, start: number("start")? })
}

fn is_ended(row: &Value) -> bool {
    ["done", "failed", "stopped", "died"].iter().any(|state| row["state"] == *state)
}
