//! What programs read: the shapes of `--json`. Fields are added, never renamed.

mod answers;
mod budgets;
mod changes;
mod config;
mod control;
mod daemon;
mod doctor;
mod event;
mod fuses;
mod hooks;
mod launch;
mod locks;
mod prune;
mod session;
mod stall;
mod state;
mod webhooks;
mod worktree;

pub use answers::{
    Asked, Certificate, Death, HookRun, Messages, OneSession, Orphan, Problem, Sessions, Stops,
    Unstopped,
};
pub use budgets::{Amounts, Budget, Budgets, Crossed, Overrun};
pub use changes::{ChangedFile, Changes, Compared, Comparison, Difference, Since};
pub use config::{Config, ConfigFile, ConfigFiles, FileState, Layer, Setting};
pub use control::{Attach, Decided, Decision, Delivered, Delivery, Proof};
pub use daemon::Daemon;
pub use doctor::{Ability, Checkup, Doctor, Drift, Store};
pub use event::{Event, EventKind};
pub use fuses::{Fuse, Fuses};
pub use hooks::{Hook, HookOutcome};
pub use launch::{DryRun, DryRuns, DrySlot, Failed, Failure, Launch, Launches, PlannedHook, Slot};
pub use locks::{Lock, LockKind, Locks};
pub use prune::{Pruned, Swept};
pub use session::{Around, Session};
pub use stall::{Doing, Stall};
pub use state::{StateName, Status};
pub use webhooks::{Webhook, WebhookRetries, WebhookTest, WebhookTests, Webhooks};
pub use worktree::{
    AtWork, Check, CleanProof, Cleaned, Cleaning, NewWorktree, Verdict, Worktree, Worktrees,
};

/// The number of this set of shapes.
pub const SCHEMA: u32 = 1;
