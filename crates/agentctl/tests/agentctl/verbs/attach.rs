//! Where nobody can be led, and why; and what is found without being asked.

use crate::home::{
    GOOD_CLAUDE, Home, StandIn,
    lines::{id, prompt},
};
use serde_json::json;
use std::fs;

/// Fails with this code, and says this and what to do.
fn refused(home: &Home, name: &str, code: i32, says: &[&str]) {
    let answer = home.run(&["attach", name, "--json"]);
    assert_eq!(answer.code, Some(code), "{answer:#?}");
    let error = &answer.json()["error"];
    let told = format!("{}\n{}", error["message"], error["hint"]);
    assert!(says.iter().all(|word| told.contains(word)), "no {says:?} in {told}");
}

fn terminal(of: &StandIn) -> String {
    let fd = fs::read_link(format!("/proc/{}/fd/0", of.pid())).expect("it has an input");
    fd.to_string_lossy().into_owned()
}

#[test]
fn what_has_no_place_to_be_shown() {
    let home = Home::new();
    refused(&home, GOOD_CLAUDE, 5, &["it has ended", "agentctl resume"]);
    refused(&home, &id(9), 3, &["no session"]);
    refused(&home, "", 2, &["not a session id"]);
    let headless = home.stand_in();
    home.register(&headless, &id(1), json!({"entrypoint": "sdk-cli"}));
    home.claude(&id(1), &[prompt("Begin")]);
    // A child of this test is on its terminal, if there is one.
    refused(&home, &id(1), 5, &["agentctl logs -f"]);
    home.claude(&id(2), &[prompt("Begin")]);
    refused(&home, "0", 4, &["sessions"]);
}

/// Its process is on a terminal that no program shows to others.
#[test]
fn a_terminal_elsewhere_is_named() {
    let home = Home::new();
    let person = home.stand_in_under("terminal", &[("TMUX", "/nowhere,1,0"), ("STY", "1.x.y")]);
    home.register(&person, &id(1), json!({"status": "idle"}));
    let pid = format!("process {}", person.pid());
    let place = terminal(&person);
    assert!(place.starts_with("/dev/pts/"), "{place}");
    refused(&home, &id(1), 5, &[&pid, &place, "go to the window of"]);
    refused(&home, &person.name(), 5, &[&pid, &place]);
}

/// Nobody says who has it: it has not ended.
#[test]
fn a_doubtful_session_is_not_resumed() {
    let home = Home::new();
    let _suspect = home.stand_in();
    let mut line = prompt("Begin");
    line["cwd"] = home.work().display().to_string().into();
    let path = home.claude(&id(1), &[line]);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let file = fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(later)).expect("a time");
    refused(&home, &id(1), 5, &["may be held by pid", "agentctl explain"]);
}

#[test]
fn zellij_is_found_by_the_server_above() {
    let home = Home::new();
    let variables = [("ZELLIJ_SESSION_NAME", "a den"), ("ZELLIJ", "0")];
    let person = home.stand_in_under("zellij", &variables);
    home.register(&person, &id(1), json!({"status": "idle"}));
    let told = home.run(&["attach", &id(1), "--json"]).json();
    assert_eq!(told["argv"], json!(["zellij", "attach", "a den"]));
    let shown = home.run(&["attach", &person.name()]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "zellij attach 'a den'\n"));
    // From inside of it there is no way but the keys.
    let mut inside = home.agentctl(&["attach", &id(1)]);
    let inside = home.ask(inside.envs(variables));
    assert_eq!(inside.code, Some(5), "{inside:#?}");
    assert!(inside.stderr.contains("this very session of zellij"), "{inside:#?}");
}
