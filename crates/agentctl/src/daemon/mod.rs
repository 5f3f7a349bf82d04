//! What must run while nobody looks: fuses and deadlines are kept, and whoever asks is told.
//!
//! It knows nothing that is lost when it is killed: fuses and receipts are on disk, its cursor is a cache, and the
//! kernel gives its lock back. No command needs it, and none asks it anything but `agentctl daemon`.
//!
//! **Where others plug in.** [`watch::sinks`] makes the list of those who are told what happens. A sink is called
//! with each batch of events, in their order, by one thread; the cursor is written down once all have returned, so
//! that a sink which keeps what it was told (an outbox) before it returns misses nothing: after a kill it is told
//! again, under the same ids. A sink must not wait for the network, and what it cannot keep it tells by
//! [`shared::Shared::trouble`].

mod answer;
mod budgets;
mod client;
mod control;
mod due;
mod helper;
mod hub;
mod install;
mod lock;
mod log;
mod rpc;
mod run;
mod server;
mod shared;
mod watch;

pub(crate) use control::{Ended, Started, restart, start, status, stop};
pub(crate) use helper::answer as help;
pub(crate) use install::{Installed, Supervisor, install, text, uninstall};
pub(crate) use run::{Manner, run};

/// One runs for our directory of state.
pub(crate) fn runs() -> bool {
    crate::places::state().is_some_and(|state| lock::Lock::holder(&state).is_some())
}

/// The number of the language spoken on the socket. It changes only where an old client would misunderstand.
pub(crate) const PROTOCOL: u32 = 1;
/// This program's version.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
