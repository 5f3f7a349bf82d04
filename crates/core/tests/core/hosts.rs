//! What a host answers where it has nothing of its own to say, and what is read of its answers.

use crate::{
    play::stub,
    world::{Proc, at, key, machine, runs},
};
use agentctl_core::{
    agent::Depth,
    control::Unheard,
    evidence::{Record, Turn},
    host::{
        Bytes, CannotTell, Cell, Counting, Entry, Env, Files, Host, Kernel, Kind, OpenFile,
        Original, Servers, Stat, Table, Tables, Talk, Told, Use, slurp,
    },
    ident::ProcKey,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// A host that tells no more than every host must.
struct Bare;

fn nothing<T>() -> Told<T> {
    Err(CannotTell("nothing is told here".into()))
}

impl Files for Bare {
    fn entries(&self, _: &Path) -> io::Result<Vec<Entry>> {
        let entry = |name: &str| Entry { name: name.into(), kind: Kind::File };
        Ok(vec![entry("a"), entry("b")])
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        match path == Path::new("/dir/a") {
            true => Ok(stat()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, _: &Path) -> io::Result<Box<dyn Bytes>> {
        Ok(Box::new(b"0123456789".to_vec()))
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

impl Kernel for Bare {
    fn table(&self) -> Told<&Table> {
        nothing()
    }

    fn exe(&self, _: &ProcKey) -> Told<PathBuf> {
        nothing()
    }

    fn argv(&self, _: &ProcKey) -> Told<Vec<String>> {
        nothing()
    }

    fn cwd(&self, _: &ProcKey) -> Told<PathBuf> {
        nothing()
    }

    fn env(&self, _: &ProcKey, _: &[&str]) -> Told<Env> {
        nothing()
    }

    fn is_mine(&self, _: &ProcKey) -> Told<bool> {
        nothing()
    }

    fn open_files(&self, _: &ProcKey) -> Told<Vec<OpenFile>> {
        nothing()
    }

    fn began(&self, _: u32, _: u64) -> Told<Option<ProcKey>> {
        nothing()
    }

    fn ports(&self, _: &ProcKey) -> Told<Vec<SocketAddr>> {
        nothing()
    }

    fn is_over(&self, _: &ProcKey) -> bool {
        false
    }

    fn terminal(&self, _: &ProcKey) -> Told<Option<PathBuf>> {
        nothing()
    }

    fn lockers(&self, _: &Path) -> Told<Vec<u32>> {
        nothing()
    }

    fn has_locked(&self, _: &ProcKey, _: &Path) -> Told<bool> {
        nothing()
    }
}

impl Tables for Bare {
    fn rows(&self, _: &Path, _: &str, _: &[Cell]) -> io::Result<Vec<Vec<Cell>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Servers for Bare {
    fn get(&self, _: &str, _: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn dial(&self, _: &str) -> io::Result<Box<dyn Talk>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Host for Bare {
    fn now(&self) -> Timestamp {
        at(0)
    }

    fn machine(&self) -> &str {
        "bare"
    }
}

fn stat() -> Stat {
    Stat { kind: Kind::File, modified: at(0), touched: at(0), identity: (1, 2), size: 10 }
}

#[test]
fn what_a_host_does_not_tell_is_neither_there_nor_made_up() {
    let (process, path) = (key(7, 100), Path::new("/dir/a"));
    assert!(Bare.owner(&process).is_err() && Bare.spent(&process).is_err());
    assert_eq!((Bare.noted(&process), Bare.written(&process)), (None, None));
    assert_eq!(Bare.sees(&process, path), None);
    assert!(matches!(Bare.post("http://127.0.0.1:1/", None, "{}"), Err(Unheard::Failed(_))));
    assert!(Bare.dial_file(path, &process).is_err());
    assert!(Bare.launches().is_empty() && Bare.stops().is_empty() && Bare.lost().is_empty());
}

#[test]
fn a_host_that_keeps_nothing_has_nothing_of_what_it_was_given() {
    let path = Path::new("/dir/a");
    let stub = stub("a", 10);
    let (agent, depth, beside) = ("play", Depth::Glance, Vec::new());
    let (live, brief) = (false, false);
    let original = Original { agent, depth, stub: &stub, stat: stat(), beside, live, brief };
    let counting = Counting { agent: "play", path, stat: stat() };
    Bare.keep(&original, &Record::of(Turn::None));
    Bare.keep_count(&counting, b"1");
    Bare.keep_none(("play", path, stat()));
    Bare.put_down();
    assert_eq!((Bare.recall(&original), Bare.counted(&counting)), (None, None));
    assert!(!Bare.knows_none(("play", path, stat())));
}

#[test]
fn of_a_folder_only_what_is_asked_for_is_looked_at() {
    let inside = |names: &[&str]| {
        let all = Bare.inside(Path::new("/dir"), &|entry| names.contains(&entry.name.as_str()));
        let all = all.expect("it can be listed").into_iter();
        all.map(|one| (one.entry.name, one.stat.map(Result::ok))).collect::<Vec<_>>()
    };
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(inside(&[]), [(a.clone(), None), (b.clone(), None)]);
    assert_eq!(inside(&["a", "b"]), [(a, Some(Some(stat()))), (b, Some(None))]);
}

#[test]
fn a_long_file_is_cut_at_the_limit() {
    let cut = |limit| slurp(&Bare, Path::new("/dir/a"), limit).expect("it can be read");
    assert_eq!([cut(4), cut(10), cut(99)], [&b"0123"[..], b"0123456789", b"0123456789"]);
}

#[test]
fn a_process_uses_the_folder_it_works_in_or_runs_from_or_has_a_file_open_in() {
    let used = |dir: &str, change: &dyn Fn(&mut Proc)| {
        let mut process = runs(7, 100, &[]);
        let file = OpenFile { path: "/data/file".into(), writable: false };
        process.open = Some(vec![OpenFile { path: "/dev/null".into(), writable: true }, file]);
        change(&mut process);
        machine(vec![process]).uses(&key(7, 100), Path::new(dir)).map_err(|why| why.0)
    };
    let as_it_is = |dir| used(dir, &|_| ());
    assert_eq!(as_it_is("/work"), Ok(Some(Use::Works("/work".into()))));
    assert_eq!(as_it_is("/bin"), Ok(Some(Use::Runs("/bin/play".into()))));
    assert_eq!(as_it_is("/data"), Ok(Some(Use::Opened("/data/file".into()))));
    assert_eq!(as_it_is("/wor"), Ok(None));
    // What cannot be seen is not counted, but for one that cannot be asked at all.
    assert_eq!(used("/bin", &|process| process.exe = None), Ok(None));
    assert_eq!(used("/data", &|process| process.open = None), Ok(None));
    assert_eq!(used("/data", &|process| process.cwd = None), Err("not allowed".to_owned()));
}

#[test]
fn all_that_a_process_started_is_below_it() {
    let child = |pid, parent| {
        let mut process = runs(pid, 100, &[]).of;
        process.parent = parent;
        process
    };
    let processes =
        vec![child(1, 0), child(2, 1), child(3, 2), child(4, 3), child(5, 5), child(6, 2)];
    let (taken, boot, booted) = (at(1000), "boot".into(), at(0));
    let table = Table { taken, boot, booted, ticks: 100, processes };
    assert_eq!(table.descendants(2), [3, 6, 4]);
    assert_eq!(table.descendants(4), Vec::<u32>::new());
    assert_eq!(table.descendants(5), Vec::<u32>::new(), "its parent is itself");
    assert_eq!(
        table.since(250),
        at(2).saturating_add(SignedDuration::from_millis(500)).expect("a time")
    );
    assert_eq!(table.process(3).map(|one| one.parent), Some(2));
    let other = ProcKey { start: 99, ..table.key(&table.processes[0]) };
    assert_eq!((table.of(&key(1, 100)).map(|one| one.pid), table.of(&other)), (Some(1), None));
}

#[test]
fn a_cell_is_a_text_or_a_number_and_never_taken_for_the_other() {
    let cells = [
        Cell::Null,
        Cell::Number(-3),
        Cell::Fraction(2.75),
        Cell::Text("7".into()),
        Cell::Bytes(vec![7]),
    ];
    let read = |cell: &Cell| (cell.text().map(str::to_owned), cell.number(), cell.fraction());
    let told = [
        (None, None, None),
        (None, Some(-3), Some(-3.0)),
        (None, Some(2), Some(2.75)),
        (Some("7".to_owned()), None, None),
        (None, None, None),
    ];
    assert_eq!(cells.each_ref().map(read), told);
}
