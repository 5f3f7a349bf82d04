//! What programs read: the shapes of `--json`. Fields are added, never renamed.

mod answers;
mod config;
mod control;
mod doctor;
mod fuses;
mod hooks;
mod launch;
mod locks;
mod prune;
mod session;
mod state;

pub use answers::{
    Asked, Certificate, Death, HookRun, Messages, OneSession, Orphan, Problem, Sessions, Stops,
    Unstopped,
};
pub use config::{Config, ConfigFile, ConfigFiles, FileState, Layer, Setting};
pub use control::{Attach, Decided, Decision, Delivered, Delivery, Proof};
pub use doctor::{Ability, Checkup, Doctor, Drift, Store};
pub use fuses::{Fuse, Fuses};
pub use hooks::{Hook, HookOutcome};
pub use launch::{
    DryRun, DryRuns, DrySlot, Failure, Launch, Launches, PlannedHook, PlannedTree, Slot,
};
pub use locks::{Lock, LockKind, Locks};
pub use prune::{Pruned, Swept};
pub use session::{Around, Because, Session};
pub use state::{StateName, Status};

/// The number of this set of shapes.
pub const SCHEMA: u32 = 1;
