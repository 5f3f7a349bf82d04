//! `agentctl launch AGENT` and `agentctl resume ID`

use super::{
    args::{Launch, Resume, What},
    run::Outcome,
};
use crate::{
    error::{Error, Kind},
    ops::{
        self, Here,
        launch::{Ask, Begun, Wanted},
        wait::Until,
    },
    view,
};
use agentctl_core::{agents, launch::Permission, wire};
use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
};

/// Starts an agent.
pub(super) fn run(here: &Here, args: Launch) -> Outcome {
    let agent = agents::named(&args.agent).expect("clap lets only known names pass");
    let worktree = wanted(here, &args)?;
    let cwd = match (&args.cwd, &worktree) {
        (Some(dir), _) => dir.clone(),
        (None, Some(wanted)) => wanted.repo.clone(),
        (None, None) => std::env::current_dir()
            .map_err(|why| Error::new(Kind::Io, format!("cannot tell the directory: {why}")))?,
    };
    let ask = Ask {
        agent,
        prompt: prompt(&args.what, None)?,
        cwd: directory(here, &cwd, "use --cwd to name a directory that is there")?,
        model: args.model,
        system: args.append_system_prompt,
        key: args.key,
        earlier: None,
        worktree,
        ..ask(&args.what, agent)
    };
    finish(here, &ask, &args.what)
}

/// Goes on with a session.
pub(super) fn resume(here: &Here, args: Resume) -> Outcome {
    let found = ops::launch::earlier(here, &args.id, args.fork)?;
    let ask = Ask {
        prompt: prompt(&args.what, args.text)?,
        cwd: directory(here, &found.cwd, "it goes on where it worked: make that directory again")?,
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

fn ask(what: &What, agent: &'static dyn agentctl_core::agent::Agent) -> Ask {
    Ask {
        agent,
        prompt: String::new(),
        cwd: std::path::PathBuf::new(),
        model: None,
        name: what.name.clone(),
        labels: what.label.iter().cloned().collect(),
        group: what.group.clone(),
        force: what.force,
        timeout: what.timeout,
        env: what.env.clone(),
        permission: Permission::named(&what.permission).unwrap_or_default(),
        system: None,
        key: None,
        steerable: what.steerable,
        more: what.more.clone(),
        earlier: None,
        tree: None,
        worktree: None,
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
    let (mut session, reused, worktree) = match ops::launch::launch(here, ask)? {
        Begun::Now(session) => (session, false, None),
        Begun::InTree(session, tree) => (session, false, Some(ops::launch::told(&tree))),
        Begun::Before(session) => (session, true, None),
    };
    if !what.json {
        view::launch::worktree(worktree.as_ref());
        view::launch::started(&session, ops::launch::bound_to().filter(|_| !reused).as_deref())?;
        if reused {
            view::note("it was launched before with this key; nothing was started");
        }
    }
    if let Some(id) = session.id.clone().filter(|_| what.wait) {
        let wait = ops::wait::Ask {
            names: vec![id.clone()],
            until: Until::Ended,
            any: false,
            timeout: None,
        };
        let waited = ops::wait::wait(here, &wait);
        let waited = waited.map_err(|why| why.hint(format!("it was launched as {id}")))?;
        session = waited.sessions.into_iter().next().unwrap_or(session);
        if !what.json {
            let outcome = session.outcome.as_deref().unwrap_or(session.state.name());
            view::note(&format!("it is over: {outcome}"));
        }
    }
    let code = u8::from(what.wait && !super::wait::is_good(&session));
    if what.json {
        let log = session.log.clone();
        view::json(&wire::Launch { schema: wire::SCHEMA, session, reused, worktree, log })?;
    }
    Ok(code)
}

/// The worktree that is to be made for it.
fn wanted(here: &Here, args: &Launch) -> Result<Option<Wanted>, Error> {
    let Some(repo) = &args.tree.worktree else { return Ok(None) };
    let repo = directory(here, repo, "use --worktree to name a directory of a repository")?;
    let (branch, base) = (args.tree.branch.clone(), args.tree.base_branch.clone());
    Ok(Some(Wanted { repo, branch, base, cwd: args.cwd.clone() }))
}

fn directory(here: &Here, dir: &Path, hint: &str) -> Result<std::path::PathBuf, Error> {
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

fn prompt(what: &What, text: Option<String>) -> Result<String, Error> {
    let way = "use -p TEXT or -f FILE, or pipe the prompt in";
    text_of(text.or_else(|| what.prompt.clone()), what.prompt_file.as_deref(), ("prompt", way))
}

/// These words, or those of a file, or what comes on standard input; `what` they are, and the way to give
/// them, is told where they are missing.
pub(super) fn text_of(
    text: Option<String>,
    file: Option<&Path>,
    (what, way): (&str, &str),
) -> Result<String, Error> {
    let (words, from) = match (text, file) {
        (Some(text), _) => (text, format!("the {what}")),
        (None, Some(file)) => {
            let name = file.display().to_string();
            let read = fs::read(file)
                .map_err(|why| Error::new(Kind::Usage, format!("cannot read {name}: {why}")))?;
            (utf8(read, &name)?, name)
        }
        (None, None) => {
            if io::stdin().is_terminal() {
                return Err(Error::new(Kind::Usage, format!("no {what}")).hint(way));
            }
            let mut read = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut read)
                .map_err(|why| Error::new(Kind::Io, format!("cannot read the {what}: {why}")))?;
            (utf8(read, "standard input")?, "standard input".to_owned())
        }
    };
    match words.trim().is_empty() {
        true => Err(Error::new(Kind::Usage, format!("{from} is empty")).hint(way)),
        false => Ok(words),
    }
}

fn utf8(bytes: Vec<u8>, from: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to();
        Error::new(Kind::Usage, format!("{from} is no text: byte {at} is not UTF-8"))
    })
}
