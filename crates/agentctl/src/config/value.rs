//! What a key holds, and what it may hold.

use super::webhook::{Format, filter};
use crate::{
    amounts,
    patience::{duration, patience},
};
use agentctl_core::{agents, budget::OnBudget, launch::Permission};
use std::{net::SocketAddr, path::Path};

/// What was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Words: a name, a time, a path, a command.
    Text(String),
    /// Yes or no.
    Switch(bool),
    /// Several paths.
    List(Vec<String>),
}

/// What stands in a file or a variable.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    Text(String),
    Switch(bool),
    List(Vec<Raw>),
    /// A number, as it is written.
    Number(String),
    /// Nothing that any key holds: a date, a table.
    Other(&'static str),
}

/// What a key may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// The name of an agent.
    Agent,
    /// A word or more, which must not look like a flag: some agents would take it for one.
    Word,
    /// The name of a permission.
    Permission,
    /// A time.
    Time,
    /// A time, or none.
    TimeOrNone,
    /// A number of dollars, or none.
    Cost,
    /// A number of tokens, or none.
    Tokens,
    /// A number of answers, or none.
    Turns,
    /// What is done about a budget.
    OnBudget,
    /// Yes or no.
    Switch,
    /// A directory.
    Folder,
    /// A command line of the shell; an empty one is none.
    Command,
    /// Names with words.
    Pairs,
    /// Directories.
    Folders,
    /// Where to send something.
    Url,
    /// What something is signed with.
    Secret,
    /// Which events, as `events --filter` has it.
    Filter,
    /// The words of a webhook.
    Format,
    /// A number of a machine, and a port.
    Address,
}

impl Holds {
    /// What it holds, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Agent => "the name of an agent, such as \"claude-code\"",
            Self::Word | Self::Command => "text, in quotes",
            Self::Permission => "\"read\", \"default\", \"edit\" or \"full\"",
            Self::Time => "a duration in quotes, such as \"90s\" or \"10m\"",
            Self::TimeOrNone => "a duration in quotes, such as \"90s\" or \"10m\", or \"none\"",
            Self::Cost => "dollars, such as 2.50, or \"none\"",
            Self::Tokens => "a number, or text such as \"200k\" or \"none\"",
            Self::Turns => "a number, such as 20, or \"none\"",
            Self::OnBudget => "\"warn\", \"stop\" or \"hold\"",
            Self::Switch => "true or false",
            Self::Folder => "a directory, in quotes, from the root or from ~",
            Self::Pairs => "a table of names with text, such as { team = \"web\" }",
            Self::Folders => "a list of directories, such as [\"~/work\"]",
            Self::Url => "an address in quotes, such as \"https://example.org/hook\"",
            Self::Secret => "text, in quotes",
            Self::Filter => "words in quotes, such as \"type=session.ended,agent=codex\"",
            Self::Format => "\"agentctl\", \"1.x\", \"slack\" or \"ntfy\"",
            Self::Address => "an address in quotes, such as \"127.0.0.1:9464\"",
        }
    }

    /// The value, or why it is none.
    pub(super) fn of(self, raw: &Raw) -> Result<Value, String> {
        let wrong = |what: &str| Err(format!("it holds {}, not {what}", self.words()));
        match (self, raw) {
            (Self::Switch, Raw::Switch(on)) => Ok(Value::Switch(*on)),
            (Self::Folders, Raw::List(all)) => {
                let one = |raw: &Raw| match raw {
                    Raw::Text(path) => folder(path).map(|()| path.clone()),
                    Raw::Switch(_) | Raw::List(_) | Raw::Number(_) | Raw::Other(_) => {
                        Err(format!("it holds {}", self.words()))
                    }
                };
                all.iter().map(one).collect::<Result<_, _>>().map(Value::List)
            }
            (Self::Cost | Self::Tokens | Self::Turns, Raw::Number(text)) => self.of_text(text),
            (_, Raw::Number(_)) => wrong("a number"),
            (Self::Switch | Self::Folders, Raw::Text(_)) => wrong("text"),
            (_, Raw::Text(text)) => self.of_text(text),
            (_, Raw::Switch(_)) => wrong("true or false"),
            (_, Raw::List(_)) => wrong("a list"),
            (_, Raw::Other(what)) => wrong(what),
        }
    }

    /// The same for words alone, as a variable has them.
    pub(super) fn of_text(self, text: &str) -> Result<Value, String> {
        let known = Permission::ALL.iter().any(|(name, _)| *name == text);
        match self {
            Self::Agent if agents::named(text).is_none() => return Err(no_agent(text)),
            Self::Word => word(text)?,
            Self::Permission if !known => return Err(format!("it holds {}", self.words())),
            Self::Time => duration(text).map(|_| ())?,
            Self::TimeOrNone => patience(text).map(|_| ())?,
            Self::Cost | Self::Tokens | Self::Turns if text == "none" => {}
            Self::Cost => amounts::cost(text).map(|_| ())?,
            Self::Tokens => amounts::tokens(text).map(|_| ())?,
            Self::Turns => amounts::turns(text).map(|_| ())?,
            Self::OnBudget if OnBudget::named(text).is_none() => {
                return Err(format!("it holds {}", self.words()));
            }
            Self::Folder => folder(text)?,
            Self::Command if text.contains('\0') => return Err("it holds a NUL".to_owned()),
            Self::Switch => {
                return match text {
                    "true" | "1" | "yes" => Ok(Value::Switch(true)),
                    "false" | "0" | "no" => Ok(Value::Switch(false)),
                    _ => Err(format!("it holds {}", self.words())),
                };
            }
            Self::Url => is_url(text)?,
            Self::Secret if text.is_empty() => return Err("it is empty".to_owned()),
            Self::Filter => filter(text).map(|_| ())?,
            Self::Format if Format::named(text).is_none() => {
                return Err(format!("it holds {}", self.words()));
            }
            Self::Address if text.parse::<SocketAddr>().is_err() => {
                return Err(format!("it holds {}", self.words()));
            }
            Self::Pairs | Self::Folders => return Err(format!("it holds {}", self.words())),
            Self::Agent
            | Self::Permission
            | Self::OnBudget
            | Self::Command
            | Self::Secret
            | Self::Format
            | Self::Address => {}
        }
        Ok(Value::Text(text.to_owned()))
    }
}

/// Where to send something. Whoever is told of a mistake is not told the words, which may hold a secret.
pub(crate) fn is_url(text: &str) -> Result<(), String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    match text.parse::<ureq::http::Uri>() {
        _ if text.contains(|c: char| c.is_control() || c.is_whitespace()) => {
            Err("it must not hold spaces".to_owned())
        }
        _ if host.is_empty() => Err("it must begin with https:// or http:// and a host".to_owned()),
        Err(_) => Err("it is no address".to_owned()),
        Ok(_) => Ok(()),
    }
}

pub(super) fn no_agent(name: &str) -> String {
    let names: Vec<&str> = agents::ALL.iter().map(|agent| agent.card().name).collect();
    format!("there is no agent {name:?}; there are {}", names.join(", "))
}

fn word(text: &str) -> Result<(), String> {
    match text {
        _ if text.trim().is_empty() => Err("it is empty".to_owned()),
        _ if text.starts_with('-') => Err("it must not begin with a dash".to_owned()),
        _ if text.contains(char::is_control) => {
            Err("it must not hold control characters".to_owned())
        }
        _ => Ok(()),
    }
}

fn folder(text: &str) -> Result<(), String> {
    match Path::new(text).is_absolute() || text == "~" || text.starts_with("~/") {
        true => Ok(()),
        false => Err("it must be a directory from the root or from ~".to_owned()),
    }
}
