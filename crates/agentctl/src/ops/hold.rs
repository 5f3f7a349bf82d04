//! Halts a session where it is, and lets it go on: its processes, and all that they started.

use super::{Here, exact, stop};
use crate::{
    error::{Error, Kind},
    host::{self, Refused},
};
use agentctl_core::{evidence::Role, ident::ProcKey, wire::Session};
use std::{
    thread,
    time::{Duration, Instant},
};

/// How long the kernel may take to halt a process, or to let it go on.
const HEEDED: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(10);

/// Halts this very session, if it lives.
pub(super) fn hold(here: &Here, session: &Session) -> Result<(), Error> {
    let seen = here.again();
    let session = exact::again(&seen, session)?;
    if !session.live {
        return Ok(());
    }
    if session.shared || session.kind == Some(Role::Server) {
        let why = "its process has other sessions too, or will have";
        return Err(refuse("hold", &session, why).hint("`stop` ends its turn alone"));
    }
    if let Some((why, hint)) = stop::why_not(seen.host(), &session, &stop::name_of(&session), false)
    {
        return Err(refuse("hold", &session, &why).hint(hint));
    }
    let held = each(&session, "hold", host::hold).and_then(|()| settle(here, &session, true));
    held.inspect_err(|_| {
        // Half of it halted helps nobody; what somebody else had halted stays so.
        if !session.halted {
            let _ = each(&session, "release", host::release);
        }
    })
}

/// Lets it go on. What is not halted is as it should be.
pub(super) fn release(here: &Here, session: &Session) -> Result<(), Error> {
    each(session, "release", host::release)?;
    settle(here, session, false)
}

fn each(
    session: &Session,
    what: &str,
    act: fn(&ProcKey) -> Result<(), Refused>,
) -> Result<(), Error> {
    let mut failed = None;
    for key in stop::holders(session) {
        match act(&key) {
            Ok(()) | Err(Refused::Gone) => {}
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    failed.map_or(Ok(()), |why| Err(refuse(what, session, &why.to_string())))
}

/// Waits until the kernel shows it.
fn settle(here: &Here, session: &Session, halted: bool) -> Result<(), Error> {
    let until = Instant::now() + HEEDED;
    loop {
        let now = here.again();
        let table = now.host().table().map_err(|why| Error::new(Kind::Io, why.0))?;
        let is_so = |key: &ProcKey| {
            let own = table.process(key.pid).filter(|own| table.key(own) == *key);
            own.is_none_or(|own| own.zombie || own.halted == halted)
        };
        if stop::holders(session).iter().all(is_so) {
            return Ok(());
        }
        if Instant::now() >= until {
            let what = if halted { "hold" } else { "release" };
            return Err(refuse(what, session, "its process does not heed that"));
        }
        thread::sleep(TICK);
    }
}

fn refuse(what: &str, session: &Session, why: &str) -> Error {
    Error::new(Kind::Refused, format!("cannot {what} {}: {why}", stop::name_of(session)))
}
