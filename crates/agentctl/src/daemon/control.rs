//! Starts and ends the daemon, and says how it is. That it runs, the kernel's lock says and nothing else.

use super::{
    PROTOCOL, VERSION,
    client::Client,
    figures::Figures,
    install,
    lock::{Keeper, Lock},
};
use crate::{
    error::{Error, Kind},
    host::Waited,
    places,
    write::{append, make_dir},
};
use agentctl_core::wire::{Daemon, Problem, SCHEMA};
use serde_json::Value;
use std::{
    env, fs,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Below the directory of our state.
const LOG: &str = "daemon.log";
/// How long it may take to answer for the first time, and to end.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long it may take to look around for the first time.
const FIRST: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(20);
/// So much of the log is shown where it did not start.
const LAST: u64 = 2000;

/// What became of a start.
pub(crate) struct Started {
    /// How it is now.
    pub(crate) daemon: Daemon,
    /// It ran before.
    pub(crate) already: bool,
}

/// What became of an end.
pub(crate) enum Ended {
    /// This process ended.
    Process(u32),
    /// None ran.
    Nobody,
}

/// One runs for our directory of state.
pub(crate) fn runs() -> bool {
    places::state().is_some_and(|state| Lock::is_held(&state))
}

/// How it is.
pub(crate) fn status() -> Result<Daemon, Error> {
    let state = places::known_state()?;
    let nobody = Daemon {
        schema: SCHEMA,
        running: false,
        pid: None,
        version: None,
        protocol: None,
        since: None,
        socket: None,
        log: None,
        watches: Vec::new(),
        problems: Vec::new(),
    };
    let Some(keeper) = Lock::keeper(&state) else { return Ok(nobody) };
    let socket = keeper.socket().map(Path::to_owned);
    let running = Daemon { running: true, pid: keeper.pid, socket, ..nobody };
    let trouble = |message: String| Problem { agent: "agentctl".to_owned(), path: None, message };
    let mut client = match Client::connect(&keeper) {
        Ok(client) => client,
        Err(why) => {
            let silent = trouble(format!("the daemon does not answer: {why}"));
            return Ok(Daemon { problems: vec![silent], ..running });
        }
    };
    let version = client.version.clone();
    // An older one may not know how to tell.
    let more = client.ask("daemon").unwrap_or(Value::Null);
    let paths = |value: &Value| value.as_str().map(PathBuf::from);
    let mut problems: Vec<Problem> = list(&more["problems"], |one| {
        let message = one["message"].as_str()?.to_owned();
        let agent = one["agent"].as_str()?.to_owned();
        Some(Problem { agent, path: paths(&one["path"]), message })
    });
    problems.extend(difference(&version.version, version.protocol).map(trouble));
    // Looked at anew: one that begins is called before it has written where it is.
    let now = Lock::keeper(&state);
    let damage = now.and_then(|now| Some((now.damage(version.pid)?, now.path)));
    problems.extend(damage.map(|(why, path)| Problem { path: Some(path), ..trouble(why) }));
    Ok(Daemon {
        pid: Some(version.pid),
        version: Some(version.version),
        protocol: Some(version.protocol),
        since: Some(version.since),
        socket: Some(client.socket),
        log: paths(&more["log"]),
        watches: list(&more["watches"], paths),
        problems,
        ..running
    })
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    value.as_array().into_iter().flatten().filter_map(read).collect()
}

/// The daemon is of another version than this program: told, and nothing else.
fn difference(version: &str, protocol: u32) -> Option<String> {
    let way = "`agentctl daemon restart` replaces it";
    match (version == VERSION, protocol == PROTOCOL) {
        (true, true) => None,
        (false, true) => Some(format!("the daemon is version {version}, this is {VERSION}; {way}")),
        (_, false) => Some(format!(
            "the daemon is version {version} and speaks protocol {protocol}, this is {VERSION} and speaks \
             {PROTOCOL}; {way}"
        )),
    }
}

/// Starts it, away from whoever asks, and returns once it answers.
pub(crate) fn start(portable: bool, figures: Option<Figures>) -> Result<Started, Error> {
    let (state, until) = (places::known_state()?, Instant::now() + PATIENCE);
    loop {
        if let Some(daemon) = answers(&state, until)? {
            return Ok(Started { daemon, already: true });
        }
        if let Some(daemon) = begin(&state, portable, figures)? {
            return Ok(Started { daemon, already: false });
        }
        if Instant::now() > until {
            return Err(ended());
        }
    }
}

/// Starts one, and waits until it answers; none is that somebody else was quicker, or ended it.
fn begin(state: &Path, portable: bool, figures: Option<Figures>) -> Result<Option<Daemon>, Error> {
    let log = state.join(LOG);
    let failed = |why: io::Error| {
        Error::new(Kind::Io, format!("cannot start the daemon: {}: {why}", log.display()))
            .hint("make its directory writable for you, or set AGENTCTL_HOME")
    };
    make_dir(state).map_err(failed)?;
    let errors = append(&log).map_err(failed)?;
    let before = errors.metadata().map_or(0, |stat| stat.len());
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.args(["daemon", "run", "--detached"]).arg(&log).current_dir("/");
    if let Some(Figures { address, remote }) = figures {
        command.arg("--metrics-addr").arg(address.to_string());
        command.args(remote.then_some("--metrics-remote"));
    }
    if portable {
        command.env("AGENTCTL_PORTABLE", "1");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    // Whoever waits for the end of a pipe of the caller's gets it. This process starts nobody else.
    close_fds::set_fds_cloexec(3, &[]);
    let mut child = command.spawn().map_err(failed)?;
    let began = Instant::now();
    loop {
        let pid = child.id();
        let own = Lock::keeper(state).filter(|keeper| keeper.is(pid));
        let answered = own.and_then(|keeper| Client::connect(&keeper).ok());
        if answered.is_some_and(|client| client.version.watches || began.elapsed() > FIRST) {
            return status().map(Some);
        }
        if let Ok(Some(end)) = child.try_wait() {
            // It found another one, or somebody told it to end.
            let replaced = end.success() || end.code() == Some(Kind::Refused.code().into());
            return match replaced {
                true => Ok(None),
                false => Err(not_started(&format!("it ended with {end}"), &log, before)),
            };
        }
        if began.elapsed() > PATIENCE {
            return Err(not_started("it does not answer", &log, before));
        }
        thread::sleep(TICK);
    }
}

/// Waits until whoever has the lock answers; none is that nobody has it.
fn answers(state: &Path, until: Instant) -> Result<Option<Daemon>, Error> {
    reached(state, until)?.map(|_| status()).transpose()
}

/// The same, to ask more. One that begins or ends does not answer for a moment.
fn reached(state: &Path, until: Instant) -> Result<Option<(Keeper, Client)>, Error> {
    loop {
        let Some(keeper) = Lock::keeper(state) else { return Ok(None) };
        match Client::connect(&keeper) {
            Ok(client) => return Ok(Some((keeper, client))),
            Err(why) if Instant::now() > until => return Err(silent(&keeper, &why)),
            Err(_) => thread::sleep(TICK),
        }
    }
}

fn ended() -> Error {
    Error::new(Kind::Io, "the daemon ended meanwhile").hint("start it again")
}

fn silent(keeper: &Keeper, why: &io::Error) -> Error {
    let who = keeper.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
    let way = match keeper.pid {
        Some(_) => "see what that process is, and kill it yourself".to_owned(),
        None => format!("`fuser {}` may name it; kill it yourself", keeper.path.display()),
    };
    Error::new(Kind::TimedOut, format!("the daemon{who} runs and does not answer: {why}"))
        .hint(format!("it loses nothing if it is killed: {way}"))
}

fn not_started(why: &str, log: &Path, before: u64) -> Error {
    let mut said = String::new();
    let read = fs::File::open(log).and_then(|mut log| {
        log.seek(SeekFrom::Start(before))?;
        log.take(LAST).read_to_string(&mut said)
    });
    let said = if read.is_ok() { said.trim_end() } else { "" };
    let said = if said.is_empty() { String::new() } else { format!("\n{said}") };
    Error::new(Kind::NotStarted, format!("the daemon did not start: {why}{said}"))
        .hint(format!("its log is {}; `agentctl daemon run` shows it here", log.display()))
}

/// Asks it to end, and waits until that very process has.
pub(crate) fn stop() -> Result<Ended, Error> {
    let state = places::known_state()?;
    let Some((keeper, mut client)) = reached(&state, Instant::now() + PATIENCE)? else {
        return Ok(Ended::Nobody);
    };
    let pid = client.version.pid;
    match client.ask("stop") {
        Err(why) if !is_gone(&why) => return Err(silent(&keeper, &why)),
        Ok(_) | Err(_) => {} // it may be gone before it was heard
    }
    let began = Instant::now();
    if let Some(grip) = &client.grip {
        let waited = grip.wait(Some(PATIENCE));
        return match waited {
            Ok(Waited::Ended) => Ok(Ended::Process(pid)),
            Ok(Waited::TimedOut) | Err(_) => Err(lives(pid)),
        };
    }
    // Where the kernel tells no pids, the lock says when it is gone.
    while Lock::keeper(&state).is_some_and(|keeper| keeper.is(pid)) {
        if began.elapsed() > PATIENCE {
            return Err(lives(pid));
        }
        thread::sleep(TICK);
    }
    Ok(Ended::Process(pid))
}

fn is_gone(why: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(why.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn lives(pid: u32) -> Error {
    Error::new(Kind::TimedOut, format!("the daemon (process {pid}) was told to end, and lives"))
        .hint("it loses nothing if it is killed: see what that process is, and kill it yourself")
}

/// Ends it if it runs, and starts it. Whoever has a supervisor stays in its hands.
pub(crate) fn restart(portable: bool, figures: Option<Figures>) -> Result<Started, Error> {
    let state = places::known_state()?;
    let client = Lock::keeper(&state).and_then(|keeper| Client::connect(&keeper).ok());
    if let Some(version) = client.map(|client| client.version).filter(|told| told.supervised) {
        if figures.is_some() {
            let what = "the daemon is started by its supervisor, without --metrics-addr";
            return Err(Error::new(Kind::Refused, what).hint("set `metrics.addr` instead"));
        }
        install::restart(version.pid)?;
        let daemon = answers(&state, Instant::now() + PATIENCE)?.ok_or_else(ended)?;
        return Ok(Started { daemon, already: false });
    }
    stop()?;
    start(portable, figures)
}
