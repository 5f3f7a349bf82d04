//! What cannot be done to OpenClaw by starting or ending a process.

use crate::{
    evidence::Role,
    launch::{Ask, Plan, Signal},
};

/// None of its variables changes it.
pub(super) static INHERITED: &[&str] = &[];

pub(super) fn plan(_: &Ask<'_>) -> Result<Plan, String> {
    Err("OpenClaw runs sessions in its gateway; start one with `openclaw agent`".to_owned())
}

/// The gateway serves all sessions: ending it ends none of them alone.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[]
}
