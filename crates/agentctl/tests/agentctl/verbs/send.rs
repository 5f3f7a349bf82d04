//! Messages to a stand-in that was launched to take them.

use crate::{
    home::{
        Agents,
        lines::{prompt, reply},
        text,
    },
    kills::until,
};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

/// A stand-in that has a record, and does this with each line of its input behind the first.
pub(crate) fn steered(with_each: &str) -> (Agents, String, PathBuf) {
    let begins = r#"
record="$HOME/.claude/projects/-work/$id.jsonl"
mkdir -p "$HOME/.claude/projects/-work"
cp "$HOME/record" "$record"
exec 3<&0
export record
/bin/sh -c 'read -r first; while read -r line; do "#;
    let goes_on = format!("{begins}{with_each}; done' <&3 &\nexec ");
    let script = Agents::GOOD.replacen("exec ", &goes_on, 1);
    let agents = Agents::with(&script);
    agents.home.write("record", text(&[prompt("again"), reply("Done")]));
    agents.own();
    let launched =
        agents.home.run(&["launch", "claude-code", "--steerable", "-p", "again", "--json"]);
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    let id = launched.json()["session"]["id"].as_str().expect("an id").to_owned();
    let record = agents.home.path(format!(".claude/projects/-work/{id}.jsonl"));
    (agents, id, record)
}

#[test]
fn send_is_delivered_once_the_record_shows_it() {
    let (agents, id, _) = steered(r#"printf "%s\n" "$line" >>"$record""#);
    let sent = agents.home.run(&["send", &id, "again", "--timeout", "30s", "--json"]);
    assert_eq!((sent.code, sent.json()["delivery"].as_str()), (Some(0), Some("delivered")));
}

#[test]
fn send_is_unconfirmed_while_the_record_shows_only_what_was_before() {
    let (agents, id, _) = steered(":");
    let sent = agents.home.run(&["send", &id, "again", "--timeout", "500ms", "--json"]);
    assert_eq!((sent.code, sent.json()["delivery"].as_str()), (Some(1), Some("unconfirmed")));
}

/// Where nobody could read what was there before, the same words there prove nothing.
#[test]
fn send_is_unconfirmed_where_the_record_could_not_be_read_before() {
    let (agents, id, record) = steered(r#"/bin/chmod 600 "$record""#);
    fs::set_permissions(&record, Permissions::from_mode(0o000)).expect("our file");
    let sent = agents.home.run(&["send", &id, "again", "--timeout", "2s", "--json"]);
    assert_eq!((sent.code, sent.json()["delivery"].as_str()), (Some(1), Some("unconfirmed")));
    let mode = || record.metadata().expect("a file").permissions().mode() & 0o777;
    until("message", || (mode() == 0o600).then_some(()));
}
