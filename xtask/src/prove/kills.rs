//! The kill matrix: runs its tests, which write down what came of each cell, and makes a page of that.

use super::table::{AGENTS, Cell, Head, page, unproved};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use std::{env, fmt::Write, fs, path::Path, process, process::Command};

/// The variable that names the file in which tests write down what came of a cell.
const PROOF: &str = "AGENTCTL_PROOF";

/// The matrix, and what only a machine of our own can show.
const PARTS: &str = "test(kills) or test(systemd)";

/// All cells with all agents and a page in `docs/proof`; or, unless `full`, those that `cargo xtask
/// test` runs, and the page on standard output.
pub(super) fn run(root: &Path, full: bool) -> Outcome<()> {
    let (passed, lines) = written(root, PARTS, PROOF, full)?;
    let cells: Vec<Cell> = lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|why| Failure::new(format!("a test wrote down what is no cell: {why}")))?;
    let page = page(&head(root)?, &cells);
    match full {
        true => page_at(root, "kills.md", &page)?,
        false => print!("{page}"),
    }
    match (passed, if full { unproved(&cells) } else { Vec::new() }) {
        (true, missing) if missing.is_empty() => Ok(()),
        (true, missing) => {
            Err(Failure::new(format!("these were not run:\n{}", missing.join("\n"))))
        }
        (false, _) => Err(Failure::new("some cells fail")),
    }
}

/// Runs tests of the program, and the ignored ones among them if `full`: whether all passed, and what they wrote into
/// the file that this variable names.
pub(super) fn written(
    root: &Path,
    filter: &str,
    variable: &str,
    full: bool,
) -> Outcome<(bool, String)> {
    let ready = setup::run(root)?;
    let file = env::temp_dir().join(format!("{}-{}", variable.to_lowercase(), process::id()));
    let mut nextest = tool::cargo();
    nextest.args(["nextest", "run", "--locked", "-p", "agentctl", "-E", filter]);
    nextest.args(["--profile", "prove"]).envs(ready.environment()).env(variable, &file);
    if full {
        nextest.args(["--run-ignored", "all"]);
    }
    let passed = tool::shown(nextest.current_dir(root))?;
    let text = fs::read_to_string(&file).map_err(|why| Failure::io("read", &file, &why))?;
    fs::remove_file(&file).map_err(|why| Failure::io("remove", &file, &why))?;
    Ok((passed, text))
}

/// The end of a page: what was wrong, so many at most and so much of each.
pub(super) fn wrong(page: &mut String, found: &[String], (most, length): (usize, usize)) {
    if !found.is_empty() {
        page.push_str("\n## What was wrong\n\n");
    }
    for what in found.iter().take(most) {
        let what: String = what.chars().take(length).collect();
        let _ = writeln!(page, "- {}", what.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

/// Writes a page of `docs/proof`.
pub(super) fn page_at(root: &Path, name: &str, page: &str) -> Outcome<()> {
    let dir = root.join("docs/proof");
    fs::create_dir_all(&dir).map_err(|why| Failure::io("make", &dir, &why))?;
    let file = dir.join(name);
    fs::write(&file, page).map_err(|why| Failure::io("write", &file, &why))?;
    println!("wrote {}", file.display());
    Ok(())
}

/// When, where and with what.
pub(super) fn head(root: &Path) -> Outcome<Head> {
    let said = |program: &str, words: &[&str]| {
        tool::captured(Command::new(program).args(words)).map(|text| text.trim().to_owned())
    };
    let pinned = setup::pinned(root)?;
    let version = |(agent, command, begins): &(&str, &str, &str)| {
        let fits = |(known, pin): &&(&str, String)| known == command && pin.starts_with(begins);
        let pin = pinned.iter().find(fits).map_or("", |(_, pin)| pin.as_str());
        ((*agent).to_owned(), pin.to_owned())
    };
    Ok(Head {
        date: said("date", &["-u", "+%F"])?,
        kernel: said("uname", &["-sr"])?,
        commit: said("git", &["-C", &root.to_string_lossy(), "rev-parse", "--short", "HEAD"])?,
        versions: AGENTS.iter().map(version).collect(),
    })
}
