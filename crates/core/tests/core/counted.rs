//! What is counted of a transcript of Claude Code: answers, and tokens, of its sub-agents too.

use crate::world::{Machine, at, machine};
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    agents,
    evidence::{Record, Turn},
    observe::{History, Recall, Survey},
    sheet::Sheet,
    tally::Tally,
};
use std::{collections::BTreeMap, path::Path};

const ID: &str = "11111111-1111-4111-8111-111111111111";

fn claude() -> &'static dyn Agent {
    agents::named("claude").expect("an agent")
}

/// A message of the model that used so many tokens.
fn says(id: &str, output: u64) -> String {
    let line = serde_json::json!({
        "type": "assistant", "sessionId": ID, "timestamp": "2026-01-02T03:04:05Z", "cwd": "/work",
        "message": {"id": id, "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": id}], "usage": {"output_tokens": output}},
    });
    format!("{line}\n")
}

fn asks(text: &str) -> String {
    let message = serde_json::json!({"role": "user", "content": text});
    let line = serde_json::json!({"type": "user", "sessionId": ID, "cwd": "/work",
        "timestamp": "2026-01-02T03:04:04Z", "message": message});
    format!("{line}\n")
}

/// A store with this transcript, and those of its sub-agents.
fn store(own: &str, spawned: &[&str]) -> Machine {
    let mut machine = machine(Vec::new());
    let project = "/store/projects/-work";
    for (number, folder) in ["/store", "/store/projects", project].into_iter().enumerate() {
        machine.folder(folder, 50 + number as u64);
    }
    machine.file(&format!("{project}/{ID}.jsonl"), own.as_bytes());
    if !spawned.is_empty() {
        machine.folder(&format!("{project}/{ID}"), 60);
        machine.folder(&format!("{project}/{ID}/subagents"), 61);
    }
    for (number, text) in spawned.iter().enumerate() {
        let path = format!("{project}/{ID}/subagents/agent-{number}.jsonl");
        machine.file(&path, text.as_bytes());
    }
    machine
}

fn stub(machine: &Machine) -> Stub {
    claude().find(machine, Path::new("/store"), ID, None).remove(0)
}

/// The same of the session that is found by its id, and of the one that is listed, of which is known whether it has a folder.
fn output(machine: &Machine) -> Result<u64, String> {
    let listed = claude().list(machine, Path::new("/store")).expect("it can be looked at");
    let [found, listed] = [stub(machine), listed.stubs[0].clone()].map(|stub| {
        let record = claude().read(machine, &stub, Depth::Whole);
        let tokens = |record: Record| record.tokens.map(|all| all.output);
        record.map(|record| tokens(record).unwrap_or_default()).map_err(|why| why.to_string())
    });
    assert_eq!(found, listed);
    found
}

#[test]
fn a_listed_transcript_without_a_folder_is_alone() {
    let alone = |spawned: &[&str]| {
        let listing = claude().list(&store(&says("1", 1), spawned), Path::new("/store"));
        listing.expect("it can be looked at").stubs[0].alone
    };
    assert_eq!((alone(&[]), alone(&[&says("2", 1)])), (true, false));
}

#[test]
fn answers_are_counted_between_what_others_say() {
    let text = [asks("a"), says("1", 1), says("2", 1), asks("b"), says("3", 1)].concat();
    let machine = store(&text, &[]);
    assert_eq!(claude().turns(&machine, &stub(&machine)).expect("it can be read"), 2);
}

#[test]
fn the_last_line_of_a_message_counts() {
    let text = [says("1", 10), says("1", 25), says("2", 5)].concat();
    assert_eq!(output(&store(&text, &[])), Ok(30));
}

#[test]
fn tokens_of_sub_agents_are_added_and_a_message_in_two_files_counts_once() {
    let own = [says("1", 10), says("2", 20)].concat();
    assert_eq!(output(&store(&own, &[&says("3", 5)])), Ok(35));
    assert_eq!(output(&store(&own, &[&says("3", 5), &says("4", 6)])), Ok(41));
    let copied = [says("2", 20), says("3", 5)].concat();
    assert_eq!(output(&store(&own, &[&copied])), Ok(35));
    assert_eq!(output(&store(&own, &[&says("3", 5), &says("3", 7)])), Ok(37));
    assert_eq!(output(&store(&says("1", 10), &[&says("1", 10)])), Ok(10));
}

#[test]
fn sub_agents_that_cannot_be_read_are_an_error_and_none_are_none() {
    let own = says("1", 10);
    let mut closed = store(&own, &[&says("3", 5)]);
    closed.closed = vec![format!("/store/projects/-work/{ID}/subagents").into()];
    let why = output(&closed).expect_err("they are closed to us");
    assert!(why.ends_with("/subagents: permission denied"), "{why}");
    assert_eq!(output(&store(&own, &[])), Ok(10));
}

const OTHER: &str = "22222222-2222-4222-8222-222222222222";

fn line(uuid: Option<&str>, second: u32) -> String {
    let mut line = serde_json::json!({"type": "user", "sessionId": ID, "cwd": "/work",
        "timestamp": format!("2026-01-02T03:04:{second:02}Z"), "message": {"content": "x"}});
    if let Some(uuid) = uuid {
        line["uuid"] = uuid.into();
    }
    format!("{line}\n")
}

/// Where a transcript came from, beside another that has these lines.
fn origin(own: &[String], other: &[String]) -> Option<String> {
    let mut machine = store(&own.concat(), &[]);
    let path = format!("/store/projects/-work/{OTHER}.jsonl");
    machine.file(&path, other.concat().as_bytes());
    claude().read(&machine, &stub(&machine), Depth::Whole).expect("it can be read").forked_from
}

/// A fork copies lines that are older than itself, and never names whose they were.
#[test]
fn a_fork_came_from_where_its_last_copied_line_was_first_written() {
    let parent = [line(Some("u1"), 1), line(Some("u2"), 2), line(Some("u3"), 3)];
    let fork = [line(None, 10), line(Some("u1"), 1), line(Some("u2"), 2), line(Some("u9"), 11)];
    assert_eq!(origin(&fork, &parent).as_deref(), Some(OTHER));
    // Nothing was copied, or what was copied is not there, or was copied there too.
    assert_eq!(origin(&parent, &fork), None);
    assert_eq!(origin(&fork, &parent[..1]), None);
    assert_eq!(origin(&fork, &parent[1..]), None);
    let sibling = [line(None, 5), line(Some("u1"), 1), line(Some("u2"), 2)];
    assert_eq!(origin(&fork, &sibling), None);
}

#[test]
fn what_was_copied_is_kept_with_what_was_counted() {
    let fork = [line(None, 10), line(Some("u1"), 1), line(Some("u9"), 11)].concat();
    let mut machine = store(&fork, &[]);
    let parent = format!("/store/projects/-work/{OTHER}.jsonl");
    machine.file(&parent, line(Some("u1"), 1).as_bytes());
    let env = BTreeMap::from([("CLAUDE_CONFIG_DIR".into(), "/store".into())]);
    let mut survey = Survey::new(claude(), &machine, &env, History::All);
    survey.recalls = Recall::Records;
    let own = survey.candidates.iter().find(|one| one.id.as_deref() == Some(ID)).expect("there");
    let origins = [(); 2].map(|()| survey.session(own, Depth::Whole).0.forked_from);
    assert_eq!(origins, [Some(OTHER.to_owned()), Some(OTHER.to_owned())]);
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
}

/// Output tokens of the first session, where the host keeps counts.
fn counted(machine: &Machine, recalls: Recall) -> Option<u64> {
    let env = BTreeMap::from([("CLAUDE_CONFIG_DIR".into(), "/store".into())]);
    let mut survey = Survey::new(claude(), machine, &env, History::All);
    survey.recalls = recalls;
    let (session, _) = survey.session(&survey.candidates[0], Depth::Whole);
    session.tokens.map(|all| all.output)
}

/// Of what is kept of short files nothing is known but sums: they tell what a session and its sub-agents have in common.
#[test]
fn a_message_in_two_files_counts_once_where_it_was_kept_too() {
    let own = [says("1", 10), says("2", 20), says("2", 20)].concat();
    let machine = store(&own, &[&[says("2", 20), says("3", 5)].concat()]);
    assert_eq!([(); 2].map(|()| counted(&machine, Recall::Records)), [Some(35), Some(35)]);
    assert_eq!(machine.counts.lock().expect("one thread").len(), 2);
}

/// What was counted of short files is not worth keeping, unless there are many.
#[test]
fn what_was_counted_is_kept_and_told_again() {
    let mut machine = store(&says("1", 10), &[]);
    assert_eq!(counted(&machine, Recall::Counts), Some(10));
    assert_eq!(machine.counts.lock().expect("one thread").len(), 0);
    assert_eq!(counted(&machine, Recall::Records), Some(10));
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
    // The host says that it is the same still.
    let path = format!("/store/projects/-work/{ID}.jsonl");
    machine.file(&path, says("1", 99).as_bytes());
    assert_eq!(counted(&machine, Recall::Records), Some(10));
    let long = says("1", 7) + &"\n".repeat(1 << 20);
    let machine = store(&long, &[]);
    assert_eq!(counted(&machine, Recall::Counts), Some(7));
    assert_eq!(machine.counts.lock().expect("one thread").len(), 1);
}

#[test]
fn what_was_written_in_place_while_it_was_counted_is_not_kept() {
    let kept = |later: i64| {
        let mut machine = store(&says("1", 10), &[]);
        let stub = stub(&machine);
        machine.files.get_mut(&stub.path).expect("its transcript").0.touched = at(later);
        let mut record = Record::of(Turn::None);
        let tally = Tally::kept(&machine, "claude", 0);
        let sheet = Sheet::of(&machine, &stub, Depth::Whole);
        let counted = claude().count(&tally, &sheet, &stub, &mut record);
        counted.expect("it can be read");
        assert_eq!(record.tokens.map(|all| all.output), Some(10));
        machine.counts.lock().expect("one thread").len()
    };
    assert_eq!([kept(0), kept(1)], [1, 0]);
}
