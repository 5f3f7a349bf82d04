//! Many who launch in one directory at once.

use crate::home::{Agents, Answer};
use std::{collections::BTreeSet, fs, os::unix::fs::symlink, thread};

/// One launch in each of these directories, at once.
fn launch(agents: &Agents, dirs: &[&str], more: &[&str]) -> Vec<Answer> {
    thread::scope(|scope| {
        let one = |dir| {
            let args = ["launch", "claude-code", "-p", "hi", "--json", "--cwd", dir];
            scope.spawn(move || agents.home.run(&[&args, more].concat()))
        };
        let all: Vec<_> = dirs.iter().map(|dir| one(*dir)).collect();
        all.into_iter().map(|one| one.join().expect("an answer")).collect()
    })
}

#[test]
fn exactly_one_wins_and_the_others_are_told_by_whom() {
    for _ in 0..3 {
        let agents = Agents::new();
        let work = agents.home.work();
        fs::create_dir_all(work.join("repo/.git")).expect("a folder");
        fs::create_dir_all(work.join("repo/src")).expect("a folder");
        fs::write(work.join("repo/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        symlink("repo/src", work.join("link")).expect("a link");
        agents.own();
        let answers = launch(&agents, &["repo", "repo/src", "link"].repeat(5), &[]);
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|one| one.code == Some(0));
        assert_eq!((won.len(), agents.started()), (1, 1), "{answers:#?}");
        let won = won[0].json();
        let id = won["session"]["id"].as_str().expect("an id");
        for one in lost {
            let message = one.json()["error"]["message"].as_str().map(str::to_owned);
            let message = message.expect("a message");
            let told = message.contains("claude-code by pid ")
                || message.contains(id)
                || message.contains("session pid:");
            assert!(one.code == Some(5) && told, "{one:#?}");
        }
        let live = agents.home.run(&["list", "--json"]).json()["sessions"].clone();
        assert_eq!(live.as_array().map(Vec::len), Some(1), "{live:#}");
        assert_eq!(live[0]["id"], id);
    }
}

#[test]
fn different_directories_do_not_meet() {
    let agents = Agents::new();
    let dirs = ["a", "b", "c", "d", "a/below"];
    for dir in dirs {
        fs::create_dir_all(agents.home.work().join(dir)).expect("a folder");
    }
    let answers = launch(&agents, &dirs, &[]);
    let codes: Vec<_> = answers.iter().map(|one| one.code).collect();
    assert_eq!((codes, agents.started()), (vec![Some(0); 5], 5), "{answers:#?}");
}

#[test]
fn one_key_is_one_session_wherever_it_is_asked_for() {
    let agents = Agents::new();
    let dirs = ["a", "b", "c", "d"];
    for dir in dirs {
        fs::create_dir_all(agents.home.work().join(dir)).expect("a folder");
    }
    let answers = launch(&agents, &dirs, &["--key", "nightly"]);
    let ids: BTreeSet<String> =
        answers.iter().map(|one| one.json()["session"]["id"].to_string()).collect();
    assert_eq!((ids.len(), agents.started()), (1, 1), "{answers:#?}");
    let again = launch(&agents, &["d"], &["--key", "nightly"]);
    assert!(ids.contains(&again[0].json()["session"]["id"].to_string()), "{again:#?}");
    let other = launch(&agents, &["d"], &["--key", "weekly", "--force"]);
    assert_eq!((other[0].code, agents.started()), (Some(0), 2), "{other:#?}");
}
