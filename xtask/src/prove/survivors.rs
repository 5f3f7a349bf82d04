//! The page of mutants: how many the tests of `core` notice, file by file, and why the others may live.

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

/// The whole page: the rows of the page before, with this file's in its place.
pub(super) fn page(before: &str, file: &File, all: &[String], explained: &Explained) -> String {
    let mut rows = rows(before);
    rows.insert(file.path.clone(), row(file));
    let mut page = "# Which changes of the rules the tests notice\n\n\
        Made by `cargo xtask prove --full --part mutants`, each file when its row says, with the tests of `core` alone. \
        cargo-mutants changes one thing at a time (a comparison, a guard, what a function answers) and runs the tests. \
        Killed: a test failed. Timeout: the tests did not end, which is noticed too. Unviable: it does not compile. \
        A row of `one build` was made with all mutants of its file in one program, each switched on by a variable. \
        A survivor is explained below, or the part fails; what is set aside beforehand stands in `.cargo/mutants.toml`.\n\n\
        | file | killed | survive | timeouts | unviable | when | commit |\n\
        | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    rows.values().for_each(|row| page.push_str(&format!("{row}\n")));
    page.push_str("\n## Survivors, and why\n\n");
    for Survivor { file, mutant, times, why } in &explained.0 {
        let often = if *times == 1 { String::new() } else { format!(" ({times} of them)") };
        let _ = writeln!(page, "- `{file}`: `{mutant}`{often}: {}", why.trim());
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

/// The rows of a page, by the files they are of.
fn rows(page: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let (file, _) = line.strip_prefix("| `")?.split_once('`')?;
        Some((file.to_owned(), line.to_owned()))
    };
    page.lines().filter_map(row).collect()
}

fn row(file: &File) -> String {
    let File { path, date, commit, tally } = file;
    let Tally { killed, timeouts, unviable, survivors } = tally;
    let survive = survivors.len();
    format!("| `{path}` | {killed} | {survive} | {timeouts} | {unviable} | {date} | {commit} |")
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
    fn a_page_keeps_the_rows_of_what_was_tried_before() {
        let all = ["a.rs", "b.rs", "c.rs"].map(str::to_owned);
        let first = page("", &file("b.rs", &[]), &all, &explained());
        assert!(first.contains("\n| `b.rs` | 3 | 0 | 0 | 0 | 2026-01-02 | abc |\n"), "{first}");
        assert!(first.ends_with(
            "\n- `a.rs`: `x` (2 of them): no matter\n\n## Not tried yet\n\n`a.rs`, `c.rs`\n"
        ));
        let second = page(&first, &file("a.rs", &["x", "x"]), &all, &explained());
        let rows = "| `a.rs` | 3 | 2 | 0 | 0 | 2026-01-02 | abc |\n| `b.rs` | 3 | 0 | 0 | 0 | 2026-01-02 | abc |\n";
        assert!(second.contains(rows) && second.ends_with("`c.rs`\n"), "{second}");
    }
}
