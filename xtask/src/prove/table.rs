//! The page: who was killed, when, with which agent running, and whether the truth held.

use serde::Deserialize;
use std::{collections::BTreeSet, fmt::Write};

/// The agents of the full matrix, each with the command it is pinned as and how its version begins.
/// OpenClaw has no process of ours: its gateway runs its sessions.
pub(super) const AGENTS: [(&str, &str, &str); 8] = [
    ("stand-in", "", ""),
    ("claude-code", "claude", ""),
    ("codex", "codex", ""),
    ("opencode", "opencode", ""),
    ("pi", "pi", "1."),
    ("pi 0.73", "pi", "0.73"),
    ("gemini", "gemini", ""),
    ("copilot", "copilot", ""),
];
/// Victims as the tests name them, and in words.
const VICTIMS: [(&str, &str); 6] = [
    ("Caller", "`agentctl launch`"),
    ("Group", "its process group"),
    ("Terminal", "its terminal"),
    ("Shim", "the shim"),
    ("Agent", "the agent"),
    ("Daemon", "the daemon"),
];
/// Steps likewise.
const STEPS: [(&str, &str); 5] = [
    ("Exec", "before exec"),
    ("Id", "before the id"),
    ("Work", "while working"),
    ("Tool", "in a tool"),
    ("Exit", "at exit"),
];
const SIGNALS: [&str; 2] = ["TERM", "KILL"];
/// How much of a failure's words is shown.
const WORDS: usize = 200;

/// What came of one cell.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Cell {
    agent: String,
    victim: String,
    step: String,
    signal: String,
    failure: Option<String>,
}

/// When, where and with what.
pub(super) struct Head {
    pub(super) date: String,
    pub(super) kernel: String,
    pub(super) commit: String,
    /// Each agent's version.
    pub(super) versions: Vec<(String, String)>,
}

/// The whole page.
pub(super) fn page(head: &Head, cells: &[Cell]) -> String {
    // One that was run twice is one cell.
    let names = |cells: &mut dyn Iterator<Item = &Cell>| -> usize {
        cells.map(|cell| cell.names().join("\n")).collect::<BTreeSet<String>>().len()
    };
    let ran = names(&mut cells.iter());
    let failed = names(&mut cells.iter().filter(|cell| cell.failure.is_some()));
    let mut page = format!(
        "# Who may be killed, and when\n\n\
         Made by `cargo xtask prove --full` on {}, {}, after commit {}: {ran} cells, {failed} failed.\n\n\
         In each cell an agent is launched with `--wait` and held at a step, and somebody is killed. \
         Then `list` must say what the kernel says (a process of the launch lives if and only if it is \
         listed, left-behind ones too, and what proves it holds), `locks` and a second launch must \
         agree with it, and once all have ended no receipt, lock or process may be left that is wrong. \
         A cell is SIGTERM / SIGKILL. How each is held: `crates/agentctl/tests/agentctl/kills`.\n\n",
        head.date, head.kernel, head.commit,
    );
    let names = head.versions.iter().map(|(agent, version)| format!("{agent} {version}"));
    let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
    let _ = writeln!(page, "| killed | when | {} |", names.join(" | "));
    let _ = writeln!(page, "| --- | --- |{}", " --- |".repeat(names.len()));
    for (victim, who) in VICTIMS {
        for (step, when) in STEPS {
            let of = |agent: &str| {
                SIGNALS.map(|signal| outcome(cells, [agent, victim, step, signal])).join(" / ")
            };
            let row: Vec<String> = head.versions.iter().map(|(agent, _)| of(agent)).collect();
            let _ = writeln!(page, "| {who} | {when} | {} |", row.join(" | "));
        }
    }
    page.push_str(&failures(cells));
    page
}

fn outcome(cells: &[Cell], names: [&str; 4]) -> &'static str {
    let mut own = cells.iter().filter(|cell| cell.names() == names).peekable();
    match (own.peek().is_some(), own.all(|cell| cell.failure.is_none())) {
        (false, _) => "–",
        (true, true) => "ok",
        (true, false) => "**failed**",
    }
}

fn failures(cells: &[Cell]) -> String {
    let mut text = String::new();
    for cell in cells {
        let Some(why) = &cell.failure else { continue };
        let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
        let why: String = why.chars().take(WORDS).collect();
        let _ = write!(text, "\n- {}: {}", cell.names().join(", "), why.replace('|', "\\|"));
    }
    if text.is_empty() { text } else { format!("\n## What failed\n{text}\n") }
}

/// Cells of the full matrix that nobody ran.
pub(super) fn unproved(cells: &[Cell]) -> Vec<String> {
    let mut missing = Vec::new();
    for (agent, ..) in AGENTS {
        for (victim, _) in VICTIMS {
            for (step, _) in STEPS {
                for signal in SIGNALS {
                    let names = [agent, victim, step, signal];
                    if !cells.iter().any(|cell| cell.names() == names) {
                        missing.push(names.join(", "));
                    }
                }
            }
        }
    }
    missing
}

impl Cell {
    fn names(&self) -> [&str; 4] {
        [&self.agent, &self.victim, &self.step, &self.signal]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    fn cell(signal: &str, failure: Option<&str>) -> Cell {
        let [agent, victim, step] = ["codex", "Shim", "Tool"].map(str::to_owned);
        let failure = failure.map(str::to_owned);
        Cell { agent, victim, step, signal: signal.to_owned(), failure }
    }

    #[test]
    fn a_cell_is_shown_with_what_failed_in_it() {
        let head = Head {
            date: "2026-01-02".to_owned(),
            kernel: "Linux 1".to_owned(),
            commit: "abc".to_owned(),
            versions: vec![("codex".to_owned(), "0.1".to_owned())],
        };
        let cells = [cell("TERM", None), cell("KILL", Some("one\n | two"))];
        let page = page(&head, &cells);
        assert!(page.contains("2 cells, 1 failed"), "{page}");
        assert!(page.contains("| the shim | in a tool | ok / **failed** |\n"), "{page}");
        assert!(page.contains("| the shim | at exit | – / – |\n"), "{page}");
        assert!(page.ends_with("\n- codex, Shim, Tool, KILL: one \\| two\n"), "{page}");
    }

    /// One that failed once is not ok because it passed before.
    #[test]
    fn a_cell_that_was_run_twice_is_one() {
        let (date, kernel, commit) = Default::default();
        let versions = vec![("codex".to_owned(), "0.1".to_owned())];
        let cells = [cell("TERM", None), cell("TERM", Some("one")), cell("KILL", None)];
        let page = page(&Head { date, kernel, commit, versions }, &cells);
        assert!(page.contains("2 cells, 1 failed"), "{page}");
        assert!(page.contains("| the shim | in a tool | **failed** / ok |\n"), "{page}");
    }

    /// What is told of the last run is what its table shows.
    #[test]
    fn the_pages_tell_what_the_table_shows() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let read = |name: &str| fs::read_to_string(docs.join(name)).expect("our page");
        let table = read("proof/kills.md");
        let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
        let all: Vec<&str> = rows.flat_map(|row| row.split('|').skip(3)).collect();
        let count = |word: &str| {
            all.iter().flat_map(|cell| cell.split('/')).filter(|one| one.trim() == word).count()
        };
        let (good, bad) = (count("ok"), count("**failed**"));
        let told = format!("{} cells, {bad} failed", good + bad);
        assert!(table.contains(&format!(": {told}.")), "kills.md: {told}");
        let overview = read("PROOF.md");
        let row = overview.lines().find(|line| line.starts_with("| kills |"));
        assert!(row.is_some_and(|row| row.contains(&format!("| {told} |"))), "PROOF.md: {told}");
    }

    #[test]
    fn what_nobody_ran_is_not_proved() {
        let all = AGENTS.len() * VICTIMS.len() * STEPS.len() * SIGNALS.len();
        assert_eq!(unproved(&[cell("TERM", None), cell("TERM", None)]).len(), all - 1);
    }
}
