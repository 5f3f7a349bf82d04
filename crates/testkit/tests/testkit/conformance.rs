//! Reads every captured case of every agent and compares with what was done to the agent.
//!
//! A case is `core/fixtures/<agent>/<version>/<case>/` with `case.json` and `home/` (see
//! [`agentctl_testkit::fixture`]) and `expected.json`, written by hand ([`expected::Expected`]).
//! A new agent needs fixtures only.

mod budgets;
mod compare;
mod expected;
mod facts;
mod faults;
mod stories;

use agentctl_core::{
    agent::Depth,
    agents,
    observe::{History, Survey},
    proof::Rule,
    wire::Session,
};
use agentctl_testkit::fixture::{Eyes, FixtureHost, Removal};
use expected::Expected;
use std::{
    collections::BTreeMap,
    env,
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
};

/// Cases to go through, as `agent/version/case` with commas between them, in place of all.
const ONLY: &str = "AGENTCTL_TEST_CASES";

/// One case on disk.
pub(crate) struct Case {
    pub(crate) agent: String,
    version: String,
    name: String,
    pub(crate) path: PathBuf,
}

/// What became of one case: which expected sessions were read, and every difference.
struct Outcome {
    all: usize,
    differences: Vec<String>,
    wrong: usize,
}

#[test]
fn every_case_reads_as_it_was_seen_by_a_full_host() {
    let report = walk(Eyes::Full);
    println!("{}", report.table);
    assert!(report.differences.is_empty(), "{}", report.differences);
}

#[test]
fn every_case_reads_as_it_was_seen_by_a_portable_host() {
    let report = walk(Eyes::Portable);
    println!("{}", report.table);
    assert!(report.differences.is_empty(), "{}", report.differences);
}

#[test]
fn no_case_reads_the_same_without_what_decides_it() {
    let mut still = String::new();
    for case in cases().expect("the fixtures are readable") {
        let expected = Expected::read(&case.path, Eyes::Full).expect("expected.json is readable");
        if expected.decisive.is_empty() {
            writeln!(still, "{case}: names nothing decisive").expect("a string takes all");
        }
        for removal in &expected.decisive {
            match without(&case, &expected, removal) {
                Ok(true) => {}
                Ok(false) => {
                    writeln!(still, "{case}: reads the same without {removal}")
                        .expect("a string takes all");
                }
                Err(why) => writeln!(still, "{case}: {why}").expect("a string takes all"),
            }
        }
    }
    assert!(still.is_empty(), "\n{still}");
}

#[test]
fn what_is_or_may_be_held_is_shown_without_asking_for_history() {
    for case in cases().expect("the fixtures are readable") {
        let Some(agent) = agents::named(&case.agent) else { continue };
        let host = FixtureHost::new(&case.path).expect("case.json is readable");
        let held = |history| {
            let survey = Survey::new(agent, &host, &host.env(), history);
            let look = |candidate| survey.session(candidate, Depth::Glance).0;
            let all = survey.candidates.iter().map(look);
            let may = |one: &Session| one.because.iter().any(|fact| fact.rule == Rule::MayBeHeld);
            let held = all.filter(|one| one.live || may(one));
            let mut named: Vec<String> = held.map(|one| compare::named(&one)).collect();
            named.sort();
            named
        };
        assert_eq!(held(History::Skip), held(History::All), "{case}");
    }
}

/// The case no longer reads as expected once this is gone.
fn without(case: &Case, expected: &Expected, removal: &Removal) -> io::Result<bool> {
    let whole = judge(case, expected, &FixtureHost::new(&case.path)?).differences;
    let less = judge(case, expected, &FixtureHost::without(&case.path, removal)?).differences;
    // A case that differs anyway must differ in another way: one fault may not hide another.
    Ok(!less.is_empty() && less != whole)
}

struct Report {
    table: String,
    differences: String,
}

fn walk(eyes: Eyes) -> Report {
    let mut totals: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let mut differences = String::new();
    for case in cases().expect("the fixtures are readable") {
        let expected = Expected::read(&case.path, eyes).expect("expected.json is readable");
        let host = FixtureHost::seen(&case.path, eyes).expect("case.json is readable");
        let outcome = judge(&case, &expected, &host);
        let total = totals.entry((case.agent.clone(), case.version.clone())).or_default();
        total.0 += outcome.all - outcome.wrong;
        total.1 += outcome.all;
        let untrue = untrue(&case, &host);
        for difference in outcome.differences.iter().chain(&untrue) {
            write!(differences, "\n{case}: {difference}").expect("a string takes all");
        }
    }
    let mut table = format!("{:<14}{:<10}{:>9}  ({eyes:?})\n", "agent", "version", "read/all");
    for ((agent, version), (read, all)) in totals {
        let read = format!("{read}/{all}");
        writeln!(table, "{agent:<14}{version:<10}{read:>9}").expect("a string takes all");
    }
    Report { table, differences }
}

/// Reads a case as the program does, and compares.
fn judge(case: &Case, expected: &Expected, host: &FixtureHost) -> Outcome {
    let all = expected.sessions.len();
    let Some(agent) = agents::named(&case.agent) else {
        let why = format!("no agent is called {}", case.agent);
        return Outcome { all, wrong: all, differences: vec![why] };
    };
    let survey = Survey::new(agent, host, &host.env(), History::All);
    let look = |candidate| survey.session(candidate, Depth::Whole);
    let (mut found, unread): (Vec<Session>, Vec<_>) = survey.candidates.iter().map(look).unzip();
    let mut problems = survey.problems.clone();
    for problem in unread.into_iter().flatten() {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    let mut differences = Vec::new();
    let mut wrong = 0;
    for session in &expected.sessions {
        let mut wrongs = compare::take(session, &mut found);
        wrong += usize::from(!wrongs.is_empty());
        differences.append(&mut wrongs);
    }
    differences.extend(found.iter().map(|extra| format!("unexpected {}", compare::named(extra))));
    if let Some(count) = expected.problems.filter(|count| *count != problems.len()) {
        differences.push(format!("{count} problems expected, found {problems:?}"));
    }
    Outcome { all, differences, wrong }
}

/// Facts of a case that do not hold.
fn untrue(case: &Case, host: &FixtureHost) -> Vec<String> {
    let Some(agent) = agents::named(&case.agent) else { return Vec::new() };
    let survey = Survey::new(agent, host, &host.env(), History::All);
    let look = |candidate| survey.session(candidate, Depth::Whole);
    let sessions = survey.candidates.iter().map(look);
    sessions.flat_map(|(session, _)| facts::untrue(&session, host)).collect()
}

/// All that were captured, or those that [`ONLY`] names.
pub(crate) fn cases() -> io::Result<Vec<Case>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/fixtures");
    let mut cases = Vec::new();
    for agent in names(&root)? {
        for version in names(&root.join(&agent))? {
            for name in names(&root.join(&agent).join(&version))? {
                let path = root.join(&agent).join(&version).join(&name);
                let (agent, version) = (agent.clone(), version.clone());
                cases.push(Case { agent, version, name, path });
            }
        }
    }
    if let Ok(only) = env::var(ONLY) {
        cases.retain(|case| only.split(',').any(|name| name == case.to_string()));
    }
    Ok(cases)
}

/// Directories in a directory, sorted.
fn names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.agent, self.version, self.name)
    }
}
