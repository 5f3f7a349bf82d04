//! `cargo xtask test`: the one command that sets up and passes all the tests.

use crate::{
    check,
    check::Tree,
    counts,
    failure::{Failure, Outcome},
    setup,
    setup::Ready,
    tool,
};
use std::{env, path::Path, process::Command};

/// The crates with a library, whose examples in doc comments are tests: package and folder.
const LIBRARIES: &[(&str, &str)] =
    &[("agentctl-core", "crates/core/src/"), ("agentctl-testkit", "crates/testkit/src/")];

/// Words after ``` that leave a code block a test; any other word makes it mere text.
const TESTED: &[&str] = &["rust", "should_panic", "no_run", "compile_fail", "edition2024"];

/// Sets up, checks, then runs all tests, or those that `passed_on` (words for nextest) selects.
pub(crate) fn run(root: &Path, passed_on: &[&str]) -> Outcome<()> {
    let ready = setup::run(root)?;
    check::run(root)?;
    // Before nextest: whoever reads only the end of the output should find the count of all tests.
    if passed_on.is_empty() {
        counts::compared(root)?;
        doc_tests(root, &ready)?;
    }
    let mut nextest = tool::cargo();
    nextest.args(["nextest", "run", "--workspace", "--locked"]).args(passed_on);
    if env::var_os("CI").is_some() && env::var_os("NEXTEST_PROFILE").is_none() {
        nextest.env("NEXTEST_PROFILE", "ci");
    }
    passes(nextest.current_dir(root), &ready, "tests")
}

/// Runs the doc tests of those libraries that have any: a run of none would read as "ran no test".
fn doc_tests(root: &Path, ready: &Ready) -> Outcome<()> {
    let tree = Tree::read(root)?;
    let packages: Vec<&str> = LIBRARIES
        .iter()
        .filter(|(_, folder)| {
            tree.rust().any(|file| file.path.starts_with(folder) && has_doc_test(&file.text))
        })
        .map(|(package, _)| *package)
        .collect();
    if packages.is_empty() {
        return Ok(());
    }
    let mut doc = tool::cargo();
    doc.args(["test", "--doc", "--locked"]).current_dir(root);
    for package in packages {
        doc.args(["--package", package]);
    }
    passes(&mut doc, ready, "doc tests")
}

fn passes(command: &mut Command, ready: &Ready, what: &str) -> Outcome<()> {
    for (name, value) in ready.environment() {
        command.env(name, value);
    }
    if tool::shown(command)? { Ok(()) } else { Err(Failure::new(format!("{what} failed"))) }
}

fn has_doc_test(text: &str) -> bool {
    let mut is_open = false;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_open = false;
            continue;
        };
        if let Some(words) = doc.trim().strip_prefix("```") {
            let is_tested = words.split(',').all(|word| word.is_empty() || TESTED.contains(&word));
            if !is_open && is_tested {
                return true;
            }
            is_open = !is_open;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_doc_test;

    #[test]
    fn a_plain_block_is_a_test() {
        assert!(has_doc_test("/// ```\n/// assert!(true);\n/// ```\nfn f() {}"));
        assert!(has_doc_test("//! ```rust,no_run\n//! x();\n//! ```"));
    }

    #[test]
    fn text_blocks_and_comments_are_none() {
        assert!(!has_doc_test("/// ```text\n/// a table\n/// ```\nfn f() {}"));
        assert!(!has_doc_test("// ```\n// ```"));
        assert!(!has_doc_test("/// ```ignore\n/// x();\n/// ```"));
    }
}
