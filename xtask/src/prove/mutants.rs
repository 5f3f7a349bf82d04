//! The mutants of `core` that cargo-mutants names: all in one program, each tried with the tests that meet it.

use super::{
    kills::page_at,
    program,
    survivors::{Explained, File, Tally, judge, page},
    trial::{End, LONGEST, Trials},
    weave::Mutant,
};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::Write,
    path::Path,
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Its mutants, and so the names of what survives, differ from release to release.
const VERSION: &str = "27.1.0";
/// Files to try, with commas between them, in place of all that have mutants.
const FILES: &str = "AGENTCTL_MUTANTS_FILES";
/// Mutants to try at the same time.
const JOBS: &str = "AGENTCTL_MUTANTS_JOBS";
/// Why each that survives may.
const EXPLAINED: &str = "docs/proof/mutants.json";

/// Tries every file; the page has each as soon as it was tried, so that a run that is cut off is
/// not lost.
pub(super) fn run(root: &Path) -> Outcome<()> {
    the_right_one()?;
    let explained = fs::read_to_string(root.join(EXPLAINED))
        .map_err(|why| Failure::io("read", &root.join(EXPLAINED), &why))?;
    let explained: Explained = serde_json::from_str(&explained)
        .map_err(|why| Failure::new(format!("{EXPLAINED} cannot be read: {why}")))?;
    let (date, commit) = now(root)?;
    let date = match env::var(LONGEST) {
        Ok(seconds) => format!("{date}, without tests of more than {seconds} s"),
        Err(_) => date,
    };
    let all = listed(root)?;
    let names: BTreeSet<&str> = all.iter().map(|mutant| mutant.file.as_str()).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let files = env::var(FILES).map_or_else(
        |_| names.clone(),
        |files| files.split(',').map(|file| file.trim().to_owned()).collect(),
    );
    let chosen = all.into_iter().filter(|mutant| files.contains(&mutant.file)).collect();
    let trial = Trial::new(root, &commit, chosen)?;
    let wrong = files.into_iter().map(|path| {
        let tally = trial.tally(&path)?;
        let file = File { path, date: date.clone(), commit: commit.clone(), tally };
        let wrong = judge(&file, &explained);
        let before = fs::read_to_string(root.join("docs/proof/mutants.md")).unwrap_or_default();
        page_at(root, "mutants.md", &page(&before, &file, &names, &explained))?;
        Ok(wrong)
    });
    let wrong: Vec<String> = wrong.collect::<Outcome<Vec<_>>>()?.concat();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(wrong.join("\n"))),
    }
}

/// What came of the mutants that were tried, in this run or in one of this commit that was cut off.
struct Trial {
    /// Those that are to be tried, and what tries them.
    left: Vec<Mutant>,
    trials: Option<Trials>,
    tried: Mutex<Vec<(Mutant, End)>>,
    log: Mutex<fs::File>,
}

impl Trial {
    fn new(root: &Path, commit: &str, mutants: Vec<Mutant>) -> Outcome<Self> {
        let path = root.join(format!("target/mutants/{commit}.log"));
        let known = known(&fs::read_to_string(&path).unwrap_or_default());
        let is_known = |mutant: &Mutant| known.contains_key(&mutant.name);
        let (tried, left): (Vec<Mutant>, Vec<Mutant>) = mutants.into_iter().partition(is_known);
        let tried = tried.into_iter().map(|mutant| {
            let end = known[&mutant.name];
            (mutant, end)
        });
        let tried = Mutex::new(tried.collect());
        fs::create_dir_all(root.join("target/mutants"))
            .map_err(|why| Failure::io("make", &path, &why))?;
        let log = fs::OpenOptions::new().append(true).create(true).open(&path);
        let log = Mutex::new(log.map_err(|why| Failure::io("write", &path, &why))?);
        let mut trial = Self { left, trials: None, tried, log };
        if !trial.left.is_empty() {
            let program = program::build(root, &trial.left)?;
            println!("which tests meet which of {} mutants", trial.left.len());
            trial.trials = Some(Trials::record(root, program)?);
        }
        Ok(trial)
    }

    /// Tries what is left of a file.
    fn tally(&self, path: &str) -> Outcome<Tally> {
        let mine: Vec<usize> =
            (0..self.left.len()).filter(|number| self.left[*number].file == path).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(number) = mine.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.try_one(*number)?;
            }
            Ok(())
        };
        let jobs = env::var(JOBS).ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            let failed = |_| Failure::new(format!("a worker of {path} failed"));
            workers.into_iter().try_for_each(|one| one.join().map_err(failed)?)
        })?;
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Tally::of(tried.iter().filter(|(mutant, _)| mutant.file == path)))
    }

    fn try_one(&self, number: usize) -> Outcome<()> {
        let Some(trials) = &self.trials else { return Ok(()) };
        let (end, by) = trials.of(number)?;
        let mutant = self.left[number].clone();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        // Only for a run that is cut off.
        let _ = writeln!(log, "{}\t{}\t{by}", end.name(), mutant.name);
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).push((mutant, end));
        Ok(())
    }
}

/// How each ended that a log names.
fn known(log: &str) -> BTreeMap<String, End> {
    let line = |line: &str| {
        let mut words = line.split('\t');
        let end = End::named(words.next()?)?;
        Some((words.next()?.to_owned(), end))
    };
    log.lines().filter_map(line).collect()
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

/// The mutants of `core`.
fn listed(root: &Path) -> Outcome<Vec<Mutant>> {
    let mut list = tool::cargo();
    list.args(["mutants", "--no-config", "--list", "--json", "--package", "agentctl-core"]);
    let said = tool::captured(list.current_dir(root))?;
    serde_json::from_str(&said)
        .map_err(|why| Failure::new(format!("what cargo-mutants lists cannot be read: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_not_tried_again() {
        let log = "killed\ta.rs:1:2: x\tsome test\nsurvives\ta.rs:2:2: y\t\nstrange\ta\nkil";
        let ends = [("a.rs:1:2: x", End::Killed), ("a.rs:2:2: y", End::Survives)];
        let expected = ends.map(|(name, end)| (name.to_owned(), end)).into();
        assert_eq!(known(log), expected);
    }
}
