//! The page of mutants: how many the tests of `core` notice, file by file, and why the others may live.

use super::{trial::End, weave::Mutant};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write};

/// What came of the mutants of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) killed: usize,
    pub(super) timeouts: usize,
    /// Those that no compiler takes.
    pub(super) unviable: usize,
    /// Those that no test noticed.
    pub(super) survivors: Vec<String>,
    /// Those that cannot be switched on.
    pub(super) aside: Vec<String>,
}

impl Tally {
    /// Of these.
    pub(super) fn of<'a>(tried: impl Iterator<Item = &'a (Mutant, End)>) -> Self {
        let mut tally = Self::default();
        for (Mutant { name, file, .. }, end) in tried {
            match end {
                End::Killed => tally.killed += 1,
                End::Timeout => tally.timeouts += 1,
                End::Unviable => tally.unviable += 1,
                End::Survives => tally.survivors.push(without_place(file, name)),
                End::Aside => tally.aside.push(without_place(file, name)),
            }
        }
        tally
    }
}

/// `a.rs:12:5: replace x with y in f` without what changes with every line that is put before it.
fn without_place(path: &str, name: &str) -> String {
    let place = name.strip_prefix(path).and_then(|rest| rest.split_once(": "));
    place.map_or(name, |(_, what)| what).to_owned()
}

/// A file that was tried.
pub(super) struct File {
    pub(super) path: String,
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) tally: Tally,
}

/// Why mutants survive: `docs/proof/mutants.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Explained(Vec<Survivor>);

/// Mutants of one name, which changes with no line that is put before them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    file: String,
    mutant: String,
    /// How many of this name survive.
    #[serde(default = "once")]
    times: usize,
    why: String,
}

fn once() -> usize {
    1
}

/// What is wrong with a file: survivors that nobody explained, and explanations of what did not survive.
pub(super) fn judge(file: &File, explained: &Explained) -> Vec<String> {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for name in &file.tally.survivors {
        counts.entry(name).or_default().0 += 1;
    }
    for one in explained.0.iter().filter(|one| one.file == file.path) {
        counts.entry(&one.mutant).or_default().1 += one.times;
    }
    let wrong = counts.into_iter().filter(|(_, (survive, explained))| survive != explained);
    wrong
        .map(|(name, (survive, explained))| {
            format!("{}: {name}: {survive} survive, {explained} are explained", file.path)
        })
        .collect()
}

const HEAD: &str = "# Which changes of the rules the tests notice\n\n\
    Made by `cargo xtask prove --full --part mutants`, each file when its row says. cargo-mutants 27.1.0 names what can be \
    changed (a comparison, a guard, what a function answers); all that is put into one program, each change behind a \
    switch, and those tests of `core` and `testkit` are run that meet a change, with it switched on, until one fails. \
    Killed: one did. Timeout: the tests did not end, which is noticed too. Unviable: it does not compile. Set aside: it \
    cannot be switched on. A survivor is explained below, or the part fails.\n\n\
    | file | killed | survive | timeouts | unviable | set aside | when | commit |\n\
    | --- | --- | --- | --- | --- | --- | --- | --- |\n";
const LEFT: &str = "## Survivors that nobody has killed or explained yet";
const ASIDE: &str = "## Set aside";

/// The whole page: what the page before says of other files, and this file's in its place.
pub(super) fn page(before: &str, file: &File, all: &[String], explained: &Explained) -> String {
    let mut rows = of_files(before, "| `");
    rows.retain(|path, _| all.contains(path));
    rows.insert(file.path.clone(), vec![row(file)]);
    let mut page = HEAD.to_owned();
    rows.values().flatten().for_each(|row| page.push_str(&format!("{row}\n")));
    page.push_str("\n## Survivors, and why\n\n");
    for Survivor { file, mutant, times, why } in &explained.0 {
        let _ = writeln!(page, "- `{file}`: `{mutant}`{}: {}", often(*times), why.trim());
    }
    for (heading, lines) in [(LEFT, left(file, explained)), (ASIDE, aside(file))] {
        let section = before.split_once(heading).map_or("", |(_, rest)| rest);
        let section = section.split("\n## ").next().unwrap_or_default();
        let mut listed = of_files(section, "- `");
        listed.retain(|path, _| rows.contains_key(path));
        listed.insert(file.path.clone(), lines);
        let lines: Vec<String> = listed.into_values().flatten().collect();
        if !lines.is_empty() {
            let _ = write!(page, "\n{heading}\n\n{}\n", lines.join("\n"));
        }
    }
    let untried: Vec<String> = all
        .iter()
        .filter(|path| !rows.contains_key(*path))
        .map(|path| format!("`{path}`"))
        .collect();
    if !untried.is_empty() {
        let _ = write!(page, "\n## Not tried yet\n\n{}\n", untried.join(", "));
    }
    page
}

fn often(times: usize) -> String {
    if times == 1 { String::new() } else { format!(" ({times} of them)") }
}

/// Survivors of a file beyond those that are explained.
fn left(File { path, tally, .. }: &File, explained: &Explained) -> Vec<String> {
    let mut counts = count(&tally.survivors);
    for one in explained.0.iter().filter(|one| one.file == *path) {
        counts.entry(&one.mutant).and_modify(|count| *count = count.saturating_sub(one.times));
    }
    listed(path, counts)
}

fn aside(File { path, tally, .. }: &File) -> Vec<String> {
    listed(path, count(&tally.aside))
}

fn count(names: &[String]) -> BTreeMap<&str, usize> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn listed(path: &str, counts: BTreeMap<&str, usize>) -> Vec<String> {
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(name, count)| format!("- `{path}`: `{name}`{}", often(count))).collect()
}

/// The lines that begin with this and the name of a file, by these names.
fn of_files(page: &str, start: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in page.lines() {
        if let Some((file, _)) = line.strip_prefix(start).and_then(|rest| rest.split_once('`')) {
            all.entry(file.to_owned()).or_default().push(line.to_owned());
        }
    }
    all
}

fn row(file: &File) -> String {
    let File { path, date, commit, tally } = file;
    let Tally { killed, timeouts, unviable, survivors, aside } = tally;
    let (survive, aside) = (survivors.len(), aside.len());
    format!(
        "| `{path}` | {killed} | {survive} | {timeouts} | {unviable} | {aside} | {date} | {commit} |"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, survivors: &[&str]) -> File {
        let survivors = survivors.iter().map(|name| (*name).to_owned()).collect();
        let tally = Tally { killed: 3, survivors, ..Tally::default() };
        File { path: path.to_owned(), date: "2026-01-02".into(), commit: "abc".into(), tally }
    }

    fn explained() -> Explained {
        let one =
            serde_json::json!({ "file": "a.rs", "mutant": "x", "times": 2, "why": "no matter" });
        serde_json::from_value(serde_json::json!([one])).expect("as the file is written")
    }

    #[test]
    fn a_survivor_is_explained_and_an_explanation_is_of_a_survivor() {
        let wrong = |survivors: &[&str]| judge(&file("a.rs", survivors), &explained());
        assert_eq!(wrong(&["x", "x"]), [""; 0]);
        assert_eq!(wrong(&["x", "x", "y"]), ["a.rs: y: 1 survive, 0 are explained"]);
        assert_eq!(wrong(&["x", "x", "x"]), ["a.rs: x: 3 survive, 2 are explained"]);
        assert_eq!(wrong(&[]), ["a.rs: x: 0 survive, 2 are explained"]);
        assert_eq!(judge(&file("b.rs", &[]), &explained()), [""; 0]);
    }

    #[test]
    fn a_name_stays_when_lines_are_put_before_it() {
        assert_eq!(without_place("a.rs", "a.rs:1:2: replace f with ()"), "replace f with ()");
        assert_eq!(without_place("a.rs", "replace f: g with ()"), "replace f: g with ()");
    }

    #[test]
    fn a_page_keeps_what_was_tried_before() {
        let all = ["a.rs", "b.rs", "c.rs"].map(str::to_owned);
        let mut first = file("b.rs", &["y", "y"]);
        first.tally.aside = vec!["z".to_owned()];
        let first = page("", &first, &all, &explained());
        let second = page(&first, &file("a.rs", &["x", "x"]), &all, &explained());
        let rows = "| `a.rs` | 3 | 2 | 0 | 0 | 0 | 2026-01-02 | abc |\n\
            | `b.rs` | 3 | 2 | 0 | 0 | 1 | 2026-01-02 | abc |\n";
        let rest = format!(
            "\n- `a.rs`: `x` (2 of them): no matter\n\n{LEFT}\n\n- `b.rs`: `y` (2 of them)\n\
            \n{ASIDE}\n\n- `b.rs`: `z`\n\n## Not tried yet\n\n`c.rs`\n"
        );
        assert!(second.contains(rows) && second.ends_with(&rest), "{second}");
        assert!(!page(&second, &file("b.rs", &[]), &all, &explained()).contains(LEFT));
    }
}
