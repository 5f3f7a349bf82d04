//! `agentctl launch AGENT` and `agentctl resume ID`

use super::{
    args::{Launch, Resume, What},
    run::Outcome,
};
use crate::{
    config::{Config, Key},
    error::{Error, Kind},
    ops::{
        self, Here,
        launch::{Ask, Begun, Errands},
        wait::Until,
    },
    view,
};
use agentctl_core::{
    agent::Agent,
    agents,
    launch::Permission,
    receipt::{Callback, HookName},
    wire,
};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
};

/// Starts an agent.
pub(super) fn run(here: &Here, args: Launch) -> Outcome {
    let config = super::config::read(args.cwd.as_deref())?;
    let usual = config.text(Key::Agent).and_then(agents::named);
    let agent = args.agent.as_deref().and_then(agents::named).or(usual);
    let agent = agent.expect("clap and the config let only known names pass");
    // A model is one of its agent's.
    let is_usual = usual.is_some_and(|usual| usual.card().name == agent.card().name);
    let model = config.text(Key::Model).filter(|_| is_usual).map(str::to_owned);
    let cwd = match args.cwd.clone().or_else(|| config.folder(Key::Cwd)) {
        Some(dir) => dir,
        None => std::env::current_dir()
            .map_err(|why| Error::new(Kind::Io, format!("cannot tell the directory: {why}")))?,
    };
    let ask = Ask {
        agent,
        prompt: prompt(&args.what, None)?,
        cwd: directory(here, &cwd, "use --cwd to name a directory that is there")?,
        model: args.model.or(model),
        system: args.append_system_prompt,
        key: args.key,
        earlier: None,
        ..ask(&args.what, agent, &config)
    };
    finish(here, &ask, &args.what)
}

/// Goes on with a session.
pub(super) fn resume(here: &Here, args: Resume) -> Outcome {
    let found = ops::launch::earlier(here, &args.id, args.fork)?;
    let config = super::config::read(Some(&found.cwd))?;
    let ask = Ask {
        prompt: prompt(&args.what, args.text)?,
        cwd: directory(here, &found.cwd, "it goes on where it worked: make that directory again")?,
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
    let callback = ask.callback.or(before.map(|one| one.callback.clone()).unwrap_or_default());
    finish(here, &Ask { earlier: Some(found), labels, group, callback, ..ask }, &args.what)
}

/// What the flags say, and what is configured where they say nothing.
fn ask(what: &What, agent: &'static dyn Agent, config: &Config) -> Ask {
    let text = |key| config.text(key).map(str::to_owned);
    let permission = what.permission.as_deref().or(config.text(Key::Permission));
    let mut labels: BTreeMap<_, _> = config.pairs(Key::Labels).into_iter().collect();
    labels.extend(what.label.iter().cloned());
    Ask {
        agent,
        prompt: String::new(),
        cwd: std::path::PathBuf::new(),
        model: None,
        name: what.name.clone(),
        labels,
        group: what.group.clone().or_else(|| text(Key::Group)),
        force: what.force,
        timeout: what.timeout.or_else(|| config.time(Key::Timeout)),
        env: environment(what, agent, config),
        permission: permission.and_then(Permission::named).unwrap_or_default(),
        system: None,
        key: None,
        steerable: what.steerable || config.is_on(Key::Steerable) && !what.wait,
        more: what.more.clone(),
        errands: errands(what, agent, config),
        callback: Callback {
            session: what.hooks.callback_session.clone(),
            agent: what.hooks.callback_agent.clone(),
        },
        earlier: None,
    }
}

/// Variables that are configured, and over them those that are given. A server has its own.
fn environment(what: &What, agent: &dyn Agent, config: &Config) -> Vec<(String, String)> {
    let mut set = config.pairs(Key::Env);
    if agent.hosted().is_some() && !set.is_empty() {
        set.clear();
        unheeded(Key::Env, agent, "its server has variables of its own");
    }
    set.retain(|(name, _)| !what.env.iter().any(|(given, _)| given == name));
    set.extend(what.env.iter().cloned());
    set
}

fn errands(what: &What, agent: &dyn Agent, config: &Config) -> Errands {
    let set = |given: &Option<String>, key| {
        let command = given.clone().or_else(|| config.text(key).map(str::to_owned));
        command.filter(|command| !command.trim().is_empty())
    };
    let mut on_complete = set(&what.hooks.on_complete, Key::OnComplete);
    // Who asks for it here is told that it cannot be; what is configured is for others.
    if agent.hosted().is_some() && what.hooks.on_complete.is_none() && on_complete.is_some() {
        on_complete = None;
        unheeded(Key::OnComplete, agent, "its sessions end in its own server");
    }
    Errands {
        on_create: set(&what.hooks.on_create, Key::OnCreate),
        on_complete,
        limit: config.time(Key::HookTimeout).unwrap_or_default(),
    }
}

fn unheeded(key: Key, agent: &dyn Agent, why: &str) {
    let title = agent.card().title;
    view::warning(&format!("{} is not heeded for {title}: {why}", key.name()));
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
    let (mut session, reused) = match ops::launch::launch(here, ask)? {
        Begun::Now(session) => (session, false),
        Begun::Before(session) => (session, true),
    };
    if !what.json {
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
        session = ops::wait::settled(here, session);
        if !what.json {
            let outcome = session.outcome.as_deref().unwrap_or(session.state.name());
            view::note(&format!("it is over: {outcome}"));
        }
    }
    let problems = if reused { Vec::new() } else { view::hooks::problems(&session) };
    if !what.json {
        view::problems(&problems);
    }
    let code = match what.wait && !super::wait::is_good(&session) {
        true => Kind::No.code(),
        // What is run at its end is told, and is no part of the answer.
        false if is_uncreated(&session) && !reused => Kind::Problems.code(),
        false => 0,
    };
    if what.json {
        let log = session.log.clone();
        view::json(&wire::Launch { schema: wire::SCHEMA, session, reused, log, problems })?;
    }
    Ok(code)
}

/// What was to be run once it was there went wrong.
fn is_uncreated(session: &wire::Session) -> bool {
    let bad = |hook: &wire::Hook| hook.name == HookName::OnCreate && hook.outcome.is_bad();
    session.hooks.iter().any(bad)
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
