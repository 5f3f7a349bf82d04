//! A session as it was read against what is known of it: every difference, in words.

use super::expected::{Known, Spent};
use agentctl_core::{evidence::Tokens, wire::Session};
use std::fmt::Debug;

/// Takes the session that is meant out of those found, and says how it differs.
pub(super) fn take(known: &Known, found: &mut Vec<Session>) -> Vec<String> {
    let meant = |session: &Session| match &known.id {
        Some(id) => session.id.as_ref() == Some(id),
        None => session.id.is_none() && session.pid == known.pid,
    };
    let name = known.id.clone().unwrap_or_else(|| format!("pid:{}", known.pid.unwrap_or(0)));
    // Ids may be unique only per directory.
    let there = |session: &Session| known.cwd.as_ref().map(AsRef::as_ref) == session.cwd.as_deref();
    let at = found.iter().position(|session| meant(session) && there(session));
    let Some(at) = at.or_else(|| found.iter().position(meant)) else {
        return vec![format!("{name} is missing")];
    };
    let session = found.swap_remove(at);
    let mut differences = Differences { name, list: Vec::new() };
    differences.state(known, &session);
    differences.record(known, &session);
    differences.list
}

/// A session in one line.
pub(super) fn named(session: &Session) -> String {
    let id = session.id.as_deref().unwrap_or("(unnamed)");
    let why = session.reason.as_deref().unwrap_or_default();
    format!("{id} pid {:?}: {} {why}", session.pid, session.state.name())
}

struct Differences {
    name: String,
    list: Vec<String>,
}

impl Differences {
    fn state(&mut self, known: &Known, session: &Session) {
        self.same("state", known.state.as_str(), session.state.name());
        self.same("live", known.live, session.live);
        self.same("waiting_for", known.waiting_for, session.waiting_for);
        self.part("reason", known.reason.as_ref(), session.reason.as_ref());
        self.part("outcome", known.outcome.as_ref(), session.outcome.as_ref());
        let mut pids: Vec<u32> = session.processes.iter().map(|key| key.pid).collect();
        pids.extend(session.pid.filter(|_| pids.is_empty()));
        pids.sort_unstable();
        let mut expected = known.pids.clone();
        expected.extend(known.pid);
        self.same("pids", expected, pids);
        let used: Vec<_> = session.because.iter().map(|because| because.rule).collect();
        for rule in known.rules.iter().filter(|rule| !used.contains(rule)) {
            self.list.push(format!("{}: rule {rule:?} not among {used:?}", self.name));
        }
    }

    fn record(&mut self, known: &Known, session: &Session) {
        let cwd = session.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
        self.given("cwd", known.cwd.as_ref(), cwd.as_ref());
        self.given("branch", known.branch.as_ref(), session.branch.as_ref());
        self.given("model", known.model.as_ref(), session.model.as_ref());
        self.given("parent", known.parent.as_ref(), session.parent.as_ref());
        self.given("forked_from", known.forked_from.as_ref(), session.forked_from.as_ref());
        self.same("archived", known.archived, session.archived);
        self.start("title", known.title.as_ref(), session.title.as_ref());
        self.start("prompt", known.prompt.as_ref(), session.prompt.as_ref());
        self.start("last", known.last.as_ref(), session.last.as_ref());
        let started = session.started_at.map(|at| at.to_string());
        self.given("started_at", known.started_at.as_ref(), started.as_ref());
        if let Some(spent) = &known.tokens {
            self.tokens(spent, session.tokens.unwrap_or_default());
        }
        if let Some(cost) = known.cost_usd {
            let found = session.cost_usd.unwrap_or(f64::NAN);
            self.same("cost is right", true, (found - cost).abs() < 1e-9);
        }
        let fields = serde_json::to_value(session).expect("a session is plain data");
        for field in known.absent.iter().filter(|field| fields.get(field).is_some()) {
            self.list.push(format!("{}: has {field}: {}", self.name, fields[field]));
        }
    }

    fn tokens(&mut self, spent: &Spent, found: Tokens) {
        self.same("tokens in, out", (spent.input, spent.output), (found.input, found.output));
        if let Some(read) = spent.cache_read {
            self.same("tokens from the cache", read, found.cache_read);
        }
    }

    fn same<T: PartialEq + Debug>(&mut self, what: &str, expected: T, found: T) {
        if expected != found {
            self.list.push(format!("{}: {what} is {found:?}, not {expected:?}", self.name));
        }
    }

    fn given(&mut self, what: &str, expected: Option<&String>, found: Option<&String>) {
        if expected.is_some() {
            self.same(what, expected, found);
        }
    }

    fn part(&mut self, what: &str, expected: Option<&String>, found: Option<&String>) {
        let has = |part: &String| found.is_some_and(|found| found.contains(part.as_str()));
        if expected.is_some_and(|part| !has(part)) {
            self.list.push(format!("{}: {what} is {found:?}, without {expected:?}", self.name));
        }
    }

    fn start(&mut self, what: &str, expected: Option<&String>, found: Option<&String>) {
        let has = |start: &String| found.is_some_and(|found| found.starts_with(start.as_str()));
        if expected.is_some_and(|start| !has(start)) {
            self.list.push(format!("{}: {what} is {found:?}, not {expected:?}…", self.name));
        }
    }
}
