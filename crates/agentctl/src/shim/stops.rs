//! Receipts of stops.

use crate::{
    host::{STOPS, stop_name},
    write::{make_dir, whole},
};
use agentctl_core::{
    ident::ProcKey,
    receipt::{SCHEMA, Stopped},
};
use jiff::Timestamp;
use std::{
    io,
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
