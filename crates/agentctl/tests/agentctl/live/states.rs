//! States of sessions that a live process has loaded, and what becomes of them when it dies.

use crate::home::{
    ALL, Home, Seen, StandIn,
    lines::{BEGAN, ENDED, codex_end, codex_open, id, prompt, reply},
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The fields of a session that its process decides.
fn decided(home: &Home, name: &str) -> Value {
    let session = home.run(&["status", name, "--json"]).json()["session"].clone();
    let keys = ["state", "status", "live", "waiting_for", "pid", "kind", "outcome", "cwd", "title"];
    json!(keys.map(|key| session[key].clone()))
}

#[test]
fn what_the_process_says_comes_first() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    let process = home.stand_in();
    let said = [
        (json!({"status": "busy"}), json!(["working", "running", true, null])),
        (json!({"status": "idle"}), json!(["idle", "idle", true, null])),
        (json!({"status": "shell"}), json!(["idle", "idle", true, null])),
        (
            json!({"status": "waiting", "waitingFor": "permission prompt"}),
            json!(["waiting", "running", true, "approval"]),
        ),
        (
            json!({"status": "waiting", "waitingFor": "dialog open"}),
            json!(["waiting", "running", true, "answer"]),
        ),
        // A word that was never seen is not guessed at: the record decides.
        (json!({"status": "dreaming"}), json!(["idle", "idle", true, null])),
        (json!({}), json!(["idle", "idle", true, null])),
    ];
    for (more, expected) in said {
        home.register(&process, &id(1), more.clone());
        let mut expected = expected.as_array().cloned().expect("an array");
        let pid = json!(process.pid());
        let rest = [pid, json!("interactive"), Value::Null, json!("/home/dev/live"), Value::Null];
        expected.extend(rest);
        assert_eq!(decided(&home, &id(1)), json!(expected), "{more}");
        let state = expected[0].as_str().expect("a state").to_owned();
        assert_eq!(home.seen(), Seen::good().and(id(1), &state), "{more}");
    }
}

/// Without a record there is only the process to ask.
#[test]
fn a_session_without_a_record_is_listed() {
    let home = Home::new();
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"name": "given", "nameSource": "user"}));
    let expected = json!([
        "idle",
        "idle",
        true,
        null,
        process.pid(),
        "interactive",
        null,
        "/home/dev/live",
        "given"
    ]);
    assert_eq!(decided(&home, &id(1)), expected);
    assert_eq!(home.run(&["logs", &id(1)]).stdout, "");
    process.end();
    assert_eq!(home.seen(), Seen::good());
    assert_eq!(home.run(&["status", &id(1)]).code, Some(3));
}

/// A process that has named no session is listed by its pid, and once only when it has.
#[test]
fn a_process_without_a_session_is_listed_by_its_pid() {
    let home = Home::new();
    let process = home.stand_in();
    assert_eq!(home.seen(), Seen::good().and(process.name(), "unknown"));
    let work = home.work().display().to_string();
    let unnamed =
        json!(["unknown", "unknown", true, null, process.pid(), "interactive", null, work, null]);
    assert_eq!(decided(&home, &process.name()), unnamed);
    home.register(&process, &id(1), json!({"status": "idle"}));
    assert_eq!(home.seen(), Seen::good().and(id(1), "idle"));
    assert_eq!(decided(&home, &process.name())[0], "idle");
}

fn killed(kill: impl Fn(&mut StandIn), expected: &str) {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    home.claude(&id(2), &[prompt("Begin")]);
    let mut processes = [home.stand_in(), home.stand_in()];
    for (process, number) in processes.iter().zip(1..) {
        home.register(process, &id(number), json!({"status": "busy"}));
    }
    assert_eq!(home.seen(), Seen::good().and(id(1), "working").and(id(2), "working"));
    processes.iter_mut().for_each(kill);
    assert_eq!(home.seen(), Seen::good().and(id(1), "done").and(id(2), "died"), "{expected}");
    assert_eq!(home.run(&["list"]).stdout, "");
}

#[test]
fn a_killed_process_holds_nothing() {
    killed(StandIn::kill_and_collect, "gone");
}

/// A zombie is dead, though its pid and start are still in the table.
#[test]
fn a_zombie_holds_nothing() {
    killed(StandIn::kill, "a zombie");
}

#[test]
fn two_holders_are_one_session() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    let processes = [home.stand_in(), home.stand_in()];
    home.register(&processes[0], &id(1), json!({"status": "idle"}));
    home.register(
        &processes[1],
        &id(1),
        json!({"status": "waiting", "waitingFor": "permission prompt"}),
    );
    assert_eq!(home.seen(), Seen::good().and(id(1), "waiting"));
    let session = home.run(&["status", &id(1), "--json"]).json()["session"].clone();
    let held: Vec<(u64, u64)> = session["processes"]
        .as_array()
        .expect("processes")
        .iter()
        .filter_map(|key| Some((key["pid"].as_u64()?, key["start"].as_u64()?)))
        .collect();
    let mut expected: Vec<(u64, u64)> =
        processes.iter().map(|process| (process.pid().into(), process.ticks())).collect();
    expected.sort_unstable();
    let mut sorted = held.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    for process in &processes {
        assert_eq!(home.run(&["status", &process.name()]).code, Some(0));
    }
}

/// The turn that was open before the process began is not the process's.
#[test]
fn an_old_open_turn_is_not_the_process_s() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    let process = home.stand_in();
    home.register(&process, &id(1), json!({}));
    assert_eq!(home.seen(), Seen::good().and(id(1), "idle"));
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(1);
    let mut again = prompt("Again");
    again["timestamp"] = json!(now.to_string());
    home.claude(&id(1), &[prompt("Begin"), again]);
    assert_eq!(home.seen(), Seen::good().and(id(1), "working"));
}

/// A process of Codex that holds the lock of a thread, as a real one does.
struct Locking(Child);

impl Locking {
    fn new(home: &Home, id: &str) -> Self {
        let program = home.program("codex");
        fs::copy("/bin/sleep", &program).expect("a program");
        let lock = home.write(format!(".codex/thread-writer-locks/{id}.lock"), "");
        let took = home.work().join("took");
        if let Some(user) = home.user() {
            std::os::unix::fs::chown(&lock, Some(user), None).expect("our file");
            std::os::unix::fs::chown(home.work(), Some(user), None).expect("our folder");
        }
        let mut shell: Command = home.command("/bin/sh");
        shell.args(["-c", "exec 9>>\"$1\"; flock 9; : >took; exec \"$0\" 1000"]);
        shell.arg(program).arg(lock).env("PATH", "/usr/bin:/bin");
        let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a shell");
        let locking = Self(child);
        let comm = format!("/proc/{}/comm", locking.0.id());
        let start = Instant::now();
        while !took.exists() || fs::read_to_string(&comm).unwrap_or_default() != "codex\n" {
            assert!(start.elapsed() < Duration::from_secs(10), "no lock");
            std::thread::yield_now();
        }
        locking
    }
}

impl Drop for Locking {
    fn drop(&mut self) {
        let _ = self.0.kill(); // fails only if it has ended
        let _ = self.0.wait();
    }
}

#[test]
fn a_thread_is_held_by_whoever_holds_its_lock() {
    let home = Home::new();
    let mut open = codex_open(&id(1), "Begin");
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(1)).to_string();
    for line in &mut open {
        line["timestamp"] = later.clone().into();
    }
    home.codex(&id(1), &open);
    let process = Locking::new(&home, &id(1));
    assert_eq!(home.seen(), Seen::good().and(id(1), "working"));
    open.push(codex_end("Done"));
    home.codex(&id(1), &open);
    assert_eq!(home.seen(), Seen::good().and(id(1), "idle"));
    drop(process);
    assert_eq!(home.seen(), Seen::good().and(id(1), "done"));
    open.pop();
    home.codex(&id(1), &open);
    assert_eq!(home.seen(), Seen::good().and(id(1), "died"));
}

/// Portable calls know less, and are wrong about nothing.
#[test]
fn the_portable_way_tells_the_same() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    home.claude(&id(2), &[prompt("Begin")]);
    let (process, unnamed, mut zombie) = (home.stand_in(), home.stand_in(), home.stand_in());
    home.register(&process, &id(1), json!({"status": "busy"}));
    home.register(&zombie, &id(2), json!({"status": "busy"}));
    zombie.kill();
    let expected =
        Seen::good().and(id(1), "working").and(id(2), "died").and(unnamed.name(), "unknown");
    assert_eq!(home.seen(), expected);
    let portable = &mut home.agentctl(&["list", "--since", "all", "--json", "--portable"]);
    let portable = Seen::of(&home.ask(portable), &home);
    assert_eq!(portable, expected);
}

/// One live session, to the last field.
#[test]
fn a_live_session_is_told_completely() {
    let home = Home::new();
    let source = home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy", "startedAt": 4_000_000_000_000_i64}));
    let list = home.run(ALL).json();
    let mut session = list["sessions"][0].clone();
    let facts = session["because"].take();
    let rules: Vec<_> = facts.as_array().expect("facts").iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["holder-alive", "holder-alive", "agent-says"]);
    let key = json!({"pid": process.pid(), "start": process.ticks(), "boot": boot()});
    let expected = json!({
        "id": id(1), "agent": "claude-code", "adapter": "claude-code", "state": "working",
        "status": "running", "live": true, "pid": process.pid(), "process": key,
        "kind": "interactive", "host": rustix::system::uname().nodename().to_string_lossy(),
        "cwd": "/home/dev/live", "branch": "main", "model": "claude-opus-4-8", "prompt": "Begin",
        "last": "Done", "started_at": BEGAN, "updated_at": ENDED, "labels": {},
        "stall": {"since": ENDED, "doing": "quiet"},
        "version": "2.1.197", "source": source, "because": null,
    });
    assert_eq!(session, expected);
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    id.trim_end().to_owned()
}

/// Nothing was written for days, though its process says that it works.
#[test]
fn a_turn_of_which_nothing_comes_is_stalled() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin"), reply("Done")]);
    home.claude(&id(2), &[prompt("Begin"), reply("Done")]);
    let (quiet, idle) = (home.stand_in(), home.stand_in());
    home.register(&quiet, &id(1), json!({"status": "busy"}));
    home.register(&idle, &id(2), json!({"status": "idle"}));
    let stall =
        |name: &str| home.run(&["status", name, "--json"]).json()["session"]["stall"].clone();
    assert_eq!(stall(&id(1)), json!({"since": ENDED, "doing": "quiet"}));
    assert_eq!(stall(&id(2)), Value::Null);
    let listed = home.run(&["list", "--stalled", "--json"]).json();
    let ids: Vec<&Value> =
        listed["sessions"].as_array().expect("rows").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(id(1))]);
    let page = home.run(&["list", "--stalled"]).stdout;
    assert!(page.contains("working: quiet"), "{page}");
    let page = home.run(&["status", &id(1)]).stdout;
    assert!(page.contains("stalled") && page.contains("quiet for "), "{page}");
}
