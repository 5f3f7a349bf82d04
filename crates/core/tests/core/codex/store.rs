//! Where rollouts and locks are found, and what is told of those that cannot be looked at.

use super::{ID, codex};
use crate::world::{Machine, machine};
use agentctl_core::{
    agent::{Claims, Listing, Stub, Trouble},
    host::Kind,
};
use std::path::{Path, PathBuf};

const STORE: &str = "/store";
const LIVE: &str = "/store/sessions";
const DAY: &str = "/store/sessions/2026/11/15";
const ARCHIVE: &str = "/store/archived_sessions";
const LOCKS: &str = "/store/thread-writer-locks";
const OTHER: &str = "01a1e06a-95d8-7330-b101-000000000000";

/// A store with all its folders, and these files.
fn store(files: &[String]) -> Machine {
    let mut machine = machine(Vec::new());
    machine.folder(STORE, 50);
    machine.folder(LOCKS, 51);
    for folder in [DAY, ARCHIVE].into_iter().chain(files.iter().map(|file| folder(file))) {
        for path in Path::new(folder).ancestors().take_while(|path| path.starts_with(STORE)) {
            let number = 100 + machine.files.len() as u64;
            machine.folder(path.to_str().expect("we wrote it"), number);
        }
    }
    for file in files {
        machine.file(file, b"{}\n");
    }
    machine
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').expect("a whole path").0
}

fn rollout(folder: &str, id: &str) -> String {
    format!("{folder}/rollout-2026-11-15T18-14-03-{id}.jsonl")
}

/// A name that leads elsewhere.
fn link(machine: &mut Machine, name: &str, to: &str) {
    machine.file(name, b"");
    machine.files.get_mut(Path::new(name)).expect("it was just made").0.kind = Kind::Link;
    machine.links.insert(name.into(), to.into());
}

fn list(machine: &Machine) -> Listing {
    codex().list(machine, Path::new(STORE)).expect("it can be looked at")
}

fn paths(stubs: Vec<Stub>) -> Vec<PathBuf> {
    stubs.into_iter().map(|stub| stub.path).collect()
}

fn listed(machine: &Machine) -> Vec<PathBuf> {
    let listing = list(machine);
    assert_eq!(listing.problems, []);
    paths(listing.stubs)
}

fn find(machine: &Machine) -> Vec<PathBuf> {
    paths(codex().find(machine, Path::new(STORE), ID, None))
}

fn near(machine: &Machine) -> Vec<PathBuf> {
    paths(codex().find_near(machine, Path::new(STORE), ID))
}

/// Folders are named after the local day; a person may have put a rollout elsewhere.
#[test]
fn a_thread_is_found_where_its_id_says_and_elsewhere_by_a_walk() {
    let own = |folder: &str| {
        let path = rollout(folder, ID);
        let machine = store(&[rollout(folder, OTHER), path.clone()]);
        let found = |paths: Vec<PathBuf>| paths.contains(&path.clone().into());
        assert!(find(&machine).len() < 2 && near(&machine).len() < 2, "one file a thread");
        (found(near(&machine)), found(find(&machine)), found(listed(&machine)))
    };
    for day in ["14", "15", "16"] {
        assert_eq!(own(&format!("{LIVE}/2026/11/{day}")), (true, true, true), "{day}");
    }
    assert_eq!(own(ARCHIVE), (true, true, true));
    assert_eq!(own(&format!("{LIVE}/2026/11/17")), (false, true, true));
    assert_eq!(own(&format!("{LIVE}/2026")), (false, true, true));
    assert_eq!(own(LIVE), (false, true, true));
    assert_eq!(own(&format!("{DAY}/deeper")), (false, false, false));
    assert_eq!(own(&format!("{ARCHIVE}/deeper")), (false, false, false));
    assert_eq!(own(STORE), (false, false, false));
}

#[test]
fn a_thread_is_called_as_it_was_named_last() {
    let names = [(ID, "first"), (ID, "second"), (OTHER, "another")].map(|(id, name)| {
        let line = serde_json::json!({"id": id, "thread_name": name});
        format!("{line}\n")
    });
    for folder in [DAY, ARCHIVE, LIVE] {
        let mut machine = store(&[rollout(folder, ID)]);
        let title = |stubs: Vec<Stub>| stubs.into_iter().next().and_then(|stub| stub.title);
        let found = |machine: &Machine| codex().find(machine, Path::new(STORE), ID, None);
        assert_eq!(title(found(&machine)), None);
        machine.file("/store/session_index.jsonl", names.concat().as_bytes());
        assert_eq!(title(found(&machine)).as_deref(), Some("second"), "{folder}");
        assert_eq!(title(list(&machine).stubs).as_deref(), Some("second"), "{folder}");
    }
}

#[test]
fn a_rollout_that_links_lead_to_is_listed_once_and_by_its_own_name() {
    let own = rollout(DAY, ID);
    let mut linked = store(std::slice::from_ref(&own));
    link(&mut linked, &rollout(ARCHIVE, ID), &own);
    assert_eq!(listed(&linked), [PathBuf::from(&own)]);

    let mut outside = machine(Vec::new());
    outside.folder(ARCHIVE, 50);
    outside.file("/disk/rollout", b"{}\n");
    let (one, two) = (rollout(ARCHIVE, ID), rollout(ARCHIVE, &format!("again-{ID}")));
    link(&mut outside, &one, "/disk/rollout");
    link(&mut outside, &two, "/disk/rollout");
    assert_eq!(listed(&outside), [PathBuf::from(one)]);

    let mut day = store(&[]);
    day.folder("/disk/day", 60);
    day.file(&rollout("/disk/day", ID), b"{}\n");
    let alias = format!("{LIVE}/2026/11/17");
    link(&mut day, &alias, "/disk/day");
    day.file(&rollout(&alias, ID), b"{}\n");
    assert_eq!(listed(&day), [PathBuf::from(rollout(&alias, ID))]);
    assert_eq!(find(&day), [PathBuf::from(rollout(&alias, ID))]);
}

#[test]
fn what_went_away_is_no_problem_and_what_cannot_be_looked_at_is() {
    let own = rollout(DAY, ID);
    let whole = || store(std::slice::from_ref(&own));
    let problems = |machine: &Machine| {
        let listing = list(machine);
        let path = |trouble: Trouble| trouble.path.display().to_string();
        (listing.stubs.len(), listing.problems.into_iter().map(path).collect::<Vec<_>>())
    };
    assert_eq!(problems(&whole()), (1, vec![]));
    assert_eq!(problems(&machine(Vec::new())), (0, vec![]));
    let mut gone = whole();
    gone.links.insert(own.clone().into(), "/nowhere".into());
    assert_eq!(problems(&gone), (0, vec![]));
    let mut dangling = whole();
    link(&mut dangling, &own, "/nowhere");
    assert_eq!(problems(&dangling), (0, vec![own.clone()]));
    for closed in [own.as_str(), DAY, LIVE] {
        let mut machine = whole();
        machine.closed = vec![closed.into()];
        assert_eq!(problems(&machine), (0, vec![closed.to_owned()]));
    }
}

/// A thread is put away by a move; what is in both places is one thread.
#[test]
fn a_thread_that_was_copied_to_the_archive_is_listed_where_it_goes_on() {
    let [own, copy, put_away] =
        [(DAY, ID), (ARCHIVE, ID), (ARCHIVE, OTHER)].map(|(folder, id)| rollout(folder, id));
    let both = store(&[own.clone(), copy.clone(), put_away.clone()]);
    assert_eq!(listed(&both), [PathBuf::from(put_away.clone()), own.clone().into()]);
    // Also where its id does not say where to look.
    let elsewhere = store(&[own.replace("/15/", "/01/"), copy.clone()]);
    for (machine, own) in [(both, own.clone()), (elsewhere, own.replace("/15/", "/01/"))] {
        assert_eq!((find(&machine), near(&machine)), (vec![own.clone().into()], vec![own.into()]));
    }
    assert_eq!(
        listed(&store(&[copy.clone(), put_away.clone()])),
        [put_away, copy].map(PathBuf::from)
    );
}

#[test]
fn a_thread_that_is_not_found_may_be_in_a_folder_that_is_closed() {
    let deeper = [DAY, ARCHIVE].map(|folder| rollout(&format!("{folder}/deeper"), OTHER));
    let missed = |closed: &str| {
        let mut store = store(&deeper);
        store.closed = vec![closed.into()];
        codex().missed(&store, Path::new(STORE), ID).map(|trouble| trouble.path)
    };
    for folder in [LIVE, "/store/sessions/2026", "/store/sessions/2026/11", DAY, ARCHIVE] {
        assert_eq!(missed(folder), Some(folder.into()));
    }
    // Nothing is looked for there.
    for file in &deeper {
        assert_eq!(missed(folder(file)), None);
    }
    assert_eq!(missed(LOCKS), None);
    // A link to a folder is followed, and so is the name of the rollout itself.
    let mut linked = store(&[]);
    linked.folder("/elsewhere", 90);
    link(&mut linked, "/store/sessions/2026/11/16", "/elsewhere");
    linked.closed = vec!["/elsewhere".into()];
    let missed = |machine: &Machine| codex().missed(machine, Path::new(STORE), ID);
    let path = |trouble: Option<Trouble>| trouble.map(|trouble| trouble.path);
    assert_eq!(path(missed(&linked)), Some("/store/sessions/2026/11/16".into()));
    let own = rollout(DAY, ID);
    let mut closed = store(std::slice::from_ref(&own));
    closed.closed = vec![own.clone().into()];
    assert_eq!(path(missed(&closed)), Some(own.into()));
    assert!(codex().missed(&machine(Vec::new()), Path::new(STORE), ID).is_none());
}

#[test]
fn every_lock_of_a_thread_is_a_claim_and_a_closed_folder_is_told() {
    let claims = |machine: &Machine| -> Claims {
        codex().claims(machine, Path::new(STORE)).expect("it can be looked at")
    };
    let names = [format!("{LOCKS}/{ID}.lock"), format!("{LOCKS}/.coordination.lock")];
    let mut locked = store(&names);
    let found = claims(&locked);
    let sessions: Vec<String> = found.claims.into_iter().map(|claim| claim.session).collect();
    assert_eq!((sessions, found.closed), (vec![ID.to_owned()], false));
    locked.closed = vec![LOCKS.into()];
    assert!(claims(&locked).closed);
    let none = claims(&machine(Vec::new()));
    assert_eq!((none.claims.len(), none.problems.len(), none.closed), (0, 0, false));
}
