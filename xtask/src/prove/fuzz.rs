//! libFuzzer on every target of `fuzz/`, some minutes each, and what it says of that.

use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{env, fs, path::Path, process::Command};

/// Seconds for each target, unless this variable says otherwise.
const SECONDS: (&str, &str) = ("AGENTCTL_FUZZ_SECONDS", "180");

/// What libFuzzer did with one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Figures {
    executions: u64,
    /// Edges of the program that were reached.
    edges: u64,
}

/// Runs them all, one after the other; a table goes to standard output.
pub(super) fn run(root: &Path) -> Outcome<()> {
    let seconds = env::var(SECONDS.0).unwrap_or_else(|_| SECONDS.1.to_owned());
    let dir = root.join("fuzz");
    let mut rows =
        vec!["| target | executions | edges |".to_owned(), "| --- | --- | --- |".to_owned()];
    for target in targets(&dir)? {
        let found = dir.join("found").join(&target);
        fs::create_dir_all(&found).map_err(|why| Failure::io("make", &found, &why))?;
        // Not the pinned toolchain: libFuzzer needs nightly.
        let mut fuzz = Command::new("cargo");
        fuzz.env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO").current_dir(&dir);
        // Nothing unsafe is ours: the sanitizer would only make it slower.
        fuzz.args(["fuzz", "run", "-s", "none", "--fuzz-dir", "."]).arg(&target);
        fuzz.arg(&found).arg(dir.join("corpus").join(&target));
        fuzz.args(["--", "-print_final_stats=1", "-rss_limit_mb=2048"]);
        fuzz.arg(format!("-max_total_time={seconds}"));
        let said = tool::heard(&mut fuzz).map_err(|why| {
            Failure::new(format!(
                "{target}: {why}\nhint: it needs nightly and `cargo install cargo-fuzz`"
            ))
        })?;
        let Figures { executions, edges } = figures(&said).ok_or_else(|| {
            Failure::new(format!("{target}: what libFuzzer said of it is not understood: {said}"))
        })?;
        rows.push(format!("| {target} | {executions} | {edges} |"));
    }
    println!("{}", rows.join("\n"));
    Ok(())
}

fn targets(dir: &Path) -> Outcome<Vec<String>> {
    let folder = dir.join("fuzz_targets");
    let entries = fs::read_dir(&folder).map_err(|why| Failure::io("read", &folder, &why))?;
    let name = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| name(&entry.path())).collect();
    names.sort();
    Ok(names)
}

/// From lines such as `#77 NEW cov: 12 ft: 9` and `stat::number_of_executed_units: 1200`; none where they
/// are not there, which is not nought.
fn figures(said: &str) -> Option<Figures> {
    let last = |mark: &str| {
        let after = said.lines().filter_map(|line| line.split(mark).nth(1));
        after.filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).next_back()
    };
    Some(Figures { executions: last("number_of_executed_units: ")?, edges: last(" cov: ")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let said = "#2 INITED cov: 7 ft: 8\n#9 NEW    cov: 12 ft: 9 corp: 2/3b\n\
                    stat::number_of_executed_units: 1200\nstat::peak_rss_mb: 40\n";
        assert_eq!(figures(said), Some(Figures { executions: 1200, edges: 12 }));
        assert_eq!(figures("error: no such target\n"), None);
        assert_eq!(figures("#2 INITED cov: 7 ft: 8\n"), None);
    }
}
