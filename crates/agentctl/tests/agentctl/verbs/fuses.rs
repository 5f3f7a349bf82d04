//! Fuses: set, put off, taken away, shown; and fired by the daemon, whoever was killed meanwhile.

use crate::home::{
    Agents, Answer, Home, Stream,
    lines::{id, prompt},
    until,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

const FOLDER: &str = ".local/state/agentctl/intents/fuses";

fn set(home: &Home, target: &str, more: &[&str]) -> Value {
    let words = [&["fuse", "set", target, "--json"], more].concat();
    let answer = home.run(&words);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    answer.json()["fuses"][0].clone()
}

fn all(home: &Home) -> Vec<Value> {
    home.run(&["fuses", "-a", "--json"]).json()["fuses"].as_array().expect("fuses").clone()
}

fn name(fuse: &Value) -> String {
    fuse["id"].as_str().expect("an id").to_owned()
}

/// The fuse, once it has fired.
fn fired(home: &Home, fuse: &Value) -> Value {
    until("a fuse that fired", || {
        all(home).into_iter().find(|one| one["id"] == fuse["id"] && !one["fired"].is_null())
    })
}

/// The next event of fuses.
fn told(events: &mut Stream) -> (String, Value) {
    loop {
        let event = events.next();
        let kind = event["type"].as_str().expect("a type").to_owned();
        if kind.starts_with("fuse.") {
            return (kind, event["fuse"].clone());
        }
    }
}

fn dir(agents: &Agents) -> (PathBuf, String) {
    let path = agents.home.path("a dir $(touch no) 'q'");
    fs::create_dir(&path).expect("a folder");
    agents.own();
    let text = path.to_str().expect("a name").to_owned();
    (path, text)
}

/// All that a person can do with one, told with and without a daemon.
#[test]
fn fuses_are_set_put_off_and_taken_away() {
    let agents = Agents::new();
    let home = &agents.home;
    let (path, dir) = dir(&agents);
    let cursor = home.cursor();
    let mut events = home.events();
    let one = set(home, &dir, &["--ttl", "1h", "--label", "nightly"]);
    assert_eq!(one["target"], json!({"directory": path}));
    assert_eq!((&one["action"], &one["label"]), (&json!("event"), &json!("nightly")));
    assert_eq!(told(&mut events).0, "fuse.set");
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    let other = set(home, &id(1)[..8], &["--ttl", "2h", "--on-expire", "stop"]);
    assert_eq!(other["target"], json!({"session": {"agent": "claude-code", "id": id(1)}}));
    assert_eq!(told(&mut events).0, "fuse.set");
    let off =
        home.run(&["fuse", "extend", &dir, "--ttl", "3h", "--json"]).json()["fuses"][0].clone();
    assert_eq!(off["id"], one["id"]);
    assert!(off["deadline"].as_str() > one["deadline"].as_str());
    let (kind, fuse) = told(&mut events);
    assert_eq!((kind.as_str(), &fuse["deadline"]), ("fuse.extended", &off["deadline"]));
    let listed = home.run(&["fuse", "list", "--json"]).json()["fuses"].clone();
    let ids: Vec<&Value> = listed.as_array().expect("fuses").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&other["id"], &one["id"]], "the next first");
    assert_eq!(home.run(&["fuse", "cancel", &name(&one)]).code, Some(0));
    assert_eq!(told(&mut events).0, "fuse.cancelled");
    for again in ["cancel", "extend"] {
        let ttl: &[&str] = if again == "extend" { &["--ttl", "1h"] } else { &[] };
        let answer = home.run(&[&["fuse", again, &name(&one)], ttl].concat());
        assert_eq!(answer.code, Some(1), "it is over: {answer:#?}");
    }
    let later = home.run(&["events", "--once", "--since", &cursor, "--filter", "type=fuse"]);
    let ids = |lines: Vec<Value>| -> Vec<Value> {
        lines.iter().filter(|one| !one["fuse"].is_null()).map(|one| one["id"].clone()).collect()
    };
    let later: Vec<Value> =
        later.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (mut later, mut seen) = (ids(later), ids(events.read.clone()));
    later.sort_by_key(Value::to_string);
    seen.sort_by_key(Value::to_string);
    assert_eq!(later, seen, "whoever comes later is told the same");
    let filtered = ["events", "--once", "--since", &cursor, "--filter", "type=fuse,agent=claude"];
    let only = home.run(&filtered).stdout;
    assert_eq!(only.lines().filter(|line| line.contains("\"fuse.")).count(), 1, "{only}");
}

#[test]
fn what_cannot_be_a_fuse_is_refused() {
    let agents = Agents::new();
    let home = &agents.home;
    let code = |words: &[&str]| home.run(&[&["fuse"], words].concat()).code;
    assert_eq!(code(&["set", ".", "--ttl", "0"]), Some(2));
    assert_eq!(code(&["set", ".", "--ttl", "1h", "--on-expire", "script"]), Some(2));
    assert_eq!(code(&["set", ".", "--ttl", "1h", "--script", "true"]), Some(2));
    assert_eq!(code(&["set", "no/such/dir", "--ttl", "1h"]), Some(2));
    assert_eq!(code(&["set", "zzzz", "--ttl", "1h"]), Some(3));
    assert_eq!(code(&["cancel", "f-000000"]), Some(1));
    assert_eq!(code(&["extend", "f-000000", "--ttl", "1h"]), Some(1));
    assert_eq!(all(home), [json!(null); 0]);
}

/// Its words are a shell's, and what it is about comes by variables alone.
#[test]
fn a_script_is_run_in_its_directory() {
    let agents = Agents::new();
    let home = &agents.home;
    let (path, dir) = dir(&agents);
    let _daemon = home.daemon();
    let mut events = home.events();
    let script =
        "printf '%s|%s|%s' \"$PWD\" \"$AGENTCTL_CWD\" \"$AGENTCTL_FUSE_LABEL\" >\"it's done\"";
    let label = "; rm -rf \"$HOME\" `x`";
    let more = ["--ttl", "1s", "--on-expire", "script", "--script", script, "--label", label];
    let fuse = set(home, &dir, &more);
    assert_eq!(told(&mut events).0, "fuse.set");
    let (kind, told) = told(&mut events);
    assert_eq!((kind.as_str(), &told["id"]), ("fuse.fired", &fuse["id"]));
    assert_eq!(fired(home, &fuse)["fired"]["problem"], Value::Null);
    let written = fs::read_to_string(path.join("it's done")).expect("it was run there");
    assert_eq!(written, format!("{dir}|{dir}|{label}"));
}

/// One that fails, hangs or has no place to run fires too, says so, and keeps nobody waiting.
#[test]
fn a_script_that_fails_is_told() {
    let agents = Agents::new();
    let home = &agents.home;
    let (path, dir) = dir(&agents);
    let gone = home.path("gone");
    fs::create_dir(&gone).expect("a folder");
    agents.own();
    let script = |target: &str, words: &str, more: &[&str]| {
        let begin = ["--ttl", "1s", "--on-expire", "script", "--script", words];
        set(home, target, &[&begin[..], more].concat())
    };
    let hangs = "/bin/sleep 1000 & echo $! >pid; wait";
    let fuses = [
        script(&dir, hangs, &["--script-timeout", "1s"]),
        script(&dir, "echo a >&2; echo no way >&2; exit 3", &[]),
        script(gone.to_str().expect("a name"), "true", &[]),
        set(home, &dir, &["--ttl", "1s"]),
    ];
    fs::remove_dir(&gone).expect("a folder");
    let _daemon = home.daemon();
    let problem = |fuse: &Value| fired(home, fuse)["fired"]["problem"].to_string();
    let problems = fuses.each_ref().map(problem);
    assert!(problems[0].contains("did not end within 1s"), "{problems:?}");
    assert!(problems[1].contains("exit status: 3: no way"), "{problems:?}");
    assert!(problems[2].contains("cannot be run"), "{problems:?}");
    assert_eq!(problems[3], "null");
    let pid = fs::read_to_string(path.join("pid")).expect("it began").trim().to_owned();
    until("the end of what hung", || (!agents.alive().contains(&pid.parse().ok()?)).then_some(()));
}

/// The session is stopped, or all that work in the directory, and none elsewhere.
#[test]
fn sessions_are_stopped() {
    let agents = Agents::new();
    let home = &agents.home;
    let launch = |dir: &str| {
        let path = home.path(dir);
        fs::create_dir(&path).expect("a folder");
        agents.own();
        let path = path.to_str().expect("a name").to_owned();
        let words = ["launch", "claude-code", "--json", "-p", "x", "--cwd", &path];
        let launched = home.run(&words).json();
        (path, launched["session"]["id"].as_str().expect("an id").to_owned())
    };
    let state = |id: &str| home.run(&["status", id, "--json"]).json()["session"]["state"].clone();
    let [(_, one), (dir, other), (_, third)] = ["a", "b", "c"].map(launch);
    let _daemon = home.daemon();
    let fuses = [
        set(home, &one, &["--ttl", "1s", "--on-expire", "stop"]),
        set(home, &dir, &["--ttl", "1s", "--on-expire", "stop"]),
    ];
    for fuse in &fuses {
        assert_eq!(fired(home, fuse)["fired"]["problem"], Value::Null);
    }
    assert_eq!([&one, &other, &third].map(|id| state(id)), ["stopped", "stopped", "working"]);
    let gone = set(home, &one, &["--ttl", "1s", "--on-expire", "stop"]);
    assert_eq!(
        fired(home, &gone)["fired"]["problem"],
        Value::Null,
        "what has ended is as it should be"
    );
}

/// Who only may work in the directory is not signalled; it is told once, with all like it.
#[test]
fn who_only_may_work_there_is_not_signalled() {
    let agents = Agents::new();
    let home = &agents.home;
    let alone = home.stand_in();
    let sub = home.work().join("sub");
    fs::create_dir(&sub).expect("a folder");
    let mut line = prompt("Begin");
    line["cwd"] = sub.display().to_string().into();
    for number in [1, 2] {
        let path = home.claude(&id(number), std::slice::from_ref(&line));
        let later = SystemTime::now() + Duration::from_secs(60);
        let file = fs::File::options().append(true).open(path);
        file.and_then(|file| file.set_modified(later)).expect("a time");
    }
    agents.own();
    let _daemon = home.daemon();
    // One that has registered nowhere for so long may have gone elsewhere.
    until("doubt", || {
        let list = home.run(&["list", "--json"]).json();
        (list["sessions"].as_array().map(Vec::len) == Some(3)).then_some(())
    });
    let stop = ["--ttl", "1ms", "--on-expire", "stop"];
    let told = fired(home, &set(home, sub.to_str().expect("a name"), &stop));
    let problem = told["fired"]["problem"].as_str().expect("a problem").to_owned();
    assert!(problem.starts_with("nobody can say whether these are alive"), "{problem}");
    assert!([1, 2].iter().all(|one| problem.matches(&id(*one)).count() == 1), "{problem}");
    assert!(!alone.has_ended(), "it was signalled on a suspicion");
    // With the end of whoever may have had them nobody has.
    let told = fired(home, &set(home, home.work().to_str().expect("a name"), &stop));
    assert_eq!(told["fired"]["problem"], Value::Null);
    assert!(alone.has_ended());
}

/// One whose time came while nobody was there fires at once, and one that was put off meanwhile does not.
#[test]
fn overdue_ones_fire_on_start() {
    let agents = Agents::new();
    let home = &agents.home;
    let fuse = set(home, ".", &["--ttl", "1ms"]);
    let off = set(home, ".", &["--ttl", "1ms"]);
    assert_eq!(home.run(&["fuse", "extend", &name(&off), "--ttl", "1h"]).code, Some(0));
    let overdue = home.run(&["fuses"]);
    assert!(overdue.stdout.contains("overdue by"), "{overdue:#?}");
    assert!(overdue.stderr.contains("agentctl daemon start"), "{overdue:#?}");
    let daemon = home.daemon();
    fired(home, &fuse);
    until("a line", || daemon.said().contains(&format!("fired {}", name(&fuse))).then_some(()));
    assert_eq!(
        all(home).iter().find(|one| one["id"] == off["id"]).expect("it is set")["fired"],
        Value::Null
    );
}

/// Files that are no fuses are named, fire nothing, and keep no other from firing.
#[test]
fn broken_files_fire_nothing() {
    let agents = Agents::new();
    let home = &agents.home;
    let good = set(home, ".", &["--ttl", "1ms"]);
    let text =
        fs::read_to_string(home.path(format!("{FOLDER}/{}.json", name(&good)))).expect("a fuse");
    home.write(format!("{FOLDER}/f-torn.json"), &text[..20]);
    home.write(format!("{FOLDER}/f-other.json"), &text);
    home.write(format!("{FOLDER}/f-new.json"), text.replace("\"schema\":1", "\"schema\":9"));
    home.write(format!("{FOLDER}/f-half.draft"), "{");
    std::os::unix::fs::symlink("/etc/passwd", home.path(format!("{FOLDER}/f-link.json")))
        .expect("a link");
    agents.own();
    let problems = |answer: &Answer| answer.json()["problems"].as_array().expect("a list").len();
    let answer = home.run(&["fuses", "--json"]);
    assert_eq!((answer.code, problems(&answer)), (Some(8), 4), "{answer:#?}");
    let _daemon = home.daemon();
    fired(home, &good);
    assert_eq!(all(home).len(), 1);
    assert_eq!(problems(&home.run(&["fuses", "--json"])), 4, "and they stay");
}

/// While it fires nobody puts it off: he is told so, instead of that he was in time.
#[test]
fn what_is_firing_cannot_be_put_off() {
    let agents = Agents::new();
    let home = &agents.home;
    let (path, dir) = dir(&agents);
    let words = "while ! test -e go; do /bin/sleep 0.01; done";
    let script = format!("touch begun; {words}").replace("touch", "/usr/bin/touch");
    let fuse = set(home, &dir, &["--ttl", "1ms", "--on-expire", "script", "--script", &script]);
    let _daemon = home.daemon();
    until("its beginning", || path.join("begun").exists().then_some(()));
    for words in [vec!["cancel"], vec!["extend", "--ttl", "1h"]] {
        let id = name(&fuse);
        let answer = home.run(&[&["fuse"], &words[..], &[&id]].concat());
        assert_eq!(answer.code, Some(5), "{answer:#?}");
    }
    fs::write(path.join("go"), "").expect("a file");
    assert_eq!(fired(home, &fuse)["fired"]["problem"], Value::Null);
}

/// A fuse can be taken away by what it is about though that is gone; one on a folder is not its repository's.
#[test]
fn what_is_gone_can_be_taken_away() {
    let agents = Agents::new();
    let home = &agents.home;
    home.write("repo/.git/HEAD", "ref: refs/heads/main\n");
    home.write("repo/sub/x", "");
    agents.own();
    let sub = home.path("repo/sub");
    let text = sub.to_str().expect("a name");
    let fuse = set(home, text, &["--ttl", "1h"]);
    assert_eq!(fuse["target"], json!({"directory": sub}));
    fs::remove_dir_all(&sub).expect("a folder");
    let answer = home.run(&["fuse", "cancel", text, "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    set(home, &id(1), &["--ttl", "1h"]);
    set(home, &id(1), &["--ttl", "2h"]);
    drop(process);
    fs::remove_dir_all(home.path(".claude")).expect("a store");
    let answer = home.run(&["fuse", "cancel", &id(1), "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert_eq!(answer.json()["fuses"].as_array().map(Vec::len), Some(2), "{answer:#?}");
}
