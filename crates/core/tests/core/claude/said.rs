//! What was said last in a transcript, and what has been said since.

use super::{claude, text, transcript, user};
use agentctl_core::{agent::Message, proof::Source};
use serde_json::{Value, json};
use std::io;

fn says(text: &str) -> Value {
    user(json!({"message": {"role": "user", "content": text}}))
}

/// The words, and where to go on.
fn words(found: io::Result<(Vec<Message>, u64)>) -> (Vec<String>, u64) {
    let (messages, next) = found.expect("it can be read");
    (messages.into_iter().map(|message| message.text).collect(), next)
}

fn all(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn the_last_messages_are_told_oldest_first_without_what_is_being_written() {
    let three = text(&[says("one"), says("two"), says("three")]);
    let size = three.len() as u64;
    let last = |text: &str, count| {
        let (machine, stub) = transcript(text);
        words(claude().tail(&machine, &stub, count))
    };
    assert_eq!(last(&three, 1), (all(&["three"]), size));
    assert_eq!(last(&three, 2), (all(&["two", "three"]), size));
    assert_eq!(last(&three, 9), (all(&["one", "two", "three"]), size));
    let torn = format!("{three}{}", says("four"));
    assert_eq!(last(&torn, 2), (all(&["two", "three"]), size));
    assert_eq!(last(&format!("{torn}\n"), 2), (all(&["three", "four"]), torn.len() as u64 + 1));
}

#[test]
fn what_came_since_is_told_once_and_all_of_it_where_a_transcript_was_cut() {
    let first = text(&[says("one")]);
    let both = text(&[says("one"), says("two")]);
    let (machine, stub) = transcript(&both);
    let since = |at: usize| words(claude().since(&machine, &stub, at as u64));
    let size = both.len() as u64;
    assert_eq!(since(0), (all(&["one", "two"]), size));
    assert_eq!(since(first.len()), (all(&["two"]), size));
    assert_eq!(since(both.len()), (all(&[]), size));
    assert_eq!(since(both.len() + 1), (all(&["one", "two"]), size));
}

#[test]
fn a_message_has_come_if_it_stands_behind_the_mark() {
    let before = text(&[says("go on")]);
    let (machine, stub) = transcript(&before);
    let mark = claude().mark(&machine, &stub).expect("it can be read");
    assert_eq!(mark, before.len() as u64);
    let shows = |text: &str| {
        let (machine, stub) = transcript(text);
        claude().shows(&machine, &stub, (mark, "go on")).expect("it can be read")
    };
    assert_eq!(shows(&before), None);
    let line = |offset| Source::Line {
        path: stub.path.clone(),
        offset,
        shows: "go on".to_owned(),
        without: Vec::new(),
    };
    assert_eq!(shows(&text(&[says("go on"), says("go on")])), Some(line(mark)));
    // Somebody else may have said something meanwhile.
    let other = text(&[says("go on"), says("wait")]);
    assert_eq!(shows(&other), None);
    let both = format!("{other}{}", text(&[says("go on")]));
    assert_eq!(shows(&both), Some(line(other.len() as u64)));
    // What stands around a message may be lost on the way, and is not shown.
    let (machine, stub) = transcript(&text(&[says("go on"), says("go on\n")]));
    let spaced = claude().shows(&machine, &stub, (mark, " go on")).expect("it can be read");
    assert_eq!(spaced, Some(line(mark)));
}
