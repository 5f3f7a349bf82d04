//! Every captured record read again as it was after each of its lines.

use super::cases;
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    agents,
    event::{Cursor, Key, Look, Seen, Story},
    evidence::{Pending, Turn},
    host::Host,
    observe::{History, Survey},
    story::{From, story},
    wire::{EventKind, Session},
};
use agentctl_testkit::fixture::FixtureHost;
use jiff::Timestamp;
use std::iter;

/// Nothing comes before it.
fn always() -> Timestamp {
    Timestamp::MIN
}

fn whole(agent: &dyn Agent, host: &dyn Host, stub: &Stub) -> Option<Story> {
    story(agent, host, Some(stub), (From::Time(always()), iter::empty())).ok()
}

/// Calls with every session of every case that has a record which can be read.
pub(super) fn each(mut call: impl FnMut(&dyn Agent, &FixtureHost, &Stub, Session)) {
    for case in cases().expect("the fixtures are readable") {
        let Some(agent) = agents::named(&case.agent) else { continue };
        let host = FixtureHost::new(&case.path).expect("case.json is readable");
        let survey = Survey::new(agent, &host, &host.env(), History::All);
        for candidate in &survey.candidates {
            let Some(stub) = &candidate.stub else { continue };
            call(agent, &host, stub, survey.session(candidate, Depth::Glance).0);
        }
    }
}

/// The last step is the newest turn as it is read at once.
#[test]
fn a_story_ends_where_the_record_does() {
    let mut read = 0;
    each(|agent, host, stub, session| {
        let (Some(story), Ok(record)) =
            (whole(agent, host, stub), agent.read(host, stub, Depth::Glance))
        else {
            return;
        };
        let open = match record.turn {
            Turn::None => None,
            Turn::Open { .. } => Some(true),
            Turn::Ended { .. } => Some(false),
        };
        assert_eq!(story.open, open, "{} {:?}", stub.path.display(), session.id);
        assert_eq!(story.steps.is_empty(), open.is_none(), "{} {story:#?}", stub.path.display());
        read += 1;
    });
    assert!(read > 200, "only {read} records were read");
}

/// What a story reads after each line is what is read of the record, but for what only the present tells.
#[test]
fn the_turn_alone_is_that_of_the_record() {
    each(|agent, host, stub, _| {
        let Ok(mut record) = agent.read(host, stub, Depth::Glance) else { return };
        if let Turn::Open { pending, .. } = &mut record.turn
            && matches!(pending, Pending::ApprovalUnless { .. })
        {
            *pending = Pending::Nothing;
        }
        let mut turn = agent.turn(host, stub).expect("it was just read");
        if let Turn::Open { pending, .. } = &mut turn
            && matches!(pending, Pending::ApprovalUnless { .. })
        {
            *pending = Pending::Nothing;
        }
        assert_eq!(turn, record.turn, "{}", stub.path.display());
    });
}

/// Told from the beginning, a session begins, its turns run and rest by turns, and no id comes twice.
#[test]
fn what_is_told_of_a_record_makes_sense() {
    each(|agent, host, stub, session| {
        let Some(story) = whole(agent, host, stub) else { return };
        let key = Key::of(&session, false);
        let seen = Seen { key, session, story, settled: true };
        let look = Look {
            agents: vec![agent.card().name.to_owned()],
            full: true,
            sessions: vec![seen],
            machine: "here".to_owned(),
            ..Look::nothing(host.now())
        };
        let told = Cursor::since(always()).tell(&look);
        let place = stub.path.display();
        let mut ids: Vec<&str> = told.iter().map(|event| event.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), told.len(), "{place}: {told:#?}");
        for pair in told.windows(2) {
            assert!(pair[0].at <= pair[1].at, "{place}: {told:#?}");
            let again = pair[0].kind == pair[1].kind && pair[0].kind != EventKind::Waiting;
            assert!(!again, "{place}: {told:#?}");
        }
    });
}
