//! Receipts of stops.

use crate::{
    host::{STOPS, one, stop_name},
    write::{make_dir, whole},
};
use agentctl_core::{
    ident::ProcKey,
    receipt::{Launched, SCHEMA, Stopped},
};
use jiff::Timestamp;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Writes down that a process of this agent's session is stopped on purpose now, and where.
pub(crate) fn stopped(
    state: &Path,
    (agent, session): (&str, &str),
    process: &ProcKey,
) -> io::Result<PathBuf> {
    let dir = state.join(STOPS);
    make_dir(&dir)?;
    let path = dir.join(stop_name(process));
    let stop = Stopped {
        schema: SCHEMA,
        agent: agent.to_owned(),
        session: session.to_owned(),
        process: process.clone(),
        at: Timestamp::now(),
    };
    whole(&path, &stop).map(|()| path)
}

/// We have stopped the session of this launch since.
pub(super) fn is_stopped(state: &Path, launch: &Launched) -> bool {
    let files = fs::read_dir(state.join(STOPS)).into_iter().flatten().flatten();
    let mut stops = files.filter_map(|file| one::<Stopped>(&file.path()));
    stops.any(|stop| {
        let same = Some(&stop.session) == launch.session.as_ref() && stop.agent == launch.agent;
        stop.schema == SCHEMA && same && stop.is_since(launch)
    })
}
