//! What became of hooks, in words.

use super::words;
use agentctl_core::{
    receipt::HookName,
    text::one_line,
    wire::{Hook, HookOutcome, Problem, Session},
};
use std::io::{self, Write};

/// A line for a hook of a session.
pub(crate) fn line(session: &Session, hook: &Hook) -> String {
    let how = match (hook.outcome, &hook.message, hook.code, hook.signal) {
        (HookOutcome::Waiting, ..) => "waits for its end".to_owned(),
        (HookOutcome::NotRun, ..) if session.live && hook.name == HookName::OnComplete => {
            let way = way(session, hook);
            format!("who was to run it was killed; `{way}` runs it once the session has ended")
        }
        (HookOutcome::NotRun, ..) => format!("not run; `{}` runs it", way(session, hook)),
        (HookOutcome::Running, ..) => "running".to_owned(),
        (HookOutcome::Succeeded, ..) => "succeeded".to_owned(),
        (HookOutcome::Failed, Some(why), ..) => format!("failed: {}", one_line(why)),
        (HookOutcome::Failed, None, Some(code), _) => format!("failed: exit code {code}"),
        (HookOutcome::Failed, None, None, Some(signal)) => format!("failed: signal {signal}"),
        (HookOutcome::Failed, None, None, None) => "failed".to_owned(),
        (HookOutcome::TimedOut, ..) => "timed out, and was ended".to_owned(),
        (HookOutcome::Unknown, Some(why), ..) => {
            let (why, way) = (one_line(why), way(session, hook));
            format!("unknown whether it was run: {why}; look at the log, `{way} --force` runs it")
        }
        (HookOutcome::Unknown, None, ..) => {
            "begun, its outcome is unknown: who ran it was killed".to_owned()
        }
    };
    format!("{}: {how}", hook.name.name())
}

fn way(session: &Session, hook: &Hook) -> String {
    let name = words::name(session);
    match hook.name {
        HookName::OnComplete => format!("agentctl hook run {name}"),
        HookName::OnCreate => format!("agentctl hook run {name} --name on-create"),
    }
}

/// A hook that was run now.
pub(crate) fn ran(session: &Session, hook: &Hook) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}  {}", words::name(session), line(session, hook))?;
    match &session.log {
        Some(log) => writeln!(
            io::stderr().lock(),
            "what it wrote is in {}",
            one_line(&log.to_string_lossy())
        ),
        None => Ok(()),
    }
}

/// What went wrong with the hooks of a session.
pub(crate) fn problems(session: &Session) -> Vec<Problem> {
    let bad = session.hooks.iter().filter(|hook| hook.outcome.is_bad());
    let problem = |hook: &Hook| Problem {
        agent: session.agent.clone(),
        path: session.log.clone(),
        message: line(session, hook),
    };
    bad.map(problem).collect()
}
