//! What the program does: observe, act, and observe again. Returns values, prints nothing;
//! only a list hands its answer on, to be shown by whichever thread is in time.

pub(crate) mod attach;
pub(crate) mod budgets;
mod command;
pub(crate) mod compare;
pub(crate) mod context;
pub(crate) mod deadlines;
pub(crate) mod decide;
pub(crate) mod diff;
mod dirs;
pub(crate) mod doctor;
pub(crate) mod events;
mod exact;
mod fifo;
pub(crate) mod fuses;
pub(crate) mod gauges;
mod here;
mod hold;
pub(crate) mod hook;
mod interrupt;
pub(crate) mod launch;
pub(crate) mod list;
pub(crate) mod locks;
pub(crate) mod logs;
mod observe;
pub(crate) mod prune;
pub(crate) mod send;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod wait;
pub(crate) mod watch;
pub(crate) mod worktree;

pub(crate) use here::Here;
pub(crate) use observe::absolute;
