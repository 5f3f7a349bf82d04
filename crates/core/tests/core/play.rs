//! A made-up agent: whatever it answers is a field.

use crate::world::{Machine, STORE, at};
use agentctl_core::{
    agent::{
        Agent, Card, Claim, Claims, Depth, Lately, Listing, Message, Part, Program, Server, Shape,
        Stub, Trouble,
    },
    evidence::{Evidence, Reading, Record, Role, Tokens, Turn},
    host::{Env, Host},
    launch::Signal,
    observe::{History, Survey},
    proof::Source,
    push::{Line, Push},
    sheet::Sheet,
    tally::Tally,
};
use jiff::Timestamp;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// Sessions, each with what shows that it was spawned.
type Spawned = Vec<(Stub, Source)>;
/// What a session spawned.
type Spawns = Box<dyn Fn(&str) -> io::Result<Spawned> + Sync>;

type Says<T> = Box<dyn Fn() -> io::Result<T> + Sync>;

/// The newest turn of a record, as it is on this host.
type Turns = Box<dyn Fn(&dyn Host, &Stub) -> io::Result<Turn> + Sync>;

/// An agent called `play`.
pub(crate) struct Play {
    pub(crate) card: &'static Card,
    pub(crate) claims: Says<Claims>,
    pub(crate) stale: Says<Claims>,
    /// What it says when its process of this pid is asked.
    pub(crate) serves: Box<dyn Fn(u32) -> io::Result<Option<Vec<Claim>>> + Sync>,
    pub(crate) spawned: Spawns,
    /// Its sessions, and what is read of each; of `None`, nothing can be.
    pub(crate) sessions: Vec<(Stub, Option<Record>)>,
    pub(crate) troubles: Vec<String>,
    pub(crate) registers: bool,
    pub(crate) always_open: Option<PathBuf>,
    pub(crate) told_by: Option<Vec<PathBuf>>,
    pub(crate) tool_mark: Option<(&'static str, &'static str)>,
    /// Its sessions may be joined with processes.
    pub(crate) joins: bool,
    /// Its servers tell of changes unasked.
    pub(crate) pushes: bool,
    /// Tokens cannot be counted; apart from the rest, or with it.
    pub(crate) count_fails: bool,
    pub(crate) counts_apart: bool,
    /// What cannot be read at a place may tell who has the session of a record.
    pub(crate) speaks_of: fn(&Path, &Path) -> bool,
    /// A file of this name is a session's.
    pub(crate) is_its_file: fn(&str) -> bool,
    /// How it reads a turn, where that is no glance.
    pub(crate) turn: Option<Turns>,
    /// What names tell of a directory's sessions, where they tell.
    pub(crate) by_names: Option<fn(Lately) -> Vec<Stub>>,
}

pub(crate) const CARD: Card = Card {
    name: "play",
    aliases: &[],
    title: "Play",
    binary: "play",
    home: ".play",
    variables: &["PLAY_HOME"],
    proved: &[],
    stays: true,
    keeps_open: false,
    locks_only: false,
    tool_variable: None,
    inherited: &[],
    infers: false,
    names_files: false,
    local_ids: false,
    costs: false,
    short: 8,
    known: &[],
};

pub(crate) fn play() -> Play {
    card(CARD)
}

pub(crate) fn card(card: Card) -> Play {
    Play {
        card: Box::leak(Box::new(card)),
        claims: Box::new(|| Ok(Claims::default())),
        stale: Box::new(|| Ok(Claims::default())),
        serves: Box::new(|_| Ok(None)),
        spawned: Box::new(|_| Ok(Vec::new())),
        sessions: Vec::new(),
        troubles: Vec::new(),
        registers: false,
        always_open: None,
        told_by: None,
        tool_mark: None,
        joins: true,
        pushes: false,
        count_fails: false,
        counts_apart: false,
        speaks_of: |_, _| false,
        is_its_file: |_| false,
        turn: None,
        by_names: None,
    }
}

pub(crate) fn stub(id: &str, updated: i64) -> Stub {
    Stub::new(id, format!("{STORE}/{id}"), at(updated))
}

/// Nothing happened in it yet, and it works in `/work`.
pub(crate) fn record() -> Record {
    Record { cwd: Some("/work".into()), ..Record::of(Turn::None) }
}

impl Play {
    /// It has this session, last written then.
    pub(crate) fn has(mut self, id: &str, updated: i64, record: Record) -> Self {
        self.sessions.push((stub(id, updated), Some(record)));
        self
    }

    /// All that is found on a machine, for whoever has a home of his own.
    pub(crate) fn survey<'a>(&'a self, machine: &'a Machine, history: History) -> Survey<'a> {
        Survey::new(self, machine, &home(), history)
    }

    /// What is known of each session: by its id, in that order.
    pub(crate) fn seen(&self, machine: &Machine, history: History) -> Vec<Evidence> {
        let survey = self.survey(machine, history);
        let look = |candidate| survey.look(candidate, Depth::Glance);
        let mut all: Vec<Evidence> = survey.candidates.iter().map(look).collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }
}

pub(crate) fn home() -> Env {
    BTreeMap::from([("HOME".into(), "/home".into())])
}

fn word<'a>(program: &Program<'a>, name: &str) -> Option<&'a str> {
    let at = program.argv.iter().position(|word| word == name)?;
    program.argv.get(at + 1).map(String::as_str)
}

impl Agent for Play {
    fn card(&self) -> &'static Card {
        self.card
    }

    fn may_be(&self, comm: &str) -> bool {
        comm == "play" || comm == "node"
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let is = |word: &str| program.argv.iter().any(|own| own == word);
        if program.exe.is_some_and(|exe| !exe.ends_with("play") && !exe.ends_with("node")) {
            return None;
        }
        Some(match () {
            () if is("serve") => Part::Agent(Role::Server),
            () if is("run") => Part::Agent(Role::Headless),
            () if is("wait") => Part::Untold,
            () if is("help") => Part::Bystander,
            () => Part::Agent(Role::Interactive),
        })
    }

    fn names(&self, program: &Program<'_>) -> Option<String> {
        word(program, "--session").map(str::to_owned)
    }

    fn may_name(&self, program: &Program<'_>) -> Option<String> {
        word(program, "--resume").map(str::to_owned)
    }

    fn may_resume(&self, program: &Program<'_>) -> bool {
        program.argv.iter().any(|word| word == "--continue")
    }

    fn registers(&self) -> bool {
        self.registers
    }

    fn tool_mark(&self) -> Option<(&'static str, &'static str)> {
        self.tool_mark
    }

    fn ends_by(&self, _: Option<Role>) -> &'static [Signal] {
        &[]
    }

    fn serves(
        &self,
        _: &dyn Host,
        _: &Path,
        server: &Server<'_>,
    ) -> io::Result<Option<Vec<Claim>>> {
        (self.serves)(server.process.pid)
    }

    fn pushes(&self, _: &dyn Host, _: &Path, server: &Server<'_>) -> Option<Push> {
        let line = Line::Events { at: Vec::new(), page: "/".into(), user: None };
        self.pushes.then(|| Push { process: server.process.clone(), line, wakes: &[] })
    }

    fn spawned(&self, _: &dyn Host, _: &Path, id: &str) -> io::Result<Spawned> {
        (self.spawned)(id)
    }

    fn claims(&self, _: &dyn Host, _: &Path) -> io::Result<Claims> {
        (self.claims)()
    }

    fn stale(&self, _: &dyn Host, _: &Path, _: Option<&str>) -> io::Result<Claims> {
        (self.stale)()
    }

    fn holds(&self, _: &dyn Host, store: &Path, open: &Path) -> Option<String> {
        Some(open.strip_prefix(store).ok()?.display().to_string())
    }

    fn list(&self, _: &dyn Host, store: &Path) -> io::Result<Listing> {
        let own = |stub: &&Stub| stub.path.starts_with(store);
        let stubs = self.sessions.iter().map(|(stub, _)| stub).filter(own).cloned().collect();
        let trouble = |why: &String| Trouble { path: store.join("closed"), why: why.clone() };
        Ok(Listing { stubs, problems: self.troubles.iter().map(trouble).collect() })
    }

    fn list_of(
        &self,
        _: &dyn Host,
        _: &Path,
        _: &Path,
        lately: Lately,
    ) -> Option<io::Result<Listing>> {
        Some(Ok(Listing { stubs: self.by_names?(lately), problems: Vec::new() }))
    }

    fn find(&self, _: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub> {
        let own = |(stub, _): &&(Stub, _)| stub.path.starts_with(store) && stub.id == id;
        let works_in = |record: &Option<Record>| record.as_ref().and_then(|one| one.cwd.clone());
        let mut all: Vec<_> = self.sessions.iter().filter(own).collect();
        all.sort_by_key(|(_, record)| works_in(record).as_deref() != cwd);
        all.into_iter().map(|(stub, _)| stub.clone()).collect()
    }

    fn may_join(&self, _: &Record, _: Timestamp, _: Option<Role>) -> bool {
        self.joins
    }

    fn speaks_of(&self, unread: &Path, record: &Path) -> bool {
        (self.speaks_of)(unread, record)
    }

    fn is_its_file(&self, name: &str) -> bool {
        (self.is_its_file)(name)
    }

    fn always_open(&self, _: &dyn Host, _: &Path) -> Option<PathBuf> {
        self.always_open.clone()
    }

    fn glance(&self, _: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        let own = self.sessions.iter().find(|(own, _)| own.path == stub.path);
        own.and_then(|(_, record)| record.clone()).ok_or_else(|| io::Error::other("it is torn"))
    }

    fn count(&self, _: &Tally<'_>, _: &Sheet<'_>, _: &Stub, record: &mut Record) -> io::Result<()> {
        record.tokens = (!self.count_fails).then(Tokens::default);
        if self.count_fails { Err(io::Error::other("no numbers")) } else { Ok(()) }
    }

    fn counts_apart(&self) -> bool {
        self.counts_apart
    }

    fn answers(&self, line: &[u8]) -> Option<(bool, &'static str)> {
        match line {
            b"answered" => Some((true, "answered")),
            b"failed" => Some((false, "failed")),
            _ => None,
        }
    }

    fn told_by(&self, _: &dyn Host, _: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        self.told_by.clone()
    }

    fn turn(&self, host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
        match &self.turn {
            Some(turn) => turn(host, stub),
            None => Ok(self.read(host, stub, Depth::Glance)?.turn),
        }
    }

    fn absence(&self, _: &Path, id: &str) -> String {
        format!("nobody has {id}")
    }

    fn messages(&self, _: &[u8]) -> Vec<Message> {
        Vec::new()
    }

    fn shape(&self, _: &[u8]) -> Option<Shape> {
        None
    }
}

/// What was read of a session that was read.
pub(crate) fn read(record: Record) -> Reading {
    Reading::Read(Box::new(record))
}
