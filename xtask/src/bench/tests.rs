//! What a generated home promises: the same bytes for the same plan, and sessions that the readers of
//! all agents know for what they were meant to be.

use super::{
    home::{self, Home, Places},
    plan::{Agent, Ending, Scale, Session},
    time::Moment,
};
use agentctl_core::{
    agent::Depth,
    agents,
    observe::{History, Survey},
    wire::StateName,
};
use agentctl_testkit::fixture::FixtureHost;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Two rounds of every agent and of every ending, with no more bytes than they need.
const SCALE: Scale = Scale { sessions: 120, live: 0, bytes: Some(1e6) };
const NOW: Moment = Moment(1_794_766_444_017);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, PathBuf::from)
}

/// A new home in a directory, with what is beside a captured one: a machine without processes.
fn made(dir: &Path) -> Home {
    let places = Places { homes: dir, repository: &repository() };
    let home = home::ensure(&places, SCALE, NOW).expect("it can be made");
    let case = serde_json::json!({
        "note": "SYNTHETIC", "home": home.dir, "now": NOW.to_string(), "boot": "b",
        "booted": "2026-11-15T00:00:00Z", "processes": [],
    });
    fs::write(dir.join("case.json"), case.to_string()).expect("it can be written");
    let _ = fs::remove_file(dir.join("home"));
    std::os::unix::fs::symlink(&home.dir, dir.join("home")).expect("a link can be made");
    home
}

/// Every file below a directory with what is in it.
fn files(dir: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).expect("it is there").flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, into),
            path => drop(into.insert(path.clone(), fs::read(&path).expect("it can be read"))),
        }
    }
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a directory");
    let written = || {
        let home = made(dir.path());
        let mut all = BTreeMap::new();
        files(&home.dir, &mut all);
        fs::remove_dir_all(&home.dir).expect("it can be removed");
        all
    };
    let (one, other) = (written(), written());
    assert!(one.len() > SCALE.sessions / 2, "{} files", one.len());
    let differs: Vec<_> =
        one.iter().filter(|(path, text)| other.get(*path) != Some(text)).collect();
    assert!(differs.is_empty() && one.len() == other.len(), "{:?}", differs[0].0);
}

#[test]
fn a_home_is_kept_while_its_plan_is_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let sign = made(dir.path()).dir.join("sign");
    fs::write(&sign, "").expect("it can be written");
    made(dir.path());
    assert!(sign.exists(), "the same plan, the same home");
    let places = Places { homes: dir.path(), repository: &repository() };
    let other = Scale { live: 1, ..SCALE };
    home::ensure(&places, other, NOW).expect("it can be made");
    assert!(!sign.exists(), "another plan takes its place");
}

#[test]
fn every_reader_finds_what_was_written_for_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let home = made(dir.path());
    let host = FixtureHost::new(dir.path()).expect("a case");
    for agent in agents::ALL {
        let planned = |session: &&Session| name(session.agent) == agent.card().name;
        let mut expected: BTreeMap<&str, &Session> =
            home.sessions.iter().filter(planned).map(|it| (it.id.as_str(), it)).collect();
        assert!(!expected.is_empty(), "{}", agent.card().name);
        let survey = Survey::new(*agent, &host, &host.env(), History::All);
        assert_eq!(survey.problems, [], "{}", agent.card().name);
        for candidate in &survey.candidates {
            let (found, problems) = survey.session(candidate, Depth::Whole);
            let about = format!("{} {:?}: {found:?}", agent.card().name, candidate.id);
            assert!(problems.is_none(), "{about}");
            let id = candidate.id.as_deref().unwrap_or_default();
            let meant = expected.remove(id).unwrap_or_else(|| panic!("nobody planned {about}"));
            assert_eq!(found.cwd.as_deref(), Some(Path::new(&meant.cwd)), "{about}");
            assert_eq!(found.state, self::meant(meant), "{:?}: {about}", meant.ending);
        }
        assert!(expected.is_empty(), "{}: {:?}", agent.card().name, expected.keys());
    }
}

fn name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-code",
        Agent::Codex => "codex",
        Agent::OpenCode => "opencode",
        Agent::Pi => "pi",
        Agent::Gemini => "gemini",
        Agent::Copilot => "copilot",
        Agent::OpenClaw => "openclaw",
    }
}

/// What its ending is to be read as.
fn meant(session: &Session) -> StateName {
    match (session.ending, session.agent) {
        (Ending::Done, _) => StateName::Done,
        (Ending::Failed, _) => StateName::Failed,
        (Ending::TurnLimit, Agent::Claude | Agent::OpenClaw) => StateName::Failed,
        (Ending::Interrupted | Ending::TurnLimit, _) => StateName::Stopped,
        // Its store says how each run ended, and never that one is cut off.
        (Ending::InTool | Ending::Generating | Ending::Torn, Agent::OpenClaw) => StateName::Stopped,
        (Ending::InTool | Ending::Generating | Ending::Torn, _) => StateName::Died,
    }
}
