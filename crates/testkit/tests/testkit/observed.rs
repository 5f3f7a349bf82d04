//! What gathering evidence promises on every captured machine: the order of readings changes nothing, and a reading
//! that fails ends nothing.

mod failing;
mod twisted;

use crate::conformance::{Case, cases};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    host::{Host, Kernel},
    ident::ProcKey,
    observe::{History, Survey},
    proof::{Rule, Source},
    receipt::{Launched, Stopped},
    wire::{Session, StateName},
};
use agentctl_testkit::fixture::FixtureHost;
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};
use twisted::Twisted;

/// So many orders are tried of each machine.
const ORDERS: u64 = 2;

/// One session that was found: its place, and what is said of it.
type Found = ((PathBuf, Option<String>, Option<PathBuf>, Option<u32>), Session);

type Stops = Vec<(PathBuf, Stopped)>;

/// All that is said of an agent.
struct Answer {
    found: Vec<Found>,
    /// Every session, problem and store in full, in no order.
    text: BTreeSet<String>,
}

fn answer(agent: &dyn Agent, host: &Twisted<'_>, fixture: &FixtureHost) -> Answer {
    asked(agent, host, fixture, (History::All, Depth::Whole))
}

fn asked(
    agent: &dyn Agent,
    host: &dyn Host,
    fixture: &FixtureHost,
    (history, depth): (History, Depth),
) -> Answer {
    let survey = Survey::new(agent, host, &fixture.env(), history);
    let mut text: BTreeSet<String> =
        survey.problems.iter().map(|problem| format!("{problem:?}")).collect();
    text.extend(survey.stores.iter().map(|store| format!("store {}", store.display())));
    text.insert(format!("listed {}, whole {}", survey.is_listed(), survey.is_whole()));
    let mut found = Vec::new();
    for candidate in &survey.candidates {
        let (session, problem) = survey.session(candidate, depth);
        let unnamed = session.pid.filter(|_| session.id.is_none());
        let place = (candidate.store.clone(), session.id.clone(), session.source.clone(), unnamed);
        text.insert(serde_json::to_string(&session).expect("a session is plain data"));
        text.extend(problem.map(|problem| format!("{problem:?}")));
        found.push((place, session));
    }
    Answer { found, text }
}

/// Calls with every captured machine of an agent that is known.
fn each(mut call: impl FnMut(&Case, &'static dyn Agent, &FixtureHost)) {
    for case in cases().expect("the fixtures are readable") {
        let Some(agent) = agents::named(&case.agent) else { continue };
        let host = FixtureHost::new(&case.path).expect("case.json is readable");
        call(&case, agent, &host);
    }
}

/// Receipts of ours for every session of a machine: two launches of each at one moment, one of them of its process, and
/// two stops of each.
fn receipts(agent: &dyn Agent, fixture: &FixtureHost) -> (Vec<Launched>, Stops) {
    let host = Twisted::new(fixture);
    let plain = asked(agent, &host, fixture, (History::All, Depth::Glance));
    let (mut launches, mut stops) = (Vec::new(), Vec::new());
    for (number, (_, session)) in plain.found.iter().enumerate() {
        let Some(id) = &session.id else { continue };
        let at = session.started_at.unwrap_or(fixture.now());
        for (word, process) in [("a", session.process.clone()), ("b", None)] {
            let json = serde_json::json!({
                "schema": 1, "launch": format!("{word}{number}"), "agent": agent.card().name,
                "session": id, "group": word, "process": process, "at": at,
            });
            launches.push(serde_json::from_value::<Launched>(json).expect("a receipt"));
            let boot = fixture.table().map_or_else(|_| "boot".into(), |table| table.boot.clone());
            let process = ProcKey { pid: 4_000_000, start: 1, boot };
            let (agent, session) = (agent.card().name.to_owned(), id.clone());
            let stop = Stopped { schema: 1, agent, session, process, at };
            stops.push((PathBuf::from(format!("/stops/{word}{number}")), stop));
        }
    }
    (launches, stops)
}

/// Directories, locks, open files, ports, rows and receipts may be told in any order.
#[test]
fn the_order_of_readings_changes_no_answer() {
    each(|case, agent, fixture| {
        let (launches, stops) = receipts(agent, fixture);
        let host = || Twisted::new(fixture).with(launches.clone(), stops.clone());
        let plain = answer(agent, &host(), fixture);
        for seed in 0..ORDERS {
            let other = answer(agent, &host().shuffled(seed), fixture);
            assert_eq!(plain.text, other.text, "{case}, order {seed}");
        }
    });
}

/// Ids may be unique only per directory: then their records are two.
#[test]
fn nothing_is_listed_twice() {
    each(|case, agent, fixture| {
        for history in [History::All, History::Skip] {
            let host = Twisted::new(fixture).shuffled(7);
            let answer = asked(agent, &host, fixture, (history, Depth::Glance));
            let places: BTreeSet<_> = answer.found.iter().map(|(place, _)| place).collect();
            assert_eq!(places.len(), answer.found.len(), "{case}: {places:#?}");
            let named = answer.found.iter().filter(|((_, id, ..), _)| id.is_some());
            let mut bare: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for ((store, id, source, _), _) in named {
                bare.entry((store, id)).or_default().push(source);
            }
            for (name, sources) in bare.into_iter().filter(|(_, sources)| sources.len() > 1) {
                assert!(!sources.contains(&&None), "{case}: {name:?} with and without a record");
            }
        }
    });
}

/// Without its history an agent shows what is alive, or may be, in the same words. A record of the past that cannot be
/// read is unknown too, and is told only where history is asked for (decision 0002).
#[test]
fn history_adds_only_what_has_ended() {
    each(|case, agent, fixture| {
        let shown = |history| {
            let answer = asked(agent, &Twisted::new(fixture), fixture, (history, Depth::Whole));
            let unread = |session: &Session| {
                let only = |rule: Rule| {
                    matches!(rule, Rule::Unreadable | Rule::ProcessGone | Rule::NobodyHolds)
                };
                session.because.iter().all(|fact| only(fact.rule))
            };
            let open = |session: &Session| {
                session.live || session.state == StateName::Unknown && !unread(session)
            };
            let open = answer.found.into_iter().filter(|(_, session)| open(session));
            let mut open: Vec<String> =
                open.map(|(place, session)| format!("{place:?} {session:?}")).collect();
            open.sort();
            open
        };
        assert_eq!(shown(History::Skip), shown(History::All), "{case}");
    });
}

/// A record that is not there any more, or not yet, ends nothing that a process is known to hold.
#[test]
fn what_is_held_lives_without_its_record() {
    let mut seen = 0;
    each(|case, agent, fixture| {
        let before = asked(agent, &Twisted::new(fixture), fixture, (History::All, Depth::Glance));
        for (place, session) in before.found.iter().filter(|(_, session)| session.live) {
            let Some(record) = &place.2 else { continue };
            // Who is joined with a process by its record alone, or has it open, has no other sign.
            let claims = session.because.iter().any(|fact| match &fact.source {
                Source::File { path, .. } => path != record && fact.rule == Rule::HolderAlive,
                Source::Lock { .. } | Source::Answer { .. } => true,
                _ => false,
            });
            if !claims {
                continue;
            }
            seen += 1;
            for what in ["open", "stat"] {
                let question = format!("{what} {}", record.display());
                let host = Twisted::new(fixture).failing(&question, io::ErrorKind::NotFound);
                let after = asked(agent, &host, fixture, (History::All, Depth::Glance));
                let of = |(other, _): &&Found| (&other.0, &other.1) == (&place.0, &place.1);
                let ended = after.found.iter().filter(of).any(|(_, session)| !session.live);
                // An id that may be a throwaway is none before it has a record.
                let lives = after.found.iter().any(|(_, one)| one.live && one.pid == session.pid);
                assert!(lives && !ended, "{case}: {place:?} without `{question}`");
            }
        }
    });
    assert!(seen > 20, "only {seen} sessions are claimed");
}
