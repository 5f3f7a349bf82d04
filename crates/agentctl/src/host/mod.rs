//! The real outside: files, the process table, pidfds, and waiting for a change.
//!
//! May read anything and signal through a grip on a process. Knows no agent by name and interprets nothing it
//! reads. All that depends on the operating system stands in this room.

mod databases;
mod end;
mod files;
mod folder;
mod grip;
mod hold;
mod kept;
#[cfg(target_os = "linux")]
mod linux;
mod listen;
mod machine;
mod names;
mod peer;
#[cfg(target_os = "linux")]
mod pidfd;
mod portable;
mod put_off;
mod receipts;
mod servers;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use end::{Death, How, end};
pub(crate) use files::Disk;
pub(crate) use grip::{Grip, Refused, Waited, key_of};
pub(crate) use hold::{hold, release};
#[cfg(target_os = "linux")]
pub(crate) use linux::Proc;
pub(crate) use listen::Listening;
pub(crate) use machine::{Machine, Native};
pub(crate) use names::{launch_name, stop_name};
pub(crate) use peer::{dial, other_end};
#[cfg(target_os = "linux")]
use pidfd::Handle;
pub(crate) use portable::Portable;
pub(crate) use put_off::PutOff;
pub(crate) use receipts::{LAUNCHES, Receipts, STOPS, is_watched, one};
pub(crate) use servers::Patience;
pub(crate) use watch::{Change, Part, Reach, Watch};
