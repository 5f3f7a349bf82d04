//! Every command and flag, defined once: help, completions and man pages come from here.

mod budget;
mod daemon;
mod fuse;
mod hooks;
mod launch;
mod slots;
mod upkeep;
mod webhook;
mod worktree;

pub(super) use budget::{Budget, BudgetCommand, BudgetList, BudgetName};
pub(super) use daemon::{Daemon, DaemonCommand, Supervisor, Unit, UnitFile};
pub(super) use fuse::{Fuse, FuseCommand, FuseList, FuseSet, OnExpire};
pub(super) use hooks::{Config, ConfigCommand, Hook, HookCommand, Hooks, Show, Where};
pub(super) use launch::{Launch, Resume, What};
pub(super) use upkeep::{Lock, Locks, Prune, Unlock};
pub(super) use webhook::{Webhook, WebhookCommand, WebhookTest, Which};
pub(super) use worktree::{Clean, Compare, Diff, InTree, Trees, Worktree};

pub(super) use crate::patience::{Patience, duration};
use crate::{patience::patience, shim::Stage};
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
    #[arg(long, global = true, hide = true, env = PORTABLE)]
    #[arg(value_parser = BoolishValueParser::new())]
    pub(super) portable: bool,
}

/// The variable that says the same as `--portable`.
pub(super) const PORTABLE: &str = "AGENTCTL_PORTABLE";

const EXIT_CODES: &str = "Exit codes: 0 yes, 1 the answer is no, 2 usage, 3 no such session, \
                          4 ambiguous, 5 refused, 6 the agent did not start, 7 timed out, \
                          8 done with problems, 70 bug";

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
    /// Start an agent on a prompt; returns once its session is really there
    Launch(Launch),
    /// Go on with an ended session, in its directory and with its model
    Resume(Resume),
    /// Wait until sessions have ended, are idle, or wait for a person
    Wait(Wait),
    /// Tell what happens to sessions and locks as it happens, and what was missed since
    Events(super::events::Events),
    /// Send a message to a live session; says whether the agent shows that it came
    Send(super::send::Send),
    /// Allow once what a session asks leave for
    Approve(One),
    /// Deny what a session asks leave for
    Deny(One),
    /// Go where a live session is shown: its terminal in tmux, or the agent's own client
    Attach(super::attach::Attach),
    /// End sessions, and tell what became of each process
    Stop(Stop),
    /// Show which directories are locked: by sessions that work in them, or by a person
    Locks(Locks),
    /// Lock a directory: nothing is launched in it or below it until it is unlocked
    ///
    /// `launch --force` shares a directory with sessions, and does not override a person's lock.
    Lock(Lock),
    /// Open a directory that a person locked
    Unlock(Unlock),
    /// Run a hook of a session that nobody ran
    Hook(Hook),
    /// Show what is configured, and where
    Config(Config),
    /// Run an action after a delay, unless extended or cancelled
    Fuse(Fuse),
    /// Show the fuses that are set, as `fuse list` does
    Fuses(FuseList),
    /// Limit what a session may use: cost, tokens, answers, silence
    Budget(Budget),
    /// Keep fuses, budgets and deadlines, and answer on a socket, while nobody looks
    Daemon(Daemon),
    /// Show who is told what happens, and try whether they hear it
    Webhook(Webhook),
    /// Show figures for Prometheus, or serve them
    Metrics(super::metrics::Metrics),
    /// List the worktrees of a repository, or remove those that can be proved safe
    Worktree(Worktree),
    /// Show what a session changed: committed, uncommitted and untracked
    Diff(Diff),
    /// Compare the sessions of a group: what each changed, its state, tokens, cost and time
    Compare(Compare),
    /// Remove files of ours that nobody needs any more, and say which
    Prune(Prune),
    /// Start and outlive an agent
    #[command(name = "__shim", hide = true)]
    Shim(Shim),
    /// Work out an answer for the daemon
    #[command(name = "__answer", hide = true)]
    Answer,
    /// Say what is installed, what is found, and what cannot be read
    Doctor(Doctor),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print a manual page, or write all of them to a directory
    Man(Man),
}

#[derive(Debug, Default, Args)]
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
    /// Only sessions whose turn is open and makes no progress: nothing written for 5 minutes
    #[arg(long)]
    pub(super) stalled: bool,
    /// What to sort by
    #[arg(long, value_enum, default_value_t, value_name = "KEY")]
    pub(super) sort: Sort,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// How long to wait for agents that are slow to answer: 300ms, 2s, 1m, or `none`. Without it,
    /// 300ms, and as long as it takes with --all, --since or --usage
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = patience)]
    pub(super) timeout: Option<Patience>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show more columns, and cut nothing
    #[arg(short, long)]
    pub(super) wide: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Sort {
    /// Live ones first, those that need a person at the top
    #[default]
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

/// How many messages `peek` shows where nobody says.
pub(super) const PEEKED: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Peek {
    #[command(flatten)]
    pub(super) one: One,
    /// How many messages
    #[arg(short = 'n', long, value_name = "N", default_value_t = PEEKED)]
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
pub(super) struct Wait {
    /// Ids or prefixes of them
    #[arg(value_name = "ID", required = true)]
    pub(super) ids: Vec<String>,
    /// Return with the first of them
    #[arg(long, conflicts_with = "all")]
    pub(super) any: bool,
    /// Return with the last of them, as without it
    #[arg(long)]
    pub(super) all: bool,
    /// What to wait for
    #[arg(long = "for", value_enum, default_value_t = For::Ended, value_name = "STATE")]
    pub(super) until: For,
    /// Wait no longer than this: 90s, 10m, 2h
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum For {
    /// It has ended
    Ended,
    /// It is idle, or has ended
    Idle,
    /// It waits for a person
    Waiting,
}

#[derive(Debug, Args)]
pub(super) struct Stop {
    /// Ids or prefixes of them, or pid:N
    #[arg(value_name = "ID", required_unless_present_any = ["all", "group"])]
    pub(super) ids: Vec<String>,
    /// Every live session; of servers those whose turn runs
    #[arg(long, conflicts_with = "ids")]
    pub(super) all: bool,
    /// Every live session of this group (may be repeated)
    #[arg(long, value_name = "GROUP", conflicts_with = "ids")]
    pub(super) group: Vec<String>,
    /// At once, and where only an inference says who has the session
    #[arg(long)]
    pub(super) force: bool,
    /// How long each signal may take: 500ms, 5s
    #[arg(long, value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = duration)]
    pub(super) grace: Duration,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Shim {
    pub(super) stage: Stage,
    pub(super) orders: PathBuf,
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

fn agent_names() -> PossibleValuesParser {
    let cards = agents::ALL.iter().map(|agent| agent.card());
    PossibleValuesParser::new(cards.map(|card| {
        clap::builder::PossibleValue::new(card.name).aliases(card.aliases.iter().copied())
    }))
}

fn state_words() -> PossibleValuesParser {
    PossibleValuesParser::new(Wanted::words())
}
