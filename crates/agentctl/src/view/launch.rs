//! What was started, stopped or waited for, as people read it.

use super::{hooks, note, words};
use crate::error::Error;
use agentctl_core::{
    proof::shell_word,
    text::one_line,
    wire::{Certificate, DryRun, DrySlot, HookOutcome, NewWorktree, Session},
};
use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

/// How an agent would be started.
pub(crate) fn plan(dry: &DryRun) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if let Some(tree) = &dry.worktree {
        let word = |text: &str| shell_word(&one_line(text));
        let place = |path: &Path| word(&path.to_string_lossy());
        let (path, repo, branch) = (place(&tree.path), place(&tree.repo), word(&tree.branch));
        let what = match tree.created_branch {
            true => format!("-b {branch} {path} {}", word(&tree.base)),
            false => format!("{path} {branch}"),
        };
        writeln!(out, "git -C {repo} worktree add {what}")?;
        tree.notes.iter().try_for_each(|note| writeln!(out, "# {}", one_line(note)))?;
    }
    for hook in &dry.hooks {
        writeln!(out, "# {}: {}", hook.name.name(), one_line(&hook.command))?;
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

/// How several would be started.
pub(crate) fn plans(slots: &[DrySlot]) -> io::Result<()> {
    for (at, slot) in slots.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        writeln!(io::stdout().lock(), "{gap}# {}", slot.name)?;
        slot.plan.as_ref().map_or(Ok(()), plan)?;
        if let Some(why) = &slot.error {
            writeln!(io::stdout().lock(), "# cannot be started: {}", one_line(&why.message))?;
        }
    }
    Ok(())
}

/// The worktree that was made for a launch, for people.
pub(crate) fn worktree(made: Option<&NewWorktree>) {
    let Some(made) = made else { return };
    note(&format!("it works on branch {} in {}", made.branch, words::directory(Some(&made.path))));
    made.notes.iter().for_each(|text| note(text));
}

/// What became of several launches, told as they come.
pub(crate) struct Progress {
    all: usize,
    done: usize,
}

impl Progress {
    pub(crate) fn new(group: &str, all: usize) -> Self {
        note(&format!("group {}: {all} launches", one_line(group)));
        let new = Self { all, done: 0 };
        new.show();
        new
    }

    /// It runs: its id first, for programs.
    pub(crate) fn started(&mut self, name: &str, session: &Session, reused: bool) {
        self.hide();
        let cwd = session.cwd.as_ref().map(|cwd| one_line(&cwd.to_string_lossy()));
        let line = format!("{}  {name}  {}", words::name(session), cwd.unwrap_or_default());
        if reused {
            note(&format!("{name} was launched before with this key; nothing was started"));
        }
        let _ = writeln!(io::stdout().lock(), "{line}"); // the launches go on without a reader
        self.next();
    }

    pub(crate) fn failed(&mut self, name: &str, why: &Error) {
        self.hide();
        let message = format!("{name}: {}", why.message);
        super::report(
            &Error { message, hint: why.hint.clone(), ..Error::new(why.kind, "") },
            false,
        );
        self.next();
    }

    fn next(&mut self) {
        self.done += 1;
        self.show();
    }

    /// A line that goes away again, where people watch.
    fn show(&self) {
        let mut err = io::stderr().lock();
        if err.is_terminal() && self.done < self.all {
            let _ = write!(err, "launching, {} of {} done…", self.done, self.all);
        }
    }

    fn hide(&self) {
        let mut err = io::stderr().lock();
        if err.is_terminal() {
            let _ = write!(err, "\r\u{1b}[K");
        }
    }
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
pub(crate) fn waited<'s>(sessions: impl IntoIterator<Item = &'s Session>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for session in sessions {
        let outcome = session.outcome.as_ref().map(|how| format!(": {}", one_line(how)));
        let name = words::name(session);
        writeln!(out, "{name}  {}{}", session.state.name(), outcome.unwrap_or_default())?;
        for hook in session.hooks.iter().filter(|hook| hook.outcome != HookOutcome::Succeeded) {
            writeln!(out, "  {}", hooks::line(session, hook))?;
        }
    }
    Ok(())
}

/// What became of every process.
pub(crate) fn certificates(stopped: &[Certificate]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for one in stopped {
        // What named no session is called by its process, which it has no more.
        let first = one.deaths.first().map(|death| death.process.pid);
        let name = words::call(one.session.id.as_deref(), one.session.pid.or(first));
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
