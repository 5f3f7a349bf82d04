//! Runs a hook that nobody ran.

use super::{Here, dirs::Claimed, status::status};
use crate::{
    error::{Error, Kind},
    host::LAUNCHES,
    places,
    shim::Errand,
};
use agentctl_core::{
    agent::Depth,
    host::Host,
    receipt::{HookName, Hooks, Launched, Run},
    text::one_line,
    wire::{HookRun, SCHEMA, Session},
};
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The way out where somebody else runs it.
const SHOWN: &str = "`agentctl status` shows what became of it";

/// The way out where nobody knows what became of it.
const AGAIN: &str = "look at the log, and run it again with --force";

/// Runs this hook of a session, and returns once it has ended.
pub(crate) fn run(here: &Here, id: &str, name: HookName, again: bool) -> Result<HookRun, Error> {
    let session = status(here, id, Depth::Glance)?.session;
    let refuse =
        |why: &str| Error::new(Kind::Refused, format!("cannot run {} of {id}: {why}", name.name()));
    let own = |one: &&Launched| Some(&one.launch) == session.launch_id.as_ref();
    let launch = here.host().launches().iter().find(own);
    let launch = launch.ok_or_else(|| match unread(here) {
        None => refuse("no launch of ours is known for it")
            .hint("hooks belong to a launch, and are kept for 7 days after it"),
        Some(files) => {
            refuse(&format!("no launch of ours is known for it, and not all can be read:\n{files}"))
                .hint("its hooks are lost if it is one of these: run their commands yourself")
        }
    })?;
    let hooks = launch.hooks.as_ref().filter(|hooks| hooks.command(name).is_some());
    let hooks = hooks.ok_or_else(|| refuse("it was launched without one"))?;
    if name == HookName::OnComplete && is_alive(here.host(), &session, launch) {
        let way = match launch.runs.of(name) {
            Run::NotRun => format!("`agentctl wait {id}`, and then run it: who was to was killed"),
            Run::Waiting | Run::Running(_) | Run::Lost(_) | Run::Ended(..) | Run::Damaged(..) => {
                format!("`agentctl wait {id}` waits for its end, which runs it")
            }
        };
        return Err(refuse("its agent is alive").hint(way));
    }
    may_begin(launch.runs.of(name), again).map_err(|(why, hint)| refuse(&why).hint(hint))?;
    let state = places::known_state()?;
    let receipt = state.join(LAUNCHES).join(format!("{}.json", launch.launch));
    // Who runs it again holds this meanwhile: of two of those, too, one is refused.
    let key = format!("{} {}", name.name(), launch.launch);
    let _claimed = Claimed::key(&state, &key, Duration::ZERO).map_err(|why| match why.kind {
        Kind::Refused => refuse("somebody runs it right now").hint(SHOWN),
        _ => why,
    })?;
    begin(&session, (launch, hooks, &receipt), name, again).map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => refuse("somebody has begun it meanwhile").hint(SHOWN),
        _ => {
            let file = receipt.with_extension(name.name());
            Error::new(Kind::Io, format!("cannot write {}: {why}", file.display()))
                .hint("make room for it; it was not run")
        }
    })?;
    let session = status(&here.again(), id, Depth::Glance)?.session;
    let hook = session.hooks.iter().find(|hook| hook.name == name).cloned();
    let hook = hook.ok_or_else(|| refuse("its receipt went meanwhile"))?;
    Ok(HookRun { schema: SCHEMA, session, hook })
}

/// Receipts of launches that cannot be read, a line for each.
fn unread(here: &Here) -> Option<String> {
    let files = here.host().lost().iter();
    let own = files.filter(|(path, _)| path.components().any(|part| part.as_os_str() == LAUNCHES));
    let line = |(path, why): &(PathBuf, String)| {
        format!("  {}: {}", one_line(&path.to_string_lossy()), one_line(why))
    };
    let lines: Vec<String> = own.map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Its process, or one that may be its.
fn is_alive(host: &dyn Host, session: &Session, launch: &Launched) -> bool {
    session.live || launch.process.as_ref().is_some_and(|key| !host.is_over(key))
}

/// Whether it may be begun; else why not, and the way out.
fn may_begin(run: &Run, again: bool) -> Result<(), (String, &'static str)> {
    let refused = |why: &str, hint| Err((why.to_owned(), hint));
    match (run, again) {
        (Run::Waiting, _) => refused("the agent's parent is about to run it", SHOWN),
        (Run::Running(_), _) => refused("it runs right now", SHOWN),
        (Run::Lost(_), false) => refused("it was begun before, and its outcome is unknown", AGAIN),
        (Run::Damaged(path, why), false) => {
            let file = path.display();
            let why = format!("nobody knows whether it was run: {file} cannot be read: {why}");
            refused(&why, AGAIN)
        }
        (Run::Ended(..), false) => refused("it was run before", "run it again with --force"),
        (Run::NotRun, _) | (Run::Lost(_) | Run::Ended(..) | Run::Damaged(..), true) => Ok(()),
    }
}

fn begin(
    session: &Session,
    (launch, hooks, receipt): (&Launched, &Hooks, &Path),
    name: HookName,
    again: bool,
) -> io::Result<()> {
    let errand = Errand { name, launch, hooks, receipt, state: session.state };
    let is_new = matches!(launch.runs.of(name), Run::NotRun);
    let ran = if again && !is_new { errand.run_again() } else { errand.run() };
    ran.map(|_| ())
}
