//! Running other programs: always without standard input, so that nothing can wait for a person.

use crate::failure::{Failure, Outcome};
use serde_json::Value;
use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// How many lines of a failed program's output are repeated, of its beginning and of its end each:
/// npm tells the reason first, cargo last.
const REPEATED: usize = 15;

/// The cargo that runs this task.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Runs a program to its end and returns what it wrote to stdout; a failure repeats some of it.
pub(crate) fn captured(command: &mut Command) -> Outcome<String> {
    Ok(String::from_utf8_lossy(&output(command)?.stdout).into_owned())
}

/// Has a `cargo build` build this program of its package, and returns where cargo put it.
pub(crate) fn built(build: &mut Command, program: &str) -> Outcome<PathBuf> {
    built_with(build, program, &[])
}

/// The same by a `cargo rustc`, with words for the compiler.
pub(crate) fn built_with(build: &mut Command, program: &str, words: &[&str]) -> Outcome<PathBuf> {
    build.args(["--bin", program, "--message-format=json-render-diagnostics"]);
    if !words.is_empty() {
        build.arg("--").args(words);
    }
    let said = captured(build)?;
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named = lines.filter(|line| line["target"]["name"] == program);
    let path = named.find_map(|line| line["executable"].as_str().map(PathBuf::from));
    path.ok_or_else(|| Failure::new(format!("cargo does not say where `{program}` is")))
}

/// As [`captured`], with what it says of itself: not every program tells its version as an answer.
pub(crate) fn heard(command: &mut Command) -> Outcome<String> {
    Ok(said(&output(command)?))
}

fn output(command: &mut Command) -> Outcome<Output> {
    let ran = command
        .stdin(Stdio::null())
        .output()
        .map_err(|why| Failure::new(format!("cannot run {}: {why}", line(command))))?;
    if ran.status.success() {
        return Ok(ran);
    }
    let end = both_ends(&said(&ran));
    Err(Failure::new(format!("{} ended with {}\n{end}", line(command), ran.status)))
}

fn said(ran: &Output) -> String {
    let mut said = String::from_utf8_lossy(&ran.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&ran.stderr));
    said
}

/// Runs a program that talks to the person itself; `Ok(false)` if it ended without success.
pub(crate) fn shown(command: &mut Command) -> Outcome<bool> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|why| Failure::new(format!("cannot run {}: {why}", line(command))))?;
    Ok(status.success())
}

/// Whether a command of this name is on the search path.
pub(crate) fn is_on_path(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}

fn both_ends(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= 2 * REPEATED {
        return lines.join("\n");
    }
    let (first, last) = (&lines[..REPEATED], &lines[lines.len() - REPEATED..]);
    [first, &["[...]"], last].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use super::both_ends;

    #[test]
    fn long_output_keeps_both_ends() {
        let long: String = (0..100).map(|line| format!("{line}\n")).collect();
        let kept = both_ends(&long);
        assert_eq!(kept.lines().count(), 31);
        assert!(kept.starts_with("0\n1\n") && kept.ends_with("\n98\n99"));
        assert_eq!(both_ends("one\ntwo\n"), "one\ntwo");
    }
}
