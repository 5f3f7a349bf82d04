//! Agents of other users are not ours.

use crate::home::{
    ALL, Home, Seen,
    lines::{id, prompt},
    other_user,
};
use std::os::unix::process::CommandExt;

#[test]
fn each_user_sees_their_own_agents() {
    let home = Home::new();
    let other = other_user();
    let (mine, theirs) = (home.stand_in(), home.stand_in_of(other));
    assert_eq!(home.seen(), Seen::good().and(mine.name(), "unknown"));
    let mut list = home.agentctl(ALL);
    let list = list.uid(other).gid(other);
    assert_eq!(home.seen_by(list), Seen::good().and(theirs.name(), "unknown"));
}

/// A process of another user works in the same directory since before the last write: no suspect.
#[test]
fn another_user_s_agent_does_not_make_a_session_unknown() {
    let home = Home::new();
    let other = other_user();
    let _theirs = home.stand_in_of(other);
    let mut line = prompt("Begin");
    line["cwd"] = home.work().display().to_string().into();
    let path = home.claude(&id(1), &[line]);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options()
        .append(true)
        .open(path)
        .and_then(|file| file.set_modified(later))
        .expect("a time");
    assert_eq!(home.seen(), Seen::good().and(id(1), "died"));
    let _mine = home.stand_in();
    let seen = home.seen().sessions();
    assert_eq!(seen[&id(1)], ["unknown"]);
}
