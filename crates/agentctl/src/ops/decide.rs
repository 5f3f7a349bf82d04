//! Answers for a person what an agent asks leave for, where the agent has a call for it.

use super::{
    Here,
    send::{holder, refuse},
    status::{self, held},
};
use crate::error::Error;
use agentctl_core::{
    agent::Depth,
    control::{Request, Target, Unheard},
    evidence::Need,
    wire::{Decided, Decision, SCHEMA, StateName},
};
use std::{
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);
/// How long the agent may take to be seen to go on.
const LIMIT: Duration = Duration::from_secs(10);

/// Allows or denies once what a session waits for.
pub(crate) fn decide(here: &Here, name: &str, decided: Decided) -> Result<Decision, Error> {
    let seen = here.again();
    let held = held(&seen, name)?;
    let session = &held.session;
    let id = session.id.clone();
    let id = id.ok_or_else(|| refuse(session, "it has no id yet"))?;
    if session.state != StateName::Waiting || session.waiting_for != Some(Need::Approval) {
        let why = format!("it asks for no approval; it is {}", session.state.name());
        return Err(refuse(session, why));
    }
    let process = holder(&held)?;
    let request = match decided {
        Decided::Approved => Request::Allow,
        Decided::Denied => Request::Deny,
    };
    let target =
        Target { id: &id, store: &held.store, process: &process, cwd: session.cwd.as_deref() };
    held.agent.control(seen.host(), &target, request).map_err(|why| {
        let error = refuse(session, why.to_string());
        match why {
            Unheard::NoChannel => {
                error.hint(format!("`agentctl attach {id}` leads to where it asks"))
            }
            Unheard::Refused(_) | Unheard::Silent(_) | Unheard::Failed(_) => error,
        }
    })?;
    let until = Instant::now() + LIMIT;
    loop {
        let now = status::status(&here.again(), &id, Depth::Glance)?.session;
        let waits = now.state == StateName::Waiting;
        if !waits || Instant::now() >= until {
            return Ok(Decision {
                schema: SCHEMA,
                session_id: id,
                agent: now.agent.clone(),
                decision: decided,
                goes_on: !waits,
                session: now,
            });
        }
        thread::sleep(TICK);
    }
}
