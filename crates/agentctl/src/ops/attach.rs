//! Where a session can be seen and typed to, and the command that leads there.

mod panes;

use super::{
    Here,
    send::{holder, refuse},
    status::{Held, held},
};
use crate::error::Error;
use agentctl_core::{
    evidence::Role,
    host::{Env, Host},
    ident::ProcKey,
    wire::{Attach, SCHEMA},
};
use panes::Shown;

/// The command, and variables for it that are shown to nobody.
pub(crate) struct Way {
    pub(crate) attach: Attach,
    pub(crate) secrets: Env,
}

/// The command that puts a person where the session lives.
pub(crate) fn attach(here: &Here, name: &str) -> Result<Way, Error> {
    let seen = here.again();
    let held = held(&seen, name)?;
    let session = &held.session;
    let id = session.id.clone().unwrap_or_else(|| name.to_owned());
    let (process, role) = match (&session.process, session.live) {
        (Some(process), true) => (process.clone(), session.kind),
        (None, true) => return Err(refuse(session, "no process of it can be seen")),
        (_, false) => (holder(&held)?, Some(Role::Server)), // idle in a server
    };
    let host = seen.host();
    let shown = Shown::of(host, &process);
    let (argv, secrets) = natively(host, &held, &process, role)
        .or_else(|| Some((shown.as_ref()?.command()?, Env::new())))
        .ok_or_else(|| nowhere(&held, &process, shown.as_ref(), &id))?;
    let needs = secrets.keys().cloned().collect();
    let agent = session.agent.clone();
    Ok(Way { attach: Attach { schema: SCHEMA, session_id: id, agent, argv, needs }, secrets })
}

/// By the agent's own command, in the store that the process uses.
fn natively(
    host: &dyn Host,
    held: &Held,
    process: &ProcKey,
    role: Option<Role>,
) -> Option<(Vec<String>, Env)> {
    let (session, card) = (&held.session, held.agent.card());
    let target = held.target(session.id.as_deref()?, process);
    let leads = held.agent.attaches(host, &target, role)?;
    let own = |name: &String, value| std::env::var_os(name).as_ref() != Some(value);
    let env = |names| host.env(process, names).unwrap_or_default();
    let moved: Vec<String> = env(card.variables)
        .iter()
        .filter(|(name, value)| own(name, value))
        .map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        .collect();
    let before = (!moved.is_empty()).then(|| "env".to_owned());
    let words = before.into_iter().chain(moved).chain([card.binary.to_owned()]);
    Some((words.chain(leads.words).collect(), env(leads.secrets)))
}

fn nowhere(held: &Held, process: &ProcKey, shown: Option<&Shown<'_>>, id: &str) -> Error {
    let session = &held.session;
    if shown.is_some_and(Shown::is_beside_us) {
        let why = format!("process {} is in this very session of zellij", process.pid);
        return refuse(session, why).hint("go to its pane by keys");
    }
    match (shown.map(Shown::terminal), session.kind) {
        (Some(Some(terminal)), _) => {
            let place = terminal.display();
            let why =
                format!("process {} is on {place}, in no pane that can be shown", process.pid);
            refuse(session, why).hint(format!(
                "go to the window of {place}; from here `agentctl logs -f {id}` shows what it says"
            ))
        }
        (_, Some(Role::Server)) => refuse(session, "it runs in a server that shows nothing").hint(
            format!("`agentctl logs -f {id}` shows what it says; `agentctl send` reaches it"),
        ),
        (Some(None), _) => {
            refuse(session, format!("nobody can say where process {} is", process.pid))
                .hint(format!("`agentctl logs -f {id}` shows what it says"))
        }
        (None, _) => refuse(session, "it has no terminal")
            .hint(format!("`agentctl logs -f {id}` shows what it says")),
    }
}
