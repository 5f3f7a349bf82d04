//! Every command and flag, defined once: help, completions and man pages come from here.

use agentctl_core::{agents, select::Wanted};
use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{BoolishValueParser, PossibleValuesParser},
};
use std::{path::PathBuf, time::Duration};

/// The truth about every coding agent on this machine, with proof.
///
/// Every answer is worked out anew from the kernel's process table and the agents' own records;
/// nothing is remembered, so nothing can be stale.
#[derive(Debug, Parser)]
#[command(name = "agentctl", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    /// Ask the kernel through portable calls only, as on other systems than Linux
    #[arg(long, global = true, hide = true, env = "AGENTCTL_PORTABLE")]
    #[arg(value_parser = BoolishValueParser::new())]
    pub(super) portable: bool,
}

const EXIT_CODES: &str = "Exit codes: 0 yes, 1 the answer is no, 2 usage, 3 no such session, \
                          4 ambiguous, 8 done with problems, 70 bug";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List sessions: those that are alive, or may be
    #[command(visible_aliases = ["ls", "ps"])]
    List(List),
    /// Show one session, tokens included
    #[command(visible_alias = "show")]
    Status(One),
    /// Prove the state of a session: every fact, its source, and how to check it
    Explain(One),
    /// Show the last messages of a session
    Peek(Peek),
    /// Show the messages of a session, and follow them
    Logs(Logs),
    /// Say what is installed, what is found, and what cannot be read
    Doctor(Doctor),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print a manual page, or write all of them to a directory
    Man(Man),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Ended sessions too, of the last 7 days or as --since says
    #[arg(short, long)]
    pub(super) all: bool,
    /// How far back --all looks: a duration such as 30m, 12h, 7d, 2w, a date, or `all`
    #[arg(long, value_name = "DURATION|DATE|all")]
    pub(super) since: Option<String>,
    /// Count tokens, and show what sessions cost where the agent says so
    #[arg(long)]
    pub(super) usage: bool,
    /// Only sessions of this agent (may be repeated)
    #[arg(long, visible_alias = "adapter", value_name = "AGENT", value_parser = agent_names())]
    pub(super) agent: Vec<String>,
    /// Only sessions in this state; words of --status are understood too (may be repeated)
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = state_words())]
    pub(super) state: Vec<String>,
    /// Only sessions of this coarse status: running, idle, stopped, error, unknown (may be repeated)
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = state_words())]
    pub(super) status: Vec<String>,
    /// Only sessions that work in this directory or below it (may be repeated)
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Vec<PathBuf>,
    /// Only sessions of this group (may be repeated)
    #[arg(long, value_name = "GROUP")]
    pub(super) group: Vec<String>,
    /// What to sort by
    #[arg(long, value_enum, default_value_t = Sort::Attention, value_name = "KEY")]
    pub(super) sort: Sort,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// How long to wait for agents that are slow to answer: 300ms, 2s, 1m, or `none`. Without it,
    /// 300ms, and as long as it takes with --all, --since or --usage
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    pub(super) timeout: Option<Patience>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show more columns, and cut nothing
    #[arg(short, long)]
    pub(super) wide: bool,
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// No longer than this.
    Within(Duration),
    /// As long as it takes.
    Endless,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Sort {
    /// Live ones first, those that need a person at the top
    Attention,
    /// Last change first
    Updated,
    /// Youngest first
    Started,
    /// By state
    State,
    /// By agent
    Agent,
    /// By directory
    Cwd,
}

#[derive(Debug, Args)]
pub(super) struct One {
    /// Id or a prefix of it, ID@DIR, or pid:N for a process that has named no session
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Peek {
    #[command(flatten)]
    pub(super) one: One,
    /// How many messages
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(super) lines: usize,
    /// Show long messages whole
    #[arg(long)]
    pub(super) full: bool,
}

#[derive(Debug, Args)]
pub(super) struct Logs {
    #[command(flatten)]
    pub(super) one: One,
    /// How many messages to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    pub(super) lines: usize,
    /// Go on as long as the session is alive
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Show long messages whole
    #[arg(long)]
    pub(super) full: bool,
}

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Which shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(super) struct Man {
    /// Page of this command instead of the whole program's
    #[arg(value_name = "COMMAND")]
    pub(super) command: Option<String>,
    /// Write every page into this directory
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

fn patience(text: &str) -> Result<Patience, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let count = text[..digits].parse::<u32>();
    let unit = match &text[digits..] {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "none" if digits == 0 => return Ok(Patience::Endless),
        _ => 0,
    };
    match count.ok().and_then(|count| count.checked_mul(unit)).filter(|millis| *millis > 0) {
        Some(millis) => Ok(Patience::Within(Duration::from_millis(millis.into()))),
        None => Err("use a duration such as 300ms, 2s or 1m, or `none`".to_owned()),
    }
}

fn agent_names() -> PossibleValuesParser {
    let cards = agents::ALL.iter().map(|agent| agent.card());
    PossibleValuesParser::new(cards.map(|card| {
        clap::builder::PossibleValue::new(card.name).aliases(card.aliases.iter().copied())
    }))
}

fn state_words() -> PossibleValuesParser {
    PossibleValuesParser::new(Wanted::words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_has_a_unit() {
        let within = |millis| Ok(Patience::Within(Duration::from_millis(millis)));
        assert_eq!(patience("300ms"), within(300));
        assert_eq!(patience("2s"), within(2000));
        assert_eq!(patience("1m"), within(60_000));
        assert_eq!(patience("none"), Ok(Patience::Endless));
        for wrong in ["", "300", "0s", "-1s", "1none", "99999999999s", "soon"] {
            assert!(patience(wrong).is_err(), "{wrong}");
        }
    }
}
