//! Names that are paths: of sessions, keys, groups, fuses and branches.

use super::{below, ours::STATE};
use crate::home::{
    Agents, Home,
    lines::{id, prompt, reply},
    text,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::PathBuf};

/// Words that nobody may get at by a name.
const WORDS: &str = "w0rds-that-are-nobodys";

/// All that is said of a session of this id, by its name and by its process.
fn shown(home: &Home, pid: u32, id: &str) -> String {
    let pid = format!("pid:{pid}");
    let mut shown = home.run(&["list", "--json"]).stdout;
    for words in
        [&["logs", &pid][..], &["peek", &pid], &["status", &pid], &["logs", id], &["explain", id]]
    {
        for more in [&[][..], &["--json"]] {
            let answer = home.run(&[words, more].concat());
            shown.push_str(&answer.stdout);
            shown.push_str(&answer.stderr);
        }
    }
    shown
}

/// A live session is called what its agent wrote down; its record is looked for under that name. How every
/// agent's ids are taken: `no_id_makes_a_path_that_leads_out`.
#[test]
fn no_session_id_leads_out_of_its_store() {
    let home = Home::new();
    let process = home.stand_in();
    let outside = text(&[prompt(WORDS), reply(WORDS)]);
    home.register(&process, &id(1), json!({}));
    home.claude(&id(1), &[prompt(WORDS), reply(WORDS)]);
    let own = shown(&home, process.pid(), &id(1));
    assert!(own.contains(WORDS), "those of its own record are shown: {own}");
    fs::remove_file(home.path(format!("{}/{}.jsonl", crate::home::PROJECT, id(1)))).expect("ours");
    for below in ["secret.jsonl", ".claude/secret.jsonl", ".claude/projects/secret.jsonl"] {
        home.write(below, &outside);
    }
    let absolute = home.path("secret").display().to_string();
    for id in ["../secret", "../../secret", "../../../secret", "..%2fsecret", absolute.as_str()] {
        home.register(&process, id, json!({}));
        let shown = shown(&home, process.pid(), id);
        assert!(!shown.contains(WORDS), "{id}: {shown}");
    }
}

/// Whatever an agent calls its session, it is found by what is listed.
#[test]
fn what_is_listed_is_found_by_its_id() {
    let home = Home::new();
    let process = home.stand_in();
    for id in ["../../..", "../secret", "/etc/passwd", "two words", "a@b", "@", "pid:x", "x/"] {
        home.register(&process, id, json!({}));
        let listed = home.run(&["list", "--json"]).json()["sessions"].clone();
        let own = |one: &&Value| one["process"]["pid"] == process.pid();
        let own = listed.as_array().and_then(|all| all.iter().find(own)).expect("it is listed");
        assert_eq!(own["id"], *id, "{listed:#}");
        for command in ["status", "explain"] {
            let answer = home.run(&[command, "--json", "--", id]);
            assert_eq!(answer.code, Some(0), "{answer:#?}");
            assert_eq!(answer.json()["session"]["id"], *id);
        }
    }
}

/// A session whose agent calls it by the pid of another does not stand in for that.
#[test]
fn a_pid_is_a_process_whatever_others_are_called() {
    let home = Home::new();
    let (forger, victim) = (home.stand_in(), home.stand_in());
    let pid = format!("pid:{}", victim.pid());
    home.register(&forger, &pid, json!({}));
    for id in [None, Some(id(1))] {
        if let Some(id) = &id {
            home.register(&victim, id, json!({}));
        }
        for command in ["status", "explain"] {
            let answer = home.run(&[command, "--json", &pid]);
            let session = &answer.json()["session"];
            assert_eq!(session["process"]["pid"], victim.pid(), "{answer:#?}");
            assert_eq!(session["id"], json!(id), "{answer:#?}");
        }
    }
    let stop = home.run(&["stop", "--force", &pid]);
    assert!(victim.has_ended() && !forger.has_ended(), "{stop:#?}");
}

/// Files that a name could lead to, in the home and in every folder between that and ours.
fn victims(home: &Home) -> Vec<PathBuf> {
    let folders =
        ["", ".local", ".local/state", STATE, &format!("{STATE}/intents")].map(str::to_owned);
    let names = ["victim", "victim.json", "victim.lock", "victim.log", "victim.exit", "victim.in"];
    let paths = folders.iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}")));
    paths.map(|path| home.write(path.trim_start_matches('/'), "kept")).collect()
}

/// What people call things by makes file names; none of these leaves our folders.
#[test]
fn no_key_group_or_fuse_leads_out_of_our_folders() {
    let agents = Agents::new();
    let home = &agents.home;
    let victims = victims(home);
    agents.own();
    let before: BTreeSet<PathBuf> = below(&home.path("")).into_iter().collect();
    for depth in 1..6 {
        let odd = format!("{}victim", "../".repeat(depth));
        let odd = odd.as_str();
        let launch = ["launch", "claude-code", "-p", "hi", "--json", "--force", "--key", odd];
        for (words, code) in [
            (&[&launch[..], &["--group", odd, "--label", "../x=../y"]].concat()[..], &[0, 2][..]),
            (&["fuse", "cancel", odd], &[2, 3]),
            (&["fuse", "extend", odd, "--ttl", "1h"], &[2, 3]),
            (&["hook", "run", odd, "on-complete"], &[2, 3]),
            (&["stop", odd], &[2, 3]),
            (&["status", odd], &[2, 3]),
            (&["webhook", "retry", odd], &[1]),
            (&["lock", odd], &[0, 5]),
        ] {
            let answer = home.run(words);
            assert!(answer.code.is_some_and(|found| code.contains(&found)), "{answer:#?}");
        }
    }
    for file in &victims {
        assert_eq!(fs::read_to_string(file).ok().as_deref(), Some("kept"), "{}", file.display());
        fs::remove_file(file).expect("a file"); // it is of no kind that we write
    }
    let ours = ["launches", "locks", "intents/locks", "intents/fuses"];
    let ours = ours.map(|folder| home.path(format!("{STATE}/{folder}")));
    let is_ours = |path: &PathBuf| {
        let own = [home.path("started"), home.path(".claude")]; // the agent's own
        ours.iter().chain(&own).any(|folder| path.starts_with(folder))
    };
    let mut after = below(&home.path(""));
    after.retain(|path| !before.contains(path) && !is_ours(path));
    assert!(after.is_empty(), "what was not there: {after:?}");
}
