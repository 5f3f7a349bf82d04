//! Every file, database and server of every captured agent, with other bytes in it.
//!
//! An input is a line that names the place, then the bytes that stand there. A line that names no place
//! names one all the same, by its hash: so that a mutation of it is not wasted.

use super::{
    machine::{Machine, machines},
    spoiled::{Place, Spoiled},
};
use agentctl_core::{
    agent::{Agent, Depth, Stub},
    derive::{State, derive},
    evidence::Evidence,
    host::Host,
    observe::{History, Survey},
    story::{self, story},
    wire::Session,
};
use jiff::Timestamp;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{LazyLock, atomic::AtomicUsize},
};

/// A place on a machine, and its name.
struct Slot {
    machine: &'static Machine,
    place: Place,
    /// What stands there.
    native: Vec<u8>,
}

/// How many files of one kind of a version make seeds; there are hundreds that are alike.
const ALIKE: usize = 2;

/// So much of a file is enough of it for a seed.
const LONG: usize = 6 << 10;

fn slots() -> &'static BTreeMap<String, Slot> {
    static ALL: LazyLock<BTreeMap<String, Slot>> = LazyLock::new(|| {
        let mut all = BTreeMap::new();
        for machine in machines() {
            for (place, native) in places(machine) {
                let name = name(machine, &place);
                all.insert(name, Slot { machine, place, native });
            }
        }
        all
    });
    &ALL
}

fn places(machine: &Machine) -> Vec<(Place, Vec<u8>)> {
    let mut places = Vec::new();
    for (path, file) in &machine.files {
        let Ok(bytes) = &file.bytes else { continue };
        match bytes.starts_with(b"SQLite format 3\0") {
            true => places.push((Place::Cells(path.clone()), Vec::new())),
            false => places.push((Place::File(path.clone()), bytes.clone())),
        }
    }
    let facts = machine.fixture.facts();
    for (url, page) in &facts.pages {
        places.push((Place::Page(url.clone()), page.to_string().into_bytes()));
    }
    for (url, gateway) in &facts.gateways {
        let answers = gateway.answers.values().map(ToString::to_string);
        let frames: Vec<String> =
            [gateway.greeting.to_string()].into_iter().chain(answers).collect();
        places.push((Place::Gateway(url.clone()), frames.join("\n").into_bytes()));
    }
    places
}

fn name(machine: &Machine, place: &Place) -> String {
    let below = |path: &Path| {
        let home = &machine.fixture.facts().home;
        path.strip_prefix(home).unwrap_or(path).display().to_string()
    };
    let case = &machine.name;
    match place {
        Place::File(path) => format!("{case} file {}", below(path)),
        Place::Cells(path) => format!("{case} cells {}", below(path)),
        Place::Page(url) => format!("{case} page {url}"),
        Place::Gateway(url) => format!("{case} gateway {url}"),
    }
}

/// Some files of each kind of each version, as they were captured.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut seeds = Vec::new();
    for (name, slot) in slots() {
        let version: Vec<&str> = slot.machine.name.split('/').take(2).collect();
        let kind = match &slot.place {
            Place::File(path) => {
                let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
                let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
                // Folders that are named after a directory or a date say nothing of the kind.
                let folder = folder.to_string_lossy().chars().take(4).collect::<String>();
                format!("{folder} {ending}")
            }
            Place::Cells(_) => "cells".to_owned(),
            Place::Page(_) => "page".to_owned(),
            Place::Gateway(_) => "gateway".to_owned(),
        };
        let count = seen.entry(format!("{} {kind}", version.join("/"))).or_default();
        *count += 1;
        if *count <= ALIKE {
            let short = &slot.native[..slot.native.len().min(LONG)];
            seeds.push([name.as_bytes(), b"\n", short].concat());
        }
    }
    seeds
}

/// Reads the machine as the program does, twice, and compares.
pub(super) fn run(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let bytes = input.get(end + 1..).unwrap_or_default();
    let slot = slot(&input[..end]);
    let host = |turned| Spoiled {
        machine: slot.machine,
        place: &slot.place,
        bytes,
        turned,
        cells: AtomicUsize::new(0),
    };
    let seen = look(slot, &host(false));
    // Which cell is spoiled depends on the order of questions, and so the answers may.
    let turned = !matches!(slot.place, Place::Cells(_));
    assert_eq!(seen, look(slot, &host(turned)), "the order of names changes the answer");
}

fn slot(name: &[u8]) -> &'static Slot {
    let text = String::from_utf8_lossy(name);
    if let Some(slot) = slots().get(&*text) {
        return slot;
    }
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325, step);
    let at = usize::try_from(hash % slots().len() as u64).unwrap_or(0);
    slots().values().nth(at).expect("there are fixtures")
}

/// Every session as JSON, sorted.
fn look(slot: &Slot, host: &dyn Host) -> BTreeSet<String> {
    let agent = slot.machine.agent;
    let survey = Survey::new(agent, host, &slot.machine.fixture.env(), History::All);
    let mut found = BTreeSet::new();
    let mut rows = BTreeSet::new();
    for candidate in &survey.candidates {
        let (session, _) = survey.session(candidate, Depth::Whole);
        let evidence = survey.look(candidate, Depth::Glance);
        replays(&evidence, candidate.is_held());
        assert_eq!(session.live, candidate.is_held());
        let row = (session.id.clone(), session.source.clone(), session.pid);
        assert!(rows.insert(row), "listed twice: {session:?}");
        // What is not spoiled reads as it always does.
        let is_spoiled = |stub: &&Stub| match &slot.place {
            Place::File(path) | Place::Cells(path) => *path == stub.path,
            Place::Page(_) | Place::Gateway(_) => false,
        };
        if let Some(stub) = candidate.stub.as_ref().filter(is_spoiled) {
            told(agent, host, stub);
        }
        found.insert(text(&session));
    }
    found
}

/// What is read aloud and followed of a session.
fn told(agent: &dyn Agent, host: &dyn Host, stub: &Stub) {
    let _ = agent.tail(host, stub, 5);
    let _ = agent.since(host, stub, 0);
    let _ = agent.shows(host, stub, (0, "hello"));
    for from in [story::From::Now, story::From::Time(Timestamp::MIN)] {
        let _ = story(agent, host, Some(stub), (from, std::iter::empty()));
    }
    if let Ok(file) = host.open(&stub.path) {
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap_or(0)];
        let _ = file.read_at(&mut bytes, 0);
        for line in bytes.split(|byte| *byte == b'\n').take(20) {
            let _ = agent.messages(line);
            let _ = agent.shape(line).map(|shape| agent.card().strange(&shape));
        }
    }
}

/// Written down and read again, evidence has the same answer; who is held has not ended.
fn replays(seen: &Evidence, held: bool) {
    let verdict = derive(seen);
    let text = serde_json::to_string(seen).expect("evidence is plain data");
    let again: Evidence = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(&again, seen, "evidence does not survive being written down");
    assert_eq!(derive(&again), verdict);
    let ended = match verdict.state {
        State::Done | State::Failed(_) | State::Stopped | State::Died => true,
        State::Working | State::Waiting(_) | State::Idle(_) | State::Unknown(_) => false,
    };
    assert!(!(ended && held), "ended, and held: {seen:?}");
}

fn text(session: &Session) -> String {
    let text = serde_json::to_string(session).expect("a session is plain data");
    serde_json::from_str::<serde_json::Value>(&text).expect("JSON can be read again");
    text
}
