//! What was told of fuses, and what they did.

use super::{Soak, Told, about};
use crate::soak::fuses::runs;

/// Everything that is wrong with them.
pub(super) fn judge(soak: &Soak<'_>, told: &[Told]) -> Vec<String> {
    let done = runs(soak);
    let mut wrong = Vec::new();
    for fuse in soak.record.fuses() {
        let count = |kind: &str| {
            let of = |told: &&Told| told.event["type"] == kind && about(&told.event) == fuse.id;
            told.iter().filter(of).count()
        };
        let counts =
            ["set", "extended", "fired", "cancelled"].map(|kind| count(&format!("fuse.{kind}")));
        let (fired, cancelled) = (usize::from(!fuse.cancelled), usize::from(fuse.cancelled));
        if counts != [1, fuse.extended, fired, cancelled] {
            wrong.push(format!("{fuse:?} is told {counts:?} times"));
        }
        let ran = done.iter().filter(|id| **id == fuse.id).count();
        if (ran > 0) != (fuse.script && !fuse.cancelled) {
            wrong.push(format!("{fuse:?} was done {ran} times"));
        }
    }
    wrong
}
