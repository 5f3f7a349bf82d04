//! Ends a session: the processes that have it loaded, and what they started.

use super::{Here, interrupt::interrupt, list, status::status};
use crate::{
    error::{Error, Kind},
    host::{How, Refused, end},
    places,
    shim::stopped,
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    evidence::Role,
    ident::ProcKey,
    launch::Signal,
    observe::History,
    proof::Rule,
    receipt::{SCHEMA as RECEIPT, Stopped},
    select::{Filter, Order},
    wire::{Certificate, Death, SCHEMA, Session, StateName},
};
use jiff::Timestamp;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// How long a process may take to heed a signal before the next one.
    pub(crate) grace: Duration,
    /// At once, and where only an inference says who has the session.
    pub(crate) force: bool,
}

/// Stops one session.
pub(crate) fn stop(here: &Here, name: &str, manner: Manner) -> Result<Certificate, Error> {
    let session = status(&here.again(), name, Depth::Glance)?.session;
    let agent = agents::named(&session.agent).expect("sessions come from known agents");
    if !session.live {
        return already(session);
    }
    // A server has other sessions now, or next.
    if session.shared || session.kind == Some(Role::Server) {
        if session.state == StateName::Idle {
            return Ok(Certificate { schema: SCHEMA, session, already: true, deaths: Vec::new() });
        }
        if let Some(session) = interrupt(here, name, manner.grace)? {
            return Ok(Certificate { schema: SCHEMA, session, already: false, deaths: Vec::new() });
        }
    }
    may_stop(&session, name, manner)?;
    let deaths = match agent.stops_by(&session) {
        Some(words) => natively(here, agent, &words, &session, manner)?,
        None => by_signal(here, agent, &session, manner)?,
    };
    let name = session.id.clone().unwrap_or_else(|| name.to_owned());
    let after = status(&here.again(), &name, Depth::Glance).ok().map(|found| found.session);
    Ok(Certificate { schema: SCHEMA, session: after.unwrap_or(session), already: false, deaths })
}

/// Names of live sessions, of these groups or all.
pub(crate) fn live(here: &Here, groups: &[String]) -> Vec<String> {
    let ask = list::Ask {
        agents: Vec::new(),
        history: History::Skip,
        depth: Depth::Glance,
        filter: Filter { groups: groups.to_vec(), ..Filter::default() },
        order: Order::Attention,
        limit: None,
    };
    let live = list::list(here, &ask).sessions.into_iter();
    // A group was given by whoever launched: what a server runs of it is meant too.
    let meant = |session: &Session| !session.shared || !groups.is_empty();
    let live = live.filter(|session| session.live && meant(session));
    live.filter_map(|session| session.id.or(session.pid.map(|pid| format!("pid:{pid}")))).collect()
}

fn already(session: Session) -> Result<Certificate, Error> {
    match (session.state, &session.reason) {
        (StateName::Unknown, Some(why)) => {
            Err(refuse(&session, &format!("nobody can say who has it: {why}"))
                .hint("`agentctl explain` says what was seen"))
        }
        _ => Ok(Certificate { schema: SCHEMA, session, already: true, deaths: Vec::new() }),
    }
}

fn refuse(session: &Session, why: &str) -> Error {
    let id = session.id.clone().unwrap_or_else(|| "the session".to_owned());
    Error::new(Kind::Refused, format!("cannot stop {id}: {why}"))
}

/// No process is signalled that serves others, or that only may be the right one.
fn may_stop(session: &Session, name: &str, manner: Manner) -> Result<(), Error> {
    if session.shared {
        let pid = session.pid.unwrap_or_default();
        return Err(refuse(session, &format!("process {pid} serves other sessions too"))
            .hint("interrupt it where it is shown; ending the process would end them all"));
    }
    let inferred = session.because.iter().any(|because| because.rule == Rule::Inferred);
    if inferred && !manner.force {
        return Err(refuse(session, "only an inference says which process has it").hint(format!(
            "`agentctl explain {name}` shows it; use --force if it is the right one"
        )));
    }
    Ok(())
}

fn by_signal(
    here: &Here,
    agent: &dyn Agent,
    session: &Session,
    manner: Manner,
) -> Result<Vec<Death>, Error> {
    let mut holders: Vec<ProcKey> = match session.processes.is_empty() {
        true => session.process.iter().cloned().collect(),
        false => session.processes.clone(),
    };
    holders.extend(launcher(here, session).filter(|key| !holders.contains(key)));
    let signals = match manner.force {
        true => &[Signal::Kill],
        false => agent.ends_by(session.kind),
    };
    let mut deaths = Vec::new();
    for key in &holders {
        let receipt = written(session, key);
        match end(key, signals, manner.grace) {
            Err(Refused::Gone) if !deaths.is_empty() => {} // it went with the first
            Ok(all) => deaths.extend(all.into_iter().map(|death| Death {
                process: death.key,
                comm: death.comm,
                signal: match &death.how {
                    How::By(signal, _) => Some(signal.name().to_owned()),
                    How::Followed | How::Survived(_) => None,
                },
                survived: match death.how {
                    How::Survived(why) => Some(why),
                    How::By(..) | How::Followed => None,
                },
            })),
            Err(why) => {
                receipt.map(fs::remove_file);
                return Err(refuse(session, &why.to_string())
                    .hint("run `agentctl status` to see how it ended"));
            }
        }
    }
    Ok(deaths)
}

/// What we started to start the agent: npm has a program above it, which goes a moment after it.
fn launcher(here: &Here, session: &Session) -> Option<ProcKey> {
    let launch = session.launch_id.as_ref()?;
    let receipt = here.host().launches().iter().find(|one| one.launch == *launch)?;
    receipt.process.clone()
}

/// Our receipt, so that what leaves no trace of an end on purpose is not taken for a crash.
fn written(session: &Session, key: &ProcKey) -> Option<PathBuf> {
    let stop = Stopped {
        schema: RECEIPT,
        agent: session.agent.clone(),
        session: session.id.clone()?,
        process: key.clone(),
        at: Timestamp::now(),
    };
    stopped(&places::state()?, &stop).ok()
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
    let said = Command::new(&program).args(words).stdin(Stdio::null()).output();
    let said = said
        .map_err(|why| refuse(session, &format!("{} cannot be run: {why}", program.display())))?;
    if !said.status.success() {
        let line = format!("{} {}", agent.card().binary, words.join(" "));
        return Err(refuse(session, &format!("`{line}` ended with {}", said.status)));
    }
    let key = session.process.clone();
    let until = Instant::now() + manner.grace;
    let gone = |key: &ProcKey| here.again().host().is_over(key);
    while key.as_ref().is_some_and(|key| !gone(key)) && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
    let death = |key: ProcKey| Death {
        survived: (!gone(&key)).then(|| format!("it lives {:?} later", manner.grace)),
        process: key,
        comm: agent.card().binary.to_owned(),
        signal: None,
    };
    Ok(key.map(death).into_iter().collect())
}

/// Which of its own words end a session that the agent's supervisor runs.
trait StopsBy {
    fn stops_by(&self, session: &Session) -> Option<Vec<String>>;
}

impl StopsBy for &'static dyn Agent {
    fn stops_by(&self, session: &Session) -> Option<Vec<String>> {
        let background = session.kind == Some(Role::Background);
        self.card().stop_word.filter(|_| background).and_then(|word| {
            let short = session.id.as_ref()?.get(..8)?;
            Some(vec![word.to_owned(), short.to_owned()])
        })
    }
}
