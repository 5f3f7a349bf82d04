//! `--adapter A [--model M] --adapter B …`: a model belongs to the adapter before it.

use super::agent_names;
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches,
    builder::NonEmptyStringValueParser, error::ErrorKind,
};

const ADAPTER: &str = "adapter";
const MODEL: &str = "model";

/// Which agents are launched, and with which models.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Slots {
    /// Each adapter with its model.
    pub(in crate::cli) adapters: Vec<(String, Option<String>)>,
    /// The model, where no adapter is named.
    pub(in crate::cli) model: Option<String>,
}

impl Args for Slots {
    fn augment_args(command: Command) -> Command {
        let adapter = Arg::new(ADAPTER)
            .long(ADAPTER)
            .value_name("AGENT")
            .action(ArgAction::Append)
            .value_parser(agent_names())
            .help("Launch this agent; several are launched side by side, each in a worktree of its own");
        let model = Arg::new(MODEL)
            .long(MODEL)
            .value_name("MODEL")
            .action(ArgAction::Append)
            .value_parser(NonEmptyStringValueParser::new())
            .help("Which model, in the agent's own words; that of the --adapter before it");
        command.arg(adapter).arg(model)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Slots {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let words = |name: &str| -> Vec<(usize, String)> {
            let texts = matches.get_many::<String>(name).into_iter().flatten().cloned();
            matches.indices_of(name).into_iter().flatten().zip(texts).collect()
        };
        let (adapters, models) = (words(ADAPTER), words(MODEL));
        let mut slots = Self::default();
        slots.adapters.extend(adapters.iter().map(|(_, name)| (name.clone(), None)));
        for (at, model) in models {
            let before = adapters.iter().rposition(|(place, _)| *place < at);
            let own = match before {
                Some(before) => &mut slots.adapters[before].1,
                None if adapters.is_empty() => &mut slots.model,
                None => return Err(off(&format!("--model {model} stands before every --adapter"))),
            };
            if own.replace(model).is_some() {
                return Err(off(
                    "a second --model for the same launch: use one --adapter for each",
                ));
            }
        }
        Ok(slots)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn off(why: &str) -> Error {
    Error::raw(ErrorKind::ArgumentConflict, format!("{why}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(words: &str) -> Result<Slots, String> {
        let command = Slots::augment_args(Command::new("launch"));
        let words = ["launch"].into_iter().chain(words.split_whitespace());
        let matches = command.try_get_matches_from(words).map_err(|why| why.to_string())?;
        Slots::from_arg_matches(&matches).map_err(|why| why.to_string())
    }

    fn adapters(all: &[(&str, Option<&str>)]) -> Slots {
        let one =
            |(name, model): &(&str, Option<&str>)| ((*name).to_owned(), model.map(str::to_owned));
        Slots { adapters: all.iter().map(one).collect(), model: None }
    }

    #[test]
    fn a_model_belongs_to_the_adapter_before_it() {
        let words = "--adapter claude --model a --adapter codex --adapter=pi --model=b";
        let expected = [("claude", Some("a")), ("codex", None), ("pi", Some("b"))];
        assert_eq!(slots(words), Ok(adapters(&expected)));
        let alone = Slots { model: Some("a".to_owned()), ..Slots::default() };
        assert_eq!(slots("--model a"), Ok(alone));
    }

    #[test]
    fn a_model_that_belongs_nowhere_is_an_error() {
        for words in
            ["--model a --adapter pi", "--adapter pi --model a --model b", "--model a --model b"]
        {
            assert!(slots(words).is_err_and(|why| why.contains("--model")), "{words}");
        }
    }
}
