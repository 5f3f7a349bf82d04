//! One target: what it is still to be told, and the loop that tells it.

use super::{
    desktop,
    message::{self, Message, Notice},
    outbox::{Entry, Limits, Outbox, Parcel, Unread},
    send::{self, Address, Outcome},
    target::{Target, Way, problem},
    tries::{Failed, REFUSALS, Tries},
};
use crate::{
    error::{Error, Kind},
    read,
};
use agentctl_core::wire::{
    Event, Problem, SCHEMA, Webhook, WebhookRetries, WebhookTest, WebhookTests, Webhooks,
};
use jiff::Timestamp;
use std::{
    collections::BTreeSet,
    io,
    path::Path,
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// However quiet it is, it is looked this often whether something waits: a person may have put it back.
const LOOK: Duration = Duration::from_secs(60);
/// The folder below our state.
const FOLDER: &str = "outbox";

/// One target, with what it is still to be told.
#[derive(Debug)]
pub(crate) struct Post {
    target: Target,
    outbox: Outbox,
    /// Something was put in, or it is over.
    bell: (Mutex<bool>, Condvar),
    /// Ids of what was heard, and could not be taken out.
    heard: Mutex<BTreeSet<String>>,
}

/// What became of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Something went through, or was given up: there may be more.
    On,
    /// Nothing can be done before then, if anything waits at all.
    Until(Option<Timestamp>),
}

impl Post {
    /// With what an earlier process left.
    pub(crate) fn open(state: &Path, target: Target) -> Self {
        Self::with(state, target, Limits::USUAL)
    }

    pub(super) fn with(state: &Path, target: Target, limits: Limits) -> Self {
        let outbox = Outbox::new(state.join(FOLDER).join(target.folder()), limits);
        let bell = (Mutex::new(false), Condvar::new());
        Self { target, outbox, bell, heard: Mutex::default() }
    }

    /// Puts in what the target wants to hear. It is on the disk when this returns; where it fails, the same
    /// events must be put in again: those that are there already are not told twice.
    pub(crate) fn put(&self, notices: &[Notice<'_>]) -> Result<Vec<Problem>, Error> {
        let wanted = notices.iter().filter(|notice| self.target.wants(notice));
        let parcel = |notice: &Notice<'_>| Parcel {
            lane: lane(notice.event),
            id: notice.event.id.clone(),
            message: message::message(notice.event, self.target.words()),
        };
        let parcels: Vec<Parcel> = wanted.map(parcel).collect();
        if parcels.is_empty() {
            return Ok(Vec::new());
        }
        let dropped = self.outbox.put(&parcels, Timestamp::now()).map_err(|why| {
            let what = format!("cannot keep what {} is to be told: {why}", self.target.name);
            Error::new(Kind::Io, what).hint("see that there is room on the disk of our state")
        })?;
        self.ring();
        let told = match dropped {
            0 => None,
            _ => Some(self.problem(&format!("there was no room, and {dropped} were dropped"))),
        };
        Ok(told.into_iter().collect())
    }

    /// Something can be put in, as far as can be known before it is tried.
    pub(crate) fn has_room(&self) -> bool {
        self.outbox.has_room()
    }

    /// Tells the target what it is to be told, until it is over. One of these at a time.
    pub(crate) fn deliver(&self, is_over: impl Fn() -> bool, mut tell: impl FnMut(Problem)) {
        let mut tries = self.outbox.tries();
        while !is_over() {
            let now = Timestamp::now();
            let step =
                self.step(&mut tries, now, &mut |id, message| self.send(id, message), &mut tell);
            let until = match step {
                Ok(Step::On) => continue,
                Ok(Step::Until(until)) => until,
                Err(why) => {
                    tell(self.problem(&format!("its messages cannot be read or written: {why}")));
                    None
                }
            };
            let left = until.map(|until| until.duration_since(Timestamp::now()));
            let left = left.and_then(|left| Duration::try_from(left).ok());
            // A clock that is set while we wait is seen at the next look.
            self.rest(if until.is_some() { left.unwrap_or_default() } else { LOOK }.min(LOOK));
        }
    }

    /// Wakes the loop, to see what was put in, or that it is over.
    pub(crate) fn ring(&self) {
        *self.bell.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.1.notify_all();
    }

    fn rest(&self, time: Duration) {
        let rung = self.bell.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.bell.1.wait_timeout_while(rung, time, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    /// Sends the oldest message of those that may be sent now.
    pub(super) fn step(
        &self,
        tries: &mut Tries,
        now: Timestamp,
        send: &mut dyn FnMut(&str, &Message) -> Outcome,
        tell: &mut dyn FnMut(Problem),
    ) -> io::Result<Step> {
        let waiting = self.outbox.waiting()?;
        let (entry, until) = next(&waiting, tries, now);
        let Some(entry) = entry else { return Ok(Step::Until(until)) };
        let before = tries.clone();
        let outcome = match self.outbox.message(&entry) {
            _ if self.is_heard(&entry.id) => Outcome::Heard(None),
            Ok(message) => send(&entry.id, &message),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Step::On),
            Err(why) if !read::is_destroyed(&why) => {
                Outcome::Refused(format!("its message cannot be read: {why}"))
            }
            Err(why) => {
                let file = self.outbox.given_up(&entry);
                let lost =
                    format!("it is lost, and lies in {} until it is removed", file.display());
                Outcome::Gone(format!("its message cannot be read: {why}; {lost}"))
            }
        };
        let why = match &outcome {
            Outcome::Heard(_) => {
                self.take_out(&entry)?;
                tries.over(&entry.lane, true);
                if *tries != before {
                    self.outbox.remember(tries)?;
                }
                return Ok(Step::On);
            }
            Outcome::Later(why, _) | Outcome::Refused(why) | Outcome::Gone(why) => why,
        };
        let how = match &outcome {
            Outcome::Later(_, after) => Failed::Them(*after),
            Outcome::Heard(_) | Outcome::Refused(_) | Outcome::Gone(_) => Failed::It,
        };
        let count = tries.failed(&entry.lane, how, (now, chance()));
        let gone = matches!(outcome, Outcome::Gone(_));
        let given_up = gone || how == Failed::It && count.refused >= REFUSALS;
        self.outbox.trouble(why, now)?;
        if given_up {
            self.outbox.give_up(&entry, now)?;
            tries.over(&entry.lane, false);
            let (id, tries) = (&entry.id, count.tries);
            tell(self.problem(&format!("{why}; event {id} is given up after {tries} tries")));
        } else if count.tries == 1 {
            tell(self.problem(&format!("{why}; it is tried again")));
        }
        tries.keep(|lane| waiting.iter().any(|entry| entry.lane == lane));
        self.outbox.remember(tries).map(|()| Step::On)
    }

    /// It was heard. Where that cannot be written down, as on a full disk, only this is tried again.
    fn take_out(&self, entry: &Entry) -> io::Result<()> {
        let done = self.outbox.done(entry);
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match &done {
            Ok(()) => drop(heard.remove(&entry.id)),
            Err(_) => drop(heard.insert(entry.id.clone())),
        }
        done
    }

    fn is_heard(&self, id: &str) -> bool {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn send(&self, id: &str, message: &Message) -> Outcome {
        match &self.target.way {
            Way::Http { url, secret, format } => {
                let (secret, patience) = (secret.as_ref(), send::PATIENCE);
                let to = Address { url, secret, format: *format, patience };
                send::send(&to, id, message)
            }
            Way::Desktop => desktop::show(message),
        }
    }

    fn problem(&self, what: &str) -> Problem {
        problem(format!("webhook {} ({}): {what}", self.target.name, self.target.place()))
    }

    #[cfg(test)]
    pub(super) fn summary(&self) -> super::outbox::Summary {
        self.outbox.summary().expect("a disk")
    }

    #[cfg(test)]
    pub(super) fn tries(&self) -> Tries {
        self.outbox.tries()
    }

    #[cfg(test)]
    pub(super) fn remember(&self, tries: &Tries) -> io::Result<()> {
        self.outbox.remember(tries)
    }

    fn unread(&self, (path, what): Unread) -> Problem {
        Problem { path: Some(path), ..self.problem(&what) }
    }

    fn listed(&self) -> (Webhook, Vec<Problem>) {
        let (target, summary) = (&self.target, self.outbox.summary());
        let unread =
            summary.as_ref().err().map(|why| format!("its messages cannot be read: {why}"));
        let mut summary = summary.unwrap_or_default();
        let problems = std::mem::take(&mut summary.unread).into_iter();
        let problems = problems.map(|one| self.unread(one)).collect();
        let problem_at = summary.trouble.as_ref().map(|trouble| trouble.at);
        let webhook = Webhook {
            name: target.name.clone(),
            url: target.place(),
            format: target.format().to_owned(),
            filter: target.told.clone(),
            signed: target.is_signed(),
            waiting: summary.waiting,
            given_up: summary.failed,
            dropped: summary.dropped.map_or(0, |dropped| dropped.count),
            problem: unread.or(summary.trouble.map(|trouble| trouble.message)),
            problem_at,
        };
        (webhook, problems)
    }
}

/// The oldest message that may be sent now, else when one may be. What follows one of the same session waits as
/// long as that does.
fn next(waiting: &[Entry], tries: &Tries, now: Timestamp) -> (Option<Entry>, Option<Timestamp>) {
    let mut until: Option<Timestamp> = None;
    for entry in waiting {
        match tries.until(&entry.lane, now) {
            None => return (Some(entry.clone()), None),
            Some(next) => until = Some(until.map_or(next, |until| until.min(next))),
        }
    }
    (None, until)
}

/// What is told in order: all of one session, all of one directory, and all that is of none.
pub(super) fn lane(event: &Event) -> String {
    let session = event.session.as_ref().and_then(|session| {
        let process = || session.process.as_ref().map(|key| format!("{}@{}", key.pid, key.start));
        Some(format!("{} {}", session.agent, session.id.clone().or_else(process)?))
    });
    let (dir, own) = message::about(event);
    let lock = event.lock.as_ref();
    let holder = lock.and_then(|lock| lock.agent.as_ref().zip(lock.session_id.as_ref()));
    let named = own.or(holder).map(|(agent, id)| format!("{agent} {id}"));
    let dir = dir.or(lock.map(|lock| &lock.directory)).map(|dir| dir.display().to_string());
    session.or(named).or(dir).unwrap_or_default()
}

/// Anything from 0 to 1.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}

/// Everybody who is told what happens, and what waits for them.
pub(crate) fn listed(state: &Path, targets: Vec<Target>, mut problems: Vec<Problem>) -> Webhooks {
    let mut webhooks = Vec::new();
    for target in targets {
        let (webhook, unread) = Post::open(state, target).listed();
        webhooks.push(webhook);
        problems.extend(unread);
    }
    Webhooks { schema: SCHEMA, webhooks, problems }
}

/// What was given up waits again, for all of these.
pub(crate) fn retry(state: &Path, targets: Vec<Target>) -> WebhookRetries {
    let mut answer = WebhookRetries { schema: SCHEMA, retried: 0, problems: Vec::new() };
    for target in targets {
        let post = Post::open(state, target);
        match post.outbox.retry() {
            Ok((count, unread)) => {
                answer.retried += count;
                answer.problems.extend(unread.into_iter().map(|one| post.unread(one)));
            }
            Err(why) => {
                let what = format!("what it was to be told cannot be put back: {why}");
                answer.problems.push(post.problem(&what));
            }
        }
    }
    answer
}

/// Sends a test message to each of these, side by side, and says what came back.
pub(crate) fn test(targets: Vec<Target>) -> WebhookTests {
    let one = |target: Target| {
        let post = Post::with(Path::new(""), target, Limits::USUAL);
        let id = format!("test{}", uuid::Uuid::new_v4().simple());
        let began = Instant::now();
        let outcome = post.send(&id, &message::trial(&id, Timestamp::now(), post.target.words()));
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (status, message) = match outcome {
            Outcome::Heard(status) => (status, None),
            Outcome::Later(why, _) | Outcome::Refused(why) | Outcome::Gone(why) => {
                (None, Some(why))
            }
        };
        let (delivered, url, name) = (message.is_none(), post.target.place(), post.target.name);
        WebhookTest { name, url, delivered, status, message, milliseconds }
    };
    let tests = thread::scope(|scope| {
        let begun: Vec<_> =
            targets.into_iter().map(|target| scope.spawn(move || one(target))).collect();
        begun.into_iter().map(|one| one.join().expect("a bug ends the program")).collect()
    });
    WebhookTests { schema: SCHEMA, tests }
}
