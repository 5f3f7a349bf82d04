//! Files of ours that say something, and where that is heard.

use crate::home::{Agents, GOOD_CLAUDE, Home};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// Below the home.
pub(super) const STATE: &str = ".local/state/agentctl";
/// What each of them says.
pub(super) const WORDS: &str = "w0rds";

/// A file, what is asked, and where in the answer its words are.
pub(super) struct Ours {
    pub(super) file: PathBuf,
    ask: &'static [&'static str],
    at: &'static str,
}

impl Ours {
    pub(super) const KINDS: usize = 3;

    /// A receipt, a lock and a fuse.
    pub(super) fn all(agents: &Agents) -> [Self; Self::KINDS] {
        let home = &agents.home;
        let more = json!({"labels": {"who": WORDS}});
        let receipt = agents.receipt("l-1", &agents.launched("l-1", GOOD_CLAUDE, more));
        agents.own();
        let set = ["fuse", "set", ".", "--ttl", "1h", "--label", WORDS];
        for words in [&["lock", "/elsewhere", "--reason", WORDS][..], &set] {
            let answer = home.run(words);
            assert_eq!(answer.code, Some(0), "{answer:#?}");
        }
        let only = |folder: &str| {
            let entries = fs::read_dir(home.path(format!("{STATE}/intents/{folder}")));
            entries.expect("a folder").flatten().next().expect("a file").path()
        };
        let status = &["status", GOOD_CLAUDE, "--json"];
        [
            Self { file: receipt, ask: status, at: "/session/labels/who" },
            Self { file: only("locks"), ask: &["locks", "--json"], at: "/locks/0/reason" },
            Self { file: only("fuses"), ask: &["fuses", "--json"], at: "/fuses/0/label" },
        ]
    }

    /// Whether its words are heard.
    pub(super) fn is_heard(&self, home: &Home) -> bool {
        let answer = home.run(self.ask).json();
        match answer.pointer(self.at) {
            Some(Value::String(words)) => words == WORDS,
            Some(Value::Null) | None => false,
            Some(_) => panic!("{} is no text: {answer:#}", self.at),
        }
    }
}
