//! What is told of any history, by watchers that miss things and are killed at any line.

mod changes;
mod ends;
mod locks;
mod marks;
mod steps;
mod world;

use crate::some;
use agentctl_core::{
    event::Cursor,
    wire::{Event, EventKind},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use proptest::prelude::*;
use std::collections::BTreeSet;
use world::{Happening, World, at, facts};

type History = Vec<(usize, Happening, i64)>;
type Told = Vec<(EventKind, String)>;

fn ids(events: &[Event]) -> Told {
    events.iter().map(|event| (event.kind, event.id.clone())).collect()
}

/// All that a watcher tells that looks after every fact.
fn all(history: &History, launched: bool) -> Told {
    let mut world = World::new(launched);
    let mut cursor = Cursor::now(&world.look(&Cursor::since(at(0)), true));
    let mut told = Told::new();
    for fact in history {
        world.happen(*fact);
        told.extend(ids(&cursor.tell(&world.look(&cursor, true))));
    }
    told
}

/// What a watcher tells that looks only now and then, and is killed after some lines of what it has to
/// tell; its successor goes on from the last line that was printed.
fn some(history: &History, launched: bool, looks: &[(bool, bool, usize)]) -> Told {
    let mut world = World::new(launched);
    let mut cursor = Cursor::now(&world.look(&Cursor::since(at(0)), true));
    let mut told = Told::new();
    for (fact, (looked, full, printed)) in history.iter().zip(looks.iter().cycle()) {
        world.happen(*fact);
        if !looked {
            continue;
        }
        let mut next = cursor.clone();
        let events = next.tell(&world.look(&cursor, *full));
        match events.get(..*printed) {
            None => {
                told.extend(ids(&events));
                cursor = next;
            }
            Some(printed) => {
                told.extend(ids(printed));
                let last = printed.last().map(|event| Cursor::from_text(&event.cursor));
                cursor = last.unwrap_or(Ok(cursor)).expect("our own text");
                let gap = cursor.gap(at(world.now));
                assert_eq!(gap.to, Some(at(world.now)));
                cursor = Cursor::from_text(&gap.cursor).expect("our own text");
            }
        }
    }
    told.extend(ids(&cursor.tell(&world.look(&cursor, true))));
    told
}

fn set(told: &Told) -> BTreeSet<&(EventKind, String)> {
    told.iter().collect()
}

fn looks() -> impl Strategy<Value = Vec<(bool, bool, usize)>> {
    prop::collection::vec((any::<bool>(), any::<bool>(), 0..6usize), 1..20)
}

proptest! {
    #![proptest_config(some::plain(500))]

    /// Where receipts prove every run, whoever was killed and missed anything tells exactly what a
    /// watcher tells that missed nothing, and each once. Histories are longer than marks are kept.
    #[test]
    fn what_is_proved_is_told_once(history in facts(30), looks in looks()) {
        let (all, some) = (all(&history, true), some(&history, true, &looks));
        prop_assert_eq!(set(&all).len(), all.len(), "{:#?}", all);
        prop_assert_eq!(set(&some).len(), some.len(), "{:#?}", some);
        prop_assert_eq!(set(&some), set(&all));
    }

    /// Where nobody saw the runs, what the records show is still told, once and no more.
    #[test]
    fn what_is_not_proved_is_not_told(history in facts(20), looks in looks()) {
        let (all, some) = (all(&history, false), some(&history, false, &looks));
        prop_assert_eq!(set(&all).len(), all.len(), "{:#?}", all);
        prop_assert_eq!(set(&some).len(), some.len(), "{:#?}", some);
        // Whose process changed unseen in a turn is told as working once more.
        let recorded = |told: &&(EventKind, String)| matches!(told.0, EventKind::Idle | EventKind::Waiting);
        for told in some.iter().filter(recorded) {
            prop_assert!(all.contains(told), "{:?} never happened", told);
        }
        for told in all.iter().filter(recorded) {
            prop_assert!(some.contains(told), "{:?} is missing", told);
        }
    }

    /// The same look tells nothing twice, and the order of what is found changes nothing.
    #[test]
    fn nothing_new_is_nothing_told(history in facts(20), split in 0..60usize) {
        let mut world = World::new(true);
        let (before, after) = history.split_at(split.min(history.len()));
        before.iter().for_each(|fact| world.happen(*fact));
        let mut cursor = Cursor::now(&world.look(&Cursor::since(at(0)), true));
        prop_assert_eq!(cursor.tell(&world.look(&cursor, true)), []);
        after.iter().for_each(|fact| world.happen(*fact));
        let (look, mut same) = (world.look(&cursor, true), cursor.clone());
        let mut turned = look.clone();
        turned.sessions.reverse();
        turned.sessions.extend(look.sessions.clone());
        let told = cursor.tell(&look);
        prop_assert_eq!(&told, &same.tell(&turned));
        prop_assert_eq!(cursor.tell(&world.look(&cursor, true)), []);
        if let Some(last) = told.last() {
            prop_assert_eq!(Cursor::from_text(&last.cursor), Ok(cursor));
        }
    }

    /// Any text is refused that is no cursor.
    #[test]
    fn any_text_is_refused(text in "(c1\\.)?[A-Za-z0-9_.-]{0,40}") {
        prop_assert!(Cursor::from_text(&text).is_err());
    }

    /// A cursor that somebody changed is refused, or is one, from which all can be told.
    #[test]
    fn a_changed_cursor_is_read_or_refused(
        history in facts(20),
        (whole, at) in any::<(bool, prop::sample::Index)>(),
        (byte, number) in (0x20..0x7fu8, prop::sample::select(NUMBERS)),
    ) {
        let mut world = World::new(true);
        let mut cursor = Cursor::now(&world.look(&Cursor::since(world::at(0)), true));
        for fact in &history {
            world.happen(*fact);
            cursor.tell(&world.look(&cursor, true));
        }
        let text = cursor.to_text();
        let json = URL_SAFE_NO_PAD.decode(&text["c1.".len()..]).expect("our own text");
        let json = if whole { renumbered(&json, at, number) } else { rewritten(json, at, byte) };
        let text = format!("c1.{}", URL_SAFE_NO_PAD.encode(json));
        if let Ok(mut cursor) = Cursor::from_text(&text) {
            prop_assert_eq!(Cursor::from_text(&cursor.to_text()), Ok(cursor.clone()));
            let told = cursor.tell(&world.look(&cursor, true));
            prop_assert!(told.iter().all(|event| Cursor::from_text(&event.cursor).is_ok()));
        }
    }
}

/// Numbers that stand at some edge.
const NUMBERS: &[i128] = &[
    0,
    1,
    -1,
    u32::MAX as i128,
    u32::MAX as i128 - 1,
    i64::MAX as i128,
    i64::MIN as i128,
    u64::MAX as i128,
];

fn rewritten(mut json: Vec<u8>, at: prop::sample::Index, byte: u8) -> Vec<u8> {
    let at = at.index(json.len());
    json[at] = byte;
    json
}

/// With another number in the place of one.
fn renumbered(json: &[u8], at: prop::sample::Index, number: i128) -> Vec<u8> {
    let text = std::str::from_utf8(json).expect("our own text");
    let starts = |(at, _): &(usize, char)| {
        let before = text[..*at].chars().next_back();
        text[*at..].starts_with(|c: char| c.is_ascii_digit())
            && before.is_some_and(|c| matches!(c, '[' | ',' | ':'))
    };
    let starts: Vec<usize> = text.char_indices().filter(starts).map(|(at, _)| at).collect();
    let start = starts[at.index(starts.len())];
    let rest = text[start..].trim_start_matches(|c: char| c.is_ascii_digit());
    format!("{}{number}{rest}", &text[..start]).into_bytes()
}
