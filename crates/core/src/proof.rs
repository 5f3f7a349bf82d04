//! Facts with their sources, and how a person can look at each with a plain shell command.
//!
//! A check looks at the source: it exits 0 as long as that still shows what was seen, and not 0 when it
//! does not. What follows from several sources together is the rule's to say.

use crate::{host::CannotTell, ident::ProcKey, receipt::VARIABLE};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where a fact was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// A line of a native file.
    Line {
        /// The file.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
        /// Where the line begins.
        offset: u64,
        /// A part of the line that decides.
        shows: String,
        /// What would stand behind it if it were no longer the newest.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<String>,
    },
    /// A small native file, rewritten in place.
    File {
        /// The file.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
        /// A part of it that decides.
        shows: String,
    },
    /// A process that we launched for the session carries the launch's name.
    Launch {
        /// Our name of the launch.
        launch: String,
        /// Which process.
        pid: u32,
    },
    /// That very process is alive.
    Alive {
        /// Which process.
        process: ProcKey,
    },
    /// That very process is alive, and halted by a signal.
    Halted {
        /// Which process.
        process: ProcKey,
    },
    /// That very process is gone: no such pid, a zombie, or another start time.
    Gone {
        /// Which process.
        process: ProcKey,
    },
    /// A kernel lock is held.
    Lock {
        /// The locked file.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
        /// Who holds it.
        pid: u32,
    },
    /// Nobody holds a kernel lock on this file.
    NoLock {
        /// The file.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
    },
    /// A process has this file open.
    OpenFile {
        /// The file.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
        /// Who has it open.
        pid: u32,
    },
    /// Nothing native names the session as loaded.
    Absence {
        /// What shows it.
        check: String,
    },
    /// No process below this one carries a variable.
    NoVariable {
        /// The variable, `NAME=value`.
        variable: String,
        /// Whose descendants were asked.
        pid: u32,
    },
    /// A process carries a variable.
    Variable {
        /// The variable, `NAME=value`.
        variable: String,
        /// Who carries it.
        pid: u32,
    },
    /// The arguments of a process name the session.
    Arguments {
        /// The word that names it.
        shows: String,
        /// Whose arguments.
        pid: u32,
    },
    /// The only live process of the agent in a directory, and the only session written there since.
    Inference {
        /// Which process.
        process: ProcKey,
    },
    /// A server of the agent's said so.
    Answer {
        /// Which one.
        url: String,
        /// What it said.
        shows: String,
    },
    /// A row of a native database.
    Row {
        /// The database.
        path: PathBuf,
        /// A query that gives the row.
        query: String,
        /// A part of it that decides.
        shows: String,
    },
    /// A path that could not be read.
    Unreadable {
        /// The path.
        #[serde(serialize_with = "crate::text::path")]
        path: PathBuf,
    },
    /// This host cannot answer.
    Blind,
}

impl Source {
    /// A shell command that exits 0 while the source shows what was seen.
    pub fn check(&self) -> Option<String> {
        Some(match self {
            Self::Line { path, offset, shows, without } => {
                let from = format!("tail -c +{} {}", offset + 1, quoted(path));
                let line = format!("{from} | head -n 1 | grep -F -- {}", shell_word(shows));
                let words: Vec<String> = without.iter().map(|word| shell_word(word)).collect();
                match words.is_empty() {
                    true => line,
                    false => {
                        format!("{line} && ! {from} | grep -F -e {}", words.join(" -e "))
                    }
                }
            }
            Self::File { path, shows } => {
                format!("grep -F -- {} {}", shell_word(shows), quoted(path))
            }
            Self::Launch { launch, pid } => {
                let pair = shell_word(&format!("{VARIABLE}={launch}"));
                format!("tr '\\0' '\\n' < /proc/{pid}/environ | grep -xF -- {pair}")
            }
            Self::Alive { process } => alive(process),
            Self::Halted { process } => {
                format!("{} && grep '^State:.T ' /proc/{}/status", alive(process), process.pid)
            }
            Self::Gone { process } => format!("! {{ {}; }}", alive(process)),
            Self::Lock { path, pid } => format!(
                "grep -E \"FLOCK .* {pid} [^ ]+:$(stat -c %i {}) \" /proc/locks",
                quoted(path)
            ),
            Self::NoLock { path } => format!(
                "! {{ test -e {0} && grep -E \"FLOCK .*:$(stat -c %i {0}) \" /proc/locks; }}",
                quoted(path)
            ),
            Self::OpenFile { path, pid } => {
                format!("ls -l /proc/{pid}/fd | grep -F -- {}", quoted(path))
            }
            Self::Arguments { shows, pid } => {
                format!("tr '\\0' '\\n' < /proc/{pid}/cmdline | grep -F -- {}", shell_word(shows))
            }
            Self::Inference { process } => alive(process),
            Self::Row { path, query, shows } => format!(
                "sqlite3 -readonly {} {} | grep -F -- {}",
                quoted(path),
                shell_word(query),
                shell_word(shows)
            ),
            Self::Answer { url, shows } if url.starts_with("http") => {
                format!("curl -s -m 2 {} | grep -F -- {}", shell_word(url), shell_word(shows))
            }
            Self::Answer { .. } => return None,
            Self::Absence { check } => check.clone(),
            Self::Variable { variable, pid } => {
                format!(
                    "tr '\\0' '\\n' < /proc/{pid}/environ | grep -xF -- {}",
                    shell_word(variable)
                )
            }
            Self::NoVariable { variable, pid } => format!(
                "below() {{ for p in $(cat /proc/$1/task/*/children 2>/dev/null); do \
                 tr '\\0' '\\n' < /proc/$p/environ; below $p; done; }}; \
                 ! {{ below {pid} | grep -xF -- {}; }}",
                shell_word(variable)
            ),
            Self::Unreadable { path } => format!("! head -c 1 {} >/dev/null", quoted(path)),
            Self::Blind => return None,
        })
    }
}

/// The rule of [`crate::derive`] that used a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A live process has the session loaded.
    HolderAlive,
    /// What the live agent says of itself comes before its store.
    AgentSays,
    /// A turn with no end, owned by a live process, runs.
    TurnOpen,
    /// A turn with no end, which nobody can hold, died with its process.
    TurnLeftOpen,
    /// A turn whose process was stopped on purpose was stopped with it.
    StoppedByUs,
    /// A turn older than the process that holds the session died with an earlier process.
    TurnOlderThanHolder,
    /// A turn with an end does not run.
    TurnEnded,
    /// A process that answers one prompt works until its turn has ended.
    OneShotWorks,
    /// A process that we launched with a prompt works until something of that is recorded.
    PromptGiven,
    /// A loaded session that has no turn yet was never prompted.
    NeverPrompted,
    /// A call that asks for leave and runs nowhere waits for a person.
    ToolNotRunning,
    /// A call whose process runs needs nobody.
    ToolRunning,
    /// A call without a process of its own runs inside the agent, or waits for a person.
    ToolUnseen,
    /// The process that had the session is gone.
    ProcessGone,
    /// No live process of the agent holds the session or could hold it.
    NobodyHolds,
    /// A live process of the agent may hold the session.
    MayBeHeld,
    /// What cannot be read is unknown, never ended.
    Unreadable,
    /// A live process of the agent has named no session yet.
    Unnamed,
    /// An inference with only one possible answer joins process and session.
    Inferred,
    /// More than one live process has the session loaded.
    SeveralHolders,
    /// The process serves many sessions.
    SharedHolder,
    /// The process does nothing until it is told to go on.
    Halted,
}

impl Rule {
    /// The rule in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::HolderAlive => "the kernel's word on that very process decides who is alive",
            Self::AgentSays => "what the live agent says of itself comes before its store",
            Self::TurnOpen => "a turn with no end, owned by a live process, runs",
            Self::TurnLeftOpen => "a turn with no end that nobody can hold died with its process",
            Self::StoppedByUs => "a turn whose process was stopped on purpose was stopped with it",
            Self::TurnOlderThanHolder => {
                "a turn older than the process that holds it died with an earlier process"
            }
            Self::TurnEnded => "a turn with an end does not run",
            Self::OneShotWorks => {
                "a process that answers one prompt works until its turn has ended"
            }
            Self::PromptGiven => {
                "a process that we launched with a prompt works until that is recorded"
            }
            Self::NeverPrompted => "a session without a turn was never prompted",
            Self::ToolNotRunning => {
                "a call that asks for leave and runs nowhere waits for a person"
            }
            Self::ToolRunning => "a call whose process runs needs nobody",
            Self::ToolUnseen => {
                "a call without a process of its own runs inside the agent, or waits for a person"
            }
            Self::ProcessGone => "a process that is gone holds nothing",
            Self::NobodyHolds => "a session is over when no live process holds it or could hold it",
            Self::MayBeHeld => {
                "a live process of the agent may hold it: not ended, not alive, unknown"
            }
            Self::Unreadable => "what cannot be read is unknown, never ended",
            Self::Unnamed => "a live process of the agent has named no session",
            Self::Inferred => {
                "inferred: the only live process there, and the only session written since it began"
            }
            Self::SeveralHolders => "several live processes have the session loaded at once",
            Self::Halted => "a process that a signal halted does nothing until it goes on",
            Self::SharedHolder => "the process serves other sessions too and is never signalled",
        }
    }
}

/// One thing a state follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// The fact in words.
    pub fact: String,
    /// The rule that used it.
    pub rule: Rule,
    /// Where it was seen.
    pub source: Source,
    /// The moment it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl Fact {
    /// A fact without a moment of its own.
    pub fn new(rule: Rule, fact: impl Into<String>, source: Source) -> Self {
        Self { fact: fact.into(), rule, source, at: None }
    }

    /// The same fact, at this moment.
    pub fn at(self, at: Timestamp) -> Self {
        Self { at: Some(at), ..self }
    }
}

impl From<CannotTell> for String {
    fn from(why: CannotTell) -> Self {
        why.0
    }
}

/// `text` as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn quoted(path: &Path) -> String {
    shell_word(&path.to_string_lossy())
}

/// Fields 3, 20 and 22 of `stat`, read behind the name, which may itself hold spaces and brackets. A main thread that ended
/// before others is no zombie.
fn alive(process: &ProcKey) -> String {
    let ProcKey { pid, start, .. } = process;
    let fields = format!("sed 's/.*) //' /proc/{pid}/stat | cut -d ' ' -f 1,18,20");
    format!("{fields} | grep -v '^[ZX] [01] ' | grep ' {start}$'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_one_word() {
        assert_eq!(shell_word("/a/b.c"), "/a/b.c");
        assert_eq!(shell_word("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(shell_word(""), "''");
    }
}
