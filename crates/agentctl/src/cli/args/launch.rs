//! Words of the commands that start an agent.

use super::{Hooks, InTree, agent_names, budget::Most, duration, slots::Slots};
use agentctl_core::launch::Permission;
use clap::{
    Arg, Args, Command,
    builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use std::{ffi::OsStr, path::PathBuf, time::Duration};

#[derive(Debug, Args)]
pub(in crate::cli) struct Launch {
    /// Which agent; without it, the one that is configured, or claude-code
    #[arg(value_name = "AGENT", value_parser = agent_names(), conflicts_with_all = ["adapter", "matrix"])]
    pub(in crate::cli) agent: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) slots: Slots,
    /// Launch all that this file names, each in a worktree of its own
    ///
    /// It is YAML with the keys `prompt`, `cwd`, `spec`, `base_branch`, `permission`, `labels`, `hooks`
    /// (`on_create`, `on_complete`) and `matrix`, a list of entries with `adapter`, `model`, `branch`,
    /// `base_branch`, `permission` and `labels`. Where an entry has a list, it stands for one launch with
    /// each of its texts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["adapter", "model"])]
    pub(in crate::cli) matrix: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) what: What,
    /// Where to work
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) tree: InTree,
    /// Words to add to the agent's own instructions
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) append_system_prompt: Option<String>,
    /// Return the session that was launched with this key before, if there is one
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) key: Option<String>,
}

/// What a new or resumed session is told, and how it is run.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct What {
    /// The prompt; without it and --prompt-file, it is read from standard input
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::cli) prompt: Option<String>,
    /// Read the prompt from a file
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "prompt")]
    pub(in crate::cli) prompt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) context: Context,
    /// A name for people
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) name: Option<String>,
    /// A label, as KEY=VALUE (may be repeated)
    #[arg(long, value_name = "K=V", value_parser = pair)]
    pub(in crate::cli) label: Vec<(String, String)>,
    /// The group it belongs to
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) group: Option<String>,
    /// Even where another session works in the directory; a person's lock still holds
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// End it after this long: 90s, 10m, 2h
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub(in crate::cli) timeout: Option<Duration>,
    #[command(flatten)]
    pub(in crate::cli) most: Most,
    /// A variable for it, as NAME=VALUE (may be repeated)
    #[arg(long, value_name = "K=V", value_parser = Variable)]
    pub(in crate::cli) env: Vec<(String, String)>,
    /// What it may do unasked: read, default (as its own settings say), edit, full
    #[arg(long, value_name = "MODE", value_parser = permission_names())]
    pub(in crate::cli) permission: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) hooks: Hooks,
    /// Keep it there for more prompts
    #[arg(long)]
    pub(in crate::cli) steerable: bool,
    /// Wait until it has ended; the exit code then tells how
    #[arg(long, conflicts_with = "steerable")]
    pub(in crate::cli) wait: bool,
    /// Show what would be started, and start nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Arguments for the agent itself
    #[arg(last = true, value_name = "ARGS")]
    pub(in crate::cli) more: Vec<String>,
}

/// What is put before the prompt.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct Context {
    /// Put this file before the prompt (may be repeated)
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) file: Vec<PathBuf>,
    /// Put this specification before the prompt; it may be all of it
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) spec: Option<PathBuf>,
    /// Put this issue on GitHub before the prompt, as `gh` tells it; it may be all of it
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(in crate::cli) issue: Option<String>,
    /// Where the issue is, as OWNER/NAME; without it, the repository of the directory
    #[arg(long, value_name = "REPO", requires = "issue")]
    pub(in crate::cli) repo: Option<String>,
    /// How long a file may be: bytes, or such as 200k, 1m
    #[arg(long, value_name = "SIZE", default_value = "50k", value_parser = size)]
    pub(in crate::cli) max_file_size: u64,
}

impl What {
    /// It names no words of a prompt.
    pub(in crate::cli) fn says_nothing(&self) -> bool {
        self.prompt.is_none() && self.prompt_file.is_none()
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Resume {
    /// Id or a prefix of it, or ID@DIR
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    /// The prompt, instead of --prompt
    #[arg(value_name = "TEXT", conflicts_with_all = ["prompt", "prompt_file"], allow_hyphen_values = true)]
    pub(in crate::cli) text: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) what: What,
    /// In a copy, which leaves the session as it is
    #[arg(long)]
    pub(in crate::cli) fork: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("use NAME=VALUE".to_owned()),
    }
}

/// NAME=VALUE; what is wrong with it is told without a word of it, for it may be a secret.
#[derive(Clone)]
struct Variable;

impl TypedValueParser for Variable {
    type Value = (String, String);

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        text: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '_';
        let wrong = match text.to_str().map(|text| text.split_once('=')) {
            None => "it is no UTF-8",
            Some(None) => "it has no `=`",
            Some(Some(("", _))) => "no name stands before the `=`",
            Some(Some((name, value))) if name.chars().all(is_plain) => {
                return Ok((name.to_owned(), value.to_owned()));
            }
            Some(Some(_)) => "a name has letters, digits and `_` alone",
        };
        let what = format!("--env takes NAME=VALUE: {wrong}\n");
        Err(clap::Error::raw(ErrorKind::ValueValidation, what).with_cmd(command))
    }
}

fn permission_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Permission::ALL.iter().map(|(name, _)| *name))
}

fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return Err("use bytes, or such as 200k or 1m".to_owned()),
    };
    match text[..digits].parse::<u32>() {
        Ok(0) => Err("nothing would fit".to_owned()),
        Ok(count) => Ok(u64::from(count) * unit),
        Err(_) => Err("use bytes, or such as 200k or 1m".to_owned()),
    }
}
