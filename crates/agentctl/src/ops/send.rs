//! Brings a message to a live session, and says `delivered` only once the agent's own store shows it.

use super::{
    Here, fifo,
    status::{Held, held},
};
use crate::error::{Error, Kind};
use agentctl_core::{
    agent::Stub,
    control::{Request, Unheard},
    evidence::Role,
    host::Host,
    ident::ProcKey,
    proof::Source,
    receipt::Launched,
    wire::{Delivered, Delivery, Proof, SCHEMA, Session, StateName},
};
use std::{
    io, thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);

/// Sends a message; a proof of its coming is waited for no longer than `limit`.
pub(crate) fn send(
    here: &Here,
    name: &str,
    text: &str,
    limit: Duration,
) -> Result<Delivery, Error> {
    let seen = here.again();
    let held = held(&seen, name)?;
    let id = held.session.id.clone();
    let id = id.ok_or_else(|| refuse(&held.session, "it has no id yet".to_owned()))?;
    let process = holder(&held)?;
    let before = Before::of(seen.host(), &held, &id);
    deliver(seen.host(), &held, (&id, &process), text)?;
    let proof = before.proof(here, &id, text, limit);
    Ok(Delivery {
        schema: SCHEMA,
        session_id: id,
        agent: held.session.agent,
        delivery: if proof.is_some() { Delivered::Delivered } else { Delivered::Unconfirmed },
        proof: proof.map(|source| Proof { check: source.check(), source }),
    })
}

pub(super) fn refuse(session: &Session, why: impl Into<String>) -> Error {
    let id = session.id.as_deref().unwrap_or("the session");
    Error::new(Kind::Refused, format!("cannot reach {id}: {}", why.into()))
}

/// The one process that can take a message for it.
pub(super) fn holder(held: &Held) -> Result<ProcKey, Error> {
    let session = &held.session;
    let id = session.id.as_deref().unwrap_or("ID");
    match (&session.process, held.servers.as_slice()) {
        (Some(process), _) if session.live && session.processes.len() < 2 => Ok(process.clone()),
        _ if session.live => Err(refuse(session, "several processes have it loaded")
            .hint(format!("`agentctl status {id}` names them"))),
        _ if session.state == StateName::Unknown => {
            let why = session.reason.as_deref().unwrap_or("its state is unknown");
            Err(refuse(session, format!("nobody can say who has it: {why}"))
                .hint(format!("`agentctl explain {id}` says what was seen")))
        }
        // Idle in a server that names only what runs.
        (_, [server]) if held.agent.wakes() => Ok(server.clone()),
        _ => Err(refuse(session, "it has ended")
            .hint(format!("`agentctl resume {id} TEXT` goes on with it"))),
    }
}

/// By the input that we opened for it, else by what its process offers.
fn deliver(
    host: &dyn Host,
    held: &Held,
    (id, process): (&str, &ProcKey),
    text: &str,
) -> Result<(), Error> {
    let session = &held.session;
    if let Some(launch) = input_of(host, id, process)
        && let Some((line, input)) = held.agent.line(text).zip(launch.input.as_ref())
    {
        return fifo::put(input, &line).map_err(|why| {
            let refused = refuse(session, why.to_string());
            Error { hint: why.hint().map(str::to_owned), ..refused }
        });
    }
    match held.agent.control(host, &held.target(id, process), Request::Say(text)) {
        Ok(()) | Err(Unheard::Silent(_)) => Ok(()), // its store says whether it came
        Err(Unheard::NoChannel) => Err(unreachable(held, id)),
        Err(why @ (Unheard::Refused(_) | Unheard::Failed(_))) => {
            Err(refuse(session, why.to_string()).hint("nothing was sent"))
        }
    }
}

/// Our launch of this very session, if its process has the input open that we made for it: what its
/// tools start carries the launch's name too.
fn input_of<'a>(host: &'a dyn Host, id: &str, process: &ProcKey) -> Option<&'a Launched> {
    let open = host.open_files(process).ok()?;
    host.launches().iter().find(|launch| {
        let input = launch.input.as_ref().map(|input| host.resolve(input));
        let is_open = input.is_some_and(|input| open.iter().any(|file| file.path == input));
        launch.session.as_deref() == Some(id) && is_open
    })
}

/// Why nothing can be sent to it, and what to do instead.
fn unreachable(held: &Held, id: &str) -> Error {
    let title = held.agent.card().title;
    let (why, hint) = match held.session.kind {
        Some(Role::Headless) => (
            format!("{title} was started for one prompt and reads no more"),
            format!(
                "`agentctl wait {id}`, then `agentctl resume {id} TEXT`; `launch --steerable` starts \
                 one that can be sent to"
            ),
        ),
        Some(Role::Interactive) => (
            "it is on a terminal, and nothing is typed for a person".to_owned(),
            format!("`agentctl attach {id}` leads to it"),
        ),
        Some(Role::Background) => {
            ("its own supervisor has it".to_owned(), format!("`agentctl attach {id}` leads to it"))
        }
        Some(Role::Piped) => (
            "another program holds its input".to_owned(),
            "use the program that started it; `launch --steerable` starts one that can be sent to"
                .to_owned(),
        ),
        Some(Role::Server) => (
            format!("this server of {title} listens to nobody but who started it"),
            "use the program that started it".to_owned(),
        ),
        None => (
            "it was not launched with --steerable, and has no channel of its own".to_owned(),
            format!("`agentctl attach {id}` leads to its terminal, if it has one"),
        ),
    };
    refuse(&held.session, why).hint(hint)
}

/// Its store before the message, so that an earlier one with the same words is no proof.
struct Before<'a> {
    held: &'a Held,
    /// Where its record ended; none where that could not be read, and then nothing in it is a proof.
    mark: Option<u64>,
}

impl<'a> Before<'a> {
    fn of(host: &dyn Host, held: &'a Held, id: &str) -> Self {
        let mark = match record(host, held, id).map(|stub| held.agent.mark(host, &stub)) {
            Some(Ok(mark)) => Some(mark),
            Some(Err(why)) if why.kind() != io::ErrorKind::NotFound => None,
            Some(Err(_)) | None => Some(0), // a session that was never prompted has no record yet
        };
        Self { held, mark }
    }

    fn proof(&self, here: &Here, id: &str, text: &str, limit: Duration) -> Option<Source> {
        let mark = self.mark?;
        let until = Instant::now() + limit;
        loop {
            let seen = here.again();
            let host = seen.host();
            let shows =
                |stub: Stub| self.held.agent.shows(host, &stub, (mark, text)).ok().flatten();
            if let Some(proof) = record(host, self.held, id).and_then(shows) {
                return Some(proof);
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(TICK);
        }
    }
}

/// Its record, once it has one.
fn record(host: &dyn Host, held: &Held, id: &str) -> Option<Stub> {
    let found = || held.agent.find(host, &held.store, id, held.session.cwd.as_deref());
    held.stub.clone().or_else(|| found().into_iter().next())
}
