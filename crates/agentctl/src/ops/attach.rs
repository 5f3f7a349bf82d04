//! Where a session can be seen and typed to, and the command that leads there.

use super::{
    Here,
    send::refuse,
    status::{Held, held},
};
use crate::error::Error;
use agentctl_core::{
    control::Target,
    evidence::Role,
    host::{Host, Table},
    ident::ProcKey,
    wire::{Attach, SCHEMA},
};
use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

/// The variable by which tmux tells what runs in it of its server.
const TMUX: &str = "TMUX";

/// The command that puts a person where the session lives.
pub(crate) fn attach(here: &Here, name: &str) -> Result<Attach, Error> {
    let seen = here.again();
    let held = held(&seen, name)?;
    let session = &held.session;
    let id = session.id.clone().unwrap_or_else(|| name.to_owned());
    if !session.live {
        return Err(refuse(session, "it has ended")
            .hint(format!("`agentctl resume {id} TEXT` goes on with it")));
    }
    let process = session.process.as_ref();
    let process = process.ok_or_else(|| refuse(session, "no process of it can be seen"))?;
    let host = seen.host();
    let found = natively(host, &held, process).or_else(|| pane(host, process));
    let argv = found.ok_or_else(|| nowhere(host, &held, process, &id))?;
    Ok(Attach { schema: SCHEMA, session_id: id, agent: session.agent.clone(), argv })
}

/// By the agent's own command.
fn natively(host: &dyn Host, held: &Held, process: &ProcKey) -> Option<Vec<String>> {
    let session = &held.session;
    let (id, cwd) = (session.id.as_deref()?, session.cwd.as_deref());
    let target = Target { id, store: &held.store, process, cwd };
    let words = held.agent.attaches(host, &target, session.kind)?;
    Some([held.agent.card().binary.to_owned()].into_iter().chain(words).collect())
}

/// By tmux, if the process runs in a pane of its.
fn pane(host: &dyn Host, process: &ProcKey) -> Option<Vec<String>> {
    let table = host.table().ok()?;
    if !table.process(process.pid)?.tty {
        return None; // it was started there, and has left
    }
    let mut env = host.env(process, &[TMUX]).ok()?;
    let socket = server(&env.remove(TMUX)?.into_string().ok()?)?;
    let list = ["list-panes", "-a", "-F", "#{pane_pid} #{pane_id}"];
    let said = Command::new("tmux").arg("-S").arg(&socket).args(list).stdin(Stdio::null()).output();
    let said = String::from_utf8(said.ok()?.stdout).ok()?;
    let up = ancestors(table, process.pid);
    let pane = said.lines().find_map(|line| {
        let (pid, pane) = line.split_once(' ')?;
        up.contains(&pid.parse().ok()?).then(|| pane.to_owned())
    })?;
    // A client that is there already is led on; another would be one inside the other.
    let inside = std::env::var(TMUX).ok().and_then(|here| server(&here)) == Some(socket.clone());
    let verb = if inside { "switch-client" } else { "attach-session" };
    let socket = socket.to_string_lossy().into_owned();
    Some(["tmux", "-S", &socket, verb, "-t", &pane].map(str::to_owned).to_vec())
}

/// The socket, the first of three fields.
fn server(variable: &str) -> Option<PathBuf> {
    variable.split(',').next().filter(|path| path.starts_with('/')).map(PathBuf::from)
}

/// A process, its parent, and so on.
fn ancestors(table: &Table, pid: u32) -> Vec<u32> {
    let mut up = vec![pid];
    while let Some(process) = up.last().and_then(|pid| table.process(*pid)) {
        if process.parent < 2 || up.contains(&process.parent) {
            break;
        }
        up.push(process.parent);
    }
    up
}

fn nowhere(host: &dyn Host, held: &Held, process: &ProcKey, id: &str) -> Error {
    let session = &held.session;
    let tty = host.table().ok().and_then(|table| Some(table.process(process.pid)?.tty));
    match (tty, session.kind) {
        (Some(true), _) => {
            let why = format!("process {} is on a terminal that is not tmux's", process.pid);
            refuse(session, why).hint("look for the window it was started in")
        }
        (_, Some(Role::Server)) => refuse(session, "it runs in a server that shows nothing").hint(
            format!("`agentctl logs -f {id}` shows what it says; `agentctl send` reaches it"),
        ),
        _ => refuse(session, "it has no terminal")
            .hint(format!("`agentctl logs -f {id}` shows what it says")),
    }
}
