//! The events of one session: its steps in their order, and then what is seen of it now.

use super::{
    Key, Look, Mark, Seen, Step, What, event, hash,
    mark::{Counts, holder, shown},
};
use crate::{
    evidence::Need,
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    wire::{Event, EventKind, Session, StateName},
};
use jiff::Timestamp;

/// An event, and what is told of its session with it.
pub(super) struct Told {
    pub(super) event: Event,
    pub(super) mark: Mark,
}

/// Tells one session from its mark on.
pub(super) struct Telling<'a> {
    key: &'a Key,
    session: &'a Session,
    pub(super) mark: Mark,
    pub(super) told: Vec<Told>,
    /// Nobody saw it alive: it ended some time after its record did, and is told there.
    pub(super) unseen: bool,
}

impl<'a> Telling<'a> {
    /// From this mark.
    pub(super) fn new(key: &'a Key, session: &'a Session, mark: Mark) -> Self {
        Self { key, session, mark, told: Vec::new(), unseen: false }
    }

    /// All of it. `born` is when it began, if that was never told.
    pub(super) fn tell(mut self, seen: &Seen, look: &Look, born: Option<Timestamp>) -> Self {
        let steps = &seen.story.steps;
        let first = steps.first().map_or(look.at, |step| step.at.min(look.at));
        let again = self.mark.live == Some(false) && self.session.live;
        let launched = steps.iter().any(|step| matches!(step.what, What::Began | What::Exited));
        let unknown = self.session.state == StateName::Unknown && steps.is_empty();
        let after = if unknown { StateName::Unknown } else { StateName::Idle };
        if let Some(born) = born {
            self.mark.live = Some(true);
            self.say(EventKind::Started, born, after);
        } else if again && !launched {
            self.alive(first, after);
        }
        // A turn that runs is the present process's, and so are its steps.
        let runs = matches!(self.session.state, StateName::Working | StateName::Waiting);
        let opened = steps.iter().rposition(|step| step.what == What::Opened).filter(|_| runs);
        for (at, step) in steps.iter().enumerate() {
            if opened == Some(at) {
                self.handed_over(step.at, look);
            }
            let last = at + 1 == steps.len() && !self.session.live;
            self.step(step, last);
        }
        self.mark.upto = seen.story.upto;
        self.handed_over(look.at, look);
        self.now(look.at);
        self.mark.process = self.session.process.as_ref().map_or(0, holder);
        self.change(look.at);
        // What ended long ago is forgotten at once.
        if !self.mark.is_over() {
            self.mark.at = self.mark.at.max(look.at);
        }
        self
    }

    fn step(&mut self, step: &Step, last: bool) {
        match step.what {
            What::Began => self.alive(step.at, StateName::Idle),
            What::Opened | What::Asked(_) if self.is_past(step.at) => {}
            What::Opened => {
                self.alive(step.at, StateName::Idle);
                self.turn_to(StateName::Working, None, step.at);
            }
            What::Asked(need) => {
                self.alive(step.at, StateName::Idle);
                self.turn_to(StateName::Waiting, Some(need), step.at);
            }
            What::Closed => {
                self.alive(step.at, StateName::Idle);
                // Nothing showed its turn but the end.
                let new = self.mark.turn != Some(step.at) && self.mark.counts.idle == 0;
                if new && self.mark.state == Some(StateName::Idle) {
                    self.turn_to(StateName::Working, None, step.at);
                }
                self.turn_to(StateName::Idle, None, step.at);
                self.turn_ended(step.at);
            }
            What::Refined => self.turn_ended(step.at),
            What::Exited => self.over(step.at, last),
        }
        // Last: a step may be more than one event, and is told once all of them are.
        self.mark.upto = self.mark.upto.max(step.upto);
        self.amend();
    }

    /// It was seen at rest since, or the turn has ended: agents write turns down late, and Claude Code
    /// 2.1.197 a prompt after its answer.
    fn is_past(&self, at: Timestamp) -> bool {
        let rested = self.mark.state == Some(StateName::Idle) && at < self.mark.at;
        rested || self.mark.turn.is_some_and(|ended| at < ended)
    }

    fn turn_ended(&mut self, at: Timestamp) {
        if self.mark.turn != Some(at) {
            self.mark.turn = Some(at);
            self.mark.counts = Counts::default();
        }
    }

    /// The newest event and what follows from it without one go together: between them there is no
    /// line to go on from.
    fn amend(&mut self) {
        if let Some(told) = self.told.last_mut() {
            told.mark = self.mark.clone();
        }
    }

    fn over(&mut self, at: Timestamp, last: bool) {
        if self.mark.live != Some(true) {
            return;
        }
        // Another process had it loaded by then, and still has.
        if let Some(other) = self.held_since(at) {
            self.mark.process = holder(other);
            return;
        }
        let ended = is_ended(self.session.state);
        self.end(at, if last && ended { self.session.state } else { left(self.mark.state) });
    }

    /// A process that lives, and surely had it loaded before this moment.
    fn held_since(&self, at: Timestamp) -> Option<&'a ProcKey> {
        let session = self.session;
        let mut holders = session.process.iter().chain(&session.processes);
        holders.find(|process| self.mark.is_held_by(process) || has_begun(session, process, at))
    }

    /// Another process has it loaded than before, and that one is gone.
    fn handed_over(&mut self, at: Timestamp, look: &Look) {
        let lives = self.mark.live == Some(true) && self.session.live;
        // Its turn was left open by a process that came before this one.
        let stale = |because: &Fact| because.rule == Rule::TurnOlderThanHolder;
        let left = left(self.mark.state);
        let died = left == StateName::Died && self.session.because.iter().any(stale);
        let other = self.mark.is_handed_over(self.session) || lives && died;
        if other && look.shows_gone(&self.mark) {
            self.end(at, left);
            self.alive(at, StateName::Idle);
        }
    }

    /// Nothing of it is found, though its process may live.
    pub(super) fn lose(&mut self, at: Timestamp) {
        if self.mark.state != Some(StateName::Unknown) {
            self.say(EventKind::Changed, at, StateName::Unknown);
        }
    }

    /// What is seen at this moment.
    fn now(&mut self, at: Timestamp) {
        let (state, need) = (self.session.state, self.session.waiting_for);
        let untold = self.mark.state.is_none() && self.told.is_empty();
        if untold {
            self.mark.live = Some(self.session.live);
            (self.mark.state, self.mark.need) = (Some(state), need);
            let runs = matches!(state, StateName::Working | StateName::Waiting);
            self.mark.counts.working = self.mark.counts.working.max(u32::from(runs));
            return;
        }
        match state {
            // Known again: no turn came to rest.
            StateName::Idle if self.mark.state == Some(StateName::Unknown) => {
                self.alive(at, StateName::Idle);
                self.say(EventKind::Changed, at, StateName::Idle);
            }
            StateName::Working | StateName::Waiting | StateName::Idle => {
                self.alive(at, StateName::Idle);
                self.turn_to(state, need, at);
            }
            StateName::Unknown => {
                if self.session.live {
                    self.alive(at, StateName::Unknown);
                }
                if self.mark.state != Some(StateName::Unknown) {
                    self.say(EventKind::Changed, at, StateName::Unknown);
                }
            }
            StateName::Done | StateName::Failed | StateName::Stopped | StateName::Died => {
                if self.mark.live == Some(true) {
                    let exit = self.session.exit_code.is_some();
                    let known = self.session.ended_at.filter(|_| exit || self.unseen);
                    self.end(known.unwrap_or(at), state);
                } else if self.mark.state != Some(state) {
                    self.say(EventKind::Changed, at, state);
                }
            }
        }
    }

    /// Something else of it.
    fn change(&mut self, at: Timestamp) {
        let new = shown(self.session);
        let state = self.mark.state.unwrap_or(self.session.state);
        let known = self.mark.shown != 0 && self.mark.shown != new;
        self.mark.shown = new;
        match known && self.told.is_empty() {
            true => self.say(EventKind::Changed, at, state),
            false => self.amend(), // whoever reads that event sees it there
        }
    }

    /// A process has it loaded.
    fn alive(&mut self, at: Timestamp, after: StateName) {
        match self.mark.live {
            Some(true) => {}
            None => self.mark.live = Some(true),
            Some(false) => {
                self.mark.live = Some(true);
                self.mark.again = Some(at);
                self.say(EventKind::Started, at, after);
            }
        }
    }

    pub(super) fn end(&mut self, at: Timestamp, after: StateName) {
        self.mark.live = Some(false);
        self.mark.process = 0;
        self.say(EventKind::Ended, at, after);
    }

    /// The state of a session that is loaded.
    fn turn_to(&mut self, state: StateName, need: Option<Need>, at: Timestamp) {
        if (self.mark.state, self.mark.need) == (Some(state), need) {
            return;
        }
        let runs = matches!(self.mark.state, Some(StateName::Working | StateName::Waiting));
        let kind = match state {
            StateName::Working => EventKind::Working,
            StateName::Waiting => EventKind::Waiting,
            StateName::Idle => EventKind::Idle,
            StateName::Unknown
            | StateName::Done
            | StateName::Failed
            | StateName::Stopped
            | StateName::Died => return,
        };
        if kind == EventKind::Waiting && !runs {
            let working = &mut self.mark.counts.working;
            *working = working.saturating_add(1); // its turn began unseen
        }
        self.mark.need = need;
        self.say(kind, at, state);
    }

    fn say(&mut self, kind: EventKind, at: Timestamp, after: StateName) {
        let at = at.max(self.told.last().map_or(Timestamp::MIN, |told| told.event.at));
        let id = self.id(kind);
        let before = self.mark.state;
        self.mark.state = Some(after);
        if after != StateName::Waiting {
            self.mark.need = None;
        }
        self.mark.at = self.mark.at.max(at);
        let session = Some(Box::new(self.session.clone()));
        let event = Event { before, after: Some(after), session, ..event(kind, id, at) };
        self.told.push(Told { event, mark: self.mark.clone() });
    }

    /// Of a run, its beginning; of a turn, the end of the one before, and how often that was told since:
    /// what a record shows has the same id whether it is seen at once or read later.
    fn id(&mut self, kind: EventKind) -> String {
        let counts = &mut self.mark.counts;
        let next = |count: &mut u32| {
            let told = *count;
            *count = told.saturating_add(1);
            Some(told)
        };
        let count = match kind {
            EventKind::Working => next(&mut counts.working),
            EventKind::Waiting => next(&mut counts.waiting),
            EventKind::Idle => next(&mut counts.idle),
            EventKind::Changed => next(&mut counts.changed),
            EventKind::Started
            | EventKind::Ended
            | EventKind::LockTaken
            | EventKind::LockReleased
            | EventKind::FuseSet
            | EventKind::FuseExtended
            | EventKind::FuseCancelled
            | EventKind::FuseFired
            | EventKind::Gap
            | EventKind::BudgetCrossed
            | EventKind::Cursor => None,
        };
        let since = if count.is_some() { self.mark.turn } else { self.mark.again };
        let since = since.map_or_else(String::new, |since| since.to_string());
        let Key { agent, id, dir } = self.key;
        let dir = dir.as_deref().unwrap_or_default();
        hash::name(&[kind.name(), agent, id, dir, &since, &count.unwrap_or_default().to_string()])
    }
}

/// The process was there before this moment; starts are told in whole seconds.
fn has_begun(session: &Session, process: &ProcKey, at: Timestamp) -> bool {
    let own = |because: &&Fact| {
        let named = matches!(&because.source, Source::Alive { process: one } if one == process);
        because.rule == Rule::HolderAlive && named
    };
    let began = session.because.iter().filter(own).find_map(|because| because.at);
    began.is_some_and(|began| began.as_second() < at.as_second())
}

/// How a session ends that was in this state, if nothing else is known of its end.
pub(super) fn left(state: Option<StateName>) -> StateName {
    match state {
        Some(StateName::Working | StateName::Waiting) => StateName::Died,
        Some(StateName::Idle) => StateName::Done,
        Some(
            known @ (StateName::Done | StateName::Failed | StateName::Stopped | StateName::Died),
        ) => known,
        Some(StateName::Unknown) | None => StateName::Unknown,
    }
}

pub(super) fn is_ended(state: StateName) -> bool {
    match state {
        StateName::Done | StateName::Failed | StateName::Stopped | StateName::Died => true,
        StateName::Working | StateName::Waiting | StateName::Idle | StateName::Unknown => false,
    }
}
