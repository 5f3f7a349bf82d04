//! `agentctl __shim STAGE ORDERS`: the first stage leaves the caller's session and tree, the second is
//! the agent's parent, and the third becomes the agent: it writes the receipt under its own name and
//! then changes its program, so that no agent of ours ever runs without one.
//!
//! Input is what the agent reads; output is a pipe to whoever waits for reports; errors go to the lock
//! file of the directory, so that the lock lives as long as somebody is starting an agent there.

use super::{Orders, Report, hooks, hooks::Errand, stops::stopped};
use crate::{
    host::{Grip, end, key_of, one},
    read,
    write::{Room, append, whole},
};
use agentctl_core::{
    launch::Mark,
    receipt::{Exit, HookName, Launched, SCHEMA, VARIABLE},
};
use clap::ValueEnum;
use jiff::Timestamp;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FlockOperation, OFlags, flock},
    io::retry_on_intr,
    process::setsid,
};
use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::{
            fs::{FileTypeExt, OpenOptionsExt},
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// The three lives of a shim.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Stage {
    /// Leaves the caller's session and tree.
    Leave,
    /// Is the agent's parent.
    Stay,
    /// Becomes the agent.
    Become,
}

impl Stage {
    /// The words that start it.
    pub(crate) fn words(self) -> [&'static str; 2] {
        let name = match self {
            Self::Leave => "leave",
            Self::Stay => "stay",
            Self::Become => "become",
        };
        ["__shim", name]
    }
}

/// How often the log is looked at for the id, and the deadline for its coming.
const TICK: Duration = Duration::from_millis(20);
/// The lock of the directory is given back this long after the start, if nobody did so before. A launch
/// takes no longer, and an agent that has not told its id by then tells it late.
const LOCKED: Duration = Duration::from_secs(90);
/// How long an agent has to heed a signal before the next, once its deadline has come.
const GRACE: Duration = Duration::from_secs(5);
/// Output beyond this is thrown away, and the log begins anew.
const LOG: u64 = 64 << 20;

/// Runs one stage; the exit code means nothing to anybody.
pub(crate) fn run(stage: Stage, orders: &Path) -> u8 {
    match stage {
        Stage::Leave => leave(orders),
        Stage::Stay => stay(orders),
        Stage::Become => become_it(orders),
    }
}

/// Starts the second stage in a session of its own and goes, so that no walk over a tree of processes
/// leads from the caller to the agent.
fn leave(orders: &Path) -> u8 {
    let _ = setsid(); // fails only for a leader, which has a session of its own
    close_fds::set_fds_cloexec(3, &[]); // whoever waits for the end of a pipe of the caller's gets it
    match next(Stage::Stay, orders).and_then(|mut next| next.spawn()) {
        Ok(_) => 0,
        Err(why) => {
            tell(&Report::NotStarted(format!("cannot start our own shim: {why}")));
            1
        }
    }
}

fn next(stage: Stage, orders: &Path) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(stage.words()).arg(orders);
    Ok(command)
}

fn orders(path: &Path) -> Option<Orders> {
    read::within(path, u64::MAX).ok()
}

fn stay(path: &Path) -> u8 {
    let Some(mut orders) = orders(path) else { return 1 };
    let _watched = watched(&orders.log);
    // It carries its mark before it is the agent.
    let marked = |mut next: Command| next.env(VARIABLE, &orders.receipt.launch).spawn();
    let child = match next(Stage::Become, path).and_then(marked) {
        Ok(child) => child,
        Err(why) => {
            let _ = fs::remove_file(path);
            tell(&Report::NotStarted(format!("cannot start our own shim: {why}")));
            return 1;
        }
    };
    if let Ok(key) = key_of(child.id()) {
        orders.receipt.process = Some(key); // else it is gone, and was collected by nobody but us
    }
    let receipt = orders.log.with_extension("json");
    watch(child, orders, &receipt)
}

/// As long as somebody holds on to the log, the agent's end will be seen and written down, and its hook run.
fn watched(log: &Path) -> io::Result<File> {
    let log = append(log)?;
    flock(&log, FlockOperation::LockExclusive)?;
    Ok(log)
}

/// Writes down who it is, and becomes the agent.
fn become_it(path: &Path) -> u8 {
    let Some(mut orders) = orders(path) else { return 1 };
    let _ = fs::remove_file(path);
    let receipt = orders.log.with_extension("json");
    let told = key_of(std::process::id()).map_err(|why| why.to_string()).and_then(|key| {
        orders.receipt.process = Some(key);
        whole(&receipt, &orders.receipt)
            .map_err(|why| format!("cannot write {}: {why}", receipt.display()))
    });
    if let Err(why) = told {
        tell(&Report::NotStarted(why));
        return 1;
    }
    let Ok(mut listener) = io::stdout().as_fd().try_clone_to_owned().map(File::from) else {
        return 1;
    };
    let _ = writeln!(listener, "{}", line(&Report::Started));
    let why = start(&orders).map_or_else(
        |why| why,
        |mut command| format!("cannot start {}: {}", orders.argv[0], command.exec()),
    );
    let _ = fs::remove_file(&receipt);
    let _ = writeln!(listener, "{}", line(&Report::NotStarted(why)));
    1
}

fn start(orders: &Orders) -> Result<Command, String> {
    let log = append(&orders.log);
    let log = log.map_err(|why| format!("cannot open {}: {why}", orders.log.display()))?;
    let twin = log.try_clone().map_err(|why| why.to_string())?;
    let [program, words @ ..] = orders.argv.as_slice() else {
        return Err("no program is named".to_owned());
    };
    let input = match &orders.receipt.input {
        Some(fifo) => {
            let first = orders.first.as_deref().unwrap_or_default();
            let input = open_input(fifo, first);
            input.map_err(|why| format!("cannot open its input: {why}"))?.into()
        }
        None => Stdio::inherit(),
    };
    let mut command = Command::new(program);
    command.args(words).current_dir(&orders.cwd).stdin(input).stdout(log).stderr(twin);
    for name in &orders.without {
        command.env_remove(name);
    }
    command.envs(orders.env.iter().cloned()).env(VARIABLE, &orders.receipt.launch);
    Ok(command)
}

/// Open for reading and writing: nobody's going closes it. It holds its first words until they are read.
fn open_input(fifo: &Path, first: &str) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut input = OpenOptions::new().read(true).write(true).custom_flags(flags).open(fifo)?;
    if !input.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is no pipe"));
    }
    input.write_all(first.as_bytes())?;
    Ok(input)
}

/// Room on the disk for what nobody can find out later: how the agent ended, and what came of its hook.
struct Rooms {
    exit: Room,
    hook: Option<[Room; 2]>,
}

impl Rooms {
    fn keep(orders: &Orders) -> Self {
        let keep = || Room::keep(&orders.log);
        Self { exit: keep(), hook: orders.completes().then(|| [keep(), keep()]) }
    }
}

/// Waits for the agent's end, and does what is due meanwhile.
fn watch(mut child: Child, mut orders: Orders, receipt: &Path) -> u8 {
    let began = Instant::now();
    let process = orders.receipt.process.clone();
    let grip = process.as_ref().and_then(|process| Grip::open(process).ok());
    let mut locked = true;
    let mut overdue = false;
    let rooms = Rooms::keep(&orders);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            name(&mut orders, receipt); // it may have told its id with its last words
            return ended(status, &orders, overdue, rooms);
        }
        name(&mut orders, receipt);
        bound(&orders.log);
        if locked && began.elapsed() > LOCKED {
            let _ = flock(io::stderr(), FlockOperation::Unlock);
            locked = false;
        }
        if orders.receipt.deadline.is_some_and(|deadline| deadline <= Timestamp::now()) && !overdue
        {
            overdue = true;
            stop(&orders);
            // Its end is seen below.
            let _ = process.as_ref().map(|process| end(process, &orders.ends_by, GRACE));
            stop(&orders); // it may have written until it ended
        }
        let waits = match (orders.mark.is_some(), locked) {
            (true, true) => TICK,
            (false, true) => Duration::from_millis(500),
            (_, false) => Duration::from_secs(5),
        };
        let left = orders.receipt.deadline.filter(|_| !overdue).map(|deadline| {
            Duration::try_from(deadline.duration_since(Timestamp::now())).unwrap_or_default()
        });
        rest(grip.as_ref(), left.map_or(waits, |left| left.min(waits)));
    }
}

/// Waits for the end of the agent, no longer than this.
pub(super) fn rest(grip: Option<&Grip>, time: Duration) {
    match grip.map(|grip| grip.wait(Some(time))) {
        Some(Ok(_)) => {}
        Some(Err(_)) | None => std::thread::sleep(time.min(TICK)),
    }
}

/// Writes the session's id down once the agent has told it.
fn name(orders: &mut Orders, receipt: &Path) {
    let Some(mark) = &orders.mark else { return };
    let Some(id) = told(&orders.log, mark) else { return };
    orders.receipt.session = Some(id);
    orders.mark = None;
    let _ = whole(receipt, &orders.receipt);
}

/// The id that an agent has told in its output.
pub(crate) fn told(log: &Path, mark: &Mark) -> Option<String> {
    mark.find(&beginning(log)?).map(str::to_owned)
}

/// The beginning of an agent's output.
pub(crate) fn beginning(log: &Path) -> Option<String> {
    let mut head = Vec::new();
    read::open(log).ok()?.take(1 << 20).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Keeps the log from filling the disk: whoever appends goes on at its beginning.
pub(super) fn bound(log: &Path) {
    let long = fs::symlink_metadata(log).is_ok_and(|stat| stat.len() > LOG);
    if long && let Ok(log) = append(log) {
        let _ = log.set_len(0);
    }
}

/// Its end at its deadline is on purpose.
fn stop(orders: &Orders) {
    let receipt = &orders.receipt;
    let (Some(session), Some(process)) = (&receipt.session, &receipt.process) else { return };
    let Some(state) = orders.log.ancestors().nth(2) else { return };
    if !orders.log.with_extension("json").exists() {
        return; // it is not the agent yet
    }
    let _ = stopped(state, (&receipt.agent, session), process);
}

fn ended(status: ExitStatus, orders: &Orders, overdue: bool, rooms: Rooms) -> u8 {
    let (code, signal) = (status.code(), status.signal());
    let exit = Exit { schema: SCHEMA, code, signal, at: Timestamp::now(), overdue };
    let log = &orders.log;
    if log.with_extension("json").exists() {
        let _ = rooms.exit.whole(&log.with_extension("exit"), &exit);
    } // else the launch failed, and nothing is to be left of it
    if let Some(fifo) = &orders.receipt.input {
        let _ = fs::remove_file(fifo);
    }
    tell(&Report::Ended { code, signal });
    if let Some(rooms) = rooms.hook {
        complete(orders, exit, rooms);
    }
    0
}

/// Runs what is to be run once the agent has ended; unless its launch failed, of which nothing is left.
fn complete(orders: &Orders, exit: Exit, rooms: [Room; 2]) {
    settled(orders);
    let _ = flock(io::stderr(), FlockOperation::Unlock); // others may launch there meanwhile
    let receipt = orders.log.with_extension("json");
    let Some(launch) = one::<Launched>(&receipt) else { return };
    let launch = Launched { exit: Some(exit), ..launch };
    let (Some(hooks), Some(_)) = (&launch.hooks, &launch.session) else { return };
    let Some(dir) = orders.log.ancestors().nth(2) else { return };
    let state = hooks::state(&launch, &exit, dir);
    let name = HookName::OnComplete;
    // Somebody may have begun it, and a full disk is no reason to run it twice.
    let errand = Errand { name, launch: &launch, hooks, receipt: &receipt, state };
    let _ = errand.run_within(rooms);
}

/// Waits until whoever launched has made up his mind, and run what comes first: he closes his end then,
/// or is gone.
fn settled(orders: &Orders) {
    let first = orders.receipt.hooks.as_ref().filter(|hooks| hooks.on_create.is_some());
    let limit = LOCKED + first.map_or(Duration::ZERO, |hooks| hooks.limit + GRACE + GRACE);
    let limit = Timespec::try_from(limit).ok();
    let stdout = io::stdout();
    let mut end = [PollFd::new(&stdout, PollFlags::empty())];
    let _ = retry_on_intr(|| poll(&mut end, limit.as_ref()));
}

fn tell(report: &Report) {
    let _ = writeln!(io::stdout(), "{}", line(report)); // nobody may be listening any more
}

fn line(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A log that is too long begins anew; what a link in its place leads to is not cut.
    #[test]
    fn nothing_is_cut_or_filled_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let long = |name: &str| append(&path(name)).and_then(|file| file.set_len(LOG + 1));
        long("kept").and_then(|()| long("log")).expect("holes cost nothing");
        symlink(path("kept"), path("link")).expect("a link");
        bound(&path("link"));
        bound(&path("log"));
        let size = |name: &str| fs::metadata(path(name)).map_or(0, |stat| stat.len());
        assert_eq!((size("kept"), size("log")), (LOG + 1, 0));
        assert!(open_input(&path("link"), "words").is_err());
        assert!(open_input(&path("log"), "words").is_err());
        assert_eq!((size("kept"), size("log")), (LOG + 1, 0));
        assert_eq!(beginning(&path("link")), None);
    }
}
