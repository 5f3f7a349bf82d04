//! `agentctl launch AGENT` and `agentctl resume ID`

mod many;
mod prompt;

pub(super) use prompt::text_of;

use super::{
    args::{Launch, Resume, What},
    run::Outcome,
};
use crate::{
    error::{Error, Kind},
    ops::{
        self, Here,
        launch::{Ask, Place, Wanted},
        wait::Until,
    },
    view,
};
use agentctl_core::{
    agent::Agent,
    agents,
    launch::Permission,
    matrix::Slot,
    wire::{self, Session},
};
use many::Several;
use prompt::prompt;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The agent that is meant where none is named.
const USUAL: &str = "claude-code";

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
    let slot = slots.pop().unwrap_or_else(|| {
        let name = args.agent.as_deref().unwrap_or(USUAL);
        Slot::new(named(name), args.slots.model.clone())
    });
    let cwd = cwd(here, &args, args.worktree.as_deref())?;
    let place = place(here, &args, slot.agent, &cwd)?;
    let ask = Ask {
        prompt: prompt(&args.what, None, &cwd)?,
        cwd,
        model: slot.model,
        system: args.append_system_prompt.clone(),
        key: args.key.clone(),
        place,
        ..ask(&args.what, slot.agent)
    };
    finish(here, &ask, &args.what)
}

/// Where to work: as it is asked for, else in `other`, else where the command is given.
fn cwd(here: &Here, args: &Launch, other: Option<&Path>) -> Result<PathBuf, Error> {
    let cwd = match args.cwd.as_deref().or(other) {
        Some(dir) => dir.to_owned(),
        None => std::env::current_dir()
            .map_err(|why| Error::new(Kind::Io, format!("cannot tell the directory: {why}")))?,
    };
    directory(here, &cwd, "use --cwd to name a directory that is there")
}

/// In a worktree of its own, if one is asked for.
fn place(here: &Here, args: &Launch, agent: &dyn Agent, cwd: &Path) -> Result<Place, Error> {
    let Some(repo) = &args.worktree else {
        return match args.base_branch {
            Some(_) => Err(Error::new(Kind::Usage, "--base-branch is for a worktree")
                .hint("--worktree REPO makes one")),
            None => Ok(Place::Given),
        };
    };
    let branch = args.branch.clone().unwrap_or_else(|| ops::launch::fresh_branch(agent));
    let wanted = Wanted::new(cwd, branch, args.base_branch.clone())?;
    let repo = directory(here, repo, "use --worktree with a repository that is there")?;
    match wanted.is_of(&repo)? {
        true => Ok(Place::Wanted(wanted)),
        false => {
            let (cwd, repo) = (cwd.display(), repo.display());
            Err(Error::new(Kind::Usage, format!("{cwd} is not in the repository {repo}"))
                .hint("leave --cwd out to work at the top of the worktree"))
        }
    }
}

/// Goes on with a session.
pub(super) fn resume(here: &Here, args: Resume) -> Outcome {
    let found = ops::launch::earlier(here, &args.id, args.fork)?;
    let cwd = directory(here, &found.cwd, "it goes on where it worked: make that directory again")?;
    let ask = Ask {
        prompt: prompt(&args.what, args.text, &cwd)?,
        cwd,
        model: found.model.clone(),
        ..ask(&args.what, found.agent)
    };
    // The same session keeps what it was called; a copy is another.
    let before = Some(&found).filter(|found| !found.fork);
    let mut labels = before.map(|before| before.labels.clone()).unwrap_or_default();
    labels.extend(ask.labels);
    let group = ask.group.or(before.and_then(|before| before.group.clone()));
    finish(here, &Ask { earlier: Some(found), labels, group, ..ask }, &args.what)
}

fn ask(what: &What, agent: &'static dyn Agent) -> Ask {
    Ask {
        agent,
        prompt: String::new(),
        cwd: PathBuf::new(),
        model: None,
        name: what.name.clone(),
        labels: what.label.iter().cloned().collect(),
        group: what.group.clone(),
        force: what.force,
        timeout: what.timeout,
        env: what.env.clone(),
        permission: what.permission.as_deref().and_then(Permission::named).unwrap_or_default(),
        system: None,
        key: None,
        steerable: what.steerable,
        more: what.more.clone(),
        place: Place::Given,
        earlier: None,
    }
}

fn finish(here: &Here, ask: &Ask, what: &What) -> Outcome {
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
        view::launch::notes(&begun.notes);
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
    let code = u8::from(what.wait && !super::wait::is_good(&session));
    if what.json {
        let (log, notes) = (session.log.clone(), begun.notes);
        view::json(&wire::Launch { schema: wire::SCHEMA, session, reused, notes, log })?;
    }
    Ok(code)
}

/// Waits until all have ended.
fn wait(here: &Here, names: Vec<String>) -> Result<Vec<Session>, Error> {
    let ask = ops::wait::Ask { names, until: Until::Ended, any: false, timeout: None };
    ops::wait::wait(here, &ask).map(|waited| waited.sessions)
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
