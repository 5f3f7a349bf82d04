//! Commands that are run once a session is there and once its agent has ended.

mod full;
mod killed;
mod limits;
mod spoiled;

use crate::{
    home::{
        Agents, Answer,
        receipts::{LAUNCHES, days},
    },
    kills::until,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A home whose agent ends when it is told to.
struct Hall {
    agents: Agents,
}

impl Hall {
    fn new() -> Self {
        Self { agents: Agents::with(include_str!("hooks/agent.sh")) }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.agents.home.path(below)
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.agents.home.run(words)
    }

    fn try_launch(&self, more: &[&str]) -> Answer {
        self.run(&[&["launch", "claude-code", "-p", "hi", "--json"], more].concat())
    }

    /// Launches one, and returns its session.
    fn launch(&self, more: &[&str]) -> Value {
        let answer = self.try_launch(more);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()["session"].clone()
    }

    /// Lets the agent end.
    fn end(&self, code: u8) {
        self.agents.home.write("draft", code.to_string());
        self.agents.own();
        fs::rename(self.path("draft"), self.path("end")).expect("our file");
    }

    fn session(&self, id: &str) -> Value {
        self.run(&["status", id, "--json"]).json()["session"].clone()
    }

    /// The first hook of a session, once this came of it.
    fn becomes(&self, id: &str, outcome: &str) -> Value {
        until(&format!("hook that is {outcome}"), || {
            let hook = self.session(id)["hooks"][0].clone();
            (hook["outcome"] == outcome).then_some(hook)
        })
    }

    /// Lines of a file, once there are so many.
    fn lines(&self, file: &str, count: usize) -> Vec<String> {
        until(&format!("{count} lines in {file}"), || {
            let text = fs::read_to_string(self.path(file)).unwrap_or_default();
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (lines.len() >= count).then_some(lines)
        })
    }

    /// The agent's parent.
    fn shim(&self, session: &Value) -> i32 {
        let status = fs::read_to_string(format!("/proc/{}/status", session["pid"]));
        let status = status.expect("it is alive");
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        line.expect("it has one").trim().parse().expect("a number")
    }

    fn git(&self, words: &[&str]) {
        let mut git = self.agents.home.command("git");
        git.args(words).env("PATH", "/usr/bin:/bin").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().expect("git");
        assert!(output.status.success(), "{output:?}");
    }
}

fn id(session: &Value) -> String {
    session["id"].as_str().expect("an id").to_owned()
}

/// Says what it is told, into a file of the home.
fn tells(file: &str) -> String {
    format!(
        "PATH=/usr/bin:/bin; env | grep ^AGENTCTL_ | sort > $HOME/{file}.draft; mv $HOME/{file}.draft $HOME/{file}"
    )
}

/// Whatever a branch or a label is called, it is only a value.
#[test]
fn hooks_are_told_by_variables_what_they_are_run_for() {
    const BRANCH: &str = "x$(touch${IFS}pwned)`touch${IFS}pwned`;touch${IFS}pwned'\"é";
    let hall = Hall::new();
    hall.git(&["init", "-q", "-b", BRANCH]);
    let words = ["--group", "g;touch pwned", "--label", "a=$(touch pwned)", "--model", "m"];
    let hooks = ["--on-create", &tells("created"), "--on-complete", &tells("completed")];
    let callback = ["--callback-session", "agent:main:1", "--callback-agent", "main"];
    let words = [&["launch", "-p", "hi", "--json"], &words[..], &hooks, &callback].concat();
    let mut call = hall.agents.home.agentctl(&words);
    // As an agent would that was launched by us and launches another, or a hook of its.
    call.envs([("AGENTCTL_LAUNCH_ID", "outer"), ("AGENTCTL_EXIT_CODE", "9")]);
    let session = hall.agents.home.ask(&mut call).json()["session"].clone();
    let expected = |exit: &str, state: &str| {
        [
            "AGENTCTL_ADAPTER=claude-code".to_owned(),
            format!("AGENTCTL_BRANCH={BRANCH}"),
            "AGENTCTL_CALLBACK_AGENT=main".to_owned(),
            "AGENTCTL_CALLBACK_SESSION=agent:main:1".to_owned(),
            format!("AGENTCTL_CWD={}", hall.agents.home.work().display()),
            format!("AGENTCTL_EXIT_CODE={exit}"),
            "AGENTCTL_GROUP=g;touch pwned".to_owned(),
            "AGENTCTL_MODEL=m".to_owned(),
            format!("AGENTCTL_SESSION_ID={}", id(&session)),
            format!("AGENTCTL_STATE={state}"),
        ]
    };
    // It has ended when `launch` returns.
    assert_eq!(session["hooks"][0]["outcome"], "succeeded", "{session:#}");
    assert_eq!(session["hooks"][1]["outcome"], "waiting", "{session:#}");
    assert_eq!(session["hooks"][1]["command"], "***", "{session:#}");
    assert_eq!(session["callback"], json!({"session": "agent:main:1", "agent": "main"}));
    assert_eq!(hall.lines("created", 10), expected("", "working"));
    hall.end(3);
    assert_eq!(hall.lines("completed", 10), expected("3", "failed"));
    assert!(!hall.agents.home.work().join("pwned").exists(), "a name was run");
    let ended = until("end of the hook", || {
        let ended = hall.session(&id(&session));
        (ended["hooks"][1]["outcome"] == "succeeded").then_some(ended)
    });
    assert_eq!(ended["exit_code"], 3, "{ended:#}");
    assert_eq!(ended["hooks"][1]["code"], 0, "{ended:#}");
    let shown = hall.run(&["status", &id(&session)]).stdout;
    assert!(shown.contains("callback session agent:main:1, agent main\n"), "{shown}");
    assert!(shown.contains("hook on-complete: succeeded\n"), "{shown}");
}

/// What it writes is in the session's log, behind what the agent wrote, and says whose it is.
#[test]
fn what_hooks_write_is_in_the_log() {
    let hall = Hall::new();
    let session = hall.launch(&["--on-complete", "echo out; echo err >&2; pwd; cat; exit 7"]);
    hall.end(0);
    let hook = hall.becomes(&id(&session), "failed");
    assert_eq!(hook["code"], 7, "{hook:#}");
    let log = fs::read_to_string(session["log"].as_str().expect("a log")).expect("a log");
    let work = hall.agents.home.work();
    let expected = format!(
        "words of the agent\n\n[agentctl] on-complete begins\n\
         out\nerr\n{}\n\n[agentctl] on-complete: exit code 7\n",
        work.display()
    );
    assert_eq!(log.replace("/bin/sh: 1: cat: not found\n", ""), expected);
}

/// A hook that fails is told, and the session is what it was.
#[test]
fn a_failing_hook_is_told_and_changes_nothing() {
    let hall = Hall::new();
    let session = hall.launch(&["--on-complete", "exit 7"]);
    let id = id(&session);
    hall.end(0);
    hall.becomes(&id, "failed");
    let waited = hall.run(&["wait", &id]);
    assert_eq!(waited.code, Some(0), "{waited:#?}");
    let expected = format!("{id}  done: completed\n  on-complete: failed: exit code 7\n");
    assert_eq!(waited.stdout, expected);
    let status = hall.run(&["status", &id]);
    assert_eq!(status.code, Some(0), "{status:#?}");
    assert!(status.stdout.contains("on-complete: failed: exit code 7\n"), "{status:#?}");
    let explained = hall.run(&["explain", &id]).stdout;
    assert!(explained.contains("  on-complete: failed: exit code 7\n"), "{explained}");
}

#[test]
fn who_waits_for_a_launch_waits_for_its_hook_and_gets_the_session_s_result() {
    // Its record says that it completed, whatever its process or its hook exited with.
    let cases = [(0, "exit 7"), (0, "true"), (3, "exit 7"), (3, "true")];
    for (code, hook) in cases {
        let hall = Hall::new();
        hall.end(code);
        let gate = format!("PATH=/usr/bin:/bin; sleep 0.3; {hook}");
        let answer = hall.try_launch(&["--wait", "--on-complete", &gate]);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let answer = answer.json();
        let bad = usize::from(hook != "true");
        assert_eq!(answer["problems"].as_array().map_or(0, Vec::len), bad, "{answer:#}");
        let outcome = if bad == 0 { "succeeded" } else { "failed" };
        assert_eq!(answer["session"]["hooks"][0]["outcome"], outcome, "{answer:#}");
    }
}

#[test]
fn a_failing_on_create_is_a_problem_and_the_session_is_there() {
    let hall = Hall::new();
    let answer = hall.try_launch(&["--on-create", "exit 9"]);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    let told = answer.json();
    assert_eq!(told["problems"][0]["message"], "on-create: failed: exit code 9", "{told:#}");
    assert_eq!(told["session"]["live"], true);
    let session = hall.session(&id(&told["session"]));
    assert_eq!(session["hooks"][0]["outcome"], "failed", "{session:#}");
    let words = ["launch", "-p", "hi", "--force", "--on-create", "kill -9 $$"];
    let answer = hall.run(&words);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    assert!(answer.stderr.contains("on-create: failed: signal 9\n"), "{answer:#?}");
}

/// However quick the agent is, on-complete comes behind on-create.
#[test]
fn on_complete_waits_for_on_create() {
    let hall = Hall::new();
    hall.end(0);
    let first = "PATH=/usr/bin:/bin; sleep 0.5; echo created >> $HOME/order";
    let last = "echo completed >> $HOME/order";
    let answer = hall.try_launch(&["--on-create", first, "--on-complete", last]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert_eq!(hall.lines("order", 2), ["created", "completed"]);
}

/// No session, no hook, and nothing is left.
#[test]
fn a_launch_that_fails_runs_nothing() {
    let hall = Hall::new();
    fs::write(hall.path("stillborn"), "").expect("a file");
    let hook = "echo ran >> $HOME/ran";
    let answer = hall.try_launch(&["--on-create", hook, "--on-complete", hook]);
    assert_eq!(answer.code, Some(6), "{answer:#?}");
    let over = || hall.agents.alive().is_empty().then_some(());
    until("end of the shim", over);
    assert!(!hall.path("ran").exists());
    assert_eq!(hall.agents.files(), [""; 0]);
}

#[test]
fn a_session_that_is_stopped_or_too_long_is_stopped() {
    for by_deadline in [false, true] {
        let hall = Hall::new();
        let hook = tells("completed");
        let timeout: &[&str] = if by_deadline { &["--timeout", "500ms"] } else { &[] };
        let session = hall.launch(&[&["--on-complete", &hook], timeout].concat());
        if !by_deadline {
            assert_eq!(hall.run(&["stop", &id(&session)]).code, Some(0));
        }
        let told = hall.lines("completed", 10);
        assert!(told.contains(&"AGENTCTL_STATE=stopped".to_owned()), "{told:#?}");
        let session = hall.session(&id(&session));
        assert_eq!(session["state"], "stopped", "{session:#}");
        let code = format!("AGENTCTL_EXIT_CODE={}", session["exit_code"]);
        assert!(told.contains(&code), "{code}: {told:#?}");
    }
}

#[test]
fn what_is_configured_is_run_and_undone_by_an_empty_flag() {
    let hall = Hall::new();
    let config = "[hooks]\non_complete = 'echo configured >> $HOME/order'\non_create = 'true'\n";
    hall.agents.home.write(".config/agentctl/config.toml", config);
    hall.agents.own();
    let dry = hall.try_launch(&["--dry-run", "--on-create", ""]).json();
    let hook = json!({"name": "on-complete", "command": "echo configured >> $HOME/order"});
    assert_eq!(dry["hooks"], json!([hook]));
    let shown = hall.run(&["launch", "-p", "hi", "--dry-run"]).stdout;
    assert!(shown.starts_with("# on-create: true\n# on-complete: echo configured"), "{shown}");
    hall.end(0);
    let none = hall.launch(&["--on-create", "", "--on-complete", " "]);
    assert_eq!(none["hooks"], Value::Null);
    until("end of the first", || (hall.session(&id(&none))["live"] == false).then_some(()));
    hall.launch(&["--on-complete", "echo flag >> $HOME/order"]);
    assert_eq!(hall.lines("order", 1), ["flag"]);
    let done = hall.try_launch(&["--wait"]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert_eq!(hall.lines("order", 2), ["flag", "configured"]);
}

/// Nobody of ours is there when a session of a server ends.
#[test]
fn a_server_s_session_has_no_end_of_ours() {
    let hall = Hall::new();
    let call = ["launch", "openclaw", "-p", "hi", "--dry-run", "--on-complete", "true"];
    let refused = hall.run(&call);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("(--on-complete)"), "{refused:#?}");
    assert!(refused.stderr.contains("hint: `agentctl wait ID && COMMAND`"), "{refused:#?}");
    let config = "hooks.on_complete = 'true'\nlaunch.env.A = 'b'\n";
    hall.agents.home.write(".config/agentctl/config.toml", config);
    hall.agents.own();
    let answer = hall.run(&call[..5]);
    assert!(answer.stderr.contains("warning: hooks.on_complete is not heeded"), "{answer:#?}");
    assert!(answer.stderr.contains("warning: launch.env is not heeded"), "{answer:#?}");
    assert_eq!(answer.code, Some(0), "{answer:#?}");
}

/// A resumed session keeps whom to tell, and has the hooks that it is given.
#[test]
fn resume_keeps_the_callback_and_no_hook() {
    let hall = Hall::new();
    hall.end(0);
    let words =
        ["--wait", "--on-complete", "true", "--callback-session", "s", "--callback-agent", "a"];
    let session = hall.try_launch(&words).json()["session"].clone();
    let resume = |more: &[&str]| {
        let id = id(&session);
        let words = [&["resume", &*id, "again", "--json", "--wait"], more].concat();
        let answer = hall.run(&words);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()["session"].clone()
    };
    let again = resume(&[]);
    assert_eq!(again["callback"], json!({"session": "s", "agent": "a"}), "{again:#}");
    assert_eq!(again["hooks"], Value::Null);
    let again = resume(&["--callback-agent", "b", "--on-complete", "exit 3"]);
    assert_eq!(again["callback"], json!({"session": "s", "agent": "b"}), "{again:#}");
    assert_eq!(again["hooks"][0]["code"], 3, "{again:#}");
}

/// What belongs to a receipt goes with it.
#[test]
fn receipts_of_hooks_go_with_that_of_their_launch() {
    let hall = Hall::new();
    let agents = &hall.agents;
    let hooks = json!({"on_complete": "true", "cwd": "/", "limit": {"secs": 1, "nanos": 0}});
    for (name, at) in [("old", days(-30)), ("new", days(0))] {
        let more = json!({"at": at, "hooks": hooks});
        agents.receipt(name, &agents.launched(name, "s", more));
        for kind in ["on-create", "on-complete", "log", "exit"] {
            agents.home.write(format!("{LAUNCHES}/{name}.{kind}"), "{}");
        }
    }
    agents.own();
    assert_eq!(hall.run(&["list"]).code, Some(0));
    let left = ["exit", "json", "log", "on-complete", "on-create"];
    assert_eq!(agents.files(), left.map(|kind| format!("launches/new.{kind}")));
}

/// Where its directory is gone, it says so.
#[test]
fn a_hook_whose_directory_is_gone_fails_with_the_reason() {
    let hall = Hall::new();
    let dir = hall.agents.home.work().join("gone");
    fs::create_dir(&dir).expect("a folder");
    hall.agents.own();
    let session = hall.launch(&["--cwd", "gone", "--on-complete", "true"]);
    fs::remove_dir(&dir).expect("our folder");
    hall.end(0);
    let hook = hall.becomes(&id(&session), "failed");
    let why = hook["message"].as_str().unwrap_or_default();
    assert!(why.starts_with(&format!("cannot be started in {}: ", dir.display())), "{hook:#}");
    assert!(Path::new(session["log"].as_str().expect("a log")).exists());
}
