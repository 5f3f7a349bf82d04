//! The list of checks, and running them: the cheap ones first, all of them whatever they find.

use super::{licences, notes, report::Verdict, rooms, sizes, tools, tree::Tree};
use crate::{
    failure::{Failure, Outcome},
    generate,
};
use std::{path::Path, time::Instant};

type Check = (&'static str, fn(&Tree) -> Outcome<Verdict>);

/// Cheapest first, so that what is quickly known is quickly said.
const CHECKS: &[Check] = &[
    ("sizes", |tree| Ok(Verdict::Found(sizes::too_long(tree)))),
    ("headers", |tree| Ok(Verdict::Found(sizes::without_header(tree)))),
    ("rooms", |tree| Ok(Verdict::Found(rooms::crossings(tree)))),
    ("notes", |tree| Ok(Verdict::Found(notes::without_issue(tree)))),
    ("licences", |tree| licences::refused(tree).map(Verdict::Found)),
    ("generated", |tree| generate::stale(&tree.root).map(Verdict::Found)),
    ("spelling", tools::spelling),
    ("format", tools::format),
    ("lints", tools::lints),
];

/// Runs every check on the repository; any finding is a failure.
pub(crate) fn run(root: &Path) -> Outcome<()> {
    let tree = Tree::read(root)?;
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let start = Instant::now();
        let verdict = check(&tree);
        let took = start.elapsed().as_secs_f64();
        match verdict {
            Ok(Verdict::Found(findings)) if findings.is_empty() => {
                println!("ok {name} ({took:.1} s)")
            }
            Ok(Verdict::Found(findings)) => {
                println!("FAILED {name}: {} to mend", findings.len());
                findings.iter().for_each(|finding| println!("  {finding}"));
                failed.push(*name);
            }
            Ok(Verdict::Told) => {
                println!("FAILED {name}: see above");
                failed.push(*name);
            }
            // One check that cannot run does not hide what the others find.
            Err(why) => {
                println!("FAILED {name}: {why}");
                failed.push(*name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("checks failed: {}", failed.join(", "))))
    }
}
