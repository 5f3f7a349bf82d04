//! Whoever is killed, wherever: each event is told at least once, and those of a session in order.

use super::{
    super::{Post, message::Message, outbox::Limits, post::Step, send::Outcome, tries::Failed},
    at, ended, notices, target,
};
use crate::config::Format;
use agentctl_core::wire::Event;
use jiff::Timestamp;
use proptest::{prelude::*, test_runner::RngSeed};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

/// What happens next.
#[derive(Clone, Debug)]
enum Act {
    /// So many events happen, and are put in; the process is killed after so many of them, and starts again
    /// from where it last was sure, once or more.
    Put { events: usize, killed_after: Option<usize> },
    /// Something is sent, with this end.
    Send(End),
    /// The process is killed while nothing is under way.
    Killed,
    /// Time passes.
    Passes(i64),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Heard,
    Down,
    Refused,
    /// Killed before they heard it.
    KilledBefore,
    /// Killed after they heard it, before that was written down.
    KilledAfter,
}

fn act() -> impl Strategy<Value = Act> {
    let end = prop_oneof![
        4 => Just(End::Heard),
        1 => Just(End::Down),
        1 => Just(End::Refused),
        1 => Just(End::KilledBefore),
        1 => Just(End::KilledAfter),
    ];
    prop_oneof![
        2 => (1..4_usize, proptest::option::of(0..4_usize))
            .prop_map(|(events, killed_after)| Act::Put { events, killed_after }),
        6 => end.prop_map(Act::Send),
        1 => Just(Act::Killed),
        2 => (0..900_i64).prop_map(Act::Passes),
    ]
}

struct World<'a> {
    state: &'a Path,
    limits: Limits,
    happened: Vec<Event>,
    heard: RefCell<Vec<String>>,
    now: Timestamp,
}

impl World<'_> {
    /// As a process that has just started sees it.
    fn post(&self) -> Post {
        Post::with(self.state, target("http://127.0.0.1/", Format::Old), self.limits)
    }

    fn put(&mut self, count: usize, killed_after: Option<usize>) {
        let from = self.happened.len();
        for number in from..from + count {
            self.happened.push(ended(&format!("e{number}"), &format!("s{}", number % 3)));
        }
        let new = &self.happened[from..];
        if let Some(after) = killed_after {
            let (whole, rest) = new.split_at(after.min(count));
            self.post().put(&notices(whole)).expect("a disk");
            if let Some(half) = rest.first() {
                self.half_written(half);
            }
        }
        self.post().put(&notices(new)).expect("a disk");
    }

    /// What a process leaves that is killed within a message: its beginning, under the name of a draft.
    fn half_written(&self, event: &Event) {
        let queue = self.state.join("outbox/--url/queue");
        fs::create_dir_all(&queue).expect("a disk");
        let id = &event.id;
        let draft = queue.join(format!("9999999999999999-s-{id}.7-0.draft"));
        fs::write(draft, "{\"schema\":1,\"at\":").expect("a disk");
    }

    /// One step; the process that makes it may not live to write down how it ended.
    fn send(&self, end: End) -> Step {
        let post = self.post();
        let mut tries = post.tries();
        let hear = |id: &str| self.heard.borrow_mut().push(id.to_owned());
        let mut send = |id: &str, _: &_| match end {
            End::Heard => {
                hear(id);
                Outcome::Heard(Some(200))
            }
            End::Down => Outcome::Later("down".to_owned(), None),
            End::Refused => Outcome::Refused("no".to_owned()),
            End::KilledBefore => std::panic::panic_any("killed"),
            End::KilledAfter => {
                hear(id);
                std::panic::panic_any("killed")
            }
        };
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            post.step(&mut tries, self.now, &mut send, &mut |_| {}).expect("a disk")
        }));
        lived.unwrap_or(Step::On)
    }

    fn drain(&mut self) {
        loop {
            match self.send(End::Heard) {
                Step::On => {}
                Step::Until(Some(until)) => self.now = until,
                Step::Until(None) => return,
            }
        }
    }
}

fn run(limits: Limits, acts: &[Act], check: impl Fn(&World<'_>)) {
    std::panic::set_hook(Box::new(|_| {})); // those that are killed say nothing
    let folder = tempfile::tempdir().expect("a folder");
    let mut world = World {
        state: folder.path(),
        limits,
        happened: Vec::new(),
        heard: RefCell::default(),
        now: at(1_000_000),
    };
    for act in acts {
        match act {
            Act::Put { events, killed_after } => world.put(*events, *killed_after),
            Act::Send(end) => drop(world.send(*end)),
            Act::Killed => drop(world.post()),
            Act::Passes(seconds) => world.now += jiff::SignedDuration::from_secs(*seconds),
        }
    }
    // What was refused too often waits for a person, who puts it back: nothing is lost.
    let put = super::super::retry(world.state, vec![target("http://127.0.0.1/", Format::Old)]);
    assert_eq!(put.problems, []);
    world.drain();
    let _ = std::panic::take_hook();
    check(&world);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(2026), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_within_bounds(acts in proptest::collection::vec(act(), 1..40)) {
        run(Limits::USUAL, &acts, |world| {
            let heard = world.heard.borrow();
            for event in &world.happened {
                assert!(heard.contains(&event.id), "{} was not told: {heard:?}", event.id);
            }
        });
    }

    /// The first time each was heard. What a person puts back comes late; so nothing is refused here.
    #[test]
    fn those_of_a_session_come_in_order(acts in proptest::collection::vec(act(), 1..40)) {
        let kept: Vec<Act> =
            acts.into_iter().filter(|act| !matches!(act, Act::Send(End::Refused))).collect();
        run(Limits::USUAL, &kept, |world| {
            let mut last: BTreeMap<usize, usize> = BTreeMap::new();
            let mut seen = Vec::new();
            for id in world.heard.borrow().iter() {
                let number: usize = id[1..].parse().expect("a number");
                if !seen.contains(&number) {
                    let before = last.insert(number % 3, number);
                    assert!(before.is_none_or(|before| before < number), "{id}");
                    seen.push(number);
                }
            }
        });
    }

    #[test]
    fn beyond_bounds_the_oldest_go_and_are_counted(counts in proptest::collection::vec(1..6_usize, 1..8)) {
        let limits = Limits { messages: 5, ..Limits::USUAL };
        let acts: Vec<Act> =
            counts.iter().map(|events| Act::Put { events: *events, killed_after: None }).collect();
        run(limits, &acts, |world| {
            let all = world.happened.len();
            let kept: Vec<String> =
                world.happened[all.saturating_sub(5)..].iter().map(|event| event.id.clone()).collect();
            assert_eq!(*world.heard.borrow(), kept);
            let dropped = world.post().summary().dropped.map_or(0, |dropped| dropped.count);
            assert_eq!(dropped, all.saturating_sub(5) as u64);
        });
    }
}

#[test]
fn bytes_are_bounded_too_and_the_newest_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = Limits { bytes: 4000, ..Limits::USUAL };
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Old), limits);
    let events: Vec<Event> = (0..20).map(|number| ended(&format!("e{number}"), "s")).collect();
    let told = post.put(&notices(&events)).expect("a disk");
    let left = post.summary().waiting;
    assert!((1..10).contains(&left), "{left}");
    assert!(
        told[0].message.ends_with(&format!("there was no room, and {} were dropped", 20 - left))
    );
}

#[test]
fn a_long_message_is_told_and_one_that_is_too_long_is_in_nobody_s_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = Limits { bytes: 100 << 10, ..Limits::USUAL };
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Event), limits);
    let long = |id: &str, size: usize| {
        let mut event = ended(id, "s");
        event.session.as_mut().expect("a session").prompt = Some("x".repeat(size));
        event
    };
    let events = [long("e1", 70 << 10), long("e2", 200 << 10), ended("e3", "s")];
    let told = post.put(&notices(&events)).expect("it fits");
    assert!(told[0].message.ends_with("there was no room, and 1 were dropped"), "{told:?}");
    assert_eq!(post.summary().dropped.map(|dropped| dropped.count), Some(1));
    let (mut tries, mut heard) = (post.tries(), Vec::new());
    let mut send = |id: &str, message: &Message| {
        heard.push((id.to_owned(), message.body.len() > 70 << 10));
        Outcome::Heard(None)
    };
    while post.step(&mut tries, at(0), &mut send, &mut |_| {}).expect("a disk") == Step::On {}
    assert_eq!(heard, [("e1".to_owned(), true), ("e3".to_owned(), false)]);
}

/// Whatever lies there.
#[test]
fn folders_stay_small_and_what_goes_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = Limits { done: 2, failed: 2, ..Limits::USUAL };
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Old), limits);
    let run = |outcome: &Outcome, from: usize| {
        let events: Vec<Event> =
            (from..from + 5).map(|number| ended(&format!("e{number}"), "s")).collect();
        post.put(&notices(&events)).expect("a disk");
        let mut send = |_: &str, _: &_| outcome.clone();
        let mut tries = post.tries();
        while post.step(&mut tries, at(0), &mut send, &mut |_| {}).expect("a disk") == Step::On {}
    };
    run(&Outcome::Gone("it answers 410".to_owned()), 0);
    let summary = post.summary();
    assert_eq!((summary.failed, summary.dropped.map(|dropped| dropped.count)), (2, Some(3)));
    run(&Outcome::Heard(None), 5);
    let own = folder.path().join("outbox/--url");
    fs::write(own.join("queue").join(format!("{}-s-hostile.json", u64::MAX)), "{}")
        .expect("a file");
    post.put(&notices(&[ended("e10", "s"), ended("e11", "s")])).expect("a disk");
    assert_eq!(fs::read_dir(own.join("done")).expect("a folder").count(), 2);
    assert_eq!(post.summary().waiting, 3);
}

#[test]
fn many_sessions_that_are_refused_are_remembered() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Old), Limits::USUAL);
    post.put(&notices(&[ended("e1", "s")])).expect("a disk");
    let mut tries = post.tries();
    for lane in 0..1500 {
        tries.failed(&format!("lane{lane}"), Failed::It, (at(0), 0.0));
    }
    post.remember(&tries).expect("it fits");
    assert_eq!(post.tries(), tries);
}

#[test]
fn what_the_killed_left_half_written_is_swept_once_it_is_old() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Old), Limits::USUAL);
    post.put(&notices(&[ended("e1", "s")])).expect("a disk");
    let queue = folder.path().join("outbox/--url/queue");
    let old = queue.join("0000000000000009-s-e9.7-0.draft");
    let new = queue.join("0000000000000009-s-e9.8-0.draft");
    fs::write(&new, "{").expect("a file");
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
    fs::File::create(&old).and_then(|file| file.set_modified(long_ago)).expect("a file");
    post.put(&notices(&[ended("e2", "s")])).expect("a disk");
    assert_eq!((old.exists(), new.exists(), post.summary().waiting), (false, true, 2));
}
