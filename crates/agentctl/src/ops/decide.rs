//! Answers for a person what an agent asks leave for, where the agent has a call for it.

use super::{
    Here,
    send::{holder, refuse},
    status::{self, held},
};
use crate::error::Error;
use agentctl_core::{
    agent::Depth,
    control::{Question, Request, Unheard},
    evidence::Need,
    host::Host,
    wire::{Decided, Decision, SCHEMA, Session, StateName},
};
use std::{
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);
/// How long the agent may take to be seen to go on.
const LIMIT: Duration = Duration::from_secs(10);

/// Allows or denies once what a session asks first.
pub(crate) fn decide(here: &Here, name: &str, decided: Decided) -> Result<Decision, Error> {
    let seen = here.again();
    let held = held(&seen, name)?;
    let session = &held.session;
    let id = asking(session)?;
    let process = holder(&held)?;
    let target = held.target(id, &process);
    let asks = |host: &dyn Host| held.agent.asks(host, &target);
    let unheard = |why: Unheard| {
        refuse(session, why.to_string()).hint(match why {
            Unheard::NoChannel => format!("`agentctl attach {id}` leads to where it asks"),
            Unheard::Refused(_) | Unheard::Silent(_) | Unheard::Failed(_) => {
                format!("nothing was answered; `agentctl status {id}` says whether it still asks")
            }
        })
    };
    let question = asks(seen.host()).map_err(unheard)?.into_iter().next();
    let question = question.ok_or_else(|| unheard(Unheard::Refused("it asks no more".into())))?;
    let request = match decided {
        Decided::Approved => Request::Allow(&question.id),
        Decided::Denied => Request::Deny(&question.id),
    };
    match held.agent.control(seen.host(), &target, request) {
        Ok(()) | Err(Unheard::Silent(_)) => {} // what it does then is seen
        Err(why @ (Unheard::NoChannel | Unheard::Refused(_) | Unheard::Failed(_))) => {
            return Err(unheard(why));
        }
    }
    let until = Instant::now() + LIMIT;
    loop {
        let again = here.again();
        let now = status::status(&again, id, Depth::Glance)?.session;
        let another = || asks(again.host()).is_ok_and(|asks| is_another(&asks, &question));
        let goes_on = now.state != StateName::Waiting || another();
        if goes_on || Instant::now() >= until {
            return Ok(Decision {
                schema: SCHEMA,
                session_id: id.to_owned(),
                agent: now.agent.clone(),
                decision: decided,
                request: question,
                goes_on,
                session: now,
            });
        }
        thread::sleep(TICK);
    }
}

/// It asks, and not for what was answered.
fn is_another(asks: &[Question], answered: &Question) -> bool {
    !asks.is_empty() && asks.iter().all(|one| one.id != answered.id)
}

/// The id of a session that asks for leave.
fn asking(session: &Session) -> Result<&str, Error> {
    let id = session.id.as_deref().ok_or_else(|| {
        refuse(session, "it has no id yet").hint("`agentctl list` shows it once it has one")
    })?;
    match (session.state, session.waiting_for) {
        (StateName::Waiting, Some(Need::Approval)) => Ok(id),
        (StateName::Waiting, Some(Need::Answer)) => {
            Err(refuse(session, "it waits for an answer in words, not for leave")
                .hint(format!("`agentctl attach {id}` leads to where it asks")))
        }
        (state, _) => {
            Err(refuse(session, format!("it asks for no approval; it is {}", state.name()))
                .hint(format!("`agentctl wait {id} --for waiting` returns once it asks")))
        }
    }
}
