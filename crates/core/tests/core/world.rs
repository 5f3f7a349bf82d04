//! A made-up machine: whatever it answers is a field.

use agentctl_core::{
    control::Unheard,
    evidence::Record,
    host::{
        Before, Bytes, CannotTell, Cell, Counting, Entry, Env, Files, Host, Kernel, Kind, Looked,
        OpenFile, Original, Process, Servers, Stat, Table, Tables, Talk, Told, loopback,
    },
    ident::ProcKey,
    receipt::{Launched, Stopped},
};
use jiff::Timestamp;
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

/// The machine booted at 0, and its processes count seconds from there.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + second).expect("a time")
}

pub(crate) fn key(pid: u32, start: u64) -> ProcKey {
    ProcKey { pid, start, boot: "boot".into() }
}

/// Where the agent keeps its sessions unless it is told otherwise.
pub(crate) const STORE: &str = "/home/.play";

/// One process: all that it can be asked.
#[derive(Clone)]
pub(crate) struct Proc {
    pub(crate) of: Process,
    pub(crate) argv: Option<Vec<String>>,
    pub(crate) env: Option<Env>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) exe: Option<PathBuf>,
    pub(crate) mine: Option<bool>,
    pub(crate) open: Option<Vec<OpenFile>>,
    pub(crate) noted: Option<Timestamp>,
    pub(crate) written: Option<u64>,
    pub(crate) sees: BTreeMap<PathBuf, (u64, u64)>,
    /// It ends at this moment.
    pub(crate) over: bool,
    /// It ended since the pass.
    pub(crate) gone: bool,
}

/// A process of the agent with these words, in `/work`.
pub(crate) fn runs(pid: u32, start: u64, words: &[&str]) -> Proc {
    let mut argv = vec!["play".to_owned()];
    argv.extend(words.iter().map(|&word| word.to_owned()));
    Proc {
        of: Process {
            pid,
            parent: 1,
            start,
            comm: "play".into(),
            zombie: false,
            halted: false,
            forked: false,
        },
        argv: Some(argv),
        env: Some(BTreeMap::from([("HOME".into(), "/home".into())])),
        cwd: Some("/work".into()),
        exe: Some("/bin/play".into()),
        mine: Some(true),
        open: Some(Vec::new()),
        noted: None,
        written: None,
        sees: BTreeMap::new(),
        over: false,
        gone: false,
    }
}

/// A process of somebody else: an editor, a shell, a tool.
pub(crate) fn other(pid: u32, start: u64) -> Proc {
    let mut proc = runs(pid, start, &[]);
    proc.of.comm = "sh".into();
    proc.exe = Some("/bin/sh".into());
    proc.argv = Some(vec!["sh".into()]);
    proc
}

impl Proc {
    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.env.get_or_insert_default().insert(variable.to_owned(), value.into());
        self
    }
}

pub(crate) struct Machine {
    pub(crate) now: Timestamp,
    pub(crate) table: Told<Table>,
    pub(crate) procs: Vec<Proc>,
    /// Files and folders: what they are, and their bytes.
    pub(crate) files: BTreeMap<PathBuf, (Stat, Vec<u8>)>,
    /// Paths that cannot be looked at.
    pub(crate) closed: Vec<PathBuf>,
    /// No folder tells what is in it.
    pub(crate) shut: bool,
    /// Links, and where they lead.
    pub(crate) links: BTreeMap<PathBuf, PathBuf>,
    pub(crate) locks: BTreeMap<PathBuf, Vec<u32>>,
    pub(crate) locks_told: bool,
    pub(crate) starts_told: bool,
    pub(crate) launches: Vec<Launched>,
    pub(crate) stops: Vec<(PathBuf, Stopped)>,
    /// Records that were kept, by path, with what they were read from.
    pub(crate) kept: Mutex<Vec<(PathBuf, Vec<Option<Stat>>)>>,
    /// Whether each of these was kept apart from history.
    pub(crate) kept_live: Mutex<Vec<bool>>,
    pub(crate) recalls: Option<Record>,
    /// What was counted and kept, by path.
    pub(crate) counts: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    /// What a socket in a file answers to each frame, for this process alone.
    pub(crate) answers: Option<(ProcKey, Answers)>,
    /// Where processes listen; whoever dials one of them is answered in the same way.
    pub(crate) ports: Told<Vec<(ProcKey, SocketAddr)>>,
    /// What a database answers.
    pub(crate) rows: Option<Rows>,
    /// What a page answers.
    pub(crate) pages: Option<Pages>,
    /// Whatever is at rest was looked at before, and nothing was found.
    pub(crate) knows_none: bool,
}

/// Rows of a query, with what is put into it.
pub(crate) type Rows = Box<dyn Fn(&Path, &str, &[Cell]) -> io::Result<Vec<Vec<Cell>>> + Sync>;
/// A page for whoever asks, and what was sent there.
pub(crate) type Pages =
    Box<dyn Fn(&str, Option<(&str, &str)>, Option<&str>) -> io::Result<Value> + Sync>;

/// Frames that are sent back for one.
pub(crate) type Answers = Arc<dyn Fn(&Value) -> Vec<Value> + Send + Sync>;

struct Socket {
    answers: Answers,
    heard: VecDeque<String>,
}

impl Talk for Socket {
    fn say(&mut self, frame: &str) -> io::Result<()> {
        let frame = serde_json::from_str(frame).expect("frames are JSON");
        self.heard.extend((self.answers)(&frame).iter().map(Value::to_string));
        Ok(())
    }

    fn hear(&mut self) -> io::Result<String> {
        self.heard.pop_front().ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

/// A machine with these processes at second 1000, and an empty store.
pub(crate) fn machine(procs: Vec<Proc>) -> Machine {
    let mut processes: Vec<Process> = procs.iter().map(|proc| proc.of.clone()).collect();
    processes.sort_by_key(|process| process.pid);
    let table = Table { taken: at(1000), boot: "boot".into(), booted: at(0), ticks: 1, processes };
    let mut machine = Machine {
        now: at(1000),
        table: Ok(table),
        procs,
        files: BTreeMap::new(),
        closed: Vec::new(),
        shut: false,
        links: BTreeMap::new(),
        locks: BTreeMap::new(),
        locks_told: true,
        starts_told: true,
        launches: Vec::new(),
        stops: Vec::new(),
        kept: Mutex::default(),
        kept_live: Mutex::default(),
        recalls: None,
        counts: Mutex::default(),
        answers: None,
        ports: Ok(Vec::new()),
        rows: None,
        pages: None,
        knows_none: false,
    };
    machine.folder(STORE, 1);
    machine.folder("/work", 2);
    machine.folder("/elsewhere", 3);
    machine
}

fn stat(kind: Kind, number: u64, size: u64) -> Stat {
    Stat { kind, modified: at(0), touched: at(0), identity: (1, number), size }
}

impl Machine {
    pub(crate) fn folder(&mut self, path: &str, number: u64) {
        self.files.insert(path.into(), (stat(Kind::Dir, number, 0), Vec::new()));
    }

    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) {
        let number = 1000 + self.files.len() as u64;
        let stat = stat(Kind::File, number, bytes.len() as u64);
        self.files.insert(path.into(), (stat, bytes.to_vec()));
    }

    fn of(&self, key: &ProcKey) -> Told<&Proc> {
        let is = |proc: &&Proc| proc.of.pid == key.pid && proc.of.start == key.start;
        self.procs.iter().find(is).ok_or_else(|| CannotTell("no such process".into()))
    }

    fn told<T: Clone>(&self, of: &ProcKey, what: impl Fn(&Proc) -> &Option<T>) -> Told<T> {
        what(self.of(of)?).clone().ok_or_else(|| CannotTell("not allowed".into()))
    }

    fn below(&self, dir: &Path) -> Vec<Entry> {
        let own = self.files.iter().filter(|(path, _)| path.parent() == Some(dir));
        let name = |path: &Path| path.file_name().map(|name| name.display().to_string());
        let entry = |(path, (stat, _)): (&PathBuf, &(Stat, _))| {
            Some(Entry { name: name(path)?, kind: stat.kind })
        };
        own.filter_map(entry).collect()
    }

    fn look(&self, path: &Path) -> io::Result<&(Stat, Vec<u8>)> {
        let path = self.resolve(path);
        if self.closed.iter().any(|closed| path.starts_with(closed)) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.files.get(&path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Files for Machine {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        match self.shut {
            true => Err(io::ErrorKind::PermissionDenied.into()),
            false => match self.look(dir)?.0.kind {
                Kind::File => Err(io::ErrorKind::NotADirectory.into()),
                _ => Ok(self.below(dir)),
            },
        }
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.look(path).map(|(stat, _)| *stat)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        self.look(path).map(|(_, bytes)| Box::new(bytes.clone()) as Box<dyn Bytes>)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.links.get(path).cloned().unwrap_or_else(|| path.to_owned())
    }
}

impl Kernel for Machine {
    fn table(&self) -> Told<&Table> {
        self.table.as_ref().map_err(Clone::clone)
    }

    fn exe(&self, of: &ProcKey) -> Told<PathBuf> {
        self.told(of, |proc| &proc.exe)
    }

    fn argv(&self, of: &ProcKey) -> Told<Vec<String>> {
        self.told(of, |proc| &proc.argv)
    }

    fn cwd(&self, of: &ProcKey) -> Told<PathBuf> {
        self.told(of, |proc| &proc.cwd)
    }

    fn env(&self, of: &ProcKey, names: &[&str]) -> Told<Env> {
        let mut env = self.told(of, |proc| &proc.env)?;
        env.retain(|name, _| names.contains(&name.as_str()));
        Ok(env)
    }

    fn is_mine(&self, of: &ProcKey) -> Told<bool> {
        self.told(of, |proc| &proc.mine)
    }

    fn open_files(&self, of: &ProcKey) -> Told<Vec<OpenFile>> {
        self.told(of, |proc| &proc.open)
    }

    fn began(&self, pid: u32, ticks: u64) -> Told<Option<ProcKey>> {
        self.table()?;
        if !self.starts_told {
            return Err(CannotTell("no starts here".into()));
        }
        let lives = self.of(&key(pid, ticks)).is_ok_and(|proc| !proc.gone && !proc.of.zombie);
        Ok(lives.then(|| key(pid, ticks)))
    }

    fn ports(&self, of: &ProcKey) -> Told<Vec<SocketAddr>> {
        let all = self.ports.as_ref().map_err(Clone::clone)?;
        Ok(all.iter().filter(|(process, _)| process == of).map(|(_, at)| *at).collect())
    }

    fn noted(&self, of: &ProcKey) -> Option<Timestamp> {
        self.of(of).ok()?.noted
    }

    fn written(&self, of: &ProcKey) -> Option<u64> {
        self.of(of).ok()?.written
    }

    fn sees(&self, of: &ProcKey, path: &Path) -> Option<(u64, u64)> {
        self.of(of).ok()?.sees.get(path).copied()
    }

    fn is_over(&self, of: &ProcKey) -> bool {
        self.of(of).is_ok_and(|proc| proc.over || proc.gone) || self.of(of).is_err()
    }

    fn terminal(&self, _: &ProcKey) -> Told<Option<PathBuf>> {
        Ok(None)
    }

    fn lockers(&self, path: &Path) -> Told<Vec<u32>> {
        match self.locks_told {
            true => Ok(self.locks.get(path).cloned().unwrap_or_default()),
            false => Err(CannotTell("no locks here".into())),
        }
    }

    fn has_locked(&self, of: &ProcKey, path: &Path) -> Told<bool> {
        Ok(self.locks.get(path).is_some_and(|pids| *pids == [of.pid]))
    }
}

impl Tables for Machine {
    fn rows(&self, db: &Path, sql: &str, args: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        self.rows
            .as_ref()
            .map_or(Err(io::ErrorKind::Unsupported.into()), |rows| rows(db, sql, args))
    }
}

impl Servers for Machine {
    fn get(&self, url: &str, user: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        let pages = self.pages.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        Ok(pages(url, user, None)?.to_string().into_bytes())
    }

    fn post(&self, url: &str, user: Option<(&str, &str)>, body: &str) -> Result<(), Unheard> {
        let pages = self.pages.as_ref().ok_or(Unheard::NoChannel)?;
        pages(url, user, Some(body)).map(|_| ()).map_err(Unheard::Failed)
    }

    /// Whoever is dialled speaks first: it answers no frame.
    fn dial(&self, url: &str) -> io::Result<Box<dyn Talk>> {
        let is_there = |(_, at): &&(ProcKey, SocketAddr)| {
            loopback(*at).is_some_and(|at| url == format!("ws://{at}/"))
        };
        match (&self.answers, self.ports.iter().flatten().find(is_there)) {
            (Some((process, answers)), Some((listener, _))) if process == listener => {
                let heard = answers(&Value::Null).iter().map(Value::to_string).collect();
                Ok(Box::new(Socket { answers: Arc::clone(answers), heard }))
            }
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    fn dial_file(&self, path: &Path, peer: &ProcKey) -> io::Result<Box<dyn Talk>> {
        self.look(path)?;
        match &self.answers {
            Some((process, answers)) if process == peer => {
                let answers = Arc::clone(answers);
                Ok(Box::new(Socket { answers, heard: VecDeque::new() }))
            }
            _ => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}

impl Host for Machine {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn machine(&self) -> &str {
        "here"
    }

    fn launches(&self) -> &[Launched] {
        &self.launches
    }

    fn stops(&self) -> &[(PathBuf, Stopped)] {
        &self.stops
    }

    fn knows_none(&self, _: Looked<'_>) -> bool {
        self.knows_none
    }

    fn recall(&self, _: &Original<'_>) -> Option<Record> {
        self.recalls.clone()
    }

    fn counted(&self, counting: &Counting<'_>) -> Option<Before> {
        let kept = self.counts.lock().expect("one thread").get(counting.path)?.clone();
        Some(Before { same: true, kept })
    }

    fn keep_count(&self, counting: &Counting<'_>, count: &[u8]) {
        let mut counts = self.counts.lock().expect("one thread");
        counts.insert(counting.path.to_owned(), count.to_vec());
    }

    fn keep(&self, original: &Original<'_>, _: &Record) {
        let kept = (original.stub.path.clone(), original.beside.clone());
        self.kept.lock().expect("one thread").push(kept);
        self.kept_live.lock().expect("one thread").push(original.live);
    }
}

/// Our receipt of a launch of the agent, by the name that its process carries.
pub(crate) fn launch(name: &str, session: Option<&str>, process: Option<ProcKey>) -> Launched {
    let json = serde_json::json!({
        "schema": 1, "launch": name, "agent": "play", "session": session, "process": process,
        "at": at(50),
    });
    serde_json::from_value(json).expect("a receipt")
}

/// Our receipt of having stopped a session's process.
pub(crate) fn stop(session: &str, process: ProcKey, second: i64) -> (PathBuf, Stopped) {
    let (agent, session) = ("play".into(), session.into());
    let stopped = Stopped { schema: 1, agent, session, process, at: at(second) };
    (format!("/receipts/{second}").into(), stopped)
}
