//! What happened: from what was told last and what is seen now to the events in between.
//!
//! A [`Cursor`] holds a [`Mark`] for each session: what was told of it last. [`Cursor::tell`] compares
//! the marks with a [`Look`] and moves each mark along with each event, so that whoever goes on from the
//! cursor of any event is told exactly the rest. Pure: no clock, no files, no agent by name.

mod budgets;
mod cursor;
mod filter;
mod fuses;
mod gone;
mod hash;
mod locks;
mod mark;
mod telling;

pub use cursor::{BadCursor, Cursor};
pub use filter::Filter;
pub use gone::witnessed;
pub use mark::{Key, Mark};

use crate::{
    budget::Budget,
    evidence::Need,
    fuse::Fuse,
    ident::ProcKey,
    proof::Rule,
    wire::{Event, EventKind, Lock, Session, StateName},
};
use jiff::Timestamp;

/// Something that a session's record or our receipts show that it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
    /// How far the record was read with it; a receipt moves nothing.
    pub upto: u64,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// We launched a process for it.
    Began,
    /// A turn is open.
    Opened,
    /// Its open turn asks a person.
    Asked(Need),
    /// Its open turn has ended.
    Closed,
    /// More is said of the same end.
    Refined,
    /// The process that we launched for it exited.
    Exited,
}

/// What a session did since its mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// When the last turn ended before the first step.
    pub turn: Option<Timestamp>,
    /// A turn was open before the first step.
    pub began: bool,
    /// How far its record was read before the first step.
    pub start: u64,
    /// The steps, oldest first.
    pub steps: Vec<Step>,
    /// How far its record was read.
    pub upto: u64,
    /// The newest turn is open; `None` where there is no turn.
    pub open: Option<bool>,
}

/// A session, as a look saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which.
    pub key: Key,
    /// As it is.
    pub session: Session,
    /// What it did since its mark.
    pub story: Story,
    /// It is told of now; else it is only known to be there.
    pub settled: bool,
}

/// What was seen at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// When processes were looked at.
    pub at: Timestamp,
    /// Agents that were wholly looked at: a session of them that is not here is gone.
    pub agents: Vec<String>,
    /// All sessions that were written since the cursor's floor are here, not only those that live.
    pub full: bool,
    /// Agents whose stores could not all be read: what they wrote since is told another time.
    pub unread: Vec<String>,
    /// Every process that lives; `None` where the kernel did not tell.
    pub processes: Option<Vec<ProcKey>>,
    /// The sessions.
    pub sessions: Vec<Seen>,
    /// Sessions that were not found, and are not yet taken for gone.
    pub spared: Vec<Key>,
    /// Those that were not found, as they were seen last.
    pub missed: Vec<(Key, Session)>,
    /// What is locked by them, and by people.
    pub locks: Vec<Lock>,
    /// What people have locked was read.
    pub people: bool,
    /// Every fuse that can be read; one that is not here may be broken.
    pub fuses: Vec<Fuse>,
    /// Every budget that can be read.
    pub budgets: Vec<Budget>,
    /// This machine.
    pub machine: String,
}

impl Look {
    /// Nothing was looked at, at that moment.
    pub fn nothing(at: Timestamp) -> Self {
        Self {
            at,
            agents: Vec::new(),
            full: false,
            unread: Vec::new(),
            processes: None,
            sessions: Vec::new(),
            spared: Vec::new(),
            missed: Vec::new(),
            locks: Vec::new(),
            people: false,
            fuses: Vec::new(),
            budgets: Vec::new(),
            machine: String::new(),
        }
    }

    /// It should be here, and is not. Of a process that named no session the kernel knows alone.
    pub fn misses(&self, key: &Key, mark: &Mark) -> bool {
        let found = self.sessions.iter().any(|seen| seen.key == *key);
        let looked = self.agents.contains(&key.agent) || key.is_unnamed() && self.shows_gone(mark);
        !mark.is_over() && !found && looked
    }

    /// The kernel told who lives, and the process that had it loaded does not.
    pub(crate) fn shows_gone(&self, mark: &Mark) -> bool {
        let lives = |all: &Vec<ProcKey>| all.iter().any(|process| mark.is_held_by(process));
        self.processes.as_ref().is_some_and(|all| !lives(all))
    }

    /// The process that had it loaded is still there, and has no other: one that ends takes its name away
    /// before it is gone.
    pub fn lingers(&self, mark: &Mark) -> bool {
        let known = mark.live == Some(true) && self.processes.is_some();
        known && !self.shows_gone(mark) && !self.shows_left(mark)
    }

    /// Its process has loaded another session, and that one alone.
    fn shows_left(&self, mark: &Mark) -> bool {
        let moved = |seen: &Seen| {
            let Session { process, processes, shared, .. } = &seen.session;
            let held = process.iter().chain(processes).any(|process| mark.is_held_by(process));
            held && !shared && !seen.key.is_unnamed()
        };
        self.sessions.iter().any(moved)
    }
}

impl Seen {
    /// Its files and processes contradict each other, as they do for a moment while something happens:
    /// better looked at again soon than told now.
    pub fn is_unsettled(&self, mark: Option<&Mark>) -> bool {
        let session = &self.session;
        let known = mark.and_then(|mark| mark.state);
        let moved = !self.story.steps.is_empty();
        // A wrapper looks like what it starts, and holds for a moment what that has left.
        if self.key.is_unnamed() && mark.is_none()
            || mark.is_some_and(|mark| mark.is_handed_over(session))
        {
            return true;
        }
        match session.state {
            StateName::Unknown => known != Some(StateName::Unknown),
            StateName::Working => moved && self.story.open == Some(false),
            StateName::Idle => moved && self.story.open == Some(true),
            // A tool that was called is started, or its end written down, a moment later.
            StateName::Waiting => {
                let by_absence = |rule| rule == Rule::ToolNotRunning;
                known != Some(StateName::Waiting)
                    && session.because.iter().any(|because| by_absence(because.rule))
            }
            StateName::Done | StateName::Failed | StateName::Stopped | StateName::Died => {
                self.awaits_exit(mark)
            }
        }
    }

    /// It ended just now, and its parent is to write down how.
    pub fn awaits_exit(&self, mark: Option<&Mark>) -> bool {
        let lived = mark.is_some_and(|mark| mark.live == Some(true));
        let untold = self.session.launch_id.is_some() && self.session.exit_code.is_none();
        lived && untold && !self.session.live
    }
}

/// An event that is not finished: the cursor comes last.
fn event(kind: EventKind, id: String, at: Timestamp) -> Event {
    Event {
        schema: crate::wire::SCHEMA,
        kind,
        id,
        at,
        cursor: String::new(),
        before: None,
        after: None,
        session: None,
        lock: None,
        fuse: None,
        budget: None,
        from: None,
        to: None,
    }
}
