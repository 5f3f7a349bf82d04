//! Runs a hook, at most once: whoever makes its receipt runs it, and nobody else.
//!
//! What it is run for it is told by variables alone. Nothing is put into its command: a branch may be
//! called anything.

use super::{run::bound, stops};
use crate::{
    bounded::bare,
    branch::branch,
    host::{Grip, end, key_of},
    write::{Room, append},
};
use agentctl_core::{
    launch::{OF_A_REPOSITORY, Signal},
    receipt::{Exit, HookEnd, HookName, HookVariable, Hooks, Launched, Ran, VARIABLE},
    text::one_line,
    wire::StateName,
};
use jiff::Timestamp;
use rustix::process::{Pid, Signal as Kernel, kill_process_group};
use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::{
        ffi::OsStringExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// How long a hook whose time is over has to heed a signal before the next.
const GRACE: Duration = Duration::from_secs(2);
/// How often the size of the log is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// A hook that is to be run.
pub(crate) struct Errand<'a> {
    pub(crate) name: HookName,
    pub(crate) launch: &'a Launched,
    pub(crate) hooks: &'a Hooks,
    /// The receipt of the launch.
    pub(crate) receipt: &'a Path,
    /// The session's state.
    pub(crate) state: StateName,
}

impl Errand<'_> {
    /// Runs it, unless somebody has begun it: then the error is that its receipt is there.
    pub(crate) fn run(&self) -> io::Result<Ran> {
        self.run_within(self.rooms())
    }

    /// The same where room was kept for what is written at its beginning and its end.
    pub(super) fn run_within(&self, [first, last]: [Room; 2]) -> io::Result<Ran> {
        let ran = begun()?;
        first.fresh(&self.file(), &ran)?;
        Ok(self.carry_out(ran, last))
    }

    /// Runs it whoever has run it before.
    pub(crate) fn run_again(&self) -> io::Result<Ran> {
        let (ran, [first, last]) = (begun()?, self.rooms());
        first.whole(&self.file(), &ran)?;
        Ok(self.carry_out(ran, last))
    }

    fn rooms(&self) -> [Room; 2] {
        [(); 2].map(|()| Room::keep(self.receipt))
    }

    fn file(&self) -> PathBuf {
        self.receipt.with_extension(self.name.name())
    }

    fn carry_out(&self, mut ran: Ran, room: Room) -> Ran {
        let log = self.launch.log.clone().unwrap_or_else(|| self.receipt.with_extension("log"));
        let command = self.hooks.command(self.name).unwrap_or_default();
        let mut end = HookEnd {
            at: Timestamp::now(),
            code: None,
            signal: None,
            timed_out: false,
            failure: None,
        };
        // What is run is in the receipt alone: people put secrets into commands, and send logs around.
        say(&log, &format!("{} begins", self.name.name()));
        match self.start(command, &log) {
            Ok(child) => {
                let (status, timed_out) = self.wait(child, &log);
                end.code = status.and_then(|status| status.code());
                end.signal = status.and_then(|status| status.signal());
                end.timed_out = timed_out;
            }
            Err(why) => {
                let dir = self.hooks.cwd.display();
                end.failure = Some(format!("cannot be started in {dir}: {why}"));
            }
        }
        end.at = Timestamp::now();
        say(&log, &format!("{}: {}", self.name.name(), one_line(&words(&end))));
        ran.end = Some(end);
        let _ = room.whole(&self.file(), &ran); // what was begun is written down already
        ran
    }

    fn start(&self, command: &str, log: &Path) -> io::Result<Child> {
        let (out, twin) = match append(log).and_then(|log| Ok((log.try_clone()?, log))) {
            Ok((log, twin)) => (Stdio::from(log), Stdio::from(twin)),
            Err(_) => (Stdio::null(), Stdio::null()),
        };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).current_dir(&self.hooks.cwd).process_group(0);
        shell.stdin(Stdio::null()).stdout(out).stderr(twin);
        // What it starts is no process of the agent's, and has its own repository.
        for name in OF_A_REPOSITORY.iter().copied().chain([VARIABLE]) {
            shell.env_remove(name);
        }
        bare(&mut shell);
        for variable in HookVariable::ALL {
            let value = self.value(*variable).unwrap_or_default().into_vec();
            let value = value.into_iter().filter(|byte| *byte != 0).collect();
            shell.env(variable.name(), OsString::from_vec(value));
        }
        shell.spawn()
    }

    fn value(&self, of: HookVariable) -> Option<OsString> {
        let Launched { session, agent, group, callback, exit, .. } = self.launch;
        let text = |text: &Option<String>| text.clone().map(OsString::from);
        match of {
            HookVariable::SessionId => text(session),
            HookVariable::Cwd => Some(self.hooks.cwd.clone().into_os_string()),
            HookVariable::Adapter => Some(agent.into()),
            HookVariable::Branch => branch(&self.hooks.cwd).or_else(|| text(&self.launch.branch)),
            HookVariable::ExitCode => {
                exit.and_then(|exit| exit.shown()).map(|code| code.to_string().into())
            }
            HookVariable::Group => text(group),
            HookVariable::Model => text(&self.hooks.model),
            HookVariable::State => Some(self.state.name().into()),
            HookVariable::CallbackSession => text(&callback.session),
            HookVariable::CallbackAgent => text(&callback.agent),
        }
    }

    /// Waits for the command itself: what it leaves running in the background is its own affair, unless
    /// its time is over. Then all of its group ends.
    fn wait(&self, mut child: Child, log: &Path) -> (Option<ExitStatus>, bool) {
        let until = Instant::now().checked_add(self.hooks.limit);
        let key = key_of(child.id()).ok();
        let grip = key.as_ref().and_then(|key| Grip::open(key).ok());
        loop {
            if let Ok(Some(status)) = child.try_wait() {
                return (Some(status), false);
            }
            let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            super::run::rest(grip.as_ref(), left.min(LOOK));
            bound(log);
        }
        let _ = key.map(|key| end(&key, &[Signal::Terminate, Signal::Kill], GRACE));
        // It is not collected yet, so that nobody else's group can have its number.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Kernel::KILL);
        }
        (child.wait().ok(), true)
    }
}

fn begun() -> io::Result<Ran> {
    let by = key_of(std::process::id()).map_err(|why| io::Error::other(why.to_string()))?;
    Ok(Ran::new(Timestamp::now(), by))
}

/// A line of ours between others' output.
fn say(log: &Path, text: &str) {
    let _ =
        append(log).and_then(|mut log| log.write_all(format!("\n[agentctl] {text}\n").as_bytes()));
}

fn words(end: &HookEnd) -> String {
    match (&end.failure, end.timed_out, end.code, end.signal) {
        (Some(why), ..) => why.clone(),
        (None, true, ..) => "ended because its time was over".to_owned(),
        (None, false, Some(code), _) => format!("exit code {code}"),
        (None, false, None, Some(signal)) => format!("killed by signal {signal}"),
        (None, false, None, None) => "nobody saw how it ended".to_owned(),
    }
}

/// How an agent's session ended, as far as its parent can tell: what is in its records it does not read.
pub(super) fn state(launch: &Launched, exit: &Exit, state: &Path) -> StateName {
    match (exit.code, exit.signal) {
        _ if exit.overdue || stops::is_stopped(state, launch) => StateName::Stopped,
        (Some(0), _) => StateName::Done,
        (Some(_), _) => StateName::Failed,
        (None, _) => StateName::Died,
    }
}
