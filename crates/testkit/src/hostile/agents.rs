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
    sync::LazyLock,
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
            let native = match &slot.place {
                Place::Cells(_) => cells(slot),
                Place::File(_) | Place::Page(_) | Place::Gateway(_) => slot.native.clone(),
            };
            let short = &native[..native.len().min(LONG)];
            seeds.push([name.as_bytes(), b"\n", short].concat());
        }
    }
    seeds
}

/// Cells of a database as they were captured, in the order in which they are read.
fn cells(slot: &Slot) -> Vec<u8> {
    let host = Spoiled::new(slot.machine, &slot.place, &[]);
    look(slot, &host);
    host.cells().join("\0").into_bytes()
}

/// Reads the machine as the program does, twice, and compares.
pub(super) fn run(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let bytes = input.get(end + 1..).unwrap_or_default();
    let slot = slot(&input[..end]);
    let host = || Spoiled::new(slot.machine, &slot.place, bytes);
    let seen = look(slot, &host());
    // Which cell is spoiled depends on the order of questions, and so the answers may.
    let turned = !matches!(slot.place, Place::Cells(_));
    let again = look(slot, &host().turned(turned));
    assert_eq!(seen, again, "the order of names changes the answer");
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
        // A key stands in its table once, which spoiled cells do not know.
        let is_key = matches!(slot.place, Place::Cells(_));
        assert!(rows.insert(row) || is_key, "listed twice: {session:?}");
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

#[cfg(test)]
mod tests {
    use super::{super::spoiled::Asked, *};
    use std::path::{Component, PathBuf};

    /// Names of sessions that are paths.
    const ODD: [&str; 6] =
        ["../victim", "../../../victim", "/victim", "a/../../victim", "..", "ses_/../victim"];

    /// Nothing is spoiled.
    const NOWHERE: &Place = &Place::Page(String::new());

    /// Paths that were asked for and lead out of the home, or up.
    fn outside(machine: &Machine, asked: Vec<Asked>) -> Vec<PathBuf> {
        let home = &machine.fixture.facts().home;
        let paths = asked.into_iter().filter_map(|asked| match asked {
            Asked::Path(path) => Some(path),
            Asked::Server(..) => None,
        });
        let leads_out = |path: &PathBuf| {
            let is_up = path.components().any(|part| part == Component::ParentDir);
            is_up || !path.starts_with(home)
        };
        paths.filter(leads_out).collect()
    }

    /// Whatever an agent calls its sessions: none is looked for, or read, at a place that its name makes up.
    #[test]
    fn no_id_makes_a_path_that_leads_out() {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for machine in machines().iter().step_by(5) {
            let agent = machine.agent;
            for store in agent.stores(&machine.fixture.env()) {
                let known = agent
                    .list(&Spoiled::new(machine, NOWHERE, b""), &store)
                    .unwrap_or_default()
                    .stubs;
                for stub in known.iter().take(1) {
                    let host = Spoiled::new(machine, NOWHERE, b"");
                    *found.entry(agent.card().name).or_default() +=
                        agent.find(&host, &store, &stub.id, None).len();
                    // What a file is called cannot be a path; all else may be.
                    let is_name = stub.path.file_stem().is_some_and(|stem| *stem == *stub.id);
                    for odd in ODD {
                        let host = Spoiled::new(machine, NOWHERE, b"");
                        let renamed = Stub { id: odd.to_owned(), ..stub.clone() };
                        let _ = agent.find(&host, &store, odd, Some(Path::new(odd)));
                        let _ = agent.spawned(&host, &store, odd);
                        if !is_name {
                            told(agent, &host, &renamed);
                            let _ = agent.read(&host, &renamed, Depth::Whole);
                            let _ = (agent.turns(&host, &renamed), agent.turn(&host, &renamed));
                        }
                        let out = outside(machine, host.asked());
                        assert!(out.is_empty(), "{} {odd}: {out:?}", machine.name);
                    }
                }
            }
        }
        let lost: Vec<&str> = agentctl_core::agents::ALL
            .iter()
            .map(|agent| agent.card().name)
            .filter(|name| found.get(name).is_none_or(|count| *count == 0))
            .collect();
        assert_eq!(lost, [""; 0], "one of its own is found");
    }

    /// An agent's server has gone, and somebody else answers where it did: he is asked nothing.
    #[test]
    fn a_stranger_on_an_agent_s_old_port_is_told_no_password() {
        let asked = |deaf: bool| {
            let mut servers = Vec::new();
            for machine in machines() {
                let host = Spoiled::new(machine, NOWHERE, b"").deaf(deaf);
                let survey =
                    Survey::new(machine.agent, &host, &machine.fixture.env(), History::All);
                for candidate in &survey.candidates {
                    let _ = survey.session(candidate, Depth::Whole);
                }
                drop(survey);
                servers.extend(host.asked().into_iter().filter_map(|asked| match asked {
                    Asked::Server(url, told) => Some((url, told)),
                    Asked::Path(_) => None,
                }));
            }
            servers
        };
        let own = asked(false);
        assert!(own.iter().any(|(_, told)| *told), "it is told to its own: {own:?}");
        assert!(own.iter().any(|(url, _)| url.starts_with("ws:")), "{own:?}");
        assert_eq!(asked(true), []);
    }
}
