//! `agentctl __shim STAGE ORDERS`: the first stage leaves the caller's session and tree, the second is
//! the agent's parent.
//!
//! Input is what the agent reads; output is a pipe to whoever waits for reports; errors go to the lock
//! file of the directory, so that the lock lives as long as somebody is starting an agent there.

use super::{Orders, Report};
use crate::{
    host::{Handle, end, key_of},
    write::whole,
};
use agentctl_core::{
    ident::ProcKey,
    launch::Signal,
    receipt::{Exit, SCHEMA, VARIABLE},
};
use jiff::Timestamp;
use rustix::{
    fs::{FlockOperation, flock},
    process::setsid,
};
use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{fs::OpenOptionsExt, process::ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// The two words that name a stage.
pub(crate) const STAGES: [&str; 2] = ["leave", "stay"];
/// How often the log is looked at for the id, and the deadline for its coming.
const TICK: Duration = Duration::from_millis(20);
/// The lock of the directory is given back this long after the start, if nobody did so before.
const LOCKED: Duration = Duration::from_secs(30);
/// How long an agent has to heed a signal before the next, once its deadline has come.
const GRACE: Duration = Duration::from_secs(5);
/// What the file is called that keeps room for a receipt.
const ROOM: &str = "room";
/// Output beyond this is thrown away, oldest first.
const LOG: u64 = 64 << 20;

/// Runs one stage; the exit code means nothing to anybody.
pub(crate) fn run(stage: &str, orders: &Path) -> u8 {
    match stage == STAGES[0] {
        true => leave(orders),
        false => stay(orders),
    }
}

/// Starts the second stage in a session of its own and goes, so that no walk over a tree of processes
/// leads from the caller to the agent.
fn leave(orders: &Path) -> u8 {
    let _ = setsid(); // fails only for a leader, which has a session of its own
    let me = env::current_exe();
    let next = me.and_then(|me| Command::new(me).args(["__shim", STAGES[1]]).arg(orders).spawn());
    match next {
        Ok(_) => 0,
        Err(why) => {
            tell(&Report::NotStarted(format!("cannot start our own shim: {why}")));
            1
        }
    }
}

fn stay(path: &Path) -> u8 {
    let orders: Option<Orders> =
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let _ = fs::remove_file(path);
    let Some(mut orders) = orders else { return 1 };
    let receipt = orders.receipt.log.with_extension("json");
    let unwritten = |why: io::Error| format!("cannot write {}: {why}", receipt.display());
    let begun = make_room(&orders, &receipt).map_err(unwritten).and_then(|()| start(&orders));
    let mut child = match begun {
        Ok(child) => child,
        Err(why) => {
            tell(&Report::NotStarted(why));
            return 1;
        }
    };
    orders.receipt.process = match key_of(child.id()) {
        Ok(key) => key,
        Err(_) => ProcKey { pid: child.id(), start: 0, boot: String::new() }, // it is gone already
    };
    let _ = fs::remove_file(receipt.with_extension(ROOM));
    if let Err(why) = whole(&receipt, &orders.receipt) {
        let _ = end(&orders.receipt.process, &[Signal::Kill], GRACE);
        let _ = child.kill(); // ours, and not yet told to anybody
        let _ = child.wait();
        tell(&Report::NotStarted(unwritten(why)));
        return 1;
    }
    tell(&Report::Started);
    watch(child, orders, &receipt)
}

/// What cannot be written down is not started: the disk must have room for the log and for the receipt,
/// once as it is and once as it will be when the process is known.
fn make_room(orders: &Orders, receipt: &Path) -> io::Result<()> {
    open_log(orders)?;
    whole(receipt, &orders.receipt)?;
    let mut room = OpenOptions::new();
    let room = room.write(true).create_new(true).mode(0o600).open(receipt.with_extension(ROOM));
    room?.write_all(&vec![0; usize::try_from(fs::metadata(receipt)?.len()).unwrap_or(0) + 512])
}

fn open_log(orders: &Orders) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(&orders.receipt.log)
}

fn start(orders: &Orders) -> Result<Child, String> {
    let log = open_log(orders)
        .map_err(|why| format!("cannot open {}: {why}", orders.receipt.log.display()))?;
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
    command.spawn().map_err(|why| format!("cannot start {program}: {why}"))
}

/// Open for reading and writing: nobody's going closes it. It holds its first words until they are read.
fn open_input(fifo: &Path, first: &str) -> io::Result<File> {
    let mut input = OpenOptions::new().read(true).write(true).open(fifo)?;
    input.write_all(first.as_bytes())?;
    Ok(input)
}

/// Waits for the agent's end, and does what is due meanwhile.
fn watch(mut child: Child, mut orders: Orders, receipt: &Path) -> u8 {
    let began = Instant::now();
    let handle = Handle::open(&orders.receipt.process).ok();
    let mut locked = true;
    let mut overdue = false;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            name(&mut orders, receipt); // it may have told its id with its last words
            return ended(status, &orders, overdue);
        }
        name(&mut orders, receipt);
        bound(&orders.receipt.log);
        if locked && began.elapsed() > LOCKED {
            let _ = flock(io::stderr(), FlockOperation::Unlock);
            locked = false;
        }
        if orders.receipt.deadline.is_some_and(|deadline| deadline <= Timestamp::now()) && !overdue
        {
            overdue = true;
            let _ = end(&orders.receipt.process, &orders.ends_by, GRACE); // its end is seen below
        }
        let waits = match (orders.mark.is_some(), locked) {
            (true, _) => TICK,
            (false, true) => Duration::from_millis(500),
            (false, false) => Duration::from_secs(5),
        };
        let left = orders.receipt.deadline.filter(|_| !overdue).map(|deadline| {
            Duration::try_from(deadline.duration_since(Timestamp::now())).unwrap_or_default()
        });
        rest(handle.as_ref(), left.map_or(waits, |left| left.min(waits)));
    }
}

/// Waits for the end of the agent, no longer than this.
fn rest(handle: Option<&Handle>, time: Duration) {
    match handle.map(|handle| handle.wait(Some(time))) {
        Some(Ok(_)) => {}
        Some(Err(_)) | None => std::thread::sleep(time.min(TICK)),
    }
}

/// Writes the session's id down once the agent has told it.
fn name(orders: &mut Orders, receipt: &Path) {
    let Some(mark) = &orders.mark else { return };
    let mut head = Vec::new();
    let log = File::open(&orders.receipt.log).map(|log| log.take(1 << 20).read_to_end(&mut head));
    if log.is_err() {
        return;
    }
    let head = String::from_utf8_lossy(&head);
    let Some(id) = mark.find(&head).map(str::to_owned) else { return };
    orders.receipt.session = Some(id);
    orders.mark = None;
    let _ = whole(receipt, &orders.receipt);
}

/// Keeps the log from filling the disk: whoever appends goes on behind what is left.
fn bound(log: &Path) {
    let long = fs::metadata(log).is_ok_and(|stat| stat.len() > LOG);
    if long && let Ok(log) = OpenOptions::new().write(true).open(log) {
        let _ = log.set_len(0);
    }
}

fn ended(status: ExitStatus, orders: &Orders, overdue: bool) -> u8 {
    let (code, signal) = (status.code(), status.signal());
    let exit = Exit { schema: SCHEMA, code, signal, at: Timestamp::now(), overdue };
    let _ = whole(&orders.receipt.log.with_extension("exit"), &exit);
    if let Some(fifo) = &orders.receipt.input {
        let _ = fs::remove_file(fifo);
    }
    tell(&Report::Ended { code, signal });
    0
}

fn tell(report: &Report) {
    if let Ok(line) = serde_json::to_string(report) {
        let _ = writeln!(io::stdout(), "{line}"); // nobody may be listening any more
    }
}
