//! Ends the turn of a session that shares its process with others, by the agent's own call.

use super::{
    Here, exact, status,
    stop::{name_of, refuse},
};
use crate::error::Error;
use agentctl_core::{
    control::{Request, Unheard},
    wire::{Asked, Session, StateName},
};
use std::{
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);
/// A server may be busy, and answers before it has ended anything. OpenClaw's 2026.9.6 answers nobody for
/// many seconds on a slow machine.
const LEAST: Duration = Duration::from_secs(30);

/// The session once its turn is over, and what was asked for that; `None` where its process takes no
/// such call.
pub(super) fn interrupt(
    here: &Here,
    session: &Session,
    grace: Duration,
) -> Result<Option<(Session, Asked)>, Error> {
    let seen = here.again();
    let held = status::held(&seen, &name_of(session))?;
    if (&held.session.agent, &held.session.id) != (&session.agent, &session.id) {
        return Err(refuse(session, "nobody knows it any more"));
    }
    let session = &held.session;
    let (Some(id), Some(process)) = (&session.id, &session.process) else { return Ok(None) };
    let target = held.target(id, process);
    match held.agent.control(seen.host(), &target, Request::Interrupt) {
        Ok(()) | Err(Unheard::Silent(_)) => {} // what it does then is seen
        Err(Unheard::NoChannel) => return Ok(None),
        Err(why @ (Unheard::Refused(_) | Unheard::Failed(_))) => {
            return Err(refuse(session, &why.to_string()));
        }
    }
    let until = Instant::now() + grace.max(LEAST);
    loop {
        let now = exact::again(&here.again(), session)?;
        match now.state {
            StateName::Working | StateName::Waiting | StateName::Unknown => {}
            StateName::Idle
            | StateName::Done
            | StateName::Failed
            | StateName::Stopped
            | StateName::Died => {
                let asked = Asked {
                    call: held.agent.interrupts_by().to_owned(),
                    process: Some(process.clone()),
                    before: session.state,
                    after: now.state,
                };
                return Ok(Some((now, asked)));
            }
        }
        if Instant::now() >= until {
            return Err(refuse(session, &format!("it was told to, and is {}", now.state.name()))
                .hint(format!("`agentctl explain {id}` says what was seen")));
        }
        thread::sleep(TICK);
    }
}
