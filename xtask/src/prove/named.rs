//! The tests that a page of ours names as proofs.

/// Names in a page that look like tests: `words_with_underscores` in back ticks, in a table's row.
pub(super) fn named(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let plain = |word: &&str| {
        word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    quoted.filter(plain).filter(|word| word.matches('_').count() > 1).collect()
}

/// A filter of nextest that selects these tests, whichever module they are in.
pub(super) fn filter(page: &str) -> String {
    format!("test(/(^|::)({})$/)", named(page).join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    const ROOTS: [&str; 4] = ["crates/core", "crates/agentctl", "crates/testkit", "xtask"];

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn page(name: &str) -> String {
        fs::read_to_string(root().join(name)).expect("a page")
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

    #[test]
    fn every_test_that_a_page_names_is_there() {
        let mut all = BTreeSet::new();
        for folder in ROOTS {
            tests(&root().join(folder), &mut all);
        }
        let pages =
            [("docs/SECURITY.md", 40), ("docs/PROOF.md", 4), ("docs/proof/situations.md", 10)];
        for (name, least) in pages {
            let page = page(name);
            let named = named(&page);
            assert!(named.len() >= least, "{name} names {} tests", named.len());
            let missing: Vec<&&str> = named.iter().filter(|name| !all.contains(**name)).collect();
            assert!(missing.is_empty(), "{name} names tests that are not there: {missing:?}");
        }
    }

    /// A threat without a proof is a wish.
    #[test]
    fn every_threat_has_a_test_or_says_that_it_has_none() {
        let page = page("docs/SECURITY.md");
        let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("| ---"));
        for row in rows.filter(|row| !row.starts_with("| threat ")) {
            let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            assert!(!named(&format!("|{proof}|")).is_empty() || proof.contains("not yet"), "{row}");
        }
    }

    #[test]
    fn a_filter_selects_whole_names() {
        let page = "text `not_in_a_row`\n| `a_b_c` | `agents`, `Two_of_it`, `d_e_f` |\n";
        assert_eq!(filter(page), "test(/(^|::)(a_b_c|d_e_f)$/)");
    }
}
