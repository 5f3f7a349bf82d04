//! Facts about each agent that others rely on: what changes, what it is called, where it keeps things.

use crate::{
    play::stub,
    world::{at, key, machine},
};
use agentctl_core::{
    agent::{Agent, Depth, Lately, Part, Program, Server, Stub, Watched},
    agents,
    control::{Request, Target, Unheard},
    evidence::Role,
    host::Env,
};
use std::path::{Path, PathBuf};

const ID: &str = "11111111-1111-4111-8111-111111111111";

fn agent(name: &str) -> &'static dyn Agent {
    agents::named(name).expect("an agent")
}

#[test]
fn what_is_watched_of_a_store_is_where_its_sessions_are_written() {
    use Watched::{Flat, Tree};
    let watched = |name: &str| agent(name).watched().to_vec();
    assert_eq!(watched("claude"), [Tree("projects"), Flat("sessions")]);
    assert_eq!(watched("codex")[..2], [Tree("sessions"), Flat("archived_sessions")]);
    assert_eq!(watched("opencode"), [Flat(""), Tree("storage")]);
    assert_eq!(watched("gemini"), [Tree("tmp")]);
    assert_eq!(watched("copilot"), [Tree("session-state")]);
    assert_eq!(watched("openclaw"), [Tree("agents"), Tree("tmp")]);
    assert_eq!(watched("pi"), [Tree("")]);
}

#[test]
fn servers_are_told_of_an_end_in_their_own_words_and_some_wake_sessions() {
    let words = |name: &str| (agent(name).interrupts_by(), agent(name).wakes());
    assert_eq!(words("opencode"), ("POST /session/ID/abort", true));
    assert_eq!(words("openclaw"), ("sessions.abort", true));
    assert_eq!(words("codex"), ("turn/interrupt", false));
    assert_eq!(words("pi"), ("interrupt", false));
    let registers: Vec<bool> = agents::ALL.iter().map(|agent| agent.registers()).collect();
    assert_eq!(registers, [true, false, false, false, false, false, false]);
}

#[test]
fn only_a_worker_of_claude_code_s_fleet_is_attached_to_by_its_short_name() {
    let (process, host) = (key(7, 100), machine(Vec::new()));
    let target = Target { id: ID, store: Path::new("/store"), process: &process, cwd: None };
    let leads = |name: &str, role| {
        agent(name).attaches(&host, &target, Some(role)).map(|leads| leads.words.join(" "))
    };
    assert_eq!(leads("claude", Role::Background).as_deref(), Some("attach 11111111"));
    assert_eq!(leads("claude", Role::Interactive), None);
    assert_eq!(leads("pi", Role::Background), None);
}

#[test]
fn claude_code_is_known_by_its_name_its_version_or_its_program() {
    let claude = agent("claude");
    let names = ["claude", "claude.exe", "2.1.197", "bash", "2", "v2.1", "node"];
    let known = names.map(|name| claude.may_be(name));
    assert_eq!(known, [true, true, true, false, false, false, false]);
    let part = |comm: &str, exe: &str| {
        claude.part(&Program { comm, exe: Some(Path::new(exe)), argv: &[] })
    };
    let agent = Some(Part::Agent(Role::Interactive));
    assert_eq!(part("claude", "/usr/bin/node"), agent);
    assert_eq!(part("node", "/usr/bin/node"), None);
    assert_eq!(part("claude", "/usr/bin/bun"), agent);
    assert_eq!(part("2.1.197", "/h/.local/share/claude/versions/2.1.197"), agent);
    assert_eq!(part("2.1.197", "/elsewhere/2.1.197"), None);
}

/// 2.1.197 may exit before it has written its answer down.
#[test]
fn a_print_run_of_claude_code_says_in_the_end_whether_it_answered() {
    let answers = |line: &str| agent("claude").answers(line.as_bytes());
    let shows = "\"type\":\"result\"";
    let good = r#"{"type":"result","subtype":"success","is_error":false}"#;
    assert_eq!(answers(good), Some((true, shows)));
    let failed = r#"{"type":"result","subtype":"success","is_error":true}"#;
    assert_eq!(answers(failed), Some((false, shows)));
    let cut = r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#;
    assert_eq!(answers(cut), Some((false, shows)));
    assert_eq!(answers(r#"{"type":"assistant"}"#), None);
    assert_eq!(agent("pi").answers(good.as_bytes()), None);
}

#[test]
fn openclaw_keeps_its_store_where_its_variables_say() {
    let stores = |pairs: &[(&str, &str)]| {
        let env: Env = pairs.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        agent("openclaw").stores(&env)
    };
    let at = |path: &str| vec![PathBuf::from(path)];
    let home = ("HOME", "/h");
    assert_eq!(stores(&[home]), at("/h/.openclaw"));
    assert_eq!(stores(&[home, ("OPENCLAW_HOME", "/o")]), at("/o/.openclaw"));
    assert_eq!(stores(&[home, ("OPENCLAW_PROFILE", "dev")]), at("/h/.openclaw-dev"));
    assert_eq!(stores(&[home, ("OPENCLAW_PROFILE", "Default")]), at("/h/.openclaw"));
    assert_eq!(stores(&[home, ("OPENCLAW_STATE_DIR", " /s ")]), at("/s"));
    assert_eq!(stores(&[home, ("OPENCLAW_STATE_DIR", "~/s")]), at("/h/s"));
    assert!(stores(&[]).is_empty());
}

#[test]
fn a_store_is_where_a_variable_says_or_below_the_home_directory() {
    let store = |pairs: &[(&str, &str)]| {
        let env: Env = pairs.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        agent("codex").stores(&env)
    };
    assert_eq!(store(&[("HOME", "/h")]), [PathBuf::from("/h/.codex")]);
    assert_eq!(store(&[("HOME", "/h"), ("CODEX_HOME", "/c")]), [PathBuf::from("/c")]);
    assert_eq!(store(&[("HOME", "/h"), ("CODEX_HOME", "")]), [PathBuf::from("/h/.codex")]);
}

#[test]
fn an_absence_can_be_checked_by_a_shell() {
    let check = agent("claude").absence(Path::new("/s"), "x");
    assert_eq!(check, "! grep -rsF -- '\"sessionId\":\"x\"' /s/sessions");
}

/// Names of those of which this is true.
fn whoever(is: impl Fn(&dyn Agent) -> bool) -> Vec<&'static str> {
    agents::ALL.iter().filter(|agent| is(**agent)).map(|agent| agent.card().name).collect()
}

#[test]
fn only_some_agents_leave_a_trail_in_words_variables_or_names_of_files() {
    let argv = ["node", "/usr/bin/gemini", "--resume", ID].map(str::to_owned);
    let program = Program { comm: "node", exe: None, argv: &argv };
    let resumes = whoever(|agent| agent.may_name(&program).is_some());
    assert_eq!(resumes, ["claude-code", "gemini"]);
    let marks: Vec<_> = agents::ALL.iter().filter_map(|agent| agent.tool_mark()).collect();
    assert_eq!(marks, [("GEMINI_CLI", "1")]);
    let has_file = |name: &str| whoever(|agent| agent.is_its_file(name));
    assert_eq!(has_file(&format!("rollout-2026-01-02T03-04-05-{ID}.jsonl")), ["codex"]);
    assert_eq!(has_file("inuse.7.hold"), ["copilot"]);
    let (lock, record) = (Path::new("/s/agents/a/lock"), Path::new("/s/agents/a/record"));
    assert_eq!(whoever(|agent| agent.speaks_of(lock, record)), ["openclaw"]);
    let host = machine(Vec::new());
    let (store, dir) = (Path::new("/store"), Path::new("/work"));
    let by_names = |agent: &dyn Agent| agent.list_of(&host, store, dir, Lately::EVER).is_some();
    assert_eq!(whoever(by_names), ["pi"]);
}

/// Nobody takes the silence of an agent without a server for the word that nothing runs.
#[test]
fn an_agent_without_a_server_answers_nothing() {
    let (process, host) = (key(7, 100), machine(Vec::new()));
    let store = Path::new("/store");
    let target = Target { id: ID, store, process: &process, cwd: None };
    for name in ["claude", "pi", "gemini", "copilot"] {
        let agent = agent(name);
        let told = agent.control(&host, &target, Request::Interrupt);
        assert!(matches!(told, Err(Unheard::NoChannel)), "{name}: {told:?}");
        let asked = agent.asks(&host, &target);
        assert!(matches!(asked, Err(Unheard::NoChannel)), "{name}: {asked:?}");
        let server = Server { process: &process, since: at(100), serves: true };
        let served = agent.serves(&host, store, &server).expect("nobody is asked");
        assert!(served.is_none(), "{name}: {served:?}");
    }
}

#[test]
fn a_record_is_told_by_its_own_file_or_by_what_sqlite_keeps_beside_it_too() {
    let mut host = machine(Vec::new());
    host.links.insert("/h/opencode.db".into(), "/disk/opencode.db".into());
    let told_by = |name: &str, path: &str| {
        let stub = Stub { path: path.into(), ..stub("a", 100) };
        agent(name).told_by(&host, &stub, Depth::Whole)
    };
    assert_eq!(told_by("claude", "/h/a.jsonl"), Some(Vec::new()));
    let logs = ["/disk/opencode.db-wal", "/disk/opencode.db-journal"].map(PathBuf::from);
    assert_eq!(told_by("opencode", "/h/opencode.db"), Some(logs.to_vec()));
}
