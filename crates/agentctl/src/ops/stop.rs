//! Ends a session: the processes that have it loaded, and what they started.

use super::{Here, command::said, exact, interrupt::interrupt, list, status::status};
use crate::{
    bounded::bare,
    error::{Error, Kind},
    host::{self, How, Refused, end},
    places,
    shim::stopped,
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    derive::derive,
    evidence::{Evidence, Role},
    host::Host,
    ident::ProcKey,
    launch::Signal,
    observe::History,
    proof::{Rule, Source},
    select::{Filter, suspects},
    wire::{Around, Asked, Certificate, Death, Orphan, Problem, Session, StateName},
};
use std::{
    fs,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);
/// How long a command of the agent's own may take.
const NATIVE: Duration = Duration::from_secs(30);

/// How to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// How long a process may take to heed a signal before the next one.
    pub(crate) grace: Duration,
    /// At once, and where only an inference says who has the session.
    pub(crate) force: bool,
}

/// Stops the session of this name.
pub(crate) fn stop(here: &Here, name: &str, manner: Manner) -> Result<Certificate, Error> {
    let seen = here.again();
    match status(&seen, name, Depth::Glance) {
        Ok(found) => stop_one(here, found.session, manner),
        Err(why) => {
            let left = left_behind(here, |orphan| name == format!("pid:{}", orphan.process.pid));
            match left.into_iter().find_map(|orphan| orphan.session_id) {
                Some(session) => stop(here, &session, manner),
                None => Err(not_ours(&seen, name, why)),
            }
        }
    }
}

/// What ended sessions left running.
fn left_behind(here: &Here, is_meant: impl Fn(&Orphan) -> bool) -> Vec<Orphan> {
    let left = list::list(&here.again(), &everything(&[])).orphans;
    left.into_iter().filter(is_meant).collect()
}

/// Stops a session that was just seen.
pub(crate) fn stop_one(
    here: &Here,
    session: Session,
    manner: Manner,
) -> Result<Certificate, Error> {
    let session = match is_doubtful(&session) {
        // Whoever may have had it may have ended meanwhile.
        true => exact::again(&here.again(), &session).unwrap_or(session),
        false => session,
    };
    let name = &name_of(&session);
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    if !session.live {
        return already(here, session, manner);
    }
    // A server has other sessions now, or next.
    if session.shared || session.kind == Some(Role::Server) {
        if session.state == StateName::Idle {
            return Ok(certificate(session, true));
        }
        if let Some((session, asked)) = interrupt(here, &session, manner.grace)? {
            return Ok(Certificate { asked: Some(asked), ..certificate(session, false) });
        }
    }
    may_stop(here.host(), &session, name, manner)?;
    let native = session.id.as_ref().and_then(|id| agent.stops(id, session.kind));
    let deaths = match &native {
        Some(words) => natively(here, agent, words, &session, manner)?,
        None => by_signal(agent, &session, manner)?,
    };
    let after = match ended_within(here, &session, manner.grace) {
        // What named no session has no record, and is found by its process alone.
        Err(why) if why.kind == Kind::NoSession && session.id.is_none() && ended_all(&deaths) => {
            ended(&here.again(), &session, !deaths.is_empty())
        }
        after => after.map_err(|why| unseen(why, &deaths))?,
    };
    let asked = native.map(|words| Asked {
        call: format!("{} {}", agent.card().binary, words.join(" ")),
        process: session.process.clone(),
        before: session.state,
        after: after.state,
    });
    // It may have ended by itself in the last moment.
    let already = deaths.is_empty() && asked.is_none();
    Ok(Certificate { asked, deaths, ..certificate(after, already) })
}

fn ended_all(deaths: &[Death]) -> bool {
    deaths.iter().all(|death| death.survived.is_none())
}

/// A session whose processes were all seen to end, by us or by themselves, and of which nothing is left to be read.
fn ended(here: &Here, session: &Session, by_us: bool) -> Session {
    let host = here.host();
    let lost: Vec<Source> =
        holders(session).into_iter().map(|process| Source::Gone { process }).collect();
    let stop = lost.first().filter(|_| by_us).map(|gone| (host.now(), gone.clone()));
    let seen = Evidence { lost, stop, ..Evidence::none(&session.agent, None) };
    let around = Around {
        host: host.machine().to_owned(),
        cwd: session.cwd.clone(),
        title: session.title.clone(),
        started: session.started_at,
        now: host.now(),
        ..Around::default()
    };
    let verdict = derive(&seen);
    Session::new(seen, verdict, around)
}

/// What became of it nobody can say; who was ended is told all the same.
fn unseen(why: Error, deaths: &[Death]) -> Error {
    let ended = deaths.iter().filter(|death| death.survived.is_none());
    let pids: Vec<String> = ended.map(|death| death.process.pid.to_string()).collect();
    match pids.is_empty() {
        true => why,
        false => {
            let message = format!("pid {} has ended, but {}", pids.join(" and "), why.message);
            Error { message, ..why }
        }
    }
}

/// The session once it has ended, or as it is after this time: what started its process, and ends
/// behind it, is taken for its holder meanwhile.
fn ended_within(here: &Here, session: &Session, time: Duration) -> Result<Session, Error> {
    let until = Instant::now() + time;
    loop {
        let now = exact::again(&here.again(), session)?;
        if !now.live || Instant::now() >= until {
            return Ok(now);
        }
        thread::sleep(TICK);
    }
}

/// Of a session as it is now, to which nothing was done.
fn certificate(session: Session, already: bool) -> Certificate {
    Certificate { session, already, asked: None, deaths: Vec::new() }
}

/// Processes of others are not listed; who names one is told why it is not stopped.
fn not_ours(seen: &Here, name: &str, why: Error) -> Error {
    let host = seen.host();
    let pid = name.strip_prefix("pid:").and_then(|pid| pid.parse().ok());
    let key =
        host.table().ok().zip(pid).and_then(|(table, pid)| Some(table.key(table.process(pid)?)));
    match key.map(|key| host.is_mine(&key)) {
        Some(Ok(false)) if why.kind == Kind::NoSession => {
            Error::new(Kind::Refused, format!("cannot stop {name}: it is another user's process"))
                .hint("only they can stop it")
        }
        _ => why,
    }
}

/// What a session is called on the command line.
pub(crate) fn name_of(session: &Session) -> String {
    match (&session.id, session.pid) {
        (Some(id), _) => id.clone(),
        (None, Some(pid)) => format!("pid:{pid}"),
        (None, None) => "a session without a name".to_owned(),
    }
}

/// Nobody can say whether it is alive.
pub(super) fn is_doubtful(session: &Session) -> bool {
    !session.live && session.state == StateName::Unknown
}

/// What may be stopped.
pub(crate) struct Open {
    /// Sessions that are alive.
    pub(crate) alive: Vec<Session>,
    /// Sessions of which nobody can say whether they are.
    pub(crate) doubtful: Vec<Session>,
    /// What could not be read.
    pub(crate) problems: Vec<Problem>,
}

/// Sessions that are alive or may be, of these groups or all.
pub(crate) fn open(here: &Here, groups: &[String]) -> Open {
    // Which group it is in a receipt says: who is in one that is lost may be meant.
    let ask = everything(groups);
    let found = if groups.is_empty() { list::list(here, &ask) } else { list::told(here, &ask) };
    // Idle in a server there is nothing to end.
    let rests = |session: &Session| session.shared && session.state == StateName::Idle;
    let (mut alive, rest): (Vec<_>, Vec<_>) =
        found.sessions.into_iter().map(|session| *session).partition(|session| session.live);
    alive.retain(|session| !rests(session));
    let doubtful = rest.into_iter().filter(is_doubtful).collect();
    Open { alive, doubtful, problems: found.problems }
}

/// All that is alive, of these groups or all.
fn everything(groups: &[String]) -> list::Ask {
    let filter = Filter { groups: groups.to_vec(), ..Filter::default() };
    list::Ask { filter, ..list::Ask::every(History::Held) }
}

/// A session that has ended; what it left running ends now.
fn already(here: &Here, session: Session, manner: Manner) -> Result<Certificate, Error> {
    let own = |orphan: &Orphan| orphan.session_id.is_some() && orphan.session_id == session.id;
    let signals: &[Signal] = match manner.force {
        true => &[Signal::Kill],
        false => &[Signal::Terminate, Signal::Kill],
    };
    let left = left_behind(here, own).into_iter();
    let ended = left.filter_map(|orphan| end(&orphan.process, signals, manner.grace).ok());
    let deaths: Vec<Death> = ended.flatten().map(told).collect();
    match (session.state, &session.reason) {
        (StateName::Unknown, Some(why)) if deaths.is_empty() => {
            Err(refuse(&session, &format!("nobody can say who has it: {why}"))
                .hint(way_out(&session)))
        }
        _ => Ok(Certificate { deaths, ..certificate(session, true) }),
    }
}

/// Nobody is signalled on a suspicion: a person may.
fn way_out(session: &Session) -> String {
    let mut names: Vec<String> =
        suspects(session).iter().map(|key| format!("`agentctl stop pid:{}`", key.pid)).collect();
    names.sort();
    names.dedup();
    match names.is_empty() {
        true => format!("`agentctl explain {}` says what was seen", name_of(session)),
        false => format!("{} ends whoever may have it", names.join(" or ")),
    }
}

pub(super) fn refuse(session: &Session, why: &str) -> Error {
    Error::new(Kind::Refused, format!("cannot stop {}: {why}", name_of(session)))
}

fn may_stop(host: &dyn Host, session: &Session, name: &str, manner: Manner) -> Result<(), Error> {
    match why_not(host, session, name, manner.force) {
        Some((why, hint)) => Err(refuse(session, &why).hint(hint)),
        None => Ok(()),
    }
}

/// No process is signalled that serves others, or that only may be the right one: why, and the way out.
pub(super) fn why_not(
    host: &dyn Host,
    session: &Session,
    name: &str,
    force: bool,
) -> Option<(String, String)> {
    let theirs = holders(session).into_iter().find(|key| host.is_mine(key) == Ok(false));
    if let Some(key) = theirs {
        let why = format!("process {} is another user's process", key.pid);
        return Some((why, "only they can stop it".to_owned()));
    }
    if session.shared {
        let pid = session.pid.unwrap_or_default();
        let why = format!("process {pid} is a server, and takes no such request");
        let hint =
            "end its turn where it is shown: the server's end would be that of all its sessions";
        return Some((why, hint.to_owned()));
    }
    let inferred = session.because.iter().any(|because| because.rule == Rule::Inferred);
    let way = || format!("`agentctl explain {name}` shows it; use --force if it is the right one");
    let why = "only an inference says which process has it";
    (inferred && !force).then(|| (why.to_owned(), way()))
}

/// Every process that has it loaded.
pub(super) fn holders(session: &Session) -> Vec<ProcKey> {
    match session.processes.is_empty() {
        true => session.process.iter().cloned().collect(),
        false => session.processes.clone(),
    }
}

fn by_signal(agent: &dyn Agent, session: &Session, manner: Manner) -> Result<Vec<Death>, Error> {
    let signals = match manner.force {
        true => &[Signal::Kill],
        false => agent.ends_by(session.kind),
    };
    let (mut deaths, mut spared) = (Vec::new(), Vec::new());
    let holders = holders(session);
    for key in &holders {
        let receipt = written(session, key);
        match end(key, signals, manner.grace) {
            Ok(all) => {
                let lives = |death: &&host::Death| matches!(death.how, How::Survived(_));
                match all.first().filter(lives) {
                    // However it ends one day, it was not by us.
                    Some(_) => drop(receipt.map(fs::remove_file)),
                    // It may have written until it ended.
                    None => drop(written(session, key)),
                }
                deaths.extend(all.into_iter().map(told));
            }
            Err(Refused::Gone) => drop(receipt.map(fs::remove_file)),
            Err(why) => {
                receipt.map(fs::remove_file);
                spared.push((key, why.to_string()));
            }
        }
    }
    if let Some((_, why)) = spared.first().filter(|_| deaths.is_empty()) {
        return Err(refuse(session, why).hint("run `agentctl status` to see how it is"));
    }
    deaths.extend(spared.into_iter().map(|(key, why)| Death {
        process: key.clone(),
        comm: agent.card().binary.to_owned(),
        signal: None,
        survived: Some(why),
    }));
    Ok(deaths)
}

fn told(death: host::Death) -> Death {
    let (signal, survived) = match death.how {
        How::By(signal, _) => (Some(signal.name().to_owned()), None),
        How::Followed => (None, None),
        How::Survived(why) => (None, Some(why)),
    };
    Death { process: death.key, comm: death.comm, signal, survived }
}

/// Our receipt, so that what leaves no trace of an end on purpose is not taken for a crash.
fn written(session: &Session, key: &ProcKey) -> Option<PathBuf> {
    stopped(&places::state()?, (&session.agent, session.id.as_ref()?), key).ok()
}

/// By the agent's own command: its supervisor would start a killed process again.
fn natively(
    here: &Here,
    agent: &dyn Agent,
    words: &[String],
    session: &Session,
    manner: Manner,
) -> Result<Vec<Death>, Error> {
    let program = super::launch::program(here.host(), agent)?;
    let key = session.process.clone();
    // Whoever is halted cannot do as its supervisor says.
    if let Some(key) = key.as_ref().filter(|_| session.halted) {
        let _ = host::release(key);
    }
    // Its own store may be another than the caller's.
    let own = key.as_ref().and_then(|key| here.host().env(key, agent.card().variables).ok());
    let mut command = Command::new(&program);
    command.args(words).envs(own.unwrap_or_default());
    let line = format!("{} {}", agent.card().binary, words.join(" "));
    if let Err(why) = said(bare(&mut command), NATIVE) {
        if let Some(key) = key.as_ref().filter(|_| session.halted) {
            let _ = host::hold(key); // it was not to go on
        }
        return Err(refuse(session, &format!("`{line}` {why}")).hint("give that command yourself"));
    }
    let until = Instant::now() + manner.grace;
    let gone = |key: &ProcKey| here.again().host().is_over(key);
    while key.as_ref().is_some_and(|key| !gone(key)) && Instant::now() < until {
        thread::sleep(TICK);
    }
    let death = |key: ProcKey| Death {
        survived: (!gone(&key)).then(|| format!("it lives {:?} later", manner.grace)),
        process: key,
        comm: agent.card().binary.to_owned(),
        signal: None,
    };
    Ok(key.map(death).into_iter().collect())
}
