//! What must be true whoever was killed.

use super::{
    Cell, Ground, Step, Victim,
    kernel::{Process, all, carriers, now},
    names, until,
};
use rustix::{
    fs::{FlockOperation, flock},
    process::Signal,
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    iter,
    process::Command,
};

/// What was launched, by its receipt.
pub(super) struct Launch {
    pub(super) name: String,
    pub(super) process: Process,
}

impl Launch {
    /// The only launch there is.
    pub(super) fn find(ground: &dyn Ground) -> Self {
        let dir = ground.state().join("launches");
        let receipt: Value = until("receipt of the launch", || {
            let name = names(&dir).into_iter().find(|name| name.ends_with(".json"))?;
            serde_json::from_slice(&fs::read(dir.join(name)).ok()?).ok()
        });
        let number = |field: &str| receipt["process"][field].as_u64().expect("a number");
        let name = receipt["launch"].as_str().expect("a name").to_owned();
        let pid = u32::try_from(number("pid")).expect("pids are small");
        Self { name, process: Process { pid, start: number("start") } }
    }

    /// All that live and are of this launch.
    pub(super) fn carriers(&self) -> Vec<Process> {
        let mut found = carriers("AGENTCTL_LAUNCH_ID", &self.name);
        if self.process.lives() && !found.contains(&self.process) {
            found.push(self.process); // it has not become the agent yet
        }
        found
    }

    /// The same, each with all that are above it.
    fn chains(&self) -> Vec<Vec<Process>> {
        let chain = |one: Process| iter::successors(Some(one), |one| one.parent()).collect();
        self.carriers().into_iter().map(chain).collect()
    }
}

/// Everybody who lives is listed, and nobody else; the directory is taken as long as a session lives.
pub(super) fn holds(ground: &dyn Ground, launch: &Launch) {
    let (began, all, before) = (now(), all(), launch.chains());
    let answer = ground.ask(&["list", "--all", "--json", "--timeout", "none"]);
    let locks = ground.own(&ground.ask(&["locks", "--json"]), "locks");
    let after = launch.chains();
    assert_eq!(ground.own(&answer, "problems"), Vec::<Value>::new());
    let rows = ground.own(&answer, "sessions");
    let live: Vec<Process> =
        rows.iter().filter(|row| row["live"] == true).map(|row| process(&row["process"])).collect();
    let orphans = answer.json()["orphans"].as_array().cloned().unwrap_or_default();
    let orphans: Vec<Process> = orphans.iter().map(|one| process(&one["process"])).collect();
    // Who was there under the same parents all the time is shown, with its session or without. What a tool has left to run by
    // itself is its session's for as long as any process of that lives.
    let of_launch = |row: &&Value| row["live"] == true && row["launch_id"] == *launch.name;
    let own = rows.iter().find(of_launch).map(|row| process(&row["process"]));
    for chain in before.iter().filter(|chain| after.contains(chain)) {
        let above = |row: &Process| chain.contains(row) || chain[0].is_above(*row);
        let is_left = !launch.process.lives() && own.is_some_and(|own| own != chain[0]);
        let shown = live.iter().any(above) || orphans.contains(&chain[0]) || is_left;
        assert!(shown, "{:?} lives and is not listed: {:#}", chain[0], answer.json());
    }
    // One that exits has no environment any more, and is still there.
    for one in live.iter().chain(&orphans) {
        let there = all.contains(one) || one.start + 1 >= began;
        assert!(there, "{one:?} is listed and gone: {:#}", answer.json());
    }
    let unproved: Vec<&str> = rows.iter().flat_map(checks).filter(|one| !is_so(one)).collect();
    if !live.iter().all(|row| row.lives()) {
        return; // it went while we looked
    }
    let whole = live.iter().all(|row| row.is_whole());
    assert!(unproved.is_empty() || !whole, "these do not hold: {unproved:#?}");
    assert_eq!(locks.is_empty(), live.is_empty(), "{locks:#?} of {rows:#?}");
    if !live.is_empty() {
        let again = ground.again();
        let went = !live.iter().all(|row| row.lives());
        assert!(again.code == Some(5) || went, "it is taken: {again:?}");
    }
}

/// Sessions that live: their ids, states and processes.
pub(super) fn live(ground: &dyn Ground) -> Vec<[Value; 3]> {
    let rows = ground.own(&ground.ask(&["list", "--json", "--timeout", "none"]), "sessions");
    let live = rows.into_iter().filter(|row| row["live"] == true);
    live.map(|row| ["id", "state", "process"].map(|field| row[field].clone())).collect()
}

/// What proves that a live session's process is there, and ours.
fn checks(row: &Value) -> Vec<&str> {
    let because = row["because"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kernel =
        |fact: &&Value| ["alive", "launch"].iter().any(|kind| fact["source"]["kind"] == *kind);
    let checks = because.iter().filter(|_| row["live"] == true).filter(of_kernel);
    checks.filter_map(|fact| fact["check"].as_str()).collect()
}

fn is_so(check: &str) -> bool {
    let output = Command::new("sh").args(["-c", check]).output();
    output.expect("there is a shell").status.success()
}

fn process(key: &Value) -> Process {
    let number = |field: &str| key[field].as_u64().unwrap_or_else(|| panic!("{key} is no process"));
    Process { pid: u32::try_from(number("pid")).expect("pids are small"), start: number("start") }
}

/// Once all have ended: what is written agrees with what happened, and nobody is kept out.
pub(super) fn nothing_is_left(ground: &dyn Ground, launch: &Launch, cell: Cell, code: Option<i32>) {
    let dir = ground.state().join("launches");
    let file = |ending: &str| format!("{}.{ending}", launch.name);
    let left = names(&dir);
    let failed = cell.victim == Victim::Agent && matches!(cell.step, Step::Exec | Step::Id);
    assert!(!failed || code == Some(6), "the launch failed, and says {code:?}");
    // Whoever waits for a session that cannot come any more clears up, unless something runs on.
    if !failed || !left.is_empty() {
        let witnessed = cell.victim != Victim::Shim || cell.signal == Signal::PIPE;
        let mut expected = vec![file("json"), file("log")];
        expected.extend(witnessed.then(|| file("exit")));
        expected.sort();
        assert_eq!(left, expected, "receipts");
        let exit = fs::read(dir.join(file("exit"))).ok();
        let exit: Option<Value> = exit.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        session(ground, launch, cell, exit.as_ref());
    }
    for name in names(&ground.state().join("locks")) {
        let file = File::open(ground.state().join("locks").join(&name)).expect("it is there");
        let free = flock(&file, FlockOperation::NonBlockingLockExclusive);
        assert!(free.is_ok(), "{name} is held by somebody");
    }
    let next = ground.next();
    let again = ground.again();
    assert_eq!(again.code, Some(next), "the directory is free: {again:?}");
}

/// What is said of a session that has ended.
fn session(ground: &dyn Ground, launch: &Launch, cell: Cell, exit: Option<&Value>) {
    let rows = ground.own(&ground.ask(&["list", "--all", "--json"]), "sessions");
    let rows: Vec<&Value> = rows.iter().filter(|row| row["launch_id"] == *launch.name).collect();
    assert!(rows.len() < 2, "one launch is one session: {rows:#?}");
    let killed = cell.victim == Victim::Agent;
    if !killed {
        assert_eq!(rows.len(), 1, "it has no session");
        let seen = (&rows[0]["state"], &rows[0]["live"], &rows[0]["exit_code"]);
        let shown = exit.map_or(Value::Null, |exit| exit["code"].clone());
        assert_eq!(seen, (&json!("done"), &json!(false), &shown), "{:#}", rows[0]);
        assert!(exit.is_none_or(|exit| exit["code"] == 0), "it went on unharmed: {exit:?}");
    }
    let expected: &[&str] = match cell.step {
        _ if !killed => &["done"],
        // Something of it ran on, and nothing came of its session, if it had one.
        Step::Exec | Step::Id => &["died", "unknown", ""],
        Step::Work | Step::Tool => ground.killed(cell.step, cell.signal),
        // One that exits has done all it was asked for.
        Step::Exit => &["done"],
    };
    let state = rows.first().map_or("", |row| row["state"].as_str().unwrap_or("?"));
    assert!(expected.contains(&state), "{state:?} is not of {expected:?}: {rows:#?}");
    assert!(rows.iter().all(|row| row["live"] == false), "{rows:#?}");
}
