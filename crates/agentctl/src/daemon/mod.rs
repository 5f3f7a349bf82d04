//! What must run while nobody looks: fuses and deadlines are kept, and whoever asks is told.
//!
//! It knows nothing that is lost when it is killed: fuses and receipts are on disk, its cursor is a cache, and the
//! kernel gives its lock back. No command needs it, and none asks it anything but `agentctl daemon`.
//!
//! Whoever is told what happens is a [`watch::Sink`], called with each batch of events, in their order, by one thread.
//! The cursor is written down once all have kept what they are to keep: after a kill they are told again, under
//! the same ids. No sink waits for the network.

mod answer;
mod budgets;
mod client;
mod control;
mod due;
mod figures;
mod hub;
mod install;
mod lines;
mod lock;
mod log;
mod mail;
mod past;
mod rpc;
mod run;
mod server;
mod shared;
mod watch;

pub(crate) use control::{Ended, Started, restart, runs, start, status, stop};
pub(crate) use figures::Figures;
pub(crate) use install::{Installed, Supervisor, install, left_out, text, uninstall};
pub(crate) use past::answer;
use rpc::{PROTOCOL, VERSION};
pub(crate) use run::{Manner, run};
