//! A made-up machine: sessions that begin, work, ask, rest and end, and what is left of that.

use agentctl_core::{
    derive::{State, Verdict},
    event::{Cursor, Key, Look, Mark, Seen, Step, Story, What},
    evidence::{Evidence, Holder, Need, Reading, Record, Turn},
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    wire::{Around, Session},
};
use jiff::Timestamp;
use proptest::prelude::*;

/// Something that happens to one of a few sessions, if it can.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Begin,
    Open,
    Ask,
    Close,
    End,
}

/// What one session has left.
#[derive(Clone, Debug, Default)]
struct Life {
    /// Lines of its record.
    lines: Vec<(Timestamp, What)>,
    /// What our receipts say.
    receipts: Vec<(Timestamp, What)>,
    started: Option<Timestamp>,
    live: bool,
    runs: u64,
    /// The newest turn is the present process's.
    own: bool,
}

/// The machine.
#[derive(Clone, Debug)]
pub(super) struct World {
    lives: Vec<Life>,
    /// Every process is launched by us, so that its exit is witnessed.
    launched: bool,
    pub(super) now: i64,
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a time")
}

/// A fact, whose, and how many seconds after the one before.
pub(super) fn facts(apart: i64) -> impl Strategy<Value = Vec<(usize, Happening, i64)>> {
    let fact = prop_oneof![
        2 => Just(Happening::Begin),
        3 => Just(Happening::Open),
        1 => Just(Happening::Ask),
        3 => Just(Happening::Close),
        2 => Just(Happening::End),
    ];
    prop::collection::vec((0..3usize, fact, 1..=apart), 1..60)
}

impl World {
    pub(super) fn new(launched: bool) -> Self {
        Self { lives: vec![Life::default(); 3], launched, now: 0 }
    }

    pub(super) fn happen(&mut self, (whose, fact, later): (usize, Happening, i64)) {
        self.now += later;
        let (now, launched) = (at(self.now), self.launched);
        let life = &mut self.lives[whose];
        let open = life.turn_is_open();
        match fact {
            Happening::Begin if !life.live => {
                life.live = true;
                life.runs += 1;
                life.own = false;
                life.started.get_or_insert(now);
                life.receipts.extend(launched.then_some((now, What::Began)));
            }
            // Over a turn that a death left open, a new one looks like the old going on: what is not in
            // the record is not proved.
            Happening::Open if life.live && !open => {
                life.own = true;
                life.lines.push((now, What::Opened));
            }
            Happening::Ask if life.live && open && life.own => {
                life.lines.push((now, What::Asked(Need::Answer)));
            }
            Happening::Close if life.live && open && life.own => {
                life.lines.push((now, What::Closed))
            }
            Happening::End if life.live => {
                life.live = false;
                life.receipts.extend(launched.then_some((now, What::Exited)));
            }
            Happening::Begin
            | Happening::Open
            | Happening::Ask
            | Happening::Close
            | Happening::End => {}
        }
    }

    /// Whoever lives.
    fn processes(&self) -> Vec<ProcKey> {
        let live = self.lives.iter().enumerate().filter(|(_, life)| life.live);
        live.map(|(number, life)| life.process(number)).collect()
    }

    /// What a look sees for whoever stands at this cursor.
    pub(super) fn look(&self, cursor: &Cursor, full: bool) -> Look {
        let seen = |(number, life): (usize, &Life)| {
            let session = life.session(number)?;
            let key = Key::of(&session, false);
            let mark = cursor.marks.get(&key);
            let recent = life.lines.iter().chain(&life.receipts).any(|(at, _)| *at >= cursor.floor);
            let listed = session.live || mark.is_some() || full && recent;
            let story = life.story(mark, cursor.floor);
            listed.then_some(Seen { key, session, story, settled: true })
        };
        Look {
            agents: vec!["claude-code".into()],
            full,
            processes: Some(self.processes()),
            sessions: self.lives.iter().enumerate().filter_map(seen).collect(),
            machine: "here".into(),
            ..Look::nothing(at(self.now))
        }
    }
}

impl Life {
    fn turn_is_open(&self) -> bool {
        self.lines.last().is_some_and(|(_, what)| *what != What::Closed)
    }

    /// What the record and the receipts show since the mark: what `story` reads from real files.
    fn story(&self, mark: Option<&Mark>, floor: Timestamp) -> Story {
        let known = |line: &&(Timestamp, What)| line.0 <= floor;
        let begin = mark.map_or_else(
            || self.lines.iter().take_while(known).count(),
            |mark| {
                usize::try_from(mark.upto).map_or(self.lines.len(), |at| at.min(self.lines.len()))
            },
        );
        let closed = self.lines[..begin].iter().rev().find(|(_, what)| *what == What::Closed);
        let mut steps = Vec::new();
        let mut last = begin.checked_sub(1).map(|at| self.lines[at].1);
        for (number, (at, what)) in self.lines.iter().enumerate().skip(begin) {
            if last != Some(*what) {
                steps.push(Step { at: *at, what: *what, upto: number as u64 + 1 });
            }
            last = Some(*what);
        }
        let since = mark.map_or(floor, |mark| mark.at);
        let witnessed = self.receipts.iter().filter(|(at, _)| *at > since);
        steps.extend(witnessed.map(|(at, what)| Step { at: *at, what: *what, upto: 0 }));
        steps.sort_by_key(|step| step.at);
        Story {
            turn: mark.map_or(closed.map(|(at, _)| *at), |mark| mark.turn),
            began: begin > 0 && self.lines[begin - 1].1 != What::Closed,
            start: begin as u64,
            steps,
            upto: self.lines.len() as u64,
            open: (!self.lines.is_empty()).then(|| self.turn_is_open()),
        }
    }

    fn state(&self) -> State {
        let last = self.lines.last().map(|(_, what)| *what);
        let runs = self.turn_is_open();
        match (self.live, runs) {
            (true, true) if self.own => match last {
                Some(What::Asked(need)) => State::Waiting(need),
                _ => State::Working,
            },
            (true, _) => State::Idle(agentctl_core::derive::Idle::BetweenTurns),
            (false, true) => State::Died,
            (false, false) => State::Done,
        }
    }

    fn process(&self, number: usize) -> ProcKey {
        let pid = u32::try_from(number).expect("small");
        ProcKey { pid, start: self.runs, boot: "b".into() }
    }

    fn session(&self, number: usize) -> Option<Session> {
        let started = self.started?;
        let key = self.process(number);
        let trail = Source::Alive { process: key.clone() };
        let holder = Holder {
            key,
            since: started,
            role: None,
            shared: false,
            halted: false,
            trail,
            says: None,
        };
        let record = Record { started: Some(started), ..Record::of(Turn::None) };
        let seen = Evidence {
            record: Reading::Read(Box::new(record)),
            holders: if self.live { vec![holder] } else { Vec::new() },
            ..Evidence::none("claude-code", Some(format!("s{number}")))
        };
        let stale = self.live && !self.own && self.turn_is_open();
        let stale = stale.then(|| Fact::new(Rule::TurnOlderThanHolder, "", Source::Blind));
        let because = stale.into_iter().collect();
        let verdict = Verdict { state: self.state(), live: self.live, because };
        let around = Around { source: Some("/record".into()), ..Around::default() };
        Some(Session::new(seen, verdict, around))
    }
}
