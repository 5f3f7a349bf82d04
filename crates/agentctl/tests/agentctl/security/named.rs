//! Every test that a page of ours names as a proof is there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const ROOTS: [&str; 4] = ["crates/core", "crates/agentctl", "crates/testkit", "xtask"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names of all tests of the repository, as the last part of what nextest calls them.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("fixtures") && !path.ends_with("target") {
            tests(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let marks = text.split("#[test]").skip(1);
            let names = marks.filter_map(|after| after.split("fn ").nth(1)?.split('(').next());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// Names in a page that look like tests: `words_with_underscores` in back ticks, in a table's row.
fn named(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let plain = |word: &&str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    quoted.filter(plain).filter(|word| word.matches('_').count() > 1).map(str::to_owned).collect()
}

#[test]
fn every_test_that_a_page_names_is_there() {
    let mut all = BTreeSet::new();
    for folder in ROOTS {
        tests(&root().join(folder), &mut all);
    }
    let pages = [("docs/SECURITY.md", 40), ("docs/PROOF.md", 4), ("docs/proof/situations.md", 10)];
    for (page, least) in pages {
        let text = fs::read_to_string(root().join(page)).expect("a page");
        let named = named(&text);
        assert!(named.len() >= least, "{page} names {} tests", named.len());
        let missing: Vec<&String> = named.iter().filter(|name| !all.contains(*name)).collect();
        assert!(missing.is_empty(), "{page} names tests that are not there: {missing:?}");
    }
}

/// A threat without a proof is a wish.
#[test]
fn every_threat_has_a_test_or_says_that_it_has_none() {
    let page = fs::read_to_string(root().join("docs/SECURITY.md")).expect("a page");
    let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
    for row in rows.filter(|row| !row.starts_with("| threat ")) {
        let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        assert!(proof.contains('`') || proof.contains("not yet"), "{row}");
    }
}
