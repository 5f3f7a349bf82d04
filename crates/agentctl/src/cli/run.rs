//! From `main` to the exit code.

use super::args::{Cli, Command, ConfigCommand, Hook, HookCommand};
use super::{
    attach, budget, completions, config, daemon, decide, diff, doctor, events, explain, fuse, hook,
    launch, list, locks, logs, man, metrics, prune, quick, send, status, stop, wait, webhook,
    worktree,
};
use crate::{
    error::{Error, Kind},
    ops::{Here, list::Words},
    shim, view,
};
use agentctl_core::{text::many_lines, wire::Decided};
use clap::Parser;
use std::{ffi::OsString, panic, process::ExitCode, time::Duration};

/// Exit code of a bug.
const BUG: i32 = 70;

/// What a command ends with when nothing stood in its way: the exit code.
pub(super) type Outcome = Result<u8, Error>;

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    panic::set_hook(Box::new(|bug| {
        view::report_bug(bug);
        std::process::exit(BUG);
    }));
    let words: Vec<OsString> = std::env::args_os().collect();
    if quick::is_version(&words) {
        return ended(view::version().map(|()| 0).map_err(Error::from), false).into();
    }
    let parsed = quick::parse(&words).map_or_else(|| Cli::try_parse_from(&words), Ok);
    let cli = match parsed {
        Ok(cli) => cli,
        Err(why) if why.use_stderr() && words.iter().any(|word| word == "--json") => {
            let message = why.kind().as_str().unwrap_or("bad usage");
            let error = Error::new(Kind::Usage, message).hint("run `agentctl help COMMAND`");
            view::report(&error, true);
            return ExitCode::from(Kind::Usage.code());
        }
        Err(why) => {
            if why.use_stderr() && harmless(&why) != why.render().to_string() {
                view::refusal(&harmless(&why));
                return ExitCode::from(Kind::Usage.code());
            }
            why.exit()
        }
    };
    let json = cli.command.wants_json();
    ended(run(cli), json).into()
}

/// The exit code of what came of it, once that was told.
pub(super) fn ended(outcome: Outcome, json: bool) -> u8 {
    outcome.unwrap_or_else(|error| {
        view::report(&error, json);
        if error.silent { 0 } else { error.kind.code() }
    })
}

/// What is wrong with the words, without what in them would steer a terminal.
fn harmless(why: &clap::Error) -> String {
    many_lines(&why.render().to_string())
}

fn run(cli: Cli) -> Outcome {
    // Never dropped: the program ends, and what it has seen is not given back piece by piece.
    let here: &'static Here = Box::leak(Box::new(Here::new(cli.portable, cli.command.limit())));
    match cli.command {
        Command::List(args) => list::run(here, args),
        Command::Status(args) => status::run(here, &args),
        Command::Explain(args) => explain::run(here, &args),
        Command::Peek(args) => logs::peek(here, &args),
        Command::Logs(args) => logs::run(here, &args),
        Command::Launch(args) => launch::run(here, args),
        Command::Resume(args) => launch::resume(here, args),
        Command::Wait(args) => wait::run(here, args),
        Command::Events(args) => events::run(here, &args),
        Command::Send(args) => send::run(here, args),
        Command::Approve(args) => decide::run(here, &args, Decided::Approved),
        Command::Deny(args) => decide::run(here, &args, Decided::Denied),
        Command::Attach(args) => attach::run(here, &args),
        Command::Stop(args) => stop::run(here, &args),
        Command::Locks(args) => locks::run(here, &args),
        Command::Lock(args) => locks::lock(here, args),
        Command::Unlock(args) => locks::unlock(here, &args),
        Command::Hook(args) => hook::run(here, &args),
        Command::Config(args) => config::run(&args),
        Command::Fuse(args) => fuse::run(here, args),
        Command::Fuses(args) => fuse::list(here, &args),
        Command::Budget(args) => budget::run(here, &args),
        Command::Daemon(args) => daemon::run(here, cli.portable, args),
        Command::Webhook(args) => webhook::run(&args),
        Command::Metrics(args) => metrics::run(here, &args),
        Command::Worktree(args) => worktree::run(here, &args),
        Command::Diff(args) => diff::run(here, &args),
        Command::Compare(args) => diff::compare(here, &args),
        Command::Prune(args) => prune::run(here, &args),
        Command::Shim(args) => Ok(shim::run(args.stage, &args.orders)),
        Command::Answer => crate::daemon::answer(cli.portable).map(|()| 0),
        Command::Doctor(args) => doctor::run(here, &args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(args),
    }
}

impl Command {
    /// How long all agents together may take.
    fn limit(&self) -> Option<Duration> {
        let Self::List(args) = self else { return None };
        let glance = !args.all && args.since.is_none() && !args.usage;
        Words::patience(glance, args.timeout)
    }

    fn wants_json(&self) -> bool {
        match self {
            Self::List(args) => args.json,
            Self::Status(args) | Self::Explain(args) | Self::Approve(args) | Self::Deny(args) => {
                args.json
            }
            Self::Peek(args) => args.one.json,
            Self::Logs(args) => args.one.json,
            Self::Doctor(args) => args.json,
            Self::Launch(args) => args.what.json,
            Self::Resume(args) => args.what.json,
            Self::Wait(args) => args.json,
            Self::Events(args) => args.json,
            Self::Send(args) => args.json,
            Self::Attach(args) => args.json,
            Self::Stop(args) => args.json,
            Self::Locks(args) => args.json,
            Self::Lock(args) => args.json,
            Self::Unlock(args) => args.json,
            Self::Fuse(args) => args.wants_json(),
            Self::Fuses(args) => args.json,
            Self::Budget(args) => args.wants_json(),
            Self::Daemon(args) => args.wants_json(),
            Self::Webhook(args) => args.wants_json(),
            Self::Worktree(args) => args.wants_json(),
            Self::Diff(args) => args.json,
            Self::Compare(args) => args.json,
            Self::Prune(args) => args.json,
            Self::Hook(Hook { command: HookCommand::Run(args) }) => args.json,
            Self::Config(args) => match &args.command {
                ConfigCommand::Show(args) => args.at.json,
                ConfigCommand::Path(args) => args.json,
            },
            Self::Shim(_) | Self::Answer => false,
            Self::Completions(_) | Self::Man(_) | Self::Metrics(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;
        use clap::CommandFactory;

        /// Every command, with each of its options alone and with all of them.
        fn commands() -> Vec<Vec<u8>> {
            let mut found = Vec::new();
            add(&Cli::command(), &[], &mut found);
            assert!(found.len() > 150, "only {}", found.len());
            found.iter().map(|words| words.join("\n").into_bytes()).collect()
        }

        fn add(command: &clap::Command, path: &[String], found: &mut Vec<Vec<String>>) {
            let mut all = path.to_vec();
            for arg in command.get_arguments() {
                let known = arg.get_possible_values();
                let value = known.first().map_or("7", |value| value.get_name()).to_owned();
                let name = arg.get_long().map(|long| format!("--{long}"));
                let takes = arg.get_action().takes_values().then_some(value);
                let words: Vec<String> = name.into_iter().chain(takes).collect();
                found.push([path, &words].concat());
                all.extend(words);
            }
            found.push(all);
            for below in command.get_subcommands() {
                add(below, &[path, &[below.get_name().to_owned()]].concat(), found);
            }
        }

        /// Words may come from a script that took them from anywhere. What is shown of them then:
        /// `errors_do_not_repeat_it`.
        #[test]
        fn any_words_are_understood_or_refused() {
            let run = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                let words = ["agentctl"].into_iter().chain(text.split('\n'));
                match Cli::try_parse_from(words) {
                    Ok(cli) => drop((cli.command.wants_json(), cli.command.limit())),
                    Err(why) => {
                        assert!(!harmless(&why).is_empty());
                        assert!(matches!(why.exit_code(), 0 | 2), "{}", why.exit_code());
                    }
                }
            };
            Target { name: "words", run, seeds: commands }.holds(1_500);
        }
    }
}
