//! Halts a process and what it started where they are, and lets them go on.

use super::{
    Grip, Refused,
    end::{Target, catch, grow, is_halted},
};
use agentctl_core::ident::ProcKey;

/// Halts it first, so that it starts nothing more, and then all below it. Halting twice changes nothing.
pub(crate) fn hold(key: &ProcKey) -> Result<(), Refused> {
    let grip = Grip::open(key)?;
    let before = is_halted(key);
    grip.halt()?;
    let below = below(key).inspect_err(|_| {
        // It alone halted would be half done; whoever was halted before stays so.
        if !before {
            let _ = grip.thaw();
        }
    });
    catch(&mut below?, key);
    Ok(())
}

/// Lets all below it go on, and then itself.
pub(crate) fn release(key: &ProcKey) -> Result<(), Refused> {
    let grip = Grip::open(key)?;
    for target in below(key)? {
        let _ = target.grip.thaw(); // it may be gone
    }
    grip.thaw()
}

fn below(key: &ProcKey) -> Result<Vec<Target>, Refused> {
    let mut below = Vec::new();
    grow(&mut below, key).map_err(|why| Refused::Untold(why.0))?;
    Ok(below)
}
