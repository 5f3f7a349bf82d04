//! What is asked of a session that is to run, and how its agent is to be started for it.
//!
//! Adapters turn an [`Ask`] into a [`Plan`]; they start nothing.

use serde::{Deserialize, Serialize};
use std::{path::Path, time::Duration};

/// Variables by which git means another repository than that of the directory; whoever is run by a git
/// hook has them. An agent, or what is run for it, is not to have them: it would commit elsewhere.
/// Of `git rev-parse --local-env-vars`, those of `git -c` stay: in containers, people say by them whom
/// git trusts.
pub const OF_A_REPOSITORY: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_CONFIG",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
];

/// What we sign with.
pub const WEBHOOK_SECRET: &str = "AGENTCTL_WEBHOOK_SECRET";

/// Variables that are for us alone: whom we tell, and what we sign it with. No agent, hook or script has them.
pub const OURS_ALONE: &[&str] = &["AGENTCTL_WEBHOOK_URL", WEBHOOK_SECRET];

/// What is shown in the place of a secret.
pub const MASK: &str = "***";

/// What an agent may do without asking, in one vocabulary for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Look, and change nothing.
    Read,
    /// What the agent's own settings say.
    #[default]
    Default,
    /// Edit files in its directory.
    Edit,
    /// Everything.
    Full,
}

impl Permission {
    /// Every mode with its name.
    pub const ALL: &[(&str, Self)] = &[
        ("read", Self::Read),
        ("default", Self::Default),
        ("edit", Self::Edit),
        ("full", Self::Full),
    ];

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }
}

/// The conversation to go on with.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// Its session.
    pub id: &'a str,
    /// The file that records it.
    pub record: &'a Path,
    /// In a new session, which leaves that one as it is.
    pub fork: bool,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The first prompt.
    pub prompt: &'a str,
    /// Where to work.
    pub cwd: &'a Path,
    /// A fresh id, for agents that let it be chosen.
    pub id: &'a str,
    /// Our name of this launch, for agents that keep a tag.
    pub launch: &'a str,
    /// Which model.
    pub model: Option<&'a str>,
    /// What it may do without asking.
    pub permission: Permission,
    /// Words to add to the agent's own instructions.
    pub system: Option<&'a str>,
    /// A name for people.
    pub name: Option<&'a str>,
    /// The conversation to go on with, if any.
    pub earlier: Option<Earlier<'a>>,
    /// Stay there for more prompts.
    pub steerable: bool,
    /// How long it may take, for servers: what we start ourselves is ended by our shim.
    pub timeout: Option<Duration>,
}

/// Where an agent that chooses the id itself tells it in its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// What stands right before it.
    pub after: String,
    /// What it is made of: letters, digits and these.
    pub also: String,
}

impl Mark {
    /// The id behind the first mark, once something stands behind it too.
    pub fn find<'a>(&self, output: &'a str) -> Option<&'a str> {
        let (_, rest) = output.split_once(&self.after)?;
        let part = |c: char| c.is_ascii_alphanumeric() || self.also.contains(c);
        let end = rest.find(|c: char| !part(c))?;
        Some(&rest[..end]).filter(|id| !id.is_empty())
    }
}

/// What the agent reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// This text, and then its end.
    Text(String),
    /// These lines, and then whatever is sent to it.
    Open(String),
}

/// How to start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to set.
    pub env: Vec<(&'static str, String)>,
    /// What it reads.
    pub input: Input,
    /// How its session's id is known.
    pub id: Id,
}

/// How the id of a started session is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// It was chosen.
    Chosen(String),
    /// The agent tells it.
    Told(Mark),
}

/// A signal that ends a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

impl Signal {
    /// As the kernel calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Kill => "SIGKILL",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_counts_once_it_is_whole() {
        let mark = Mark { after: "\"thread_id\":\"".to_owned(), also: "-".to_owned() };
        assert_eq!(mark.find("{\"thread_id\":\"01a1-77"), None);
        assert_eq!(mark.find("x\n{\"thread_id\":\"01a1-77\"}"), Some("01a1-77"));
        assert_eq!(mark.find("{\"thread_id\":\"\"}"), None);
    }
}
