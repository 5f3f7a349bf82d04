//! Receipts that are broken, forged, old or of somebody else.

use crate::home::{
    ALL, Agents, GOOD_CLAUDE, PROJECT, Seen,
    lines::{id, prompt, reply},
    receipts::{LAUNCHES, NOBODY, STOPS, boot, days},
    until,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::{chown, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
}

/// An agent that leaves in the middle of its turn was not killed where its exit was seen.
#[test]
fn who_exits_in_the_middle_of_a_turn_was_not_killed() {
    for code in [0, 7] {
        let script = include_str!("hooks/agent.sh").replace("say assistant", ": say assistant");
        let agents = Agents::with(&script);
        agents.home.write("end", code.to_string());
        agents.own();
        let launched = agents.home.run(&["launch", "claude-code", "-p", "hi", "--wait", "--json"]);
        let session = launched.json()["session"].clone();
        let id = session["id"].as_str().expect("an id");
        let told = format!("exited with code {code} in the middle of a turn");
        assert_eq!((&session["state"], &session["exit_code"]), (&json!("died"), &json!(code)));
        assert_eq!(session["outcome"], told, "{session:#}");
        for words in [["status", id], ["wait", id]] {
            let shown = agents.home.run(&words).stdout;
            assert!(shown.contains(&told) && !shown.contains("killed"), "{shown}");
        }
    }
}

/// Claude Code may exit before it has written its answer down: its last word says whether there was one.
#[test]
fn an_answer_that_was_only_printed_is_an_answer() {
    for (failed, code, state) in [(false, 0, "done"), (true, 1, "died")] {
        let word = json!({"type": "result", "subtype": "success", "is_error": failed});
        let script = include_str!("hooks/agent.sh")
            .replace("say assistant", &format!("echo '{word}'; : say assistant"));
        let agents = Agents::with(&script);
        agents.home.write("end", "0");
        agents.own();
        let words = ["launch", "claude-code", "-p", "hi", "--wait", "--json"];
        // What a hook prints stands behind its last word.
        let launched = agents.home.run(&[&words[..], &["--on-complete", "echo run"]].concat());
        let session = launched.json()["session"].clone();
        assert_eq!((&session["state"], &session["exit_code"]), (&json!(state), &json!(0)));
        let waited = agents.home.run(&["wait", session["id"].as_str().expect("an id")]);
        assert_eq!(waited.code, Some(code), "{waited:?}");
    }
}

/// An agent that ought to be written down and is not may have any open turn, but not one of which we saw the end: nobody
/// who is older and works elsewhere has that, unless it was touched since.
#[test]
fn an_end_that_was_seen_leaves_nobody_in_doubt() {
    let agents = Agents::new();
    let home = &agents.home;
    let unwritten = home.stand_in();
    let (older, younger) = (unwritten.ticks() - 100, unwritten.ticks() + 100);
    // By hand; launched after it; the same, and touched since its end; launched before it; without an end that was seen.
    let launched =
        [None, Some((younger, 1)), Some((younger, -1)), Some((older, 1)), Some((younger, 0))];
    for (number, launch) in (1..).zip(launched) {
        home.claude(&id(number), &[prompt("Begin")]);
        let Some((start, exited)) = launch else { continue };
        let name = format!("launch{number}");
        let process = json!({"process": {"pid": NOBODY, "start": start, "boot": boot()}});
        agents.receipt(&name, &agents.launched(&name, &id(number), process));
        if exited != 0 {
            let exit = json!({"schema": 1, "code": 0, "at": days(exited)});
            home.write(format!("{LAUNCHES}/{name}.exit"), exit.to_string());
        }
    }
    agents.own();
    let states = |doubted: &str| {
        let all = (1..=5).map(|number| (id(number), if number == 2 { "died" } else { doubted }));
        all.fold(Seen::good().and(unwritten.name(), "unknown"), |seen, (id, state)| {
            seen.and(id, state)
        })
    };
    let seen = until("doubt", || Some(home.seen()).filter(|seen| *seen != states("died")));
    assert_eq!(seen, states("unknown"));
}

/// Writes the receipt of a stop under the name it should have; `more` is added.
fn stop(agents: &Agents, start: u64, session: &str, more: Value) -> PathBuf {
    let mut value = json!({
        "schema": 1, "agent": "claude-code", "session": session, "at": days(0),
        "process": {"pid": NOBODY, "start": start, "boot": boot()},
    });
    let more = more.as_object().cloned().unwrap_or_default();
    value.as_object_mut().expect("an object").extend(more);
    agents.home.write(format!("{STOPS}/{NOBODY}-{start}.json"), value.to_string())
}

/// Files whose content is no receipt, or not one that counts.
fn nonsense(agents: &Agents, session: &str) {
    let group = json!({"group": "forged", "labels": {"a": "b"}});
    let good = agents.launched("a", session, group).to_string();
    let put = |name: &str, bytes: &[u8]| {
        agents.home.write(format!("{LAUNCHES}/{name}.json"), bytes);
        agents.home.write(format!("{STOPS}/{name}.json"), bytes);
    };
    put("empty", b"");
    put("truncated", &good.as_bytes()[..40]);
    put("binary", &[0, 255, 27, b'[', b'3', b'1', b'm']);
    put("array", b"[]");
    put("deep", "[".repeat(60_000).as_bytes());
    put("other", good.as_bytes()); // its name is not this file's, and it is no stop
    let long = format!("{good}{}", " ".repeat(10 << 20));
    agents.home.write(format!("{LAUNCHES}/a.json"), long);
    agents.receipt("b", &agents.launched("b", session, json!({"schema": 2})));
    agents.receipt("c", &agents.launched("c", session, json!({"at": days(-30)})));
    agents.receipt("d", &agents.launched("d", session, json!({"agent": "claude"})));
    stop(agents, 1, session, json!({"schema": 2}));
    stop(agents, 3, session, json!({"at": days(-30)}));
    stop(agents, 4, session, json!({"agent": "claude"}));
    stop(agents, 5, session, json!({"much": " ".repeat(1 << 20)}));
}

/// Good receipts, were they files of ours: links, pipes, folders, and files of another user.
fn not_ours(agents: &Agents, session: &str) {
    let home = &agents.home;
    let good = [
        stop(agents, 6, session, json!({})),
        agents.receipt("l", &agents.launched("l", session, json!({}))),
    ];
    for (number, file) in good.iter().enumerate() {
        let elsewhere = home.path(format!("elsewhere-{number}"));
        fs::rename(file, &elsewhere).expect("our file");
        symlink(elsewhere, file).expect("a link");
    }
    for folder in [LAUNCHES, STOPS] {
        let _ = fs::create_dir(home.path(format!("{folder}/folder.json")));
        let _ = fs::remove_file(home.path(format!("{folder}/pipe.json")));
        fifo(&home.path(format!("{folder}/pipe.json")));
    }
    agents.own();
    let theirs = [
        stop(agents, 7, session, json!({})),
        agents.receipt("f", &agents.launched("f", session, json!({}))),
    ];
    for file in theirs {
        match home.user() {
            Some(_) => chown(file, Some(0), Some(0)).expect("our file"),
            None => fs::remove_file(file).expect("our file"), // only root can make one
        }
    }
}

/// Whatever lies among receipts, all sessions are told as before; what has the name of a receipt of ours is a problem.
#[test]
fn what_is_no_receipt_changes_no_answer() {
    let agents = Agents::new();
    let home = &agents.home;
    home.claude(&id(1), &[prompt("Begin")]);
    agents.own();
    let told = || {
        let answer = home.run(ALL).json();
        let problems = answer["problems"].as_array().cloned().unwrap_or_default();
        let name = |one: &Value| Some(one["path"].as_str()?.rsplit('/').next()?.to_owned());
        let lost: Vec<String> = problems.iter().filter_map(name).collect();
        (answer["sessions"].clone(), lost)
    };
    let theirs = home.user().map(|_| "4194999-7.json"); // only root can make one
    let lost = ["4194999-1.json", "4194999-5.json", "4194999-6.json"].into_iter().chain(theirs);
    let lost: Vec<String> = lost.map(str::to_owned).collect();
    let (before, _) = told();
    for session in [GOOD_CLAUDE, &id(1)] {
        nonsense(&agents, session);
        not_ours(&agents, session);
        for _ in 0..2 {
            assert_eq!(told(), (before.clone(), lost.clone()), "{session}");
        }
        for folder in [LAUNCHES, STOPS] {
            fs::remove_dir_all(home.path(folder)).expect("our folder");
        }
    }
    // One that is as it should be counts, so those above could have.
    stop(&agents, 8, &id(1), json!({}));
    agents.own();
    assert_eq!(home.seen(), Seen::good().and(id(1), "stopped"));
}

/// Two stores have one id of one directory: each is called by a name that leads to it alone.
#[test]
fn one_id_in_two_stores_is_told_apart_by_what_is_shown() {
    let agents = Agents::new();
    let home = &agents.home;
    home.claude(&id(1), &[prompt("First")]);
    let second = [prompt("Second"), reply("done")];
    let text: String = second.iter().map(|line| format!("{line}\n")).collect();
    home.write(format!("{}/{}.jsonl", PROJECT.replace(".claude", ".other"), id(1)), text);
    let stores = json!({"stores": [home.path(".other")]});
    agents.receipt("a", &agents.launched("a", &id(7), stores));
    agents.own();
    let several = home.run(&["status", &id(1)]);
    assert_eq!(several.code, Some(4), "{several:#?}");
    let names: Vec<&str> = several
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next())
        .collect();
    let states = names.iter().map(|name| {
        let answer = home.run(&["status", name, "--json"]);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let stopped = home.run(&["stop", name, "--json"]).json();
        let session = answer.json()["session"].clone();
        assert_eq!(stopped["stopped"][0]["session"]["source"], session["source"], "{stopped:#}");
        session["state"].as_str().expect("a state").to_owned()
    });
    let mut states: Vec<String> = states.collect();
    states.sort();
    assert_eq!(states, ["died", "done"], "{several:#?}");
}

/// A receipt names a process for good: neither its pid in other hands nor another boot makes it live.
#[test]
fn a_recycled_pid_and_another_boot_are_not_its_process() {
    let agents = Agents::new();
    let home = &agents.home;
    home.claude(&id(1), &[prompt("Begin")]);
    let stranger = home.stand_in();
    let (pid, start) = (stranger.pid(), stranger.ticks());
    let keys = [
        json!({"pid": pid, "start": start - 1, "boot": boot()}),
        json!({"pid": pid, "start": start, "boot": "00000000-0000-4000-8000-000000000000"}),
        json!({"pid": pid, "start": start, "boot": ""}),
        json!({"pid": 0, "start": 0, "boot": boot()}),
        json!({"pid": u32::MAX, "start": u64::MAX, "boot": boot()}),
    ];
    for key in keys {
        let fresh = json!({"process": key.clone()});
        agents.receipt("a", &agents.launched("a", &id(1), fresh));
        let old = json!({"process": key, "at": days(-60)});
        agents.receipt("b", &agents.launched("b", &id(1), old));
        agents.own();
        let expected = Seen::good().and(id(1), "died").and(stranger.name(), "unknown");
        assert_eq!(home.seen(), expected, "{key}");
        assert_eq!(agents.files(), ["launches/a.json"], "{key}");
        let stopped = home.run(&["stop", &id(1), "--json"]).json();
        assert_eq!(stopped["stopped"][0]["already"], true, "{stopped:#}");
    }
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "a stranger was ended");
}

#[test]
fn a_receipt_of_a_living_process_stays() {
    let agents = Agents::new();
    let home = &agents.home;
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let key = json!({"pid": process.pid(), "start": process.ticks(), "boot": boot()});
    for (name, at) in [("old", days(-400)), ("ahead", days(400))] {
        let more = json!({"process": key, "at": at});
        agents.receipt(name, &agents.launched(name, &id(1), more));
        home.write(format!("{LAUNCHES}/{name}.log"), "words");
    }
    agents.own();
    let files = agents.files();
    for portable in ["false", "true"] {
        home.ask(home.agentctl(&["list"]).env("AGENTCTL_PORTABLE", portable));
        assert_eq!(home.run(&["prune"]).code, Some(0));
        assert_eq!(agents.files(), files, "portable: {portable}");
    }
    process.end();
    home.run(&["list"]);
    assert_eq!(agents.files(), ["launches/ahead.json", "launches/ahead.log"]);
}

/// How old it is that was written by a clock that was set back since, nobody can say: what was asked for is kept.
#[test]
fn a_clock_that_is_set_back_takes_nothing() {
    let agents = Agents::new();
    let home = &agents.home;
    home.claude(&id(1), &[prompt("Begin")]);
    let more = json!({"at": days(2), "group": "g", "key": "k"});
    agents.receipt("a", &agents.launched("a", &id(1), more));
    home.write(format!("{LAUNCHES}/a.log"), "words");
    let exit = json!({"schema": 1, "code": 7, "at": days(2)});
    home.write(format!("{LAUNCHES}/a.exit"), exit.to_string());
    stop(&agents, 7, &id(1), json!({"at": days(2)}));
    let draft = home.write(format!("{LAUNCHES}/b.orders"), "{}");
    let ahead = SystemTime::now() + Duration::from_secs(3600 * 48);
    let draft = File::options().append(true).open(draft).expect("a file");
    draft.set_modified(ahead).expect("a time");
    agents.own();
    let files = agents.files();
    let listed = home.run(&["list", "--since", "all", "--group", "g", "--json"]).json();
    let session = &listed["sessions"][0];
    assert_eq!((&session["id"], &session["exit_code"]), (&json!(id(1)), &json!(7)), "{listed:#}");
    assert_eq!(home.run(&["prune"]).code, Some(0));
    assert_eq!(agents.files(), files);
}

/// Months of receipts go with one look, with all that belongs to them.
#[test]
fn hundreds_of_old_receipts_go_at_once() {
    let agents = Agents::new();
    let home = &agents.home;
    for number in 0..600 {
        let name = format!("{number:012x}");
        let session = (number % 2 == 0).then(|| id(number));
        let more = json!({"at": days(-90 - i64::from(number)), "session": session});
        agents.receipt(&name, &agents.launched(&name, "", more));
        home.write(format!("{LAUNCHES}/{name}.log"), "words");
        let exit = json!({"schema": 1, "code": 0, "at": days(-89)});
        home.write(format!("{LAUNCHES}/{name}.exit"), exit.to_string());
        fifo(&home.path(format!("{LAUNCHES}/{name}.in")));
    }
    agents.own();
    assert_eq!(agents.files().len(), 2400);
    assert_eq!(home.run(&["list", "--timeout", "none"]).code, Some(0));
    assert_eq!(agents.files(), [""; 0]);
}

/// However many there are, each stays or goes with all that belongs to it, the oldest first; one of a
/// living process stays.
#[test]
fn of_very_many_receipts_the_oldest_go_whole() {
    const MOST: u32 = 2000;
    const BEYOND: u32 = 20;
    let agents = Agents::new();
    let home = &agents.home;
    let process = home.stand_in();
    let key = json!({"pid": process.pid(), "start": process.ticks(), "boot": boot()});
    let now = jiff::Timestamp::now();
    for number in 0..MOST + BEYOND + 1 {
        // Those with a great number are the oldest; the very oldest lives.
        let name = format!("{number:012x}");
        let at = now - jiff::SignedDuration::from_secs(i64::from(number));
        let more = match number == MOST + BEYOND {
            true => json!({"at": at.to_string(), "process": key}),
            false => json!({"at": at.to_string()}),
        };
        agents.receipt(&name, &agents.launched(&name, &id(number), more));
        let log = home.write(format!("{LAUNCHES}/{name}.log"), "words");
        let long_ago = SystemTime::now() - Duration::from_secs(3600 * 48);
        let log = File::options().append(true).open(log).expect("a file");
        log.set_modified(long_ago).expect("a time");
    }
    agents.own();
    home.run(&["list", "--timeout", "none"]);
    let kept = (0..MOST).chain([MOST + BEYOND]);
    let kept = kept.flat_map(|n| ["json", "log"].map(|kind| format!("launches/{n:012x}.{kind}")));
    assert!(agents.files().into_iter().eq(kept), "{} are left", agents.files().len());
}

/// What a killed launch left goes after a day; what may still be written stays.
#[test]
fn leftovers_of_killed_launches_go_after_a_day() {
    let agents = Agents::new();
    let home = &agents.home;
    for kind in ["orders", "prompt", "log", "4711.draft", "json"] {
        for (name, hours) in [("new", 1), ("old", 25)] {
            let path = home.write(format!("{LAUNCHES}/{name}.{kind}"), "{\"secret\":1}");
            let at = SystemTime::now() - Duration::from_secs(3600 * hours);
            File::options()
                .append(true)
                .open(path)
                .and_then(|file| file.set_modified(at))
                .expect("a time");
        }
    }
    agents.own();
    home.run(&["list"]);
    let left: Vec<String> = ["4711.draft", "json", "log", "orders", "prompt"]
        .map(|kind| format!("launches/new.{kind}"))
        .into();
    assert_eq!(agents.files(), left);
}
