//! `agentctl launch AGENT` and `agentctl resume ID`

mod ask;
mod many;
mod prompt;

pub(super) use prompt::text_of;

use super::{
    args::{Launch, Resume, What},
    run::Outcome,
};
use crate::{
    config::{Config, Key},
    error::{Error, Kind},
    ops::{
        self, Here,
        launch::{Ask, Place, Source},
        wait::Until,
    },
    view,
};
use agentctl_core::{
    agent::Agent,
    agents,
    matrix::Slot,
    receipt::HookName,
    wire::{self, Session},
};
use ask::{ask, usual, usual_model};
use many::Several;
use prompt::prompt;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Starts an agent, or several.
pub(super) fn run(here: &Here, args: Launch) -> Outcome {
    let named = |name: &str| agents::named(name).expect("clap lets only known names pass");
    let slots =
        args.slots.adapters.iter().map(|(name, model)| Slot::new(named(name), model.clone()));
    let mut slots: Vec<Slot> = slots.collect();
    if let Some(file) = &args.matrix {
        return Several::of_file(here, &args, file)?.launch();
    }
    if slots.len() > 1 {
        return Several::new(here, &args, slots)?.launch();
    }
    let config = config(&args, None)?;
    let slot = slots.pop().unwrap_or_else(|| {
        let agent = args.agent.as_deref().map_or_else(|| usual(&config), named);
        Slot::new(agent, args.slots.model.clone())
    });
    let cwd = cwd(here, &args, None, &config)?;
    let place = place(here, &args, slot.agent, &cwd)?;
    let ask = Ask {
        prompt: prompt(&args.what, None, &cwd)?,
        cwd,
        model: slot.model.or_else(|| usual_model(&config, slot.agent)),
        system: args.append_system_prompt.clone(),
        key: args.key.clone(),
        place,
        ..ask(&args.what, slot.agent, &config)
    };
    finish(here, &ask, &args.what)
}

/// What is configured for work there; `other` is where, if the command line does not say it.
fn config(args: &Launch, other: Option<&Path>) -> Result<Config, Error> {
    super::config::read(args.cwd.as_deref().or(args.tree.worktree.as_deref()).or(other))
}

/// Where to work: as it is asked for, else in `other`, else as it is configured, else where the command
/// is given.
fn cwd(
    here: &Here,
    args: &Launch,
    other: Option<&Path>,
    config: &Config,
) -> Result<PathBuf, Error> {
    let told = args.cwd.as_deref().or(args.tree.worktree.as_deref()).or(other);
    let cwd = match told.map(Path::to_owned).or_else(|| config.folder(Key::Cwd)) {
        Some(dir) => dir,
        None => std::env::current_dir()
            .map_err(|why| Error::new(Kind::Io, format!("cannot tell the directory: {why}")))?,
    };
    directory(here, &cwd, "use --cwd to name a directory that is there")
}

/// In a worktree of its own, if one is asked for.
fn place(here: &Here, args: &Launch, agent: &dyn Agent, cwd: &Path) -> Result<Place, Error> {
    let Some(repo) = &args.tree.worktree else {
        return match args.tree.base_branch {
            Some(_) => Err(Error::new(Kind::Usage, "--base-branch is for a worktree")
                .hint("--worktree REPO makes one")),
            None => Ok(Place::Given),
        };
    };
    let repo = directory(here, repo, "use --worktree to name a directory of a repository")?;
    let source = Source::new(&repo, cwd)?;
    let branch = match &args.tree.branch {
        Some(branch) => branch.clone(),
        None => source.fresh_branch(agent.card().binary)?,
    };
    Ok(Place::Wanted(source.on(branch, args.tree.base_branch.clone())))
}

/// Goes on with a session.
pub(super) fn resume(here: &Here, args: Resume) -> Outcome {
    let found = ops::launch::earlier(here, &args.id, args.fork)?;
    let cwd = directory(here, &found.cwd, "it goes on where it worked: make that directory again")?;
    let config = super::config::read(Some(&cwd))?;
    let ask = Ask {
        prompt: prompt(&args.what, args.text, &cwd)?,
        cwd,
        model: found.model.clone(),
        ..ask(&args.what, found.agent, &config)
    };
    // The same session keeps what it was called; a copy is another.
    let before = Some(&found).filter(|found| !found.fork);
    let mut labels: BTreeMap<_, _> = config.pairs(Key::Labels).into_iter().collect();
    labels.extend(before.map(|before| before.labels.clone()).unwrap_or_default());
    labels.extend(args.what.label.iter().cloned());
    let known = before.and_then(|before| before.group.clone());
    let group = args.what.group.clone().or(known).or(ask.group);
    let budget = match before {
        // Its own limits still hold; what is configured is for new ones.
        Some(_) => Some(args.what.most.order()).filter(|order| !order.limits.is_none()),
        None => ask.budget,
    };
    let callback = ask.callback.or(before.map(|one| one.callback.clone()).unwrap_or_default());
    finish(here, &Ask { earlier: Some(found), labels, group, callback, budget, ..ask }, &args.what)
}

fn finish(here: &Here, ask: &Ask, what: &What) -> Outcome {
    is_limited(ask, what)?;
    if what.dry_run {
        let dry = ops::launch::dry(here, ask)?;
        match what.json {
            true => view::json(&dry)?,
            false => view::launch::plan(&dry)?,
        }
        return Ok(0);
    }
    let begun = ops::launch::launch(here, ask)?;
    let (mut session, reused) = (begun.session, begun.reused);
    if !what.json {
        view::launch::started(&session, ops::launch::bound_to().filter(|_| !reused).as_deref())?;
        view::launch::worktree(begun.worktree.as_ref());
        if ask.budget.is_some() && !reused {
            super::budget::unkept();
        }
        if reused {
            view::note("it was launched before with this key; nothing was started");
        }
    }
    if what.wait
        && let Some(id) = session.id.clone()
    {
        let waited = wait(here, vec![id.clone()]);
        let waited = waited.map_err(|why| why.hint(format!("it was launched as {id}")))?;
        session = waited.into_iter().next().unwrap_or(session);
        if !what.json {
            let outcome = session.outcome.as_deref().unwrap_or(session.state.name());
            view::note(&format!("it is over: {outcome}"));
        }
    }
    let mut problems = if reused { Vec::new() } else { view::hooks::problems(&session) };
    let unwitnessed = if what.wait { ops::wait::unwitnessed(here, [&session]) } else { Vec::new() };
    let is_known = unwitnessed.is_empty();
    problems.extend(unwitnessed);
    if !what.json {
        view::problems(&problems);
    }
    let code = match what.wait && !super::wait::is_good(&session) {
        true => Kind::No.code(),
        // What is run at its end is told, and is no part of the answer.
        false if is_uncreated(&session) && !reused || !is_known => Kind::Problems.code(),
        false => 0,
    };
    if what.json {
        let (schema, log, worktree) = (wire::SCHEMA, session.log.clone(), begun.worktree);
        view::json(&wire::Launch { schema, session, reused, worktree, log, problems })?;
    }
    Ok(code)
}

/// What is to be done about a budget is said of one.
fn is_limited(ask: &Ask, what: &What) -> Result<(), Error> {
    match what.most.on_budget.is_some() && ask.budget.is_none() {
        true => Err(Error::new(Kind::Usage, "--on-budget has no limit")
            .hint("--max-cost, --max-tokens, --max-turns or --idle-timeout")),
        false => Ok(()),
    }
}

/// What was to be run once it was there went wrong.
fn is_uncreated(session: &Session) -> bool {
    let bad = |hook: &wire::Hook| hook.name == HookName::OnCreate && hook.outcome.is_bad();
    session.hooks.iter().any(bad)
}

/// Waits until all have ended, and what is run at their end.
fn wait(here: &Here, names: Vec<String>) -> Result<Vec<Session>, Error> {
    let ask = ops::wait::Ask { names, until: Until::Ended, any: false, timeout: None };
    let ended = ops::wait::wait(here, &ask)?.sessions.into_iter();
    Ok(ended.map(|session| ops::wait::settled(here, *session)).collect())
}

fn directory(here: &Here, dir: &Path, hint: &str) -> Result<PathBuf, Error> {
    let dir = ops::absolute(here, dir);
    match fs::metadata(&dir) {
        Ok(stat) if stat.is_dir() => Ok(dir),
        Ok(_) => Err(Error::new(Kind::Usage, format!("not a directory: {}", dir.display()))),
        Err(why) => {
            Err(Error::new(Kind::Usage, format!("cannot work in {}: {why}", dir.display()))
                .hint(hint))
        }
    }
}
