//! What is told where no turn began or ended: other words, other hands.

use super::ends::{IDLE, look, seen, session, told};
use agentctl_core::{
    derive::State,
    event::Cursor,
    wire::{EventKind, Session, StateName},
};

/// Whatever else is shown of a session is told once when it changes.
#[test]
fn what_is_shown_is_told_when_it_changes() {
    let before = session(Some("s"), IDLE, &[(1, 0)]);
    let changed = [
        Session { title: Some("t".into()), ..before.clone() },
        Session { model: Some("m".into()), ..before.clone() },
        Session { branch: Some("b".into()), ..before.clone() },
        Session { group: Some("g".into()), ..before.clone() },
        Session { launch_id: Some("l".into()), ..before.clone() },
        Session { cwd: Some("/work".into()), ..before.clone() },
        Session { halted: true, ..before.clone() },
    ];
    let first = look(10, &[seen(before, &[])], Some(&[1]));
    for session in changed {
        let mut cursor = Cursor::now(&first);
        assert_eq!(cursor.tell(&first), []);
        let later = look(20, &[seen(session, &[])], Some(&[1]));
        let events = cursor.tell(&later);
        assert_eq!(told(&events), [(EventKind::Changed, Some(StateName::Idle))]);
        assert_eq!(cursor.tell(&later), []);
    }
}

/// Another process has it: the one before has ended it only if that one is gone.
#[test]
fn a_session_that_changes_hands_ends_with_its_process() {
    for (state, left) in [(IDLE, StateName::Done), (State::Working, StateName::Died)] {
        let first = seen(session(Some("s"), state, &[(1, 0)]), &[]);
        let cursor = Cursor::now(&look(10, &[first], Some(&[1])));
        let other = seen(session(Some("s"), IDLE, &[(2, 15)]), &[]);
        let events = cursor.clone().tell(&look(20, &[other], Some(&[2])));
        let expected = [(EventKind::Ended, left), (EventKind::Started, StateName::Idle)];
        assert_eq!(told(&events), expected.map(|(kind, after)| (kind, Some(after))));
        let both = seen(session(Some("s"), IDLE, &[(1, 0), (2, 15)]), &[]);
        let events = cursor.clone().tell(&look(20, &[both], Some(&[1, 2])));
        assert!(events.iter().all(|event| event.kind != EventKind::Ended), "{events:#?}");
    }
}
