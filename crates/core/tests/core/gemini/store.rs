//! Where Gemini CLI's chats are found, and what is told of those that cannot be looked at.

use super::{CHAT, CHATS, ID, STORE, answer, gemini, head, message, store, stub, text};
use crate::world::{Machine, at, machine};
use agentctl_core::agent::{Depth, Listing, Trouble};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const OTHER: &str = "22222222-2222-4222-8222-222222222222";

fn list(machine: &Machine) -> Listing {
    gemini().list(machine, Path::new(STORE)).expect("it can be looked at")
}

/// Ids and paths of what is listed, and what could not be.
fn listed(machine: &Machine) -> (Vec<(String, PathBuf)>, Vec<Trouble>) {
    let listing = list(machine);
    let named = listing.stubs.into_iter().map(|stub| (stub.id, stub.path)).collect();
    (named, listing.problems)
}

fn trouble(path: &str, why: &str) -> Trouble {
    Trouble { path: path.into(), why: why.to_owned() }
}

fn denied(path: &str) -> Trouble {
    trouble(path, "permission denied")
}

#[test]
fn a_store_without_chats_is_empty_and_one_that_is_closed_is_an_error() {
    assert_eq!(listed(&machine(Vec::new())), (Vec::new(), Vec::new()));
    let mut closed = store("");
    closed.closed = vec!["/h/.gemini/tmp".into()];
    let why = gemini().list(&closed, Path::new(STORE)).expect_err("it is closed");
    assert_eq!(why.to_string(), "permission denied");
    let mut none = store(&text(&[head(ID)]));
    none.folder("/h/.gemini/tmp/other", 60);
    assert_eq!(listed(&none), (vec![(ID.to_owned(), CHAT.into())], Vec::new()));
    none.folder("/h/.gemini/tmp/other/chats", 61);
    none.closed = vec!["/h/.gemini/tmp/other/chats".into()];
    let problems = vec![denied("/h/.gemini/tmp/other/chats")];
    assert_eq!(listed(&none), (vec![(ID.to_owned(), CHAT.into())], problems));
}

/// 0.61 tidies up at every start.
#[test]
fn a_chat_that_went_away_is_no_problem_and_one_that_is_closed_is() {
    let mut gone = store(&text(&[head(ID)]));
    gone.links.insert(CHAT.into(), "/nowhere".into());
    assert_eq!(listed(&gone), (Vec::new(), Vec::new()));
    let mut closed = store(&text(&[head(ID)]));
    closed.closed = vec![CHAT.into()];
    assert_eq!(listed(&closed), (Vec::new(), vec![denied(CHAT)]));
}

#[test]
fn a_chat_whose_first_line_is_being_written_is_not_there_yet() {
    let whole = head(ID).to_string();
    for torn in ["", "{\"sessionId\":\"1", &whole] {
        assert_eq!(listed(&store(torn)), (Vec::new(), Vec::new()), "{torn}");
    }
    let strange = vec![trouble(CHAT, "its first line names no session")];
    assert_eq!(listed(&store("{}\n")), (Vec::new(), strange.clone()));
    assert_eq!(listed(&store(&"x".repeat(64 << 10))), (Vec::new(), strange), "no head is as long");
    assert_eq!(listed(&store(&"x".repeat((64 << 10) - 1))), (Vec::new(), Vec::new()));
}

/// A resumed one has a second file with its head alone.
#[test]
fn of_two_files_of_one_session_the_longer_counts_and_the_newer_time() {
    let long = text(&[head(ID), message("a", "user", "do it"), answer("b", "yes")]);
    let mut again = head(ID);
    again["lastUpdated"] = "2026-01-02T09:00:00Z".into();
    let mut both = store(&long);
    both.file(&CHAT.replace("T03-04", "T09-00"), text(&[again.clone()]).as_bytes());
    let stub = stub(&both);
    assert_eq!(stub.path, PathBuf::from(CHAT));
    assert_eq!(Some(stub.updated), "2026-01-02T09:00:00Z".parse().ok());
    assert_eq!(list(&both).stubs, [stub]);
    // The longer one may stand behind the other.
    let mut turned = store(&text(&[again]));
    let longer = CHAT.replace("T03-04", "T09-00");
    turned.file(&longer, long.as_bytes());
    assert_eq!(super::stub(&turned).path, PathBuf::from(longer));
}

#[test]
fn a_session_is_found_by_its_id_among_others() {
    let mut both = store(&text(&[head(ID)]));
    both.file(
        &format!("{CHATS}/session-2026-01-02T03-05-22222222.jsonl"),
        text(&[head(OTHER)]).as_bytes(),
    );
    both.file(&format!("{CHATS}/logs.jsonl"), text(&[head(OTHER)]).as_bytes());
    let ids = |id: &str| {
        let found = gemini().find(&both, Path::new(STORE), id, None);
        found.into_iter().map(|stub| stub.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(ID), [ID]);
    assert_eq!(ids(OTHER), [OTHER]);
    assert_eq!(ids("11111111-2222-4222-8222-222222222222"), [""; 0]);
    assert_eq!(list(&both).stubs.len(), 2);
}

/// A start of another session of the same directory adds a summary, which moves the file's own time.
#[test]
fn a_session_is_as_new_as_what_it_wrote_itself() {
    let updated = |lines: &[Value]| stub(&store(&text(lines))).updated;
    let time = |text: &str| text.parse().expect("a time");
    let summary = json!({"$set": {"summary": "s"}});
    let set = json!({"$set": {"lastUpdated": "2026-01-02T03:04:09Z"}});
    assert_eq!(updated(&[head(ID), summary.clone()]), time("2026-01-02T03:04:00Z"));
    let said = message("a", "user", "do it");
    assert_eq!(updated(&[head(ID), said.clone(), summary]), time("2026-01-02T03:04:05Z"));
    assert_eq!(updated(&[head(ID), said, set]), time("2026-01-02T03:04:09Z"));
    assert_eq!(updated(&[json!({"sessionId": ID})]), at(0), "the file's own time");
}

#[test]
fn a_session_works_where_the_file_beside_its_folder_says() {
    let root = "/h/.gemini/tmp/work/.project_root";
    let glance = |machine: &Machine| {
        let record = gemini().read(machine, &stub(machine), Depth::Glance).expect("it can be read");
        (record.cwd, record.elsewhere)
    };
    let mut machine = store(&text(&[head(ID)]));
    assert_eq!(glance(&machine), (Some("/work".into()), false));
    assert_eq!(gemini().told_by(&machine, &stub(&machine), Depth::Glance), Some(vec![root.into()]));
    machine.file(root, b"work");
    assert_eq!(glance(&machine), (None, false));
    machine.files.remove(Path::new(root));
    assert_eq!(glance(&machine), (None, false));
    machine.file(root, b"/work");
    machine.closed = vec![root.into()];
    assert_eq!(glance(&machine), (None, true));
}
