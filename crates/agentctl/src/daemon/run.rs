//! The daemon itself: takes the lock, listens, and starts its threads.

use super::{
    budgets, due,
    figures::{self, Figures},
    lock::Lock,
    log::Log,
    mail, server,
    shared::{Nature, Shared, own},
    watch::{self, Sink},
};
use crate::{
    config::{self, Config, Key},
    error::{Error, Kind},
    metrics, notify, places,
};
use agentctl_core::wire::Problem;
use sd_notify::NotifyState;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long the first look may take.
const FIRST: Duration = Duration::from_secs(10);
/// So often it is looked whether it is to end meanwhile.
const GLANCE: Duration = Duration::from_millis(50);
/// A thread that was not seen for so long hangs.
const HANGS: Duration = Duration::from_secs(150);
/// However quiet it is, the lock is looked at this often.
const BEAT: Duration = Duration::from_secs(10);

/// Why it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// Somebody asked for it.
    Told,
    /// Others cannot see that it runs.
    Replaced,
}

/// How to run.
pub(crate) struct Manner {
    /// Through portable calls only.
    pub(crate) portable: bool,
    /// Away from whoever started it, with its lines in this file.
    pub(crate) detached: Option<PathBuf>,
    /// Serving figures, if not as it is configured.
    pub(crate) figures: Option<Figures>,
}

/// Runs until it is told to end.
pub(crate) fn run(manner: Manner) -> Result<(), Error> {
    if manner.detached.is_some() {
        let _ = rustix::process::setsid(); // fails only for a leader, which has a session of its own
    }
    let state = places::known_state()?;
    let mut lock = Lock::take(&state)?;
    let log = Log::open(manner.detached.as_deref())
        .map_err(|why| Error::new(Kind::Io, format!("cannot write the log: {why}")))?;
    let socket = places::socket(&state);
    let listener = server::listen(&socket)?;
    lock.tell(&socket)
        .map_err(|why| Error::new(Kind::Io, format!("cannot write the lock: {why}")))?;
    let Manner { portable, detached: log_path, figures } = manner;
    let nature = Nature { portable, socket: socket.clone(), log_path };
    let shared = Arc::new(Shared::new(nature, log));
    let sinks = sinks(&shared, &state, figures)?;
    begin("watcher", &shared, {
        let cursor = places::cursor(&state);
        move |shared| watch::run(shared, sinks, cursor.as_deref())
    })?;
    begin("due", &shared, due::run)?;
    begin("budgets", &shared, budgets::run)?;
    begin("server", &shared, move |shared| server::run(shared, &listener))?;
    // Whoever is told that it runs may rely on it that what happens from now on is told.
    let began = Instant::now();
    while !shared.hub.watched(GLANCE) && !shared.is_ending() && began.elapsed() < FIRST {}
    shared.log.say(&format!(
        "agentctl {} runs as process {}, and listens on {}",
        super::VERSION,
        std::process::id(),
        socket.display()
    ));
    match attend(&shared, &mut lock, &state) {
        Why::Told => {
            let _ = fs::remove_file(&socket);
            shared.log.say("ends, as it was told");
        }
        Why::Replaced => shared.log.say("ends, as its lock is another's: another one may run"),
    }
    Ok(())
}

/// Everybody who is told what happens. Whatever is wrong with what is configured, fuses are kept.
fn sinks(shared: &Arc<Shared>, state: &Path, asked: Option<Figures>) -> Result<Vec<Sink>, Error> {
    let mut sinks = watch::sinks(shared);
    // From the root: no project has a say in this.
    let config = config::read(Some(Path::new("/"))).unwrap_or_else(|why| {
        shared.lasting(own(None, format!("nobody is told what happens: {}", why.message)));
        sinks.push(mail::unknown());
        Config::default()
    });
    for note in &config.notes {
        shared.lasting(own(Some(note.path.clone()), note.text()));
    }
    let (targets, problems) = notify::targets(&config);
    problems.into_iter().for_each(|problem: Problem| shared.lasting(problem));
    if !targets.is_empty() {
        sinks.push(mail::open(shared, state, targets.clone())?);
    }
    let Some(Figures { address, remote }) = asked.or_else(|| configured(&config)) else {
        return Ok(sinks);
    };
    match metrics::bind(address, remote) {
        Ok(listener) => {
            let bound = listener.local_addr().unwrap_or(address);
            let page = figures::Page { listener, remote, state: state.to_owned(), targets };
            sinks.push(figures::open(shared, page)?);
            shared.log.say(&format!("figures are at http://{bound}/metrics"));
        }
        Err(why) if asked.is_some() => return Err(why),
        Err(why) => {
            shared.lasting(own(None, format!("there are no figures: {}", why.message)));
        }
    }
    Ok(sinks)
}

fn configured(config: &Config) -> Option<Figures> {
    let address = config.text(Key::MetricsAddr)?.parse().ok()?;
    Some(Figures { address, remote: config.is_on(Key::MetricsRemote) })
}

pub(super) fn begin(
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
fn attend(shared: &Shared, lock: &mut Lock, state: &Path) -> Why {
    let _ = sd_notify::notify(&[NotifyState::Ready]); // nobody may supervise us
    let watched = sd_notify::watchdog_enabled();
    let beat = watched.map_or(BEAT, |time| BEAT.min(time / 3));
    let mut why = Why::Told;
    while !shared.ends_within(beat) {
        if !lock.is_found(state) {
            why = Why::Replaced;
            break;
        }
        match lock.mend(state) {
            Ok(true) => shared.log.say("somebody changed what is in the lock: written anew"),
            Err(failed) if failed.kind() == io::ErrorKind::WouldBlock => {
                why = Why::Replaced;
                break;
            }
            Ok(false) | Err(_) => {} // whoever asks for the status is told
        }
        if watched.is_some() && shared.is_well(HANGS) {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        }
    }
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    why
}
