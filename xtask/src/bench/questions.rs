//! What is asked, and the bar for each answer.

use super::{
    home::Home,
    measure::Subject,
    plan::{Agent, Session},
    report::{Bars, Yardstick},
};
use std::path::Path;

/// What is done about what agentctl keeps, before a run is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Nothing: it is of no use there.
    Any,
    /// The same was asked just before.
    Warm,
    /// It is deleted.
    Cold,
}

/// One question with its bars.
pub(super) struct Question {
    words: String,
    /// Behind the words in the table.
    note: &'static str,
    kept: Kept,
    /// What it is held to.
    pub(super) bars: Bars,
}

impl Question {
    fn new(words: impl Into<String>, bars: Bars) -> Self {
        Self { words: words.into(), note: "", kept: Kept::Any, bars }
    }

    fn with(mut self, kept: Kept, note: &'static str) -> Self {
        (self.kept, self.note) = (kept, note);
        self
    }

    /// The command that asks it.
    pub(super) fn subject(&self, agentctl: &Path, home: &Home) -> Subject {
        let subject = Subject::new(agentctl, home).words(self.words.split(' '));
        match self.kept {
            Kept::Any => subject,
            Kept::Warm => subject.again(),
            Kept::Cold => subject.cold(),
        }
    }

    /// It looks at as many files as `find` does, or may.
    pub(super) fn is_beside_find(&self) -> bool {
        match self.bars.yardstick {
            Yardstick::Find => true,
            Yardstick::Hello | Yardstick::Walk => false,
        }
    }

    /// Its words, with agents' names in place of ids.
    pub(super) fn shown(&self, home: &Home) -> String {
        let word = |word: &str| {
            let whose = |session: &&Session| word.len() > 8 && session.id.starts_with(word);
            match home.sessions.iter().find(whose) {
                Some(one) if one.id == word => format!("{:?}-ID", one.agent),
                Some(one) => format!("{:?}-PREFIX", one.agent),
                None => word.to_owned(),
            }
        };
        let words: Vec<String> = self.words.split(' ').map(word).collect();
        match self.note {
            "" => words.join(" "),
            note => format!("`{}`, {note}", words.join(" ")),
        }
    }
}

/// All questions about this home.
pub(super) fn all(home: &Home) -> Vec<Question> {
    let bars = |yardstick, ratio, memory| Bars { yardstick, ratio: Some(ratio), memory };
    let quick = bars(Yardstick::Walk, 2.0, Some(12.0));
    let everything = "list -a --since all";
    let mut all = vec![
        Question::new("--version", bars(Yardstick::Hello, 1.3, None)),
        Question::new("list", quick),
        Question::new("list --json", quick),
        Question::new("list -a", bars(Yardstick::Find, 1.5, None)).with(Kept::Warm, "cache warm"),
        Question::new(everything, bars(Yardstick::Find, 3.0, Some(60.0)))
            .with(Kept::Warm, "cache warm"),
        Question::new(everything, bars(Yardstick::Find, 15.0, Some(60.0)))
            .with(Kept::Cold, "cache deleted"),
    ];
    let named = bars(Yardstick::Hello, 2.0, Some(12.0));
    let found = bars(Yardstick::Find, 1.5, None);
    let mut by_id = |verb: &str, id: Option<&str>, bars| {
        let question = id.map(|id| Question::new(format!("{verb} {id}"), bars));
        all.extend(question.map(|question| question.with(Kept::Cold, "cold")));
    };
    let id = |agent| middling(home, agent).map(|session| session.id.as_str());
    for verb in ["status", "explain", "peek"] {
        by_id(verb, id(Agent::Claude), named);
    }
    by_id("status", id(Agent::Codex), named);
    by_id("status", id(Agent::Copilot), named);
    for agent in [Agent::Pi, Agent::Gemini, Agent::OpenCode, Agent::OpenClaw] {
        by_id("status", id(agent), found);
    }
    by_id("status", id(Agent::Claude).and_then(|id| id.get(..10)), found);
    let largest = home.sessions.iter().max_by_key(|session| session.size);
    if let Some(giant) = largest.filter(|session| session.size > 50_000_000) {
        let small = Bars { yardstick: Yardstick::Find, ratio: None, memory: Some(12.0) };
        let peek = Question::new(format!("peek {}", giant.id), small);
        all.push(peek.with(Kept::Cold, "100 MB"));
    }
    all
}

/// Questions that are to be as quick as the start of a program, with all the time that an emulator takes, and behind them what a daemon does,
/// whose memory is for the most part its code.
pub(super) fn ordered(home: &Home) -> Vec<String> {
    let lists = ["list --timeout none", "list --json --timeout none"].map(str::to_owned);
    let by_id = [
        ("status", Agent::Claude),
        ("explain", Agent::Claude),
        ("peek", Agent::Claude),
        ("status", Agent::Codex),
        ("status", Agent::Copilot),
    ];
    let by_id = by_id.into_iter().filter_map(|(verb, agent)| {
        middling(home, agent).map(|session| format!("{verb} {}", session.id))
    });
    let watched = ["list -a", "events --since 1h --once"].map(str::to_owned);
    lists.into_iter().chain(by_id).chain(watched).collect()
}

/// A session of an agent of about the median size, and an old one.
fn middling(home: &Home, agent: Agent) -> Option<&Session> {
    let mut all: Vec<_> = home.sessions.iter().filter(|session| session.agent == agent).collect();
    all.sort_by_key(|session| session.size);
    all.get(all.len() / 2).copied()
}
