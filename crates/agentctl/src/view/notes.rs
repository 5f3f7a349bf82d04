//! What is said beside the answer, to standard error: problems, errors, hints. Errors for programs
//! are the answer, and go where answers go.

use super::{json::json, paint::Paint, words};
use crate::error::Error;
use agentctl_core::{
    text::{many_lines, one_line},
    wire::{Failed, Orphan, Problem, SCHEMA},
};
use std::{
    io::{self, Write},
    panic::PanicHookInfo,
    path::PathBuf,
};

/// Tells the person, or the program, what went wrong.
pub(crate) fn report(error: &Error, as_json: bool) {
    if error.silent {
        return;
    }
    if as_json && json(&Failed { schema: SCHEMA, error: error.into() }).is_ok() {
        return;
    }
    let Error { message, hint, .. } = error;
    let paint = Paint::stderr();
    say(&format!("{} {}", paint.bad("error:"), many_lines(message)));
    if let Some(hint) = hint {
        say(&format!("{} {}", paint.name("hint:"), one_line(hint)));
    }
}

/// What could not be read, one line each.
pub(crate) fn problems(problems: &[Problem]) {
    let paint = Paint::stderr();
    for problem in problems {
        let place =
            problem.path.as_ref().map(|path| format!(" {}:", one_line(&path.to_string_lossy())));
        let (agent, why) = (&problem.agent, one_line(&problem.message));
        say(&format!("{} {agent}:{} {why}", paint.asking("problem:"), place.unwrap_or_default()));
    }
}

/// A remark for people.
pub(crate) fn note(text: &str) {
    say(&format!("note: {}", one_line(text)));
}

/// What is wrong with the words of a command; it is safe to show, and has its own lines.
pub(crate) fn refusal(text: &str) {
    say(text.trim_end());
}

/// Something that is not as a person may have meant it.
pub(crate) fn warning(text: &str) {
    say(&format!("{} {}", Paint::stderr().asking("warning:"), one_line(text)));
}

/// What agents left behind, one line each.
pub(crate) fn orphans(orphans: &[Orphan]) {
    let paint = Paint::stderr();
    for orphan in orphans {
        let (pid, command, agent) = (orphan.process.pid, one_line(&orphan.command), &orphan.agent);
        let of = orphan.session_id.as_ref().unwrap_or(&orphan.launch_id);
        let left = format!("pid {pid} ({command}) outlived {agent} session {}", one_line(of));
        let way = format!("`agentctl stop pid:{pid}` ends it");
        say(&format!("{} {left}; {way}", paint.asking("left behind:")));
    }
}

/// For an empty list: where it was looked, and what to do next.
pub(crate) fn nothing_alive(places: &[(&'static str, PathBuf, bool)]) {
    if places.iter().any(|(_, _, there)| *there) {
        return say("no live sessions; `agentctl list -a` shows those that ended");
    }
    say("no coding agent has left a session here. Looked for:");
    for (title, path, _) in places {
        say(&format!("  {title:<12} {}", words::directory(Some(path))));
    }
    say("start one of them (for instance `claude` or `codex`) and run `agentctl list` again;");
    say("`agentctl doctor` says which are installed");
}

/// For an empty answer to a narrower question.
pub(crate) fn nothing_matches() {
    say("no session matches");
}

/// A bug: says so, and where.
pub(crate) fn report_bug(bug: &PanicHookInfo<'_>) {
    say(&format!("this is a bug in agentctl: {bug}"));
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}"); // nobody listens: nothing to do about it
}
