//! Where Claude Code's transcripts are found, and what is told of those that cannot be looked at.

use super::{ID, claude};
use crate::world::{Machine, machine};
use agentctl_core::{
    agent::{Listing, Trouble},
    host::Kind,
};
use std::path::{Path, PathBuf};

const STORE: &str = "/store";
const PROJECTS: &str = "/store/projects";
const WORK: &str = "/store/projects/-work";
const OTHER: &str = "22222222-2222-4222-8222-222222222222";

/// A store with one session, of `/work`.
fn store() -> Machine {
    let mut machine = machine(Vec::new());
    for (number, folder) in [STORE, PROJECTS, WORK].into_iter().enumerate() {
        machine.folder(folder, 50 + number as u64);
    }
    machine.file(&transcript(WORK), b"{}\n");
    machine
}

fn transcript(folder: &str) -> String {
    format!("{folder}/{ID}.jsonl")
}

/// A name that leads elsewhere.
fn link(machine: &mut Machine, name: &str, to: &str) {
    machine.file(name, b"");
    machine.files.get_mut(Path::new(name)).expect("it was just made").0.kind = Kind::Link;
    machine.links.insert(name.into(), to.into());
}

/// The same of a folder, with the transcript that is in it.
fn link_folder(machine: &mut Machine, name: &str, to: &str) {
    link(machine, name, to);
    machine.file(&transcript(name), b"");
    machine.links.insert(transcript(name).into(), transcript(to).into());
}

fn list(machine: &Machine) -> Listing {
    claude().list(machine, Path::new(STORE)).expect("it can be looked at")
}

fn found(machine: &Machine) -> Vec<PathBuf> {
    let listing = list(machine);
    assert_eq!(listing.problems, []);
    listing.stubs.into_iter().map(|stub| stub.path).collect()
}

#[test]
fn a_session_that_links_lead_to_is_listed_once_and_by_its_own_name() {
    let own = [PathBuf::from(transcript(WORK))];
    let mut linked = store();
    link_folder(&mut linked, "/store/projects/-alias", WORK);
    assert_eq!(found(&linked), own);
    let named = claude().find(&linked, Path::new(STORE), ID, None);
    assert_eq!(named.into_iter().map(|stub| stub.path).collect::<Vec<_>>(), own);

    let mut outside = machine(Vec::new());
    outside.folder(PROJECTS, 50);
    outside.folder("/disk/work", 51);
    outside.file(&transcript("/disk/work"), b"{}\n");
    link_folder(&mut outside, "/store/projects/-a", "/disk/work");
    link_folder(&mut outside, "/store/projects/-b", "/disk/work");
    assert_eq!(found(&outside), [PathBuf::from(transcript("/store/projects/-a"))]);
}

#[test]
fn a_transcript_that_went_away_is_no_problem_and_one_that_cannot_be_looked_at_is() {
    let counts = |machine: &Machine| {
        let listing = list(machine);
        (listing.stubs.len(), listing.problems.len())
    };
    assert_eq!(counts(&store()), (1, 0));
    let mut gone = store();
    gone.links.insert(transcript(WORK).into(), "/nowhere".into());
    assert_eq!(counts(&gone), (0, 0));
    let mut dangling = store();
    link(&mut dangling, &transcript(WORK), "/nowhere");
    assert_eq!(counts(&dangling), (0, 1));
    let mut closed = store();
    closed.closed = vec![transcript(WORK).into()];
    assert_eq!(counts(&closed), (0, 1));
}

#[test]
fn a_store_that_is_closed_is_an_error_and_one_without_sessions_is_empty() {
    let listed = |machine: &Machine| {
        let listing = claude().list(machine, Path::new(STORE));
        listing.map(|listing| listing.stubs.len()).map_err(|why| why.to_string())
    };
    let mut closed = store();
    closed.closed = vec![PROJECTS.into()];
    assert_eq!(listed(&closed), Err("permission denied".to_owned()));
    assert_eq!(listed(&machine(Vec::new())), Ok(0));
}

#[test]
fn a_session_that_is_not_found_may_be_in_a_folder_that_is_closed() {
    let missed = |closed: &[&str], id: &str| {
        let mut store = store();
        store.closed = closed.iter().map(PathBuf::from).collect();
        claude().missed(&store, Path::new(STORE), id)
    };
    let closed =
        |path: &str| Some(Trouble { path: path.into(), why: "permission denied".to_owned() });
    assert_eq!(missed(&[WORK], OTHER), closed(WORK));
    assert_eq!(missed(&[PROJECTS], OTHER), closed(PROJECTS));
    assert_eq!(missed(&[], OTHER), None);
    // No transcript is called so.
    assert_eq!(missed(&[WORK], "not-an-id"), None);
}
