//! Runs the long chaos, and makes a page of its figures.

use super::{
    kills::{head, page_at, written, wrong},
    table::Head,
};
use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write, path::Path};

/// The variable that names the file in which the chaos leaves its figures.
const PROOF: &str = "AGENTCTL_PROOF_CHAOS";
/// How much of what is wrong is shown, and how much of each.
const SHOWN: (usize, usize) = (20, 1200);

/// What the chaos leaves.
#[derive(Debug, Deserialize)]
struct Figures {
    seed: u64,
    seconds: u64,
    sequences: u64,
    sessions: u64,
    /// Done, and not done.
    steps: BTreeMap<String, [u64; 2]>,
    checks: u64,
    wrong: Vec<String>,
}

/// Ten minutes, or as long as `AGENTCTL_CHAOS_SECONDS` says, and the page in `docs/proof`.
pub(super) fn run(root: &Path) -> Outcome<()> {
    let (passed, text) = written(root, "test(chaos_for_long)", PROOF, true)?;
    let figures: Figures = serde_json::from_str(&text)
        .map_err(|why| Failure::new(format!("the chaos left no figures: {why}")))?;
    page_at(root, "chaos.md", &page(&head(root)?, &figures))?;
    if passed { Ok(()) } else { Err(Failure::new("the chaos found something wrong")) }
}

fn page(head: &Head, figures: &Figures) -> String {
    let steps: u64 = figures.steps.values().map(|[done, _]| done).sum();
    let mut page = format!(
        "# What is said in chaos\n\n\
         Made by `cargo xtask prove --full --part chaos` on {}, {}, after commit {}, with seed {}: {} wrong.\n\n\
         A sequence of steps follows from the seed. It is played in a world and a home of its own, with the real `agentctl` and \
         stand-ins of Claude Code, Codex and Pi that are real processes, and after each step this must be so: no session \
         is ended whose process lives, none alive whose process is gone; the process that is named is the right one; each \
         session is listed once, and nobody else; `list`, `status` and `explain` agree; the state is the very one, and \
         `unknown` only after a fault that explains it; labels, keys, locks, fuses and budgets are there, or the file that \
         was destroyed is named; `stop` does not succeed while the process lives; a key or a taken directory makes no second \
         session; a live session is not resumed; innocents sleep on; on a full disk only what was done is said to be; who \
         listens (`events`) is told no end of what lives, and in the end what is listed. A step for which nobody is there does nothing, and is \
         counted apart. How: `crates/agentctl/tests/agentctl/chaos`; what was found is in its `found.jsonl`.\n\n\
         | | |\n| --- | --- |\n| seconds | {} |\n| sequences | {} |\n| sessions | {} |\n| steps | {steps} |\n\
         | comparisons with the truth | {} |\n",
        head.date,
        head.kernel,
        head.commit,
        figures.seed,
        figures.wrong.len(),
        figures.seconds,
        figures.sequences,
        figures.sessions,
        figures.checks,
    );
    page.push_str("\n| step | done | not done |\n| --- | --- | --- |\n");
    for (step, [done, skipped]) in &figures.steps {
        let _ = writeln!(page, "| {step} | {done} | {skipped} |");
    }
    wrong(&mut page, &figures.wrong, SHOWN);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_shown() {
        let head = Head {
            date: "2026-01-02".to_owned(),
            kernel: "Linux 1".to_owned(),
            commit: "abc".to_owned(),
            versions: Vec::new(),
        };
        let figures = Figures {
            seed: 5,
            seconds: 9,
            sequences: 2,
            sessions: 3,
            steps: BTreeMap::from([("launch".to_owned(), [4, 1]), ("mend".to_owned(), [1, 0])]),
            checks: 8,
            wrong: vec!["one\n two".to_owned()],
        };
        let page = page(&head, &figures);
        assert!(page.contains("with seed 5: 1 wrong"), "{page}");
        assert!(page.contains("| steps | 5 |\n"), "{page}");
        assert!(page.contains("| launch | 4 | 1 |\n"), "{page}");
        assert!(page.ends_with("\n- one two\n"), "{page}");
    }
}
