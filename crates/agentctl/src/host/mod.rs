//! The real outside: files, the process table, pidfds, and waiting for a change.
//!
//! May read anything and signal through a pidfd. Knows no agent by name and interprets nothing it
//! reads. All that depends on the operating system stands in this room.

mod databases;
#[cfg(target_os = "linux")]
mod end;
mod files;
#[cfg(target_os = "linux")]
mod linux;
mod machine;
#[cfg(target_os = "linux")]
mod pidfd;
mod portable;
mod receipts;
mod servers;
#[cfg(test)]
mod tests;
mod watch;

#[cfg(target_os = "linux")]
pub(crate) use end::{Death, How, end};
pub(crate) use files::Disk;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Proc, Refused, key_of};
pub(crate) use machine::{Machine, Native};
#[cfg(target_os = "linux")]
pub(crate) use pidfd::{Handle, Waited};
pub(crate) use portable::Portable;
pub(crate) use receipts::{LAUNCHES, Receipts, STOPS, one, stop_name};
pub(crate) use servers::Patience;
pub(crate) use watch::{Change, Watch};
