//! Claude Code launched, waited for, stopped and resumed by agentctl.

use rustix::process::Signal;
use serde_json::Value;

use super::EXE;
use crate::driven::{Driven, path};
use crate::kills::{self, Cell, Step, Victim};
use crate::support::{LIMIT, Stage, alive, ended, is_real, signal};

fn driven(stage: &Stage) -> Driven<'_> {
    // Else it refuses all leave to root.
    let set = vec![path("AGENTCTL_TEST_AGENTS"), ("IS_SANDBOX", "1".to_owned())];
    Driven { stage, agent: "claude-code", set, is_real: &|session| is_real(session, EXE), own: &[] }
}

#[test]
fn launch_returns_a_session_that_is_there() {
    driven(&Stage::new()).launches();
}

#[test]
fn launch_of_two_in_one_directory_is_two() {
    driven(&Stage::new()).launches_two();
}

#[test]
fn launch_of_what_dies_at_once_leaves_nothing() {
    driven(&Stage::new()).fails("--bogus");
}

#[test]
fn what_is_run_at_its_end_is_told_how_it_ended() {
    driven(&Stage::new()).completes();
}

#[test]
fn what_a_killed_parent_did_not_run_can_be_run() {
    let (stage, file) = (Stage::new(), "ran");
    let (agent, gate) = (driven(&stage), stage.sandbox.gate("answer"));
    let launched = agent.launch(&gate.until(), &["--on-complete", &format!("echo x >> {file}")]);
    let (id, pid) = (crate::driven::id(&launched), is_real(&launched, EXE));
    signal(Signal::KILL, stage.parent(pid));
    gate.open();
    let waited = agent.call(&["wait", &id]);
    assert_eq!(waited.code, Some(8), "nobody saw its exit: {waited:?}");
    let hook = |id: &str| stage.one("status", id).expect("it is there")["hooks"][0].clone();
    assert_eq!(hook(&id)["outcome"], "not_run");
    let codes = [(); 2].map(|()| agent.call(&["hook", "run", &id]).code);
    assert_eq!(codes, [Some(0), Some(5)]);
    assert_eq!(hook(&id)["outcome"], "succeeded");
    let ran = std::fs::read_to_string(stage.sandbox.work().join(file));
    assert_eq!(ran.ok().as_deref(), Some("x\n"));
}

#[test]
fn stop_while_the_model_is_silent() {
    driven(&Stage::new()).stops();
}

#[test]
fn resume_goes_on_with_what_stop_ended_in_a_tool() {
    driven(&Stage::new()).resumes();
}

#[test]
fn launch_with_leave_to_read_changes_nothing() {
    driven(&Stage::new()).reads();
}

#[test]
fn resume_in_a_copy_leaves_the_session() {
    driven(&Stage::new()).forks();
}

#[test]
fn launch_survives_whoever_started_it() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let launched = stage.launch(&["claude-code", "-p", &gate.until()]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    let pid = is_real(&launched["session"], EXE);
    let shim = stage.parent(pid);
    signal(Signal::KILL, shim);
    stage.becomes(&id, &["working"], &alive("working", "headless"));
    gate.open();
    // Its last lines may be written while processes are looked at: then nothing is said.
    let through = ["working", "idle", "unknown"];
    let done = stage.becomes(&id, &through, &ended("done", "completed"));
    assert_eq!(done["exit_code"], Value::Null, "nobody saw how it ended");
}

#[test]
fn launch_survives_its_terminal() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("answer");
    let program = stage.sandbox.program().display().to_string();
    let words = [program.as_str(), "launch", "claude-code", "-p", &gate.until()];
    let line = format!("{}; sleep 1000", words.map(|word| format!("'{word}'")).join(" "));
    let terminal = stage.sandbox.run(&["sh", "-c", &line]).on_terminal();
    stage.asked("until");
    let live = stage.sandbox.wait_for("live session", LIMIT, || {
        stage.list(&[]).into_iter().find(|one| one["state"] == "working" && one["id"].is_string())
    });
    signal(Signal::HUP, terminal.pid());
    let id = live["id"].as_str().expect("it has an id");
    stage.becomes(id, &["working"], &alive("working", "headless"));
    gate.open();
    let done = stage.becomes(id, &["working", "idle"], &ended("done", "completed"));
    assert_eq!(done["exit_code"], 0);
}

#[test]
fn launch_with_a_deadline_is_stopped_at_it() {
    let stage = Stage::new();
    let gate = stage.sandbox.gate("never");
    let launched = stage.launch(&["claude-code", "-p", &gate.until(), "--timeout", "10s"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    assert!(launched["session"]["deadline"].is_string(), "{launched:#}");
    let waited = stage.sandbox.agentctl(&["wait", &id, "--timeout", "60s"]);
    assert_eq!(waited.code, Some(1), "{waited:?}");
    let session = stage.becomes(&id, &[], &ended("stopped", "timed out"));
    assert!(session["ended_at"].as_str() >= session["deadline"].as_str(), "{session:#}");
}

fn killed(cell: Cell) {
    let stage = Stage::new();
    let (is_real, own) = (|session: &Value| is_real(session, EXE), &["--allowedTools=Bash"]);
    let set = vec![path("AGENTCTL_TEST_AGENTS")];
    let claude = Driven { stage: &stage, agent: "claude-code", set, is_real: &is_real, own };
    kills::real(&claude, cell);
}

#[test]
fn kills_of_the_caller_in_a_tool() {
    kills::one("claude-code", (Victim::Caller, Step::Tool, Signal::TERM), killed);
}

#[test]
#[ignore = "`cargo xtask prove --full` runs it"]
fn kills_of_everybody_at_every_step() {
    kills::all("claude-code", killed);
}

/// Without a pidfd, by calls that every Unix has.
#[test]
fn stop_by_portable_calls_ends_it_and_its_tool() {
    let stage = Stage::new();
    let tool = stage.sandbox.gate("tool");
    let prompt = format!("MOCK:tool {}", tool.tool());
    let launched = stage.launch(&["claude-code", "-p", &prompt, "--", "--allowedTools=Bash"]);
    let id = launched["session"]["id"].as_str().expect("it has an id").to_owned();
    stage.sandbox.wait_for("running tool", LIMIT, || tool.has_begun().then_some(()));
    let portable = [("AGENTCTL_PORTABLE", "true")];
    let stopped = stage.sandbox.agentctl_with(&portable, &["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()["stopped"][0];
    let deaths = certificate["deaths"].as_array().expect("a list");
    assert_eq!(deaths[0]["process"]["pid"], launched["session"]["pid"], "{certificate:#}");
    assert!(deaths.len() > 1, "its tool is not told: {certificate:#}");
    assert!(deaths.iter().all(|death| death["survived"].is_null()), "{certificate:#}");
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
}

#[test]
fn stop_at_the_end_of_its_budget() {
    driven(&Stage::new()).stops_over_budget();
}

#[test]
fn budget_holds_it_until_it_is_released() {
    driven(&Stage::new()).is_held_over_budget();
}
