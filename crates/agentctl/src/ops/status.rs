//! The one session that is meant.

use super::{Here, observe};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    agents,
    control::Target,
    ident::ProcKey,
    observe::{Candidate, History, Survey},
    select::{Choice, Name, choose, shortest},
    text::one_line,
    wire::{OneSession, Problem, SCHEMA, Session},
};
use std::{collections::BTreeSet, io, path::PathBuf};

/// Length of a full id of any agent known so far.
const FULL: usize = 36;

/// Where the session of a full id is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    /// Where a file of one agent is called after it, only there and where it may be loaded: that answers whoever only looks.
    Namesake,
    /// At every agent. Whoever acts is told of a second session that was given the same id.
    All,
}

/// One session, read to this depth, for whoever acts on it.
pub(crate) fn status(here: &Here, name: &str, depth: Depth) -> Result<OneSession, Error> {
    one(here, name, depth, Among::All)
}

/// The same for whoever only looks.
pub(crate) fn shown(here: &Here, name: &str, depth: Depth) -> Result<OneSession, Error> {
    one(here, name, depth, Among::Namesake)
}

fn one(here: &Here, name: &str, depth: Depth, among: Among) -> Result<OneSession, Error> {
    let Found { mut session, mut surveys, unread } = find(here, name, depth, among)?;
    if depth == Depth::Whole {
        super::budgets::attach(here, [&mut session], true);
    }
    let own = |survey: &Survey<'_>| {
        let mut own = unread.clone();
        own.retain(|one| one.path == session.source && one.agent == survey.agent.card().name);
        own
    };
    let problems = surveys.iter_mut().flat_map(|survey| {
        let own = own(survey);
        observe::problems(survey, own)
    });
    let problems = problems.chain(observe::lost(here.host().lost())).collect();
    Ok(OneSession { schema: SCHEMA, problems, session })
}

/// The agent and the transcript of a session.
pub(super) fn transcript(
    here: &Here,
    name: &str,
    among: Among,
) -> Result<(&'static dyn Agent, Session, Option<Stub>), Error> {
    let Found { session, surveys, unread } = find(here, name, Depth::Glance, among)?;
    let unread = unread.into_iter().find(|problem| problem.path == session.source);
    if let Some((problem, path)) = unread.zip(session.source.as_ref()) {
        return Err(Error::unread(path, &problem.message));
    }
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    let candidates = surveys.iter().flat_map(|survey| &survey.candidates);
    let mut stubs = candidates.filter_map(|candidate| candidate.stub.as_ref());
    let same = |stub: &&Stub| {
        Some(&stub.path) == session.source.as_ref() && Some(&stub.id) == session.id.as_ref()
    };
    let stub = stubs.find(same).cloned();
    Ok((agent, session, stub))
}

/// A session with all that is needed to reach it.
pub(super) struct Held {
    pub(super) agent: &'static dyn Agent,
    pub(super) session: Session,
    pub(super) stub: Option<Stub>,
    pub(super) store: PathBuf,
    /// Live servers of its store.
    pub(super) servers: Vec<ProcKey>,
}

impl Held {
    /// It, as this process is asked about it.
    pub(super) fn target<'a>(&'a self, id: &'a str, process: &'a ProcKey) -> Target<'a> {
        Target { id, store: &self.store, process, cwd: self.session.cwd.as_deref() }
    }
}

/// The session that is meant, and where it is held.
pub(super) fn held(here: &Here, name: &str) -> Result<Held, Error> {
    let Found { session, surveys, .. } = find(here, name, Depth::Glance, Among::All)?;
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    let of = |survey: &&Survey<'_>| survey.agent.card().name == agent.card().name;
    let same = |one: &&Candidate| {
        let path = one.stub.as_ref().map(|stub| &stub.path);
        one.id == session.id && path == session.source.as_ref()
    };
    let own = surveys.iter().filter(of).find_map(|survey| {
        let candidate = survey.candidates.iter().find(same)?;
        Some((candidate.stub.clone(), candidate.store.clone(), survey.servers(&candidate.store)))
    });
    let (stub, store, servers) = own.unwrap_or_default();
    Ok(Held { agent, session, stub, store, servers })
}

/// The session that is meant, and what was seen around it.
struct Found<'h> {
    session: Session,
    surveys: Vec<Survey<'h>>,
    unread: Vec<Problem>,
}

fn find<'h>(here: &'h Here, text: &str, depth: Depth, among: Among) -> Result<Found<'h>, Error> {
    let (name, surveys) = meant(here, text, among)?;
    let (mut sessions, mut unread) = (Vec::new(), Vec::new());
    for survey in &surveys {
        let fits = |one: &&Candidate| fits(&name, one);
        let chosen: Vec<&Candidate> = survey.candidates.iter().filter(fits).collect();
        let (found, problems) = observe::sessions(survey, &chosen, depth);
        sessions.extend(found);
        unread.extend(problems);
    }
    here.host().put_down();
    match choose(&name, without_doubles(sessions, &unread)) {
        Choice::One(session) => Ok(Found { session: *session, surveys, unread }),
        Choice::Nothing => Err(nothing(text, surveys)),
        Choice::Several(several) => Err(ambiguous(text, &several)),
    }
}

/// Who is meant, and what is seen where that may be. Agents call their sessions anything: whatever is listed is found by
/// exactly that, though it could mean something else, or nothing; but a pid is a process, or one session could pass for
/// another.
fn meant<'h>(here: &'h Here, text: &str, among: Among) -> Result<(Name, Vec<Survey<'h>>), Error> {
    let whole = |id: &str| observe::all(here, |agent, host, env| Survey::of(agent, host, env, id));
    let near = |agents: &[&'static dyn Agent], id: &str| {
        observe::in_turn(here, agents, |agent, host, env| Survey::near(agent, host, env, id))
    };
    let wide = |history| {
        observe::all(here, move |agent, host, env| Survey::new(agent, host, env, history))
    };
    let name = named(text);
    let surveys = match &name {
        // An id of hexadecimal digits may be typed in any case, and is found by looking everywhere.
        Ok(Name::Id { prefix, dir: None })
            if prefix.len() >= FULL && *prefix == prefix.to_lowercase() =>
        {
            // A full id is one session's: who has it in its place has it. A store that cannot be read only may.
            let is_certain = |one: &Candidate| {
                let is_named = one.stub.as_ref().is_some_and(|stub| stub.stat.is_some());
                one.id.as_ref() == Some(prefix) && (is_named || one.is_held())
            };
            let has = |surveys: &Vec<Survey<'_>>| {
                surveys.iter().flat_map(|survey| &survey.candidates).any(is_certain)
            };
            let own = (among == Among::Namesake).then(|| called(here, prefix)).flatten();
            let own = own.map(|own| near(&own, prefix)).filter(has);
            let near = own.unwrap_or_else(|| near(agents::ALL, prefix));
            if has(&near) { near } else { whole(prefix) }
        }
        Ok(Name::Id { .. }) | Err(_) => wide(History::All),
        Ok(Name::Pid(_)) => wide(History::Held),
    };
    let any = |fits: &dyn Fn(&Candidate) -> bool| {
        surveys.iter().flat_map(|survey| &survey.candidates).any(fits)
    };
    let may_be_id = match &name {
        Ok(Name::Pid(_)) => false,
        Ok(Name::Id { .. }) | Err(_) => true,
    };
    if may_be_id && any(&|one| one.id.as_deref() == Some(text)) {
        return Ok((Name::Id { prefix: text.to_owned(), dir: None }, surveys));
    }
    let name = name?;
    // A store that cannot be listed may still hold it, and can say why it is not told.
    match &name {
        Name::Id { prefix, .. } if !any(&|one| fits(&name, one)) => {
            let surveys = whole(prefix);
            Ok((name, surveys))
        }
        Name::Id { .. } | Name::Pid(_) => Ok((name, surveys)),
    }
}

/// The one agent that has a file which is called after this id, and those that call no file so and may have it loaded: a
/// process of theirs is there, and where that works a record of this id, or a store that does not say.
fn called(here: &Here, id: &str) -> Option<Vec<&'static dyn Agent>> {
    let (host, env) = (here.host(), observe::environment());
    let has = |agent: &&'static dyn Agent| {
        let has = |store: &PathBuf| !agent.find_near(host, store, id).is_empty();
        agent.stores(&env).iter().any(has)
    };
    let mut own =
        agents::ALL.iter().copied().filter(|agent| agent.card().names_files && has(agent));
    let first = own.next().filter(|_| own.next().is_none())?;
    let table = host.table().ok()?;
    let is_closed = |store: &PathBuf| {
        host.entries(store).is_err_and(|why| why.kind() != io::ErrorKind::NotFound)
    };
    let may_have = |agent: &&'static dyn Agent| {
        if agent.card().names_files || !Survey::may_live(*agent, table) {
            return false;
        }
        let live = table.processes.iter().filter(|one| !one.zombie && agent.may_be(&one.comm));
        let dirs: BTreeSet<_> = live.map(|one| host.cwd(&table.key(one)).ok()).collect();
        let stores = agent.stores(&env);
        let has_at = |dir: &Option<PathBuf>| match dir {
            Some(dir) => stores.iter().any(|it| !agent.find_at(host, it, id, dir).is_empty()),
            None => has(agent), // where it works is not told
        };
        dirs.iter().any(has_at) || stores.iter().any(is_closed)
    };
    let others = agents::ALL.iter().copied().filter(may_have);
    Some([first].into_iter().chain(others).collect())
}

fn fits(name: &Name, candidate: &Candidate) -> bool {
    match name {
        Name::Pid(pid) => candidate.is_held_by(*pid),
        Name::Id { .. } => candidate.id.as_deref().is_some_and(|id| name.fits(id)),
    }
}

/// What the words mean; a directory that is not absolute is meant from here.
fn named(text: &str) -> Result<Name, Error> {
    let name = Name::parse(text).ok_or_else(|| {
        Error::new(Kind::Usage, format!("not a session id: {text:?}"))
            .hint("use an id or a prefix of it, ID@DIR, ID@FILE, or pid:N")
    })?;
    Ok(match name {
        Name::Id { prefix, dir: Some(dir) } if dir.is_relative() => {
            Name::Id { prefix, dir: Some(dir.canonicalize().unwrap_or(dir)) }
        }
        name @ (Name::Id { .. } | Name::Pid(_)) => name,
    })
}

/// What could not be read may hold it: then nobody can say that it is not there.
fn nothing(text: &str, mut surveys: Vec<Survey<'_>>) -> Error {
    let told = surveys.iter_mut().flat_map(|survey| observe::problems(survey, Vec::new()));
    let lines: Vec<String> = told
        .map(|problem| {
            let path = problem.path.map(|path| format!("{}: ", path.display())).unwrap_or_default();
            format!("  {}: {}", problem.agent, one_line(&format!("{path}{}", problem.message)))
        })
        .collect();
    match lines.is_empty() {
        true => Error::new(Kind::NoSession, format!("no session {text}"))
            .hint("run `agentctl list -a --since all` to see every session"),
        false => {
            let lines = lines.join("\n");
            let message =
                format!("no session {text} in what could be read, and not all could:\n{lines}");
            Error::new(Kind::Unreadable, message)
                .hint("run `agentctl doctor` to see what cannot be read")
        }
    }
}

/// An id is one agent's: a store that cannot be read is not suspected of what another agent has.
fn without_doubles(sessions: Vec<Session>, unread: &[Problem]) -> Vec<Session> {
    let is_read = |one: &Session| !unread.iter().any(|problem| problem.path == one.source);
    let read: Vec<(String, Option<String>)> = sessions
        .iter()
        .filter(|one| is_read(one))
        .map(|one| (one.agent.clone(), one.id.clone()))
        .collect();
    let elsewhere =
        |one: &Session| read.iter().any(|(agent, id)| *agent != one.agent && *id == one.id);
    sessions.into_iter().filter(|one| one.live || is_read(one) || !elsewhere(one)).collect()
}

fn ambiguous(text: &str, several: &[Session]) -> Error {
    const SHOWN: usize = 10;
    let names = told_apart(several, text.len() + 1);
    let line = |(session, name): (&Session, String)| {
        let cwd = session.cwd.as_ref().map(|cwd| one_line(&cwd.to_string_lossy()));
        let (agent, state) = (&session.agent, session.state.name());
        format!("  {}  {agent}  {state}  {}", one_line(&name), cwd.unwrap_or_default())
    };
    let mut lines: Vec<String> = several.iter().zip(names).take(SHOWN).map(line).collect();
    if several.len() > SHOWN {
        lines.push(format!("  and {} more", several.len() - SHOWN));
    }
    let message = format!("{text} fits {} sessions:\n{}", several.len(), lines.join("\n"));
    Error::new(Kind::Ambiguous, message)
        .hint("use one of these names: more characters of the id, ID@DIR or ID@FILE")
}

/// A name of each that means no other of them: so much of its id as is needed, else with its directory, else with the
/// file that records it.
fn told_apart(several: &[Session], least: usize) -> Vec<String> {
    let ids: Vec<&str> =
        several.iter().map(|session| session.id.as_deref().unwrap_or_default()).collect();
    let lengths = shortest(&ids, |_| least);
    let name = |(session, length): (&Session, usize)| {
        let id = session.id.as_deref().unwrap_or_default();
        let same = |one: &&Session| one.id == session.id;
        let place = |path: &Option<PathBuf>| {
            path.as_ref()
                .map(|path| format!("{id}@{}", path.display()))
                .unwrap_or_else(|| id.to_owned())
        };
        match several.iter().filter(same).count() {
            0 | 1 => id.get(..length).unwrap_or(id).to_owned(),
            _ if several.iter().filter(same).filter(|one| one.cwd == session.cwd).count() == 1 => {
                place(&session.cwd)
            }
            _ => place(&session.source),
        }
    };
    several.iter().zip(lengths).map(name).collect()
}
