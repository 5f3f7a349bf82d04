//! `agentctl config show` and `agentctl config path`

use super::{
    args::{Config, ConfigCommand, Show, Where},
    run::Outcome,
};
use crate::{
    config::{self, Value, host_only},
    error::Error,
    view,
};
use agentctl_core::{
    launch::MASK,
    wire::{self, ConfigFiles, Problem, Setting},
};
use std::path::Path;

/// Shows what is set, or where.
pub(super) fn run(args: &Config) -> Outcome {
    match &args.command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Path(args) => path(args),
    }
}

/// What holds for a launch in this directory; what is not heeded is told.
pub(super) fn read(dir: Option<&Path>) -> Result<config::Config, Error> {
    let config = config::read(dir)?;
    for note in &config.notes {
        view::warning(&note.line());
    }
    Ok(config)
}

fn show(args: &Show) -> Outcome {
    let config = config::read(args.at.cwd.as_deref())?;
    let setting =
        |((key, part), set): (&(config::Key, Option<String>), &config::Setting)| Setting {
            key: key.full_name(part.as_deref().map(view::config::name).as_deref()),
            value: match &set.value {
                // What is shown is copied into bug reports.
                Value::Text(_) if key.is_secret() => MASK.into(),
                Value::Text(url) if *key == config::Key::WebhookUrl => host_only(url).into(),
                Value::Text(text) => text.as_str().into(),
                Value::Switch(on) => (*on).into(),
                Value::List(all) => all.clone().into(),
            },
            layer: set.origin.layer,
            path: set.origin.path.clone(),
            line: set.origin.line,
            variable: set.origin.variable.clone(),
        };
    let settings: Vec<Setting> = config.settings.iter().map(setting).collect();
    let problems = noted(&config.notes).collect();
    match args.at.json {
        true => view::json(&wire::Config { schema: wire::SCHEMA, settings, problems })?,
        false => {
            for note in &config.notes {
                view::warning(&note.line());
            }
            view::config::settings(&settings, args.origin)?;
        }
    }
    Ok(0)
}

/// What is told of files, as problems.
pub(super) fn noted(notes: &[config::Note]) -> impl Iterator<Item = Problem> {
    notes.iter().map(|note| Problem {
        agent: "agentctl".to_owned(),
        path: Some(note.path.clone()),
        message: note.text(),
    })
}

fn path(args: &Where) -> Outcome {
    let files = config::look(args.cwd.as_deref()).files;
    match args.json {
        true => view::json(&ConfigFiles { schema: wire::SCHEMA, files })?,
        false => view::config::files(&files)?,
    }
    Ok(0)
}
