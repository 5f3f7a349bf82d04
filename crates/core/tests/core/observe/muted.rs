//! What alone would tell who has a session cannot be read, or its store lies no longer where it was.

use crate::{
    play::{CARD, Play, card, play, record},
    world::{STORE, at, key, machine, runs},
};
use agentctl_core::{
    agent::{About, Card, Claim, Claims, Trail, Trouble},
    evidence::{Evidence, Ground, Pending, Reading, Record, Turn},
    host::OpenFile,
    observe::History,
    proof::Source,
};
use std::{
    io,
    path::{Path, PathBuf},
};

fn open() -> Record {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Open { alive: at(100), pending: Pending::Nothing, line };
    Record { turn, ..record() }
}

/// `a` and `b` were left in the middle of a turn, and `c` was not. A file tells of the session of its name.
fn three() -> Play {
    let mut play = play().has("a", 200, open()).has("b", 200, open()).has("c", 200, record());
    play.speaks_of =
        |unread, record| unread == Path::new(STORE) || unread.file_stem() == record.file_stem();
    play
}

/// Who is shown though nobody asked for history and nobody lives, and why nothing is known of him.
fn shown(play: &Play) -> Vec<(String, Option<String>)> {
    let seen = play.seen(&machine(Vec::new()), History::Skip);
    seen.into_iter().map(|one| (one.id.unwrap_or_default(), one.blind)).collect()
}

fn unknown(id: &str) -> (String, Option<String>) {
    (id.to_owned(), Some("what tells who runs it cannot be read".to_owned()))
}

fn trouble(path: &str) -> Claims {
    let trouble = Trouble { path: path.into(), why: "torn".into() };
    Claims { problems: vec![trouble], ..Claims::default() }
}

#[test]
fn an_open_turn_has_not_ended_where_what_tells_of_it_cannot_be_read() {
    assert_eq!(shown(&three()), []);
    let mut torn = three();
    torn.claims = Box::new(|| Ok(trouble("/home/.play/a.lock")));
    assert_eq!(shown(&torn), [unknown("a")]);
    // Its agent leaves another trail, too.
    torn.speaks_of = |_, _| false;
    assert_eq!(shown(&torn), []);
}

#[test]
fn where_no_claim_can_be_read_no_open_turn_has_ended() {
    let ended = ("c".to_owned(), None);
    let mut closed = three();
    closed.claims = Box::new(|| Ok(Claims { closed: true, ..Claims::default() }));
    assert_eq!(shown(&closed), [unknown("a"), unknown("b"), ended.clone()]);
    let mut unread = three();
    unread.claims = Box::new(|| Err(io::ErrorKind::PermissionDenied.into()));
    assert_eq!(shown(&unread), [unknown("a"), unknown("b"), ended]);
}

/// An agent whose processes keep their sessions' files open is known by them.
#[test]
fn who_writes_to_a_session_in_a_store_that_was_moved_may_hold_any() {
    let suspects = |path: &str| {
        let mut play = card(Card { keeps_open: true, ..CARD }).has("a", 200, open());
        play.is_its_file = |name| name.ends_with(".session");
        let mut process = runs(7, 100, &["run"]);
        process.open = Some(vec![OpenFile { path: path.into(), writable: true }]);
        let mut seen = play.seen(&machine(vec![process]), History::All);
        seen.retain(|one| one.id.as_deref() == Some("a"));
        seen.remove(0).suspects.iter().map(|one| (one.key.pid, one.ground)).collect::<Vec<_>>()
    };
    assert_eq!(suspects("/moved/b.session"), [(7, Ground::Wrote)]);
    assert_eq!(suspects("/moved/notes"), []);
    assert_eq!(suspects("/home/.play/b.session"), []);
}

/// Ids that people choose may be there twice.
#[test]
fn of_two_sessions_of_one_id_a_process_holds_that_of_its_own_directory() {
    let mut play = play().has("a", 200, Record { cwd: Some("/elsewhere".into()), ..record() });
    let mut second = play.sessions[0].clone();
    second.0.path = PathBuf::from("/home/.play/second");
    second.1 = Some(record());
    play.sessions.push(second);
    play.claims = Box::new(|| {
        let source = Source::File { path: "/claim".into(), shows: "a".into() };
        let trail = Trail::Known(key(7, 100));
        let claim = Claim { session: "a".into(), trail, source, about: About::default() };
        Ok(Claims { claims: vec![claim], ..Claims::default() })
    });
    let mut other = runs(8, 100, &["run"]);
    other.cwd = Some("/elsewhere".into());
    let seen = play.seen(&machine(vec![other, runs(7, 100, &["run"])]), History::Skip);
    let held = |one: &&Evidence| one.holders.iter().any(|holder| holder.key == key(7, 100));
    let held: Vec<&Evidence> = seen.iter().filter(held).collect();
    let works_in = |one: &&Evidence| match &one.record {
        Reading::Read(record) => record.cwd.clone(),
        Reading::Absent | Reading::Failed { .. } => None,
    };
    assert_eq!(held.iter().map(works_in).collect::<Vec<_>>(), [Some(PathBuf::from("/work"))]);
}
