//! What those whom we start get to know, and who else may read it.

use crate::home::{Agents, until};
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

const STATE: &str = ".local/state/agentctl";
const USER: &str = ".config/agentctl/config.toml";
/// In a command that is run for a session.
const SECRET: &str = "h00k-s3cret";
/// Where we tell what happens, and what we sign it with.
const OURS: [(&str, &str); 2] = [
    ("AGENTCTL_WEBHOOK_URL", "http://127.0.0.1:9/addr3ss"),
    ("AGENTCTL_WEBHOOK_SECRET", "s1gning"),
];

/// An agent that leaves its environment, and ends.
fn agents() -> Agents {
    let leaves = format!("{}\nsay user", dump("agent"));
    let script = include_str!("../verbs/hooks/agent.sh").replacen("say user", &leaves, 1);
    let agents = Agents::with(&script);
    agents.home.write("end", "0");
    agents.own();
    agents
}

fn dump(name: &str) -> String {
    format!(
        "PATH=/usr/bin:/bin; env | sort > $HOME/{name}.draft; mv $HOME/{name}.draft $HOME/{name}.env"
    )
}

#[test]
fn no_agent_hook_or_script_has_what_is_for_us_alone() {
    let agents = agents();
    let home = &agents.home;
    let (create, complete, fuse) = (dump("create"), dump("complete"), dump("fuse"));
    let words = ["launch", "claude-code", "-p", "hi", "--on-create", &create, "--on-complete"];
    let words = [&words[..], &[&complete, "--env", "OWN=1"]].concat();
    let launched = home.ask(home.agentctl(&words).envs(OURS));
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    let mut daemon = home.agentctl(&["daemon", "run"]);
    let _daemon = crate::home::Daemon::of(home, daemon.envs(OURS));
    let set = ["fuse", "set", ".", "--ttl", "1s", "--on-expire", "script", "--script", &fuse];
    assert_eq!(home.run(&set).code, Some(0));
    for name in ["agent", "create", "complete", "fuse"] {
        let env = until(name, || fs::read_to_string(home.path(format!("{name}.env"))).ok());
        assert!(env.contains("HOME="), "{name}: {env}");
        let own = env.lines().any(|line| line == "OWN=1");
        assert!(name != "agent" || own, "what was asked for is there: {env}");
        for (variable, value) in OURS {
            assert!(!env.contains(variable) && !env.contains(value), "{name}: {env}");
        }
    }
}

/// Every file of ours that holds these words.
fn holding(dir: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().expect("a kind").is_dir() {
            true => found.extend(holding(&path, words)),
            false
                if fs::read(&path)
                    .is_ok_and(|text| String::from_utf8_lossy(&text).contains(words)) =>
            {
                found.push(path.display().to_string());
            }
            false => {}
        }
    }
    found
}

/// Its receipt holds it, for whoever runs it later: of its owner alone, and for seven days.
#[test]
fn what_a_hook_runs_is_nowhere_but_in_its_receipt() {
    let agents = agents();
    let home = &agents.home;
    let _daemon = home.daemon();
    let [create, complete] = ["", "; exit 3"].map(|end| format!("TOKEN={SECRET}; echo ran{end}"));
    let words = ["launch", "claude-code", "-p", "hi", "--json", "--on-create", &create];
    let launched = home.run(&[&words[..], &["--on-complete", &complete]].concat());
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    let id = launched.json()["session"]["id"].as_str().expect("an id").to_owned();
    let session = until("its hook", || {
        let session = home.run(&["status", &id, "--json"]).json()["session"].clone();
        (session["hooks"][1]["outcome"] == "failed").then_some(session)
    });
    let log = fs::read_to_string(session["log"].as_str().expect("a log")).expect("a log");
    assert!(log.contains("[agentctl] on-create begins\nran\n"), "{log}");
    let launch = session["launch_id"].as_str().expect("a launch");
    let receipt = home.path(format!("{STATE}/launches/{launch}.json"));
    assert_eq!(holding(&home.path(""), SECRET), [receipt.display().to_string()]);
    let mode = fs::metadata(&receipt).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for words in [
        &["list", "--all", "--json"][..],
        &["status", &id],
        &["explain", &id, "--json"],
        &["logs", &id],
        &["wait", &id, "--json"],
        &["events", "--once", "--json"],
        &["doctor", "--json"],
        &["hook", "run", &id, "--force", "--json"],
    ] {
        let answer = home.run(words);
        assert!(!format!("{answer:?}").contains(SECRET), "{words:?}: {answer:#?}");
    }
}

#[test]
fn a_configuration_with_secrets_that_others_may_read_is_told() {
    let agents = Agents::new();
    let home = &agents.home;
    let secrets = ["[launch.env]\nAPI_KEY = 'x'\n", "[webhook]\nurl = 'http://a/'\nsecret = 'x'\n"];
    for (text, modes) in [(secrets[0], [0o644, 0o640]), (secrets[1], [0o604, 0o644])] {
        let path = home.write(USER, text);
        agents.own();
        let way = format!("`chmod 600 {}`", path.display());
        let dry = || home.run(&["launch", "claude-code", "-p", "hi", "--dry-run"]);
        let told = || {
            let doctor = home.run(&["doctor", "--json"]);
            let problems = doctor.json()["problems"].as_array().cloned().unwrap_or_default();
            let own = |one: &&Value| one["path"] == *path.to_string_lossy();
            let own: Vec<Value> = problems.iter().filter(own).cloned().collect();
            (doctor.code, own)
        };
        for mode in modes {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("our file");
            let answer = dry();
            assert_eq!(
                (answer.code, answer.stderr.matches(&way).count()),
                (Some(0), 1),
                "{answer:#?}"
            );
            let (code, own) = told();
            assert_eq!((code, own.len()), (Some(8), 1), "{own:#?}");
            assert!(own[0]["message"].as_str().is_some_and(|why| why.contains(&way)), "{own:#?}");
            assert!(home.run(&["doctor"]).stdout.contains(&way));
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("our file");
        assert_eq!((dry().stderr, told()), (String::new(), (Some(0), Vec::new())));
    }
    let path = home.write(USER, "launch.group = 'g'\n");
    agents.own();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("our file");
    let answer = home.run(&["launch", "claude-code", "-p", "hi", "--dry-run"]);
    assert_eq!(answer.stderr, "", "there is nothing to hide");
}
