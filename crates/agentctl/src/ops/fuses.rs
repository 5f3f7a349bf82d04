//! Fuses: set, put off, taken away, and fired when their time has come.

use super::{
    Here,
    command::said_by_all,
    dirs::{real, untaken, unwritable},
    exact::{again, exact, said as said_of},
    status::status,
    stop::{self, Manner, Open, name_of},
};
use crate::{
    bounded::bare,
    error::{Error, Kind},
    intents::{
        fuses::{self, Held},
        store::{Found, Untaken},
    },
    places,
};
use agentctl_core::{
    agent::Depth,
    fuse::{Action, Fired, Fuse, SCHEMA, Target},
    text::{excerpt, one_line},
    wire::{self, Problem, Session},
};
use jiff::{SignedDuration, Timestamp};
use std::{io, path::Path, process::Command, time::Duration};

/// How long a script may take that has no limit of its own.
const SCRIPT: Duration = Duration::from_secs(300);
/// How long sessions have to end that a fuse stops.
const GRACE: Duration = Duration::from_secs(5);

/// A fuse that is asked for.
pub(crate) struct Wanted<'a> {
    /// A directory, or a session.
    pub(crate) target: &'a str,
    pub(crate) ttl: Duration,
    pub(crate) action: Action,
    /// How long a script may take.
    pub(crate) limit: Option<Duration>,
    pub(crate) label: Option<String>,
}

/// All fuses that are set; with `over`, those too that fired or were cancelled.
pub(crate) fn list(here: &Here, over: bool) -> Result<wire::Fuses, Error> {
    let found = all(&places::known_state()?)?;
    let now = here.now();
    let fuses = found.all.iter().filter(|fuse| over || fuse.is_set());
    let fuses = fuses.map(|fuse| wire::Fuse::new(fuse, now)).collect();
    let problem = |(path, why): (_, String)| Problem {
        agent: "agentctl".to_owned(),
        path: Some(path),
        message: format!(
            "this fuse cannot be read, and does not fire: {why}; remove it, and set it anew"
        ),
    };
    let problems = found.broken.into_iter().map(problem).collect();
    Ok(wire::Fuses { schema: wire::SCHEMA, fuses, problems })
}

/// Sets a fuse.
pub(crate) fn set(here: &Here, wanted: &Wanted<'_>) -> Result<wire::Fuse, Error> {
    let state = places::known_state()?;
    let now = here.now();
    let mut fuse = Fuse {
        schema: SCHEMA,
        id: String::new(),
        target: target(here, wanted.target)?,
        set_at: now,
        deadline: after(now, wanted.ttl)?,
        extended_at: None,
        action: wanted.action.clone(),
        limit: wanted.limit.map(|limit| limit.as_secs().max(1)),
        label: wanted.label.clone(),
        fired: None,
        cancelled_at: None,
    };
    loop {
        fuse.id = format!("f-{}", &uuid::Uuid::new_v4().to_string()[..6]);
        match fuses::add(&state, &fuse) {
            Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(unwritable(&fuses::folder(&state), &why)),
            Ok(()) => return Ok(wire::Fuse::new(&fuse, now)),
        }
    }
}

/// Puts fuses off, until so long from now.
pub(crate) fn extend(here: &Here, name: &str, ttl: Duration) -> Result<Changed, Error> {
    let now = here.now();
    let deadline = after(now, ttl)?;
    each(here, name, |fuse| Fuse { deadline, extended_at: Some(now), ..fuse })
}

/// Takes fuses away. The file stays for whoever is yet to be told.
pub(crate) fn cancel(here: &Here, name: &str) -> Result<Changed, Error> {
    let now = here.now();
    each(here, name, |fuse| Fuse { cancelled_at: Some(now), ..fuse })
}

/// Fuses that were changed, and why others were not.
pub(crate) type Changed = (Vec<wire::Fuse>, Vec<Problem>);

/// Changes every fuse of this name: its own, or that of what it is about.
fn each(here: &Here, name: &str, changed: impl Fn(Fuse) -> Fuse) -> Result<Changed, Error> {
    let state = places::known_state()?;
    let set = all(&state)?.all.into_iter().filter(Fuse::is_set).collect();
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for Fuse { id, .. } in meant(here, set, name)? {
        match change(&state, &id, &changed) {
            Ok(Some(fuse)) => done.push(wire::Fuse::new(&fuse, here.now())),
            Ok(None) => {}
            Err(why) => failed.push(why),
        }
    }
    if done.is_empty() {
        return Err(failed.into_iter().next().unwrap_or_else(|| none(name)));
    }
    let problem =
        |why: Error| Problem { agent: "agentctl".to_owned(), path: None, message: why.message };
    Ok((done, failed.into_iter().map(problem).collect()))
}

/// What is written down is compared first: a directory may have been removed since, and a session be gone.
fn meant(here: &Here, mut set: Vec<Fuse>, name: &str) -> Result<Vec<Fuse>, Error> {
    if set.iter().any(|fuse| fuse.id == name) {
        set.retain(|fuse| fuse.id == name);
        return Ok(set);
    }
    let dir = real(Path::new(name));
    let own = |fuse: &Fuse| match &fuse.target {
        Target::Directory(own) => *own == dir,
        Target::Session { id, .. } => id == name,
    };
    if set.iter().any(own) {
        set.retain(own);
        return Ok(set);
    }
    let target = target(here, name).map_err(|why| match why.kind {
        Kind::NoSession => none(name),
        _ => why,
    })?;
    set.retain(|fuse| fuse.target == target);
    Ok(set)
}

/// `None` where it has fired since.
fn change(state: &Path, id: &str, changed: impl Fn(Fuse) -> Fuse) -> Result<Option<Fuse>, Error> {
    let held = Held::take(state, id).map_err(|why| untaken(why, || in_use(id)))?;
    let Some(held) = held.filter(|held| held.now.is_set()) else { return Ok(None) };
    let fuse = changed(held.now.clone());
    held.change(&fuse).map_err(|why| unwritable(&fuses::folder(state), &why))?;
    Ok(Some(fuse))
}

fn in_use(id: &str) -> Error {
    Error::new(Kind::Refused, format!("fuse {id} is firing, or is being changed"))
        .hint("`agentctl fuse list -a` says how it fired")
}

fn none(name: &str) -> Error {
    Error::new(Kind::No, format!("no fuse is set on {}", one_line(name)))
        .hint("`agentctl fuse list` shows those that are")
}

fn all(state: &Path) -> Result<Found<Fuse>, Error> {
    fuses::all(state).map_err(|why| {
        let place = fuses::folder(state);
        Error::new(Kind::Io, format!("cannot read fuses: {}: {why}", place.display()))
            .hint("make it readable for you")
    })
}

fn after(now: Timestamp, ttl: Duration) -> Result<Timestamp, Error> {
    let ttl = SignedDuration::try_from(ttl).unwrap_or(SignedDuration::MAX);
    now.checked_add(ttl)
        .map_err(|_| Error::new(Kind::Usage, "no calendar goes so far").hint("use a shorter --ttl"))
}

/// A directory that is there, else a session.
fn target(here: &Here, name: &str) -> Result<Target, Error> {
    let dir = super::absolute(here, Path::new(name));
    if dir.is_dir() {
        return Ok(Target::Directory(real(&dir))); // not its repository: others work there too
    }
    if name.contains('/') && !name.contains('@') {
        let what = format!("{} is no directory", one_line(name));
        return Err(
            Error::new(Kind::Usage, what).hint("name a directory that is there, or a session")
        );
    }
    let session = status(here, name, Depth::Glance)?.session;
    let id = session.id.ok_or_else(|| {
        Error::new(Kind::Refused, format!("{} has named no session yet", one_line(name)))
            .hint("set the fuse once `agentctl list` shows its id")
    })?;
    Ok(Target::Session { agent: session.agent, id })
}

/// The fuses whose time has come.
pub(crate) fn due(now: Timestamp) -> Result<Vec<Fuse>, Error> {
    let fuses = all(&places::known_state()?)?.all.into_iter();
    Ok(fuses.filter(|fuse| fuse.is_due(now)).collect())
}

/// Fires a fuse whose time has come, unless somebody else does. It is marked only afterwards, so that one who is
/// killed in between fires it again.
pub(crate) fn fire(here: &Here, id: &str) -> Result<Option<Fuse>, Error> {
    let state = places::known_state()?;
    let unwritten = |why: io::Error| unwritable(&fuses::folder(&state), &why);
    let held = match Held::take(&state, id) {
        Err(Untaken::Held) => None,
        held => held.map_err(|why| untaken(why, || in_use(id)))?,
    };
    let Some(held) = held.filter(|held| held.now.is_due(here.again().now())) else {
        return Ok(None);
    };
    // Short enough to be written down: else it would fire again and again.
    let problem = act(here, &held.now).err().and_then(|why| excerpt(&why));
    let fired = Some(Fired { at: here.again().now(), problem });
    let fuse = Fuse { fired, ..held.now.clone() };
    held.change(&fuse).map_err(unwritten)?;
    Ok(Some(fuse))
}

/// When the next fuse falls due after this moment.
pub(crate) fn next(now: Timestamp) -> Option<Timestamp> {
    let found = fuses::all(&places::state()?).ok()?;
    let later = found.all.iter().filter(|fuse| fuse.is_set() && !fuse.is_due(now));
    later.map(|fuse| fuse.deadline).min()
}

fn act(here: &Here, fuse: &Fuse) -> Result<(), String> {
    match &fuse.action {
        Action::Event | Action::Webhook => Ok(()),
        Action::Stop => stop_all(here, &fuse.target),
        Action::Script(command) => script(here, command, fuse),
    }
}

/// Stops what lives of it; what has ended is as it should be.
fn stop_all(here: &Here, target: &Target) -> Result<(), String> {
    let failed = match target {
        Target::Session { agent, id } => {
            let own = exact(&here.again(), agent, id).map_err(|why| why.message)?;
            own.and_then(|own| not_stopped(here, own)).into_iter().collect()
        }
        Target::Directory(dir) => stop_in(here, dir),
    };
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Stops whoever works there, and says what is left. Of a session that only may be alive nobody is signalled: it is
/// looked at again once the others have ended, and told if it still may.
fn stop_in(here: &Here, dir: &Path) -> Vec<String> {
    let Open { mut alive, mut doubtful, problems } = stop::open(&here.again(), &[]);
    let is_there = |one: &Session| one.cwd.as_ref().is_some_and(|cwd| real(cwd).starts_with(dir));
    alive.retain(is_there);
    doubtful.retain(is_there);
    // Those very ones: while the first end, others may get their pids.
    let mut failed: Vec<String> =
        alive.into_iter().filter_map(|one| not_stopped(here, one)).collect();
    let mut in_doubt = Vec::new();
    for one in doubtful {
        match again(&here.again(), &one) {
            Ok(now) if now.live => failed.extend(not_stopped(here, now)),
            Ok(now) if stop::is_doubtful(&now) => in_doubt.push(one_line(&name_of(&now))),
            Ok(_) => {}
            Err(why) => failed.extend(told(&why)),
        }
    }
    if !in_doubt.is_empty() {
        let names = in_doubt.join(", ");
        failed
            .push(format!("nobody can say whether these are alive, and none was stopped: {names}"));
    }
    // What cannot be read may work there.
    failed.extend(problems.iter().map(said_of));
    failed
}

/// Why it was not stopped, if it was not.
fn not_stopped(here: &Here, session: Session) -> Option<String> {
    let manner = Manner { grace: GRACE, force: false };
    stop::stop_one(&here.again(), session, manner).err().and_then(|why| told(&why))
}

fn told(why: &Error) -> Option<String> {
    (why.kind != Kind::NoSession).then(|| one_line(&why.message))
}

/// What it is run for it is told by variables alone: nothing is put into its words.
fn script(here: &Here, command: &str, fuse: &Fuse) -> Result<(), String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    match &fuse.target {
        Target::Directory(dir) => {
            shell.current_dir(dir).env("AGENTCTL_CWD", dir);
        }
        Target::Session { agent, id } => {
            shell.env("AGENTCTL_ADAPTER", agent).env("AGENTCTL_SESSION_ID", id);
            let own = exact(&here.again(), agent, id).ok().flatten().and_then(|one| one.cwd);
            if let Some(dir) = own.filter(|dir| dir.is_dir()) {
                shell.current_dir(&dir).env("AGENTCTL_CWD", dir);
            }
        }
    }
    shell
        .env("AGENTCTL_FUSE_ID", &fuse.id)
        .env("AGENTCTL_FUSE_DEADLINE", fuse.deadline.to_string());
    shell.env("AGENTCTL_FUSE_LABEL", fuse.label.as_deref().unwrap_or_default());
    // A daemon's own: whoever it starts does not speak for it.
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
        shell.env_remove(name);
    }
    let limit = fuse.limit.map_or(SCRIPT, Duration::from_secs);
    said_by_all(bare(&mut shell), limit).map(drop).map_err(|why| format!("its script {why}"))
}
