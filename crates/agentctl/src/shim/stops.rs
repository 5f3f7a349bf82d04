//! Receipts of stops.

use crate::{
    host::{STOPS, stop_name},
    write::{make_dir, whole},
};
use agentctl_core::receipt::Stopped;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Writes down that a process is stopped on purpose, and where.
pub(crate) fn stopped(state: &Path, stop: &Stopped) -> io::Result<PathBuf> {
    let dir = state.join(STOPS);
    make_dir(&dir)?;
    let path = dir.join(stop_name(&stop.process));
    whole(&path, stop).map(|()| path)
}
