//! The table of agents in the README: only what a test shows. The conformance walk reads every
//! `expected.json` in every run of the tests, and the pinned agents run for real in them.

use crate::{
    failure::{Failure, Outcome},
    setup,
};
use agentctl_core::{agent::Card, agents};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const FIXTURES: &str = "crates/core/fixtures";
const TESTS: &str = "crates/agentctl/tests/agentctl";
const HEAD: [&str; 12] = [
    "agent",
    "versions proved",
    "list",
    "state",
    "waiting",
    "tokens",
    "cost",
    "launch",
    "resume",
    "stop",
    "send",
    "tests with the real one",
];
const VERBS: [&str; 4] = ["launch", "resume", "stop", "send"];
const BEGIN: &str = "<!-- Made by `cargo xtask gen`. -->\n";
const END: &str = "<!-- Until here. -->\n";

/// The README with its table made anew.
pub(super) fn page(root: &Path) -> Outcome<(PathBuf, String)> {
    let path = root.join("README.md");
    let text = read(&path)?;
    let lost = || Failure::new(format!("{}: no `{}`", path.display(), BEGIN.trim()));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(lost)?;
    let (_, after) = rest.split_once(END).ok_or_else(lost)?;
    let page = format!("{before}{BEGIN}{}{END}{after}", table(root)?);
    Ok((path, page))
}

fn table(root: &Path) -> Outcome<String> {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec(), HEAD.map(|_| "---".to_owned()).to_vec()];
    let pinned = setup::pinned(root)?;
    for agent in agents::ALL {
        rows.push(row(root, agent.card(), &pinned)?);
    }
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    Ok(rows.iter().map(line).collect())
}

fn row(root: &Path, card: &Card, pinned: &[(&str, String)]) -> Outcome<Vec<String>> {
    let shown = Shown::of(root, card)?;
    let is_run =
        |version: &str| pinned.iter().any(|(name, pin)| *name == card.binary && pin == version);
    let versions = shown.versions.iter().map(|version| match is_run(version) {
        true => version.clone(),
        false => format!("{version} (captures)"),
    });
    let tests = tests(root, card)?;
    let yes = |shown: bool| if shown { "yes" } else { "no" }.to_owned();
    let mut cells = vec![
        card.title.to_owned(),
        versions.collect::<Vec<_>>().join(", "),
        format!("{} sessions", shown.sessions),
        joined(&shown.states),
        joined(&shown.waits),
        yes(shown.tokens),
        yes(shown.cost),
    ];
    // A test begins with the verbs that it is about.
    let about = |test: &str, verb: &str| {
        test.split('_').take_while(|word| VERBS.contains(word)).any(|word| word == verb)
    };
    let can = |verb: &str| tests.iter().any(|test| about(test, verb));
    cells.extend(VERBS.map(|verb| yes(can(verb))));
    cells.push(tests.len().to_string());
    Ok(cells)
}

fn joined(words: &BTreeSet<String>) -> String {
    match words.is_empty() {
        true => "no".to_owned(),
        false => words.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

/// What the conformance walk shows of an agent.
#[derive(Default)]
struct Shown {
    versions: BTreeSet<String>,
    sessions: usize,
    states: BTreeSet<String>,
    waits: BTreeSet<String>,
    tokens: bool,
    cost: bool,
}

#[derive(Deserialize)]
struct Expected {
    sessions: Vec<Value>,
}

impl Shown {
    fn of(root: &Path, card: &Card) -> Outcome<Self> {
        let mut shown = Self::default();
        for version in names(&root.join(FIXTURES).join(card.name))? {
            for case in names(&root.join(FIXTURES).join(card.name).join(&version))? {
                let path = root.join(FIXTURES).join(card.name).join(&version).join(case);
                shown.add(&path.join("expected.json"))?;
            }
            shown.versions.insert(version);
        }
        let proved: BTreeSet<String> = card.proved.iter().map(|&one| one.to_owned()).collect();
        match proved == shown.versions {
            true => Ok(shown),
            false => Err(Failure::new(format!(
                "{} is said to be proved for {proved:?}, and its fixtures are of {:?}",
                card.title, shown.versions
            ))),
        }
    }

    fn add(&mut self, path: &Path) -> Outcome<()> {
        let expected: Expected = serde_json::from_str(&read(path)?)
            .map_err(|why| Failure::new(format!("{}: {why}", path.display())))?;
        for session in &expected.sessions {
            self.sessions += 1;
            let state =
                session["state"].as_str().filter(|state| !matches!(*state, "unknown" | "waiting"));
            self.states.extend(state.map(str::to_owned));
            self.waits.extend(session["waiting_for"].as_str().map(str::to_owned));
            self.tokens |= session.get("tokens").is_some();
            self.cost |= session.get("cost_usd").is_some();
        }
        Ok(())
    }
}

/// Names of the tests that drive the agent itself.
fn tests(root: &Path, card: &Card) -> Outcome<Vec<String>> {
    let name = format!("real_{}", card.binary);
    let mut files = vec![root.join(TESTS).join(format!("{name}.rs"))];
    let dir = root.join(TESTS).join(&name);
    files.extend(names(&dir)?.into_iter().map(|file| dir.join(file)));
    let mut tests = Vec::new();
    for file in files {
        let text = read(&file)?;
        let is_mark = |line: &&str| line.trim() == "#[test]";
        let marked = text.lines().zip(text.lines().skip(1)).filter(|(line, _)| is_mark(line));
        let named =
            marked.filter_map(|(_, next)| next.trim().strip_prefix("fn ")?.split('(').next());
        tests.extend(named.map(str::to_owned));
    }
    Ok(tests)
}

fn names(dir: &Path) -> Outcome<Vec<String>> {
    let entries = fs::read_dir(dir).map_err(|why| Failure::io("list", dir, &why))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|why| Failure::io("read", path, &why))
}
