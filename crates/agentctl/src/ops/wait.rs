//! Waits until sessions are where somebody wants them, whoever started them.

use super::{Here, status::status};
use crate::{
    error::{Error, Kind},
    host::{Watch, is_watched},
};
use agentctl_core::{
    agent::Depth,
    receipt::Launched,
    wire::{OneSession, Problem, SCHEMA, Session, Sessions, StateName},
};
use std::time::{Duration, Instant};

/// However quiet it is, sessions are looked at again this often.
const LOOK: Duration = Duration::from_secs(1);
/// However busy it is, no more often than this.
const REST: Duration = Duration::from_millis(50);
/// An agent's parent needs about that long to write its end down.
const TICK: Duration = Duration::from_millis(5);

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// It has ended.
    Ended,
    /// It does nothing: idle, or ended.
    Idle,
    /// It waits for a person.
    Waiting,
}

/// What is waited for, of whom, and how long.
pub(crate) struct Ask {
    pub(crate) names: Vec<String>,
    pub(crate) until: Until,
    pub(crate) any: bool,
    pub(crate) timeout: Option<Duration>,
}

/// Waits, and returns the sessions as they are then, with what of them could not be read.
pub(crate) fn wait(here: &Here, ask: &Ask) -> Result<Sessions, Error> {
    let deadline = ask.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut names = ask.names.clone();
    loop {
        let seen = here.again();
        let look = |name: &String| status(&seen, name, Depth::Glance);
        let found: Vec<OneSession> = names.iter().map(look).collect::<Result<_, _>>()?;
        let (sessions, problems): (Vec<_>, Vec<_>) =
            found.into_iter().map(|one| (one.session, one.problems)).unzip();
        // A new session may begin as one does that was meant.
        for (name, session) in names.iter_mut().zip(&sessions) {
            if let Some(id) = session.id.as_ref().filter(|_| !name.contains('@')) {
                name.clone_from(id);
            }
        }
        let is_met = |session: &Session| ask.until.is_met(session);
        let met = match ask.any {
            true => sessions.iter().any(is_met),
            false => sessions.iter().all(is_met),
        };
        if met || sessions.iter().all(|session| ask.until.is_over(session)) {
            let mut problems: Vec<Problem> = problems.into_iter().flatten().collect();
            problems.sort();
            problems.dedup();
            let sessions = sessions.into_iter().map(Box::new).collect();
            return Ok(Sessions { schema: SCHEMA, sessions, orphans: Vec::new(), problems });
        }
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            let missing = sessions.iter().filter(|session| !is_met(session));
            return Err(late(missing, ask.timeout.unwrap_or_default()));
        }
        let left = left.unwrap_or(LOOK).min(LOOK);
        std::thread::sleep(REST.min(left));
        pause(&sessions, left.saturating_sub(REST));
    }
}

/// The same session once what is run at its end has ended too.
pub(crate) fn settled(here: &Here, session: Session) -> Session {
    let id = session.id.clone().unwrap_or_default();
    let mut last = session;
    while last.hooks.iter().any(|hook| hook.outcome.is_open()) {
        std::thread::sleep(REST);
        match status(&here.again(), &id, Depth::Glance) {
            // Somebody may go on with it.
            Ok(found) if found.session.launch_id == last.launch_id => last = found.session,
            Ok(_) | Err(_) => break,
        }
    }
    last
}

/// Of sessions that have ended: how their processes did is not known, though we launched them.
pub(crate) fn unwitnessed<'s>(
    here: &Here,
    sessions: impl IntoIterator<Item = &'s Session>,
) -> Vec<Problem> {
    let until = Instant::now() + LOOK;
    let ended = sessions.into_iter().filter(|session| Until::Ended.is_met(session));
    ended.filter_map(|session| lost_exit(here, session, until)).collect()
}

/// As long as its parent lives, that one may be about to write it down. Once it is gone nobody will.
fn lost_exit(here: &Here, session: &Session, until: Instant) -> Option<Problem> {
    let log = session.log.as_ref().filter(|_| session.exit_code.is_none())?;
    let exit = log.with_extension("exit");
    let is_late = loop {
        match (exit.exists(), is_watched(log)) {
            (true, true) => return None,
            (_, false) => break false,
            (false, true) if Instant::now() > until => break true,
            (false, true) => std::thread::sleep(TICK),
        }
    };
    let seen = here.again();
    let own = |launch: &&Launched| session.launch_id.as_ref() == Some(&launch.launch);
    let launch = seen.host().launches().iter().find(own)?;
    // Who went on with another session has not exited.
    let is_over = launch.process.as_ref().is_some_and(|process| seen.host().is_over(process));
    let is_lost = launch.exit.is_none() && is_over;
    let message = match is_late {
        true => "its exit code is not written down yet, though its parent lives",
        false => {
            "its exit code is not known: its parent was killed, or had no room to write it down"
        }
    };
    is_lost.then(|| Problem {
        agent: session.agent.clone(),
        path: Some(exit),
        message: message.to_owned(),
    })
}

impl Until {
    /// It is there.
    pub(crate) fn is_met(self, session: &Session) -> bool {
        let ended = !session.live && session.state != StateName::Unknown;
        match self {
            Self::Ended => ended,
            Self::Idle => ended || session.state == StateName::Idle,
            Self::Waiting => session.state == StateName::Waiting,
        }
    }

    /// It is there, or can never be.
    fn is_over(self, session: &Session) -> bool {
        self.is_met(session) || Self::Ended.is_met(session)
    }
}

fn late<'a>(missing: impl Iterator<Item = &'a Session>, timeout: Duration) -> Error {
    let line = |session: &Session| {
        format!("  {} is {}", session.id.as_deref().unwrap_or("it"), session.state.name())
    };
    let lines: Vec<String> = missing.map(line).collect();
    Error::new(Kind::TimedOut, format!("not there after {timeout:?}:\n{}", lines.join("\n")))
        .hint("they go on; wait again, or `agentctl stop` them")
}

/// Until something that was seen changes, or the time is up.
fn pause(sessions: &[Session], time: Duration) {
    let files: Vec<_> = sessions.iter().filter_map(|session| session.source.clone()).collect();
    match Watch::new(&files) {
        Ok(watch) => {
            for key in sessions.iter().filter_map(|session| session.process.as_ref()) {
                let _ = watch.process(key); // it is gone: the next look sees that
            }
            let _ = watch.next(Some(time));
        }
        Err(_) => std::thread::sleep(time),
    }
}
