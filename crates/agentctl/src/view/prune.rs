//! What was removed, as people read it.

use super::words;
use agentctl_core::wire::Pruned;
use std::io::{self, BufWriter, Write};

/// A line for each file, and how many there were.
pub(crate) fn report(pruned: &Pruned, legacy: bool) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let what = if pruned.dry_run { "would remove" } else { "removed" };
    for one in &pruned.removed {
        writeln!(out, "{what} {}: {}", words::directory(Some(&one.path)), one.why)?;
    }
    out.flush()?;
    let mut notes = io::stderr().lock();
    match (pruned.removed.len(), pruned.dry_run && legacy) {
        (0, _) => writeln!(notes, "nothing to remove"),
        (_, true) => writeln!(notes, "`agentctl prune --legacy --yes` removes it"),
        (count, false) => writeln!(notes, "{what} {count} in all"),
    }
}
