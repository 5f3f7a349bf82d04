//! Counts of now against those that are written down.

use super::callgrind::Part;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A rise by more than one of so many is a failure, and a fall by more is worth writing down.
const MOST: u64 = 20;
/// Functions that take less are not kept: a hundredth of their scenario.
const SMALLEST: u64 = 100;

/// What is kept of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    instructions: u64,
    allocations: u64,
    functions: BTreeMap<String, u64>,
}

/// Everything in `counts.json`: scenarios by name, such as `codex list`.
pub(super) type Counts = BTreeMap<String, Kept>;

impl From<Part> for Kept {
    fn from(part: Part) -> Self {
        let Part { instructions, allocations, mut functions } = part;
        functions.retain(|_, cost| *cost * SMALLEST >= instructions);
        Self { instructions, allocations, functions }
    }
}

/// What has changed for the worse, and what for the better.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) worse: Vec<String>,
    pub(super) better: Vec<String>,
}

/// Compares every scenario.
pub(super) fn changes(old: &Counts, new: &Counts) -> Changes {
    let mut changes = Changes::default();
    for (name, now) in new {
        let Some(was) = old.get(name) else {
            changes.worse.push(format!("{name}: not written down yet"));
            continue;
        };
        let figures = [
            ("instructions", was.instructions, now.instructions),
            ("allocations", was.allocations, now.allocations),
        ];
        for (of, was_so, is_so) in figures {
            let rise = is_so as f64 / was_so.max(1) as f64 - 1.0;
            let said = format!("{name}: {is_so} {of}, {:+.1} % (were {was_so})", rise * 100.0);
            if is_so * MOST > was_so * (MOST + 1) {
                changes.worse.push(format!("{said}; most of it in {}", grown(was, now)));
            } else if is_so * MOST < was_so * (MOST - 1) {
                changes.better.push(said);
            }
        }
    }
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    changes.worse.extend(gone.map(|name| format!("{name}: written down, and no longer counted")));
    changes
}

/// The function whose own work grew most.
fn grown(was: &Kept, now: &Kept) -> String {
    let growth = |(name, cost): (&String, &u64)| {
        let before = was.functions.get(name).copied().unwrap_or_default();
        (cost.saturating_sub(before), name.clone())
    };
    match now.functions.iter().map(growth).max() {
        Some((more, name)) if more > 0 => format!("{name} (+{more} instructions)"),
        _ => "functions that are too small to be kept".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Kept, changes};
    use std::collections::BTreeMap;

    fn kept(instructions: u64, allocations: u64, parse: u64) -> Kept {
        let functions = [("parse".to_owned(), parse), ("list".to_owned(), 300)];
        Kept { instructions, allocations, functions: functions.into_iter().collect() }
    }

    fn counts(all: &[(&str, Kept)]) -> Counts {
        all.iter().map(|(name, kept)| ((*name).to_owned(), kept.clone())).collect()
    }

    #[test]
    fn a_rise_of_more_than_a_twentieth_names_the_function() {
        let old = counts(&[("a", kept(1000, 10, 500)), ("b", kept(1000, 10, 500))]);
        let new = counts(&[("a", kept(1051, 10, 550)), ("b", kept(1050, 10, 550))]);
        let found = changes(&old, &new);
        let said =
            "a: 1051 instructions, +5.1 % (were 1000); most of it in parse (+50 instructions)";
        assert_eq!((found.worse, found.better), (vec![said.to_owned()], vec![]));
    }

    #[test]
    fn memory_asked_for_counts_too_and_a_fall_is_no_failure() {
        let old = counts(&[("a", kept(1000, 10, 500)), ("b", kept(1000, 10, 500))]);
        let new = counts(&[("a", kept(1000, 12, 500)), ("b", kept(900, 10, 400))]);
        let found = changes(&old, &new);
        assert!(found.worse[0].starts_with("a: 12 allocations, +20.0 %"), "{found:?}");
        assert_eq!((found.worse.len(), found.better.len()), (1, 1));
    }

    #[test]
    fn scenarios_come_and_go_by_hand_only() {
        let some = counts(&[("a", kept(1000, 10, 500))]);
        assert_eq!(changes(&BTreeMap::new(), &some).worse, ["a: not written down yet"]);
        let gone = "a: written down, and no longer counted";
        assert_eq!(changes(&some, &BTreeMap::new()).worse, [gone]);
    }
}
