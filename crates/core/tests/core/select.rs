//! What is shown of an id means that session, and no other.

use crate::some;
use agentctl_core::{
    derive::derive,
    evidence::{Evidence, Reading, Record, Turn},
    select::{Choice, Name, Order, choose, shortest, sort},
    wire::{Around, Session},
};
use proptest::prelude::*;
use std::{collections::BTreeSet, path::PathBuf};

fn session(id: &str, dir: &str) -> Session {
    seen("agent", id, dir)
}

fn seen(agent: &str, id: &str, dir: &str) -> Session {
    let mut record = Record::of(Turn::None);
    record.cwd = Some(PathBuf::from(dir));
    let record = Reading::Read(Box::new(record));
    let seen = Evidence { record, ..Evidence::none(agent, Some(id.to_owned())) };
    let verdict = derive(&seen);
    Session::new(seen, verdict, Around::default())
}

/// Ids as agents make them, some of which differ in their case alone or begin others; and odd ones.
fn ids() -> impl Strategy<Value = BTreeSet<String>> {
    prop::collection::btree_set("[aAbB0]{1,5}|ses_[aA0]{1,3}|[aé]{1,4}|[😀a]{1,3}", 1..12)
}

/// Few agents, ids and directories, so that one id stands in several; and the same in another order.
fn sessions() -> impl Strategy<Value = (Vec<Session>, Vec<Session>)> {
    let one =
        (prop::sample::select(vec!["a", "b"]), "[ab]", prop::sample::select(vec!["/v", "/w"]));
    prop::collection::btree_set(one, 1..8).prop_flat_map(|names| {
        let all = names.iter().map(|(agent, id, dir)| seen(agent, id, dir)).collect::<Vec<_>>();
        (Just(all.clone()), Just(all).prop_shuffle())
    })
}

fn alike(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

proptest! {
    #![proptest_config(some::plain(300))]

    #[test]
    fn what_is_shown_leads_back_to_it(ids in ids(), short in 1..4usize) {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let all: Vec<Session> = ids.iter().map(|id| session(id, "/w")).collect();
        let lengths = shortest(&ids, |_| short);
        prop_assert_eq!(lengths.len(), ids.len());
        for (id, length) in ids.iter().zip(lengths) {
            prop_assert!(length >= short.min(id.len()));
            let name = Name::parse(&id[..length]).expect("ids are names");
            match choose(&name, all.clone()) {
                Choice::One(found) => prop_assert_eq!(found.id.as_deref(), Some(*id)),
                Choice::Nothing | Choice::Several(_) => {
                    prop_assert!(false, "{:?} is shown for {id:?} of {ids:?}", &id[..length]);
                }
            }
        }
    }

    /// Any beginning of an id, in any case, finds that session or tells that there are several.
    #[test]
    fn any_prefix_finds_it_or_is_ambiguous(ids in ids(), cut in 1..9usize, upper in any::<bool>()) {
        let all: Vec<Session> = ids.iter().map(|id| session(id, "/w")).collect();
        for id in &ids {
            let Some(prefix) = id.get(..cut.min(id.len())) else { continue };
            let prefix = if upper { prefix.to_ascii_uppercase() } else { prefix.to_owned() };
            let meant = |other: &&String| {
                other.get(..prefix.len()).is_some_and(|head| alike(head, &prefix))
            };
            let meant: Vec<&String> = ids.iter().filter(meant).collect();
            let name = Name::parse(&prefix).expect("ids are names");
            match choose(&name, all.clone()) {
                Choice::One(found) => {
                    let exact = found.id.as_ref() == Some(&prefix);
                    prop_assert!(exact || meant.len() == 1 && found.id.as_ref() == Some(meant[0]));
                }
                Choice::Several(found) => {
                    let mut found: Vec<String> = found.into_iter().filter_map(|one| one.id).collect();
                    found.sort();
                    prop_assert_eq!(found.iter().collect::<Vec<_>>(), meant);
                }
                Choice::Nothing => prop_assert!(false, "{prefix:?} does not find {id:?}"),
            }
        }
    }

    /// Where one id stands in two directories, the directory decides.
    #[test]
    fn a_directory_tells_two_of_one_id_apart(id in "[a-f0-9]{1,8}", order in any::<bool>()) {
        let mut all = vec![session(&id, "/one"), session(&id, "/two")];
        if order {
            all.reverse();
        }
        let name = |text: &str| Name::parse(text).expect("ids are names");
        let both = choose(&name(&id), all.clone());
        prop_assert!(matches!(both, Choice::Several(found) if found.len() == 2));
        match choose(&name(&format!("{id}@/two")), all) {
            Choice::One(found) => prop_assert_eq!(found.cwd, Some(PathBuf::from("/two"))),
            Choice::Nothing | Choice::Several(_) => prop_assert!(false, "the directory decides nothing"),
        }
    }

    #[test]
    fn the_order_of_sessions_changes_no_list((all, turned) in sessions()) {
        for order in [Order::Attention, Order::Updated, Order::Started, Order::State, Order::Agent, Order::Cwd] {
            let (mut one, mut other) = (all.clone(), turned.clone());
            sort(&mut one, order);
            sort(&mut other, order);
            prop_assert_eq!(one, other);
        }
    }
}
