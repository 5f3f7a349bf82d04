//! What programs read: the shapes of `--json`. Fields are added, never renamed.

mod answers;
mod control;
mod doctor;
mod event;
mod locks;
mod prune;
mod session;
mod state;

pub use answers::{
    Asked, Certificate, Death, DryRun, Launch, Messages, OneSession, Orphan, Problem, Sessions,
    Stops, Unstopped,
};
pub use control::{Attach, Decided, Decision, Delivered, Delivery, Proof};
pub use doctor::{Ability, Checkup, Doctor, Drift, Store};
pub use event::{Event, EventKind};
pub use locks::{Lock, LockKind, Locks};
pub use prune::{Pruned, Swept};
pub use session::{Around, Because, Session};
pub use state::{StateName, Status};

/// The number of this set of shapes.
pub const SCHEMA: u32 = 1;
