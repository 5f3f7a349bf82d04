//! What is counted of a chat: answers, and tokens, of its sub-agents too.

use super::{CHAT, CHATS, ID, STORE, answer, gemini, head, message, store, stub, text};
use crate::world::Machine;
use agentctl_core::{
    agent::Depth,
    evidence::Tokens,
    observe::{History, Recall, Survey},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// An answer that used so many tokens.
fn spends(id: &str, [input, cached, output, thoughts]: [u64; 4]) -> Value {
    let mut line = answer(id, "yes");
    line["tokens"] =
        json!({"input": input, "output": output, "cached": cached, "thoughts": thoughts});
    line
}

fn tokens(machine: &Machine) -> Tokens {
    let read = gemini().read(machine, &stub(machine), Depth::Whole).expect("it can be read");
    read.tokens.expect("they are counted")
}

/// Its input counts what came from the cache, ours does not; its output does not count its thoughts.
#[test]
fn each_message_counts_once_and_as_its_last_line_says() {
    let lines = [
        head(ID),
        message("a", "user", "do \"tokens\""),
        spends("b", [100, 20, 5, 1]),
        spends("b", [100, 30, 6, 2]),
        spends("c", [10, 0, 1, 0]),
        json!({"id": "d", "type": "gemini", "content": "history", "tokens": null}),
    ];
    let machine = store(&text(&lines));
    let sum = Tokens { input: 80, output: 9, cache_read: 30, cache_write: 0 };
    assert_eq!(tokens(&machine), sum);
    assert_eq!(gemini().turns(&machine, &stub(&machine)).expect("it can be read"), 2);
    let odd = store(&text(&[head(ID), spends("b", [1, 20, 0, 0])]));
    assert_eq!(tokens(&odd), Tokens { cache_read: 20, ..Tokens::default() });
    assert_eq!(gemini().turns(&odd, &stub(&odd)).expect("it can be read"), 1);
    let none = store(&text(&[head(ID)]));
    assert_eq!(gemini().turns(&none, &stub(&none)).expect("it can be read"), 0);
}

#[test]
fn tokens_of_sub_agents_are_added_and_a_message_in_two_files_counts_once() {
    let mut machine = store(&text(&[head(ID), spends("b", [10, 0, 1, 0])]));
    let dir = format!("{CHATS}/{ID}");
    machine.folder(&dir, 70);
    machine.file(&format!("{dir}/one.jsonl"), text(&[spends("x", [5, 0, 2, 0])]).as_bytes());
    assert_eq!(tokens(&machine), Tokens { input: 15, output: 3, ..Tokens::default() });
    machine.file(&format!("{dir}/two.jsonl"), text(&[spends("b", [10, 0, 1, 0])]).as_bytes());
    assert_eq!(tokens(&machine), Tokens { input: 15, output: 3, ..Tokens::default() });
}

/// The id is what a chat says: it must not lead out of its folder.
#[test]
fn an_id_that_is_none_has_no_sub_agents() {
    let mut machine = store(&text(&[head("11111111/..")]));
    machine.file(&format!("{CHATS}/one.jsonl"), text(&[spends("x", [5, 0, 2, 0])]).as_bytes());
    let stub = gemini().find(&machine, Path::new(STORE), "11111111/..", None).remove(0);
    let read = gemini().read(&machine, &stub, Depth::Whole).expect("it can be read");
    assert_eq!(read.tokens, Some(Tokens::default()));
}

#[test]
fn what_was_counted_is_kept_and_told_again() {
    let counted = |machine: &Machine| {
        let env = BTreeMap::from([("HOME".into(), "/h".into())]);
        let mut survey = Survey::new(gemini(), machine, &env, History::All);
        survey.recalls = Recall::Records;
        let (session, _) = survey.session(&survey.candidates[0], Depth::Whole);
        session.tokens.map(|all| all.input)
    };
    let mut machine = store(&text(&[head(ID), spends("b", [10, 0, 1, 0])]));
    assert_eq!(counted(&machine), Some(10));
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
    // The host says that it is the same still.
    machine.file(CHAT, text(&[head(ID), spends("b", [99, 0, 1, 0])]).as_bytes());
    assert_eq!(counted(&machine), Some(10));
}
