//! Where Pi's sessions are found, and what is told of those that cannot be looked at.

use super::{FILE, ID, header, pi, text, user, with};
use crate::world::{Machine, at, machine};
use agentctl_core::{
    agent::{Depth, Lately, Listing, Stub},
    host::{Env, Kind},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const STORE: &str = "/store";
const STAMP: &str = "2026-11-15T18-46-44-509Z";

/// A store with one session, of `/work`.
fn store() -> Machine {
    let mut machine = machine(Vec::new());
    machine.folder(STORE, 50);
    machine.folder("/store/--work--", 51);
    add(&mut machine, FILE, &header());
    machine
}

fn add(machine: &mut Machine, path: &str, header: &Value) {
    machine.file(path, text(&[header.clone(), user("hello")]).as_bytes());
}

fn written(machine: &mut Machine, path: &str, second: i64) {
    let (stat, _) = machine.files.get_mut(Path::new(path)).expect("it is there");
    stat.modified = at(second);
}

/// A name that leads elsewhere.
fn link(machine: &mut Machine, name: &str, to: &str) {
    machine.file(name, b"");
    machine.files.get_mut(Path::new(name)).expect("it was just made").0.kind = Kind::Link;
    machine.links.insert(name.into(), to.into());
}

fn list(machine: &Machine) -> Listing {
    pi().list(machine, Path::new(STORE)).expect("it can be looked at")
}

fn list_of(machine: &Machine, since: Timestamp) -> Listing {
    let lately = Lately { since, recalls: false };
    let listing = pi().list_of(machine, Path::new(STORE), Path::new("/work"), lately);
    listing.expect("names save a look").expect("it can be looked at")
}

/// Ids and paths of sessions, and paths of what cannot be looked at.
fn found(listing: Listing) -> (Vec<(String, String)>, Vec<PathBuf>) {
    let name = |stub: Stub| (stub.id, stub.path.display().to_string());
    let mut stubs: Vec<_> = listing.stubs.into_iter().map(name).collect();
    stubs.sort();
    (stubs, listing.problems.into_iter().map(|trouble| trouble.path).collect())
}

fn named(id: &str, path: &str) -> (String, String) {
    (id.to_owned(), path.to_owned())
}

#[test]
fn a_store_is_where_the_most_particular_variable_says() {
    let stores = |pairs: &[(&str, &str)]| {
        let env: Env = pairs.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        pi().stores(&env)
    };
    let (home, dir) = (("HOME", "/h"), "PI_CODING_AGENT_SESSION_DIR");
    assert_eq!(stores(&[home]), [PathBuf::from("/h/.pi/agent/sessions")]);
    assert_eq!(stores(&[home, (dir, "")]), [PathBuf::from("/h/.pi/agent/sessions")]);
    assert_eq!(stores(&[home, (dir, "~/flat")]), [PathBuf::from("/h/flat")]);
    assert_eq!(stores(&[(dir, "~/flat")]), [PathBuf::from("~/flat")]);
    assert!(stores(&[]).is_empty());
}

/// `--session` names any file, whose id stands only inside.
#[test]
fn sessions_are_listed_by_the_id_in_their_name_or_else_in_them() {
    let mut store = store();
    add(&mut store, "/store/mine.jsonl", &with(header(), &json!({"id": "inside"})));
    // None of these is the time at which a session was made.
    let letters = format!("/store/{}_x.jsonl", "z".repeat(24));
    let no_times = ["/store/2026_x.jsonl", &letters, "/store/2026-11-15T18-46-44-5099_x.jsonl"];
    for path in no_times {
        add(&mut store, path, &with(header(), &json!({"id": path})));
    }
    store.file("/store/notes.txt", b"");
    store.file("/store/--work--/notes.txt", b"");
    store.file("/store/empty.jsonl", b"");
    let mut all = vec![named(ID, FILE), named("inside", "/store/mine.jsonl")];
    all.extend(no_times.map(|path| named(path, path)));
    all.sort();
    assert_eq!(found(list(&store)), (all, Vec::new()));
}

/// A flat folder may hold anything.
#[test]
fn files_that_do_not_begin_as_sessions_are_none_and_folders_that_are_called_so_are_a_problem() {
    let mut store = store();
    store.file("/store/other.jsonl", b"{\"type\":\"summary\",\"id\":\"x\"}\n");
    let odd = format!("/store/--work--/{STAMP}_folder.jsonl");
    store.folder(&odd, 52);
    assert_eq!(found(list(&store)), (vec![named(ID, FILE)], vec![odd.into()]));
    let stub = Stub { path: "/store/other.jsonl".into(), ..list(&store).stubs.remove(0) };
    let why = pi().read(&store, &stub, Depth::Glance).expect_err("it is another's");
    assert_eq!(why.to_string(), "it does not begin as a session of Pi");
    let mut closed = self::store();
    closed.closed = vec!["/store/--work--".into()];
    assert_eq!(found(list(&closed)), (Vec::new(), vec!["/store/--work--".into()]));
    closed.closed = vec![STORE.into()];
    assert!(pi().list(&closed, Path::new(STORE)).is_err());
}

#[test]
fn links_lead_to_folders_and_to_sessions() {
    let mut store = store();
    add(&mut store, "/disk/one.jsonl", &header());
    let linked = format!("/store/{STAMP}_linked.jsonl");
    link(&mut store, &linked, "/disk/one.jsonl");
    let (folder, inside) = ("/store/--alias--", format!("/store/--alias--/{STAMP}_far.jsonl"));
    store.folder("/disk/folder", 60);
    link(&mut store, folder, "/disk/folder");
    add(&mut store, &inside, &header());
    let (stubs, problems) = found(list(&store));
    assert_eq!(stubs, [named(ID, FILE), named("far", &inside), named("linked", &linked)]);
    assert_eq!(problems.len(), 0);
    // A link that leads nowhere is none of its folders, and as a session it cannot be looked at.
    store.links.insert(folder.into(), "/nowhere".into());
    store.links.insert(linked.clone().into(), "/nowhere".into());
    let (stubs, problems) = found(list(&store));
    assert_eq!((stubs, problems), (vec![named(ID, FILE)], vec![linked.into()]));
}

/// The name of a folder is that of a directory; any other folder may have sessions of all.
#[test]
fn folders_of_other_directories_are_left_out_where_one_is_asked_for() {
    let mut store = store();
    let path = |folder: &str| format!("{folder}/{STAMP}_x.jsonl");
    let folders = ["/store/--other--", "/store/--flat", "/store/flat--"];
    for (number, folder) in folders.into_iter().enumerate() {
        store.folder(folder, 60 + number as u64);
        add(&mut store, &path(folder), &header());
    }
    let listing = list_of(&store, Timestamp::MIN);
    let all = [named(ID, FILE), named("x", &path(folders[1])), named("x", &path(folders[2]))];
    assert_eq!(found(listing), (all.to_vec(), Vec::new()));
    let goes_on = |path: &str| {
        let stub = Stub { path: path.into(), ..list(&store).stubs.remove(0) };
        pi().goes_on_here(&stub, Path::new("/work"))
    };
    assert_eq!(goes_on(FILE), Some(true));
    assert_eq!(goes_on(&path(folders[0])), Some(false));
    assert_eq!(goes_on(&path(folders[1])), None);
}

/// What a process cannot have written is no answer; what is no file is one that nobody can read, however old.
#[test]
fn what_is_older_is_left_out_where_a_moment_is_asked_for() {
    let mut store = store();
    let new = format!("/store/--work--/{STAMP}_new.jsonl");
    let folder = format!("/store/--work--/{STAMP}_folder.jsonl");
    add(&mut store, &new, &header());
    written(&mut store, FILE, 99);
    written(&mut store, &new, 100);
    let both = vec![named(ID, FILE), named("new", &new)];
    assert_eq!(found(list_of(&store, at(99))), (both, Vec::new()));
    assert_eq!(found(list_of(&store, at(100))), (vec![named("new", &new)], Vec::new()));
    store.folder(&folder, 60);
    written(&mut store, &folder, 1);
    assert_eq!(found(list_of(&store, at(101))), (Vec::new(), vec![folder.into()]));
}

/// An id is one of its directory, and two directories may share a folder.
#[test]
fn a_session_is_found_by_its_id_and_its_directory() {
    let mut store = store();
    let one = format!("/store/--a-b--/{STAMP}_same.jsonl");
    let two = "/store/--a-b--/2026-11-16T18-46-44-509Z_same.jsonl";
    let flat = "/store/mine.jsonl";
    store.folder("/store/--a-b--", 60);
    add(&mut store, &one, &with(header(), &json!({"id": "same", "cwd": "/a/b"})));
    add(&mut store, two, &with(header(), &json!({"id": "same", "cwd": "/a-b"})));
    add(&mut store, flat, &with(header(), &json!({"id": "same", "cwd": "/c"})));
    written(&mut store, two, 300);
    written(&mut store, &one, 200);
    let find = |id: &str, cwd: Option<&str>| {
        let stubs = pi().find(&store, Path::new(STORE), id, cwd.map(Path::new));
        stubs.into_iter().map(|stub| stub.path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(find(ID, None), [FILE]);
    assert_eq!(find(ID, Some("/work")), [FILE]);
    assert_eq!(find("other", None), [""; 0]);
    assert_eq!(find("same", Some("/a/b")), [one.as_str()]);
    assert_eq!(find("same", Some("/a-b")), [two]);
    assert_eq!(find("same", Some("/c")), [flat]);
    let all = [two, one.as_str(), flat];
    assert_eq!(find("same", None), all);
    assert_eq!(find("same", Some("/elsewhere")), all);
}
