//! Runs the long soak, and makes a page of its figures.

use super::{
    kills::{head, page_at, written, wrong},
    table::Head,
};
use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::{fmt::Write, path::Path};

/// The variable that names the file in which the soak leaves its figures.
const PROOF: &str = "AGENTCTL_PROOF_SOAK";
/// The agents that take part.
const AGENTS: [&str; 4] = ["claude-code", "codex", "opencode", "pi"];
/// How much of what is wrong is shown, and how much of each.
const SHOWN: (usize, usize) = (20, 300);

/// What the soak leaves.
#[derive(Debug, Deserialize)]
struct Figures {
    seed: u64,
    rows: Vec<(String, String)>,
    wrong: Vec<String>,
}

/// Ten minutes, and the page in `docs/proof`.
pub(super) fn run(root: &Path) -> Outcome<()> {
    let (passed, text) = written(root, "test(soak_of_real_agents)", PROOF, true)?;
    let figures: Figures = serde_json::from_str(&text)
        .map_err(|why| Failure::new(format!("the soak left no figures: {why}")))?;
    page_at(root, "soak.md", &page(&head(root)?, &figures))?;
    if passed { Ok(()) } else { Err(Failure::new("the soak found something wrong")) }
}

fn page(head: &Head, figures: &Figures) -> String {
    let of = |agent: &&str| {
        let known = head.versions.iter().find(|(name, _)| name == agent);
        known.map(|(name, version)| format!("{name} {version}"))
    };
    let agents: Vec<String> = AGENTS.iter().filter_map(of).collect();
    let mut page = format!(
        "# What is told while daemons are killed\n\n\
         Made by `cargo xtask prove --full --part soak` on {}, {}, after commit {}, with seed {}: {} wrong.\n\n\
         Stand-ins and real agents ({}) come and go, launched and by hand; they are ended by their last answer, by \
         `agentctl stop`, by SIGKILL and by SIGTERM; fuses are set, put off and taken away; and the daemon is killed at \
         random. A subscriber of the daemon and a chain of `agentctl events` are cut off at random and go on from their \
         last cursor; a webhook fails at random. Then each exit that a pidfd told the driver must have been told once, by \
         one id, after it happened and with the right state; each start once; every turn that a stand-in wrote down; every \
         event must go on from the state before it; each fuse must have been told and done; a webhook must have taken it \
         all; and `list` must say what was told last. How: `crates/agentctl/tests/agentctl/soak`.\n\n\
         | | |\n| --- | --- |\n",
        head.date,
        head.kernel,
        head.commit,
        figures.seed,
        figures.wrong.len(),
        agents.join(", "),
    );
    for (what, number) in &figures.rows {
        let _ = writeln!(page, "| {what} | {number} |");
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
            versions: vec![("pi".to_owned(), "1.0".to_owned())],
        };
        let rows = vec![("sessions".to_owned(), "7".to_owned())];
        let page = page(&head, &Figures { seed: 5, rows, wrong: vec!["one\n two".to_owned()] });
        assert!(page.contains("with seed 5: 1 wrong"), "{page}");
        assert!(page.contains("agents (pi 1.0) come"), "{page}");
        assert!(page.contains("| sessions | 7 |\n"), "{page}");
        assert!(page.ends_with("\n- one two\n"), "{page}");
    }
}
