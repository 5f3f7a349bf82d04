//! What was started, stopped or waited for, as people read it.

use super::{note, words};
use agentctl_core::{
    proof::shell_word,
    text::one_line,
    wire::{Certificate, DryRun, NewWorktree, Session},
};
use std::io::{self, Write};

/// How an agent would be started.
pub(crate) fn plan(dry: &DryRun) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(tree) = &dry.worktree {
        let path = shell_word(&one_line(&tree.path.to_string_lossy()));
        let repo = shell_word(&one_line(&tree.repo.to_string_lossy()));
        let (branch, base) = (shell_word(&one_line(&tree.branch)), one_line(&tree.base));
        let what = match tree.created_branch {
            true => format!("-b {branch} {path} {base}"),
            false => format!("{path} {branch}"),
        };
        writeln!(out, "git -C {repo} worktree add {what}")?;
        for text in &tree.notes {
            writeln!(out, "# {}", one_line(text))?;
        }
    }
    for call in &dry.requests {
        writeln!(out, "{} {}", one_line(&call.method), one_line(&call.params.to_string()))?;
    }
    if !dry.requests.is_empty() {
        return writeln!(out, "# asked of its server; nothing is started");
    }
    let words: Vec<String> = dry.argv.iter().map(|word| shell_word(&one_line(word))).collect();
    writeln!(out, "cd {}", shell_word(&one_line(&dry.cwd.to_string_lossy())))?;
    for (name, value) in &dry.env {
        writeln!(out, "export {}={}", one_line(name), shell_word(&one_line(value)))?;
    }
    writeln!(out, "unset {}", one_line(&dry.without.join(" ")))?;
    writeln!(out, "{}", words.join(" "))?;
    writeln!(out, "# it reads {}", one_line(&dry.input))
}

/// The worktree that was made for a launch, for people.
pub(crate) fn worktree(made: Option<&NewWorktree>) {
    let Some(made) = made else { return };
    note(&format!("it works on branch {} in {}", made.branch, words::directory(Some(&made.path))));
    made.notes.iter().for_each(|text| note(text));
}

/// A session that runs: its id for programs, the rest for people.
pub(crate) fn started(session: &Session, bound_to: Option<&str>) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", words::name(session))?;
    let mut told = format!("{}: {}", session.agent, session.state.name());
    if let Some(pid) = session.pid {
        told.push_str(&format!(", pid {pid}"));
    }
    if let Some(log) = &session.log {
        told.push_str(&format!(", log {}", one_line(&log.to_string_lossy())));
    }
    if let Some(end) = bound_to {
        told.push_str(&format!("\nnote: it ends with {}", one_line(end)));
    }
    writeln!(io::stderr().lock(), "{told}")
}

/// Sessions that were waited for.
pub(crate) fn waited(sessions: &[Session]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for session in sessions {
        let outcome = session.outcome.as_ref().map(|how| format!(": {}", one_line(how)));
        let name = words::name(session);
        writeln!(out, "{name}  {}{}", session.state.name(), outcome.unwrap_or_default())?;
    }
    Ok(())
}

/// What became of every process.
pub(crate) fn certificates(stopped: &[Certificate]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for one in stopped {
        let name = words::name(&one.session);
        let before = if one.already { " already" } else { "" };
        writeln!(out, "{name}  {}{before}", one.session.state.name())?;
        if let Some(asked) = &one.asked {
            let whom = asked.process.as_ref().map(|key| format!("pid {} was ", key.pid));
            let (before, after) = (asked.before.name(), asked.after.name());
            let call = one_line(&asked.call);
            writeln!(
                out,
                "  {}asked by {call}: was {before}, is {after}",
                whom.unwrap_or_default()
            )?;
        }
        for death in &one.deaths {
            let how = match (&death.survived, &death.signal) {
                (Some(why), _) => format!("lives: {}", one_line(why)),
                (None, Some(signal)) => format!("ended by {signal}"),
                (None, None) => "ended with the rest".to_owned(),
            };
            writeln!(out, "  pid {} {}  {how}", death.process.pid, one_line(&death.comm))?;
        }
    }
    Ok(())
}
