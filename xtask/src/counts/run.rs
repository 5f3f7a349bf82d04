//! Building the program that is counted, running it under callgrind, and the verdict.

use super::{
    callgrind,
    compare::{self, Changes, Counts},
};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

const FILE: &str = "xtask/counts.json";
/// The one function that is counted, and after which a dump is made.
const MEASURED: &str = "counts::measured";

/// Fails where a count rose by more than a twentieth.
pub(crate) fn compared(root: &Path) -> Outcome<()> {
    if !is_comparable() {
        println!("ok counts (not compared: this processor is not like those they were taken on)");
        return Ok(());
    }
    let start = Instant::now();
    let file = root.join(FILE);
    let text = fs::read_to_string(&file).map_err(|why| Failure::io("read", &file, &why))?;
    let old: Counts = serde_json::from_str(&text)
        .map_err(|why| Failure::new(format!("cannot read {FILE}: {why}")))?;
    let Changes { worse, better } = compare::changes(&old, &counted(root)?);
    better.iter().for_each(|line| println!("  {line}: `cargo xtask counts --write` keeps it"));
    if worse.is_empty() {
        println!("ok counts ({:.1} s)", start.elapsed().as_secs_f64());
        return Ok(());
    }
    println!("FAILED counts: {} to mend", worse.len());
    worse.iter().for_each(|line| println!("  {line}"));
    Err(Failure::new(
        "the readers take more than they did; if that is meant, or fixtures were added, `cargo xtask counts --write`",
    ))
}

/// Writes the counts of now down.
pub(crate) fn written(root: &Path) -> Outcome<()> {
    let counts = counted(root)?;
    let file = root.join(FILE);
    let text = serde_json::to_string_pretty(&counts)
        .map_err(|why| Failure::new(format!("cannot write {FILE}: {why}")))?;
    fs::write(&file, text + "\n").map_err(|why| Failure::io("write", &file, &why))
}

/// `memchr` looks for a wider path than SSE2, which every machine of 64 bits has.
fn is_comparable() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Builds, runs and reads: one dump a scenario, in the order in which the program names them.
fn counted(root: &Path) -> Outcome<Counts> {
    setup::valgrind()?;
    let program = built(root)?;
    let dir = program.with_extension("dumps");
    let failed = |why| Failure::io("write", &dir, &why);
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(failed)?;
    }
    fs::create_dir_all(&dir).map_err(failed)?;
    let said = tool::captured(&mut callgrind(root, &program, &dir))?;
    let mut counts = Counts::new();
    for (at, line) in said.lines().enumerate() {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.pop();
        let dump = dir.join(format!("out.{}", at + 1));
        let text = fs::read_to_string(&dump).map_err(|why| Failure::io("read", &dump, &why))?;
        let part = callgrind::part(&text, "/counts");
        if part.instructions == 0 {
            return Err(Failure::new(format!("nothing was counted for {line}")));
        }
        counts.insert(words.join(" "), part.into());
    }
    Ok(counts)
}

/// The command: the same words, directory and environment wherever the repository is.
fn callgrind(root: &Path, program: &Path, dir: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"]);
    command.args(["--dump-line=no", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={MEASURED}")).arg(format!("--dump-after={MEASURED}"));
    command.arg(format!("--callgrind-out-file={}", dir.join("out").display()));
    command.arg(program).current_dir(root).env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// Builds the program, with no flag but those of its profile, and says where cargo put it.
fn built(root: &Path) -> Outcome<PathBuf> {
    let mut build = tool::cargo();
    build.args(["build", "--profile", "counts", "--package", "agentctl-testkit"]);
    build.arg("--locked").current_dir(root);
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"] {
        build.env_remove(flags);
    }
    tool::built(&mut build, "counts")
}
