//! A list in short: who is in which state, and what could not be read.

use super::{Answer, GOOD_CLAUDE, GOOD_CODEX, Home};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a list says, as one value that tests compare whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    code: i32,
    /// State by id, or by `pid:N`; several where the same id is listed more than once.
    sessions: BTreeMap<String, Vec<String>>,
    /// `path: why`, the path from the home on.
    problems: BTreeSet<String>,
}

impl Seen {
    /// Just the good sessions.
    pub(crate) fn good() -> Self {
        let nothing = Self { code: 0, sessions: BTreeMap::new(), problems: BTreeSet::new() };
        nothing.and(GOOD_CLAUDE, "done").and(GOOD_CODEX, "done")
    }

    /// And this session.
    pub(crate) fn and(mut self, id: impl Into<String>, state: &str) -> Self {
        self.sessions.entry(id.into()).or_default().push(state.to_owned());
        self
    }

    /// And this problem.
    pub(crate) fn problem(mut self, path: &str, why: &str) -> Self {
        self.problems.insert(format!("{path}: {why}"));
        self.code = 8;
        self
    }

    /// The sessions alone, for what may be a problem or none.
    pub(crate) fn sessions(self) -> BTreeMap<String, Vec<String>> {
        self.sessions
    }

    /// Without those that are listed by their pid.
    pub(crate) fn without_processes(mut self) -> Self {
        self.sessions.retain(|id, _| !id.starts_with("pid:"));
        self
    }

    /// What an answer of `list … --json` says.
    pub(crate) fn of(answer: &Answer, home: &Home) -> Self {
        let list = answer.json();
        let home = home.path("").display().to_string();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let array = |key: &str| list[key].as_array().cloned().unwrap_or_default();
        let mut sessions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for session in array("sessions") {
            let id = match session["id"].as_str() {
                Some(id) => id.to_owned(),
                None => format!("pid:{}", session["pid"]),
            };
            sessions.entry(id).or_default().push(text(&session, "state"));
        }
        let problem = |problem: &Value| {
            let path = text(problem, "path");
            let below = path.strip_prefix(&home).unwrap_or(&path).trim_start_matches('/');
            format!("{below}: {}", text(problem, "message"))
        };
        let problems = array("problems").iter().map(problem).collect();
        Self { code: answer.code.expect("an exit code"), sessions, problems }
    }
}
