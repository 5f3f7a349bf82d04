//! cargo-mutants on the files of `core` that decide, one after the other, and what it says of that.

use super::{
    kills::page_at,
    survivors::{Explained, File, Tally, judge, page},
};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use serde::Deserialize;
use std::{env, fs, path::Path, process::Command};

/// Its mutants, and so the names of what survives, differ from release to release.
const VERSION: &str = "27.1.0";
/// Files to try, with commas between them, in place of all that `.cargo/mutants.toml` names.
const FILES: &str = "AGENTCTL_MUTANTS_FILES";
/// Seconds that the tests may take with one mutant in them.
const LIMIT: &str = "600";
/// Why each that survives may.
const EXPLAINED: &str = "docs/proof/mutants.json";

/// What cargo-mutants leaves of a run.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<One>,
    /// Only there if it came to its end.
    end_time: Option<String>,
}

#[derive(Deserialize)]
struct One {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant { name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Summary {
    Success,
    CaughtMutant,
    MissedMutant,
    Unviable,
    Failure,
    Timeout,
}

/// Tries every file; the page has each as soon as it was tried, so that a run that is cut off is
/// not lost.
pub(super) fn run(root: &Path) -> Outcome<()> {
    the_right_one()?;
    let explained = fs::read_to_string(root.join(EXPLAINED))
        .map_err(|why| Failure::io("read", &root.join(EXPLAINED), &why))?;
    let explained: Explained = serde_json::from_str(&explained)
        .map_err(|why| Failure::new(format!("{EXPLAINED} cannot be read: {why}")))?;
    let (date, commit) = now(root)?;
    let all = listed(root, &["--no-config"])?;
    let wrong = chosen(root)?.into_iter().map(|path| {
        let tally = tried(root, &path)?;
        let file = File { path, date: date.clone(), commit: commit.clone(), tally };
        let wrong = judge(&file, &explained);
        let before = fs::read_to_string(root.join("docs/proof/mutants.md")).unwrap_or_default();
        page_at(root, "mutants.md", &page(&before, &file, &all, &explained))?;
        Ok(wrong)
    });
    let wrong: Vec<String> = wrong.collect::<Outcome<Vec<_>>>()?.concat();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(wrong.join("\n"))),
    }
}

fn the_right_one() -> Outcome<()> {
    let hint = format!("hint: `cargo install cargo-mutants --version {VERSION} --locked`");
    let said = tool::captured(tool::cargo().args(["mutants", "--version"]))
        .map_err(|why| Failure::new(format!("{why}\n{hint}")))?;
    match said.trim().ends_with(&format!(" {VERSION}")) {
        true => Ok(()),
        false => Err(Failure::new(format!("another cargo-mutants: {}\n{hint}", said.trim()))),
    }
}

fn now(root: &Path) -> Outcome<(String, String)> {
    let date = tool::captured(Command::new("date").args(["-u", "+%F"]))?;
    let mut git = Command::new("git");
    let commit = tool::captured(git.arg("-C").arg(root).args(["rev-parse", "--short=7", "HEAD"]))?;
    Ok((date.trim().to_owned(), commit.trim().to_owned()))
}

fn chosen(root: &Path) -> Outcome<Vec<String>> {
    match env::var(FILES) {
        Ok(files) => Ok(files.split(',').map(|file| file.trim().to_owned()).collect()),
        Err(_) => listed(root, &[]),
    }
}

/// The files of `core` that have mutants.
fn listed(root: &Path, words: &[&str]) -> Outcome<Vec<String>> {
    let mut list = tool::cargo();
    list.args(["mutants", "--list-files", "--package", "agentctl-core"]).args(words);
    let said = tool::captured(list.current_dir(root))?;
    Ok(said.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect())
}

fn tried(root: &Path, path: &str) -> Outcome<Tally> {
    let out = root.join("target/mutants").join(path.replace('/', "_"));
    fs::create_dir_all(&out).map_err(|why| Failure::io("make", &out, &why))?;
    let mut mutants = tool::cargo();
    // The configuration would add its own files to this one; and --re lets other files' fields pass (27.1.0).
    mutants.args(["mutants", "--no-config", "--cap-lints", "true", "--package", "agentctl-core"]);
    mutants.args(["--file", path, "--timeout", LIMIT]);
    mutants.arg("--output").arg(&out).current_dir(root);
    // A property that fails has done its part: its smallest case is of no use here.
    mutants.env("PROPTEST_MAX_SHRINK_ITERS", "0");
    // It fails if anything survives; what it leaves says more.
    let _ = tool::shown(&mut mutants)?;
    let file = out.join("mutants.out/outcomes.json");
    let text = fs::read(&file).map_err(|why| Failure::io("read", &file, &why))?;
    let read: Outcomes = serde_json::from_slice(&text)
        .map_err(|why| Failure::new(format!("{} cannot be read: {why}", file.display())))?;
    tally(path, read)
}

fn tally(path: &str, read: Outcomes) -> Outcome<Tally> {
    if read.end_time.is_none() {
        return Err(Failure::new(format!("{path}: cargo-mutants was cut off")));
    }
    let mut tally = Tally::default();
    for One { scenario, summary } in read.outcomes {
        match (scenario, summary) {
            (Scenario::Baseline, Summary::Success) => {}
            (Scenario::Baseline, _) => {
                return Err(Failure::new("the tests fail without any mutant"));
            }
            (Scenario::Mutant { .. }, Summary::CaughtMutant | Summary::Failure) => {
                tally.killed += 1
            }
            (Scenario::Mutant { .. }, Summary::Timeout) => tally.timeouts += 1,
            (Scenario::Mutant { .. }, Summary::Unviable) => tally.unviable += 1,
            (Scenario::Mutant { name }, Summary::MissedMutant | Summary::Success) => {
                tally.survivors.push(without_place(path, &name));
            }
        }
    }
    Ok(tally)
}

/// `a.rs:12:5: replace x with y in f` without what changes with every line that is put before it.
fn without_place(path: &str, name: &str) -> String {
    let place = name.strip_prefix(path).and_then(|rest| rest.split_once(": "));
    place.map_or(name, |(_, what)| what).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_leaves_is_counted() {
        let one = |summary: &str| {
            let name = "a.rs:1:2: replace f with ()";
            serde_json::json!({ "scenario": { "Mutant": { "name": name } }, "summary": summary })
        };
        let base = serde_json::json!({ "scenario": "Baseline", "summary": "Success" });
        let [caught, missed, late, none] =
            ["CaughtMutant", "MissedMutant", "Timeout", "Unviable"].map(one);
        let read = |outcomes: &[_], end: Option<&str>| {
            let json = serde_json::json!({ "outcomes": outcomes, "end_time": end, "caught": 1 });
            tally("a.rs", serde_json::from_value(json).expect("outcomes"))
        };
        let all = [base, caught.clone(), caught, missed, late, none];
        let survivors = vec!["replace f with ()".to_owned()];
        let expected = Tally { killed: 2, timeouts: 1, unviable: 1, survivors };
        assert_eq!(read(&all, Some("then")).expect("it ended"), expected);
        assert!(read(&all, None).is_err());
        let fails = serde_json::json!({ "scenario": "Baseline", "summary": "Failure" });
        assert!(read(&[fails], Some("then")).is_err());
    }
}
