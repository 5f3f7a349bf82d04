//! The daemon itself: takes the lock, listens, and starts its threads.

use super::{budgets, due, lock::Lock, log::Log, server, shared::Shared, watch};
use crate::{
    error::{Error, Kind},
    places,
};
use sd_notify::NotifyState;
use std::{fs, io, path::PathBuf, sync::Arc, thread, time::Duration};

/// How long the first look may take.
const FIRST: Duration = Duration::from_secs(10);
/// A thread that was not seen for so long hangs.
const HANGS: Duration = Duration::from_secs(150);
/// Who asked it to end reads the answer meanwhile.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How to run.
pub(crate) struct Manner {
    /// Through portable calls only.
    pub(crate) portable: bool,
    /// Away from whoever started it, with its lines in this file.
    pub(crate) detached: Option<PathBuf>,
}

/// Runs until it is told to end.
pub(crate) fn run(manner: Manner) -> Result<(), Error> {
    if manner.detached.is_some() {
        let _ = rustix::process::setsid(); // fails only for a leader, which has a session of its own
        close_fds::set_fds_cloexec(3, &[]); // whoever waits for the end of a pipe of the caller's gets it
    }
    let state = places::known_state()?;
    let mut lock = Lock::take(&state)?;
    let log = Log::open(manner.detached.as_deref())
        .map_err(|why| Error::new(Kind::Io, format!("cannot write the log: {why}")))?;
    let (listener, socket) = server::listen(&places::runtime(&state))?;
    lock.tell(&socket)
        .map_err(|why| Error::new(Kind::Io, format!("cannot write the lock: {why}")))?;
    let shared = Arc::new(Shared::new(manner.portable, socket.clone(), (log, manner.detached)));
    let sinks = watch::sinks(&shared);
    begin("watcher", &shared, move |shared| watch::run(shared, sinks))?;
    begin("due", &shared, due::run)?;
    begin("budgets", &shared, budgets::run)?;
    // Whoever is answered may rely on it that what happens from now on is told.
    shared.hub.watched(FIRST);
    shared.log.say(&format!(
        "agentctl {} runs as process {}, and listens on {}",
        super::VERSION,
        std::process::id(),
        socket.display()
    ));
    begin("server", &shared, move |shared| server::run(shared, &listener))?;
    attend(&shared);
    let _ = fs::remove_file(&socket);
    shared.log.say("ends, as it was told");
    thread::sleep(LAST_WORDS);
    Ok(())
}

fn begin(
    name: &'static str,
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> Result<(), Error> {
    let own = Arc::clone(shared);
    let begun = thread::Builder::new().name(name.to_owned()).spawn(move || work(&own));
    let failed = |why: io::Error| Error::new(Kind::Io, format!("cannot start a thread: {why}"));
    begun.map(drop).map_err(failed)
}

/// Tells whoever supervises us that we are there, and that nothing hangs, until it is to end.
fn attend(shared: &Shared) {
    let _ = sd_notify::notify(&[NotifyState::Ready]); // nobody may supervise us
    let watched = sd_notify::watchdog_enabled();
    let beat = watched.map_or(Duration::from_secs(3600), |time| time / 3);
    while !shared.ends_within(beat) {
        if watched.is_some() && shared.is_well(HANGS) {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
}
