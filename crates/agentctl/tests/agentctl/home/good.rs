//! Two sessions that nothing is wrong with, and how they must be listed, to the last field.

use super::{DAY, Home, PROJECT, lines};
use serde_json::{Value, json};
use std::{
    fs::File,
    time::{Duration, SystemTime},
};

/// The good session of Claude Code.
pub(crate) const GOOD_CLAUDE: &str = "900dc1a0-0000-4000-8000-000000000000";
/// The good session of Codex.
pub(crate) const GOOD_CODEX: &str = "900dc0de-0000-7000-8000-000000000000";
/// [`lines::ENDED`] in seconds.
const WRITTEN: u64 = 1_793_527_205;

/// Writes both.
pub(super) fn plant(home: &Home) {
    let claude = home.claude(GOOD_CLAUDE, &[lines::prompt("Be good"), lines::reply("good")]);
    let mut thread = lines::codex_open(GOOD_CODEX, "Be good");
    thread.push(lines::codex_end("good"));
    let codex = home.codex(GOOD_CODEX, &thread);
    for path in [claude, codex] {
        let written = SystemTime::UNIX_EPOCH + Duration::from_secs(WRITTEN);
        let file = File::options().append(true).open(path).expect("a file");
        file.set_modified(written).expect("a time");
    }
}

/// Fails unless both stand in a list as they should.
pub(super) fn check(list: &Value, home: &Home) {
    let listed = |id: &str| {
        let sessions = list["sessions"].as_array().expect("sessions").iter();
        sessions.filter(|session| session["id"] == id).cloned().collect::<Vec<_>>()
    };
    assert_eq!(listed(GOOD_CLAUDE), [claude(home)]);
    assert_eq!(listed(GOOD_CODEX), [codex(home)]);
}

fn claude(home: &Home) -> Value {
    let source = home.path(format!("{PROJECT}/{GOOD_CLAUDE}.jsonl"));
    let registry = home.path(".claude/sessions");
    let free = format!("! grep -rsF -- '\"sessionId\":\"{GOOD_CLAUDE}\"' {}", registry.display());
    let line = Line {
        offset: lines::prompt("Be good").to_string().len() + 1,
        shows: "\"uuid\":\"22222222-0000-4000-8000-000000000000\"",
        without: None,
        path: source.display().to_string(),
    };
    let own = json!({"id": GOOD_CLAUDE, "model": "claude-opus-4-8", "version": "2.1.197"});
    good("claude-code", own, free, line)
}

fn codex(home: &Home) -> Value {
    let name = format!("rollout-2026-11-01T10-00-00-{GOOD_CODEX}.jsonl");
    let source = home.path(format!("{DAY}/{name}"));
    let free = format!(
        "! {{ for pid in $(pgrep -x codex); do ls -l /proc/$pid/fd; done 2>/dev/null; }} | grep -F -- {GOOD_CODEX}"
    );
    let before = lines::codex_open(GOOD_CODEX, "Be good");
    let line = Line {
        offset: super::text(&before).len(),
        shows: "\"type\":\"task_complete\"",
        without: Some("\"type\":\"task_started\""),
        path: source.display().to_string(),
    };
    let own = json!({"id": GOOD_CODEX, "model": "mock-model", "version": "0.166.0"});
    good("codex", own, free, line)
}

/// The line that decides.
struct Line {
    path: String,
    offset: usize,
    shows: &'static str,
    /// What would follow if it were not the newest.
    without: Option<&'static str>,
}

fn good(agent: &str, own: Value, free: String, line: Line) -> Value {
    let Line { path, offset, shows, without } = line;
    let from = format!("tail -c +{} {path}", offset + 1);
    let mut check = format!("{from} | head -n 1 | grep -F -- '{shows}'");
    let mut source = json!({"kind": "line", "path": path, "offset": offset, "shows": shows});
    if let Some(without) = without {
        check = format!("{check} && ! {from} | grep -F -e '{without}'");
        source["without"] = json!([without]);
    }
    let mut session = json!({
        "agent": agent, "adapter": agent, "state": "done", "status": "stopped", "live": false,
        "outcome": "completed", "host": rustix::system::uname().nodename().to_string_lossy(),
        "cwd": "/home/dev/good", "branch": "main", "prompt": "Be good", "last": "good",
        "started_at": lines::BEGAN, "updated_at": lines::ENDED, "ended_at": lines::ENDED,
        "labels": {}, "source": path,
        "because": [
            {
                "fact": format!("no live {agent} process holds it, or could"),
                "rule": "nobody-holds", "source": {"kind": "absence", "check": free}, "check": free,
            },
            {
                "fact": "its newest turn completed", "rule": "turn-ended", "at": lines::ENDED,
                "source": source, "check": check,
            },
        ],
    });
    let all = session.as_object_mut().expect("an object");
    all.extend(own.as_object().expect("an object").clone());
    session
}
