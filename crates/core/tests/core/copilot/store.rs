//! Where sessions and their locks are found, and what is told of those that cannot be looked at.

use super::{ID, OTHER, SESSIONS, STORE, copilot, folder, store};
use crate::world::{Machine, Proc, machine, other};
use agentctl_core::{
    agent::{About, Claim, Claims, Depth, Trail, Trouble},
    host::{Env, Kind, OpenFile},
    observe::{History, Survey},
};
use std::path::Path;

fn lock(id: &str) -> String {
    format!("{}/inuse.7.hold", folder(id))
}

fn sessions(claims: &Claims) -> Vec<&str> {
    claims.claims.iter().map(|claim| claim.session.as_str()).collect()
}

fn claims(machine: &Machine) -> Claims {
    copilot().claims(machine, Path::new(STORE)).expect("it can be looked at")
}

fn locks(machine: &Machine, open: &str) -> Option<Claim> {
    copilot().locks(machine, Path::new(STORE), Path::new(open))
}

/// The folder of another session lies elsewhere.
fn link(machine: &mut Machine) {
    machine.folder("/disk/other", 70);
    machine.folder(&folder(OTHER), 71);
    let own = machine.files.get_mut(Path::new(&folder(OTHER))).expect("it was just made");
    own.0.kind = Kind::Link;
    machine.links.insert(folder(OTHER).into(), "/disk/other".into());
}

#[test]
fn a_lock_claims_a_session_once_somebody_has_it_open_and_is_stale_else() {
    let mut machine = store("");
    machine.file(&lock(ID), b"");
    machine.folder(&folder("backup"), 60);
    machine.file(&lock("backup"), b"");
    assert_eq!(sessions(&claims(&machine)), [""; 0]);
    let stale = |id| copilot().stale(&machine, Path::new(STORE), id).expect("it can be looked at");
    assert_eq!(sessions(&stale(None)), [ID]);
    assert_eq!(sessions(&stale(Some(ID))), [ID]);
    assert_eq!(sessions(&stale(Some(OTHER))), [""; 0]);
    assert_eq!(sessions(&stale(Some("not-an-id"))), [""; 0]);
    let workspace = format!("{}/workspace.yaml", folder(ID));
    machine.file(&workspace, b"cwd: /work\nname: mine\n");
    let claim = locks(&machine, &lock(ID)).expect("a claim");
    let about =
        About { cwd: Some("/work".into()), title: Some("mine".to_owned()), ..About::default() };
    assert_eq!(
        (claim.session.as_str(), claim.trail, claim.about),
        (ID, Trail::Flock(lock(ID).into()), about)
    );
    for name in ["inuse..hold", "inuse.x.hold", "inuse.7.lock"] {
        assert_eq!(locks(&machine, &format!("{}/{name}", folder(ID))), None, "{name}");
    }
}

/// The kernel shows where a lock really is, which is not below the store then, or not for us.
#[test]
fn a_lock_that_lies_elsewhere_is_the_one_of_its_session_here() {
    let elsewhere = format!("/mnt/{ID}/inuse.7.hold");
    let trail = |machine: &Machine, open: &str| locks(machine, open).map(|claim| claim.trail);
    assert_eq!(trail(&store(""), &elsewhere), Some(Trail::Flock(lock(ID).into())));
    let mut machine = store("");
    link(&mut machine);
    let other = "/disk/other/inuse.7.hold";
    assert_eq!(trail(&machine, other), None); // no session's folder by what is in it
    machine.file("/disk/other/workspace.yaml", b"");
    assert_eq!(trail(&machine, other), Some(Trail::Flock(lock(OTHER).into())));
    // Its folder there is called after a session that is not here.
    let third = "/disk/55555555-2222-4333-8444-555555555555";
    machine.folder(third, 72);
    machine.file(&format!("{third}/workspace.yaml"), b"");
    machine.links.insert(folder(OTHER).into(), third.into());
    let open = format!("{third}/inuse.7.hold");
    assert_eq!(trail(&machine, &open), Some(Trail::Flock(lock(OTHER).into())));
    machine.links.insert(folder(OTHER).into(), "/nowhere".into());
    assert_eq!(trail(&machine, other), None);
}

#[test]
fn a_store_that_is_closed_is_an_error_and_one_without_sessions_is_empty() {
    let found = |machine: &Machine| {
        let claims = copilot().claims(machine, Path::new(STORE)).map(|all| all.claims.len());
        let stubs = copilot().list(machine, Path::new(STORE)).map(|all| all.stubs.len());
        [claims, stubs].map(|found| found.map_err(|why| why.to_string()))
    };
    assert_eq!(found(&machine(Vec::new())), [Ok(0), Ok(0)]);
    assert_eq!(found(&store("")), [Ok(0), Ok(1)]);
    let mut closed = store("");
    closed.closed = vec![SESSIONS.into()];
    let why = || Err("permission denied".to_owned());
    assert_eq!(found(&closed), [why(), why()]);
}

#[test]
fn a_session_that_was_never_prompted_is_not_listed_and_one_that_is_closed_is_told() {
    let mut machine = store("");
    machine.folder(&folder(OTHER), 60);
    machine.folder(&format!("{SESSIONS}/not-an-id"), 61);
    let list = |machine: &Machine| {
        let listing = copilot().list(machine, Path::new(STORE)).expect("it can be looked at");
        (listing.stubs.into_iter().map(|stub| stub.id).collect::<Vec<_>>(), listing.problems)
    };
    assert_eq!(list(&machine), (vec![ID.to_owned()], vec![]));
    let missed = |machine: &Machine, id| copilot().missed(machine, Path::new(STORE), id);
    assert_eq!([ID, OTHER, "not-an-id"].map(|id| missed(&machine, id)), [None, None, None]);
    machine.closed = vec![folder(ID).into()];
    let closed = Trouble { path: folder(ID).into(), why: "permission denied".to_owned() };
    assert_eq!(list(&machine), (vec![], vec![closed.clone()]));
    assert_eq!([ID, OTHER].map(|id| missed(&machine, id)), [Some(closed), None]);
}

#[test]
fn an_open_lock_tells_the_session() {
    let holds =
        |open: &str| copilot().holds(&machine(Vec::new()), Path::new(STORE), Path::new(open));
    assert_eq!(holds(&lock(ID)).as_deref(), Some(ID));
    for name in ["inuse..hold", "inuse.x.hold", "inuse.7.lock"] {
        assert_eq!(holds(&format!("{}/{name}", folder(ID))), None, "{name}");
    }
    // The program locks itself, too.
    assert_eq!(holds("/home/.cache/copilot/pkg/1.0.102/inuse.7.hold"), None);
}

/// One rule for a plain list and for whoever looks at lock files: who is no Copilot as far as can be told is not taken for one.
#[test]
fn a_lock_of_a_program_that_only_goes_by_its_names_is_told_of_alike() {
    let told = |comm: &str, history: History, open: bool| {
        let mut proc = other(7, 100).with("COPILOT_HOME", STORE);
        proc.of.comm = comm.to_owned();
        proc.open = open.then(|| vec![OpenFile { path: lock(ID).into(), writable: true }]);
        let mut machine = holding(vec![proc]);
        machine.locks.insert(lock(ID).into(), vec![7]);
        let env = Env::from([("COPILOT_HOME".to_owned(), STORE.into())]);
        let survey = Survey::new(copilot(), &machine, &env, history);
        let found = survey.candidates.iter().map(|one| survey.look(one, Depth::Glance));
        found.map(|seen| (seen.blind, seen.holders.len())).collect::<Vec<_>>()
    };
    let why = "locked by pid 7, which is not known to be such an agent".to_owned();
    let (stranger, held) = (vec![(Some(why), 0)], vec![(None, 1)]);
    for history in [History::Skip, History::Held, History::All] {
        assert_eq!(told("node", history, true), stranger, "{history:?}");
        assert_eq!(told("MainThread", history, true), held, "{history:?}");
        assert_eq!(told("node", history, false), stranger, "{history:?}, its files are not told");
    }
    assert_eq!(told("sh", History::Skip, true), []);
    assert_eq!(told("sh", History::Held, true), stranger);
}

/// A store with a session that somebody may have locked.
fn holding(procs: Vec<Proc>) -> Machine {
    let mut machine = machine(procs);
    for (number, folder) in [STORE, SESSIONS, &folder(ID)].into_iter().enumerate() {
        machine.folder(folder, 50 + number as u64);
    }
    machine.file(&format!("{}/events.jsonl", folder(ID)), b"{}\n");
    machine.file(&lock(ID), b"");
    machine
}
