//! Files of every kind.

use crate::host::{Disk, Machine, Patience};
use agentctl_core::host::{Bytes, Entry, Files, Inside, Kind, Opening, Stat};
use jiff::Timestamp;
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, UNIX_EPOCH},
};

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn entries_are_named_with_their_kind() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("a\nfile \u{1b}[1m"), "").expect("a file");
    fs::create_dir(at("dir")).expect("a directory");
    symlink("nowhere", at("link")).expect("a link");
    fifo(&at("fifo"));
    fs::write(dir.path().join(OsStr::from_bytes(b"not \xff text")), "").expect("a file");

    let mut entries = Disk.entries(dir.path()).expect("entries");
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let entry = |name: &str, kind| Entry { name: name.to_owned(), kind };
    let expected = [
        entry("a\nfile \u{1b}[1m", Kind::File),
        entry("dir", Kind::Dir),
        entry("fifo", Kind::Other),
        entry("link", Kind::Link),
    ];
    assert_eq!(entries, expected);
}

/// A file system that tells names and files, and leaves the rest to the trait.
struct Plain;

impl Files for Plain {
    fn entries(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        Disk.entries(dir)
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Disk.stat(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Bytes>> {
        Disk.open(path)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        Disk.resolve(path)
    }
}

#[test]
fn of_what_is_asked_for_only_older_files_are_left_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    for (name, second) in [("old.x", 99), ("new.x", 100), ("new.y", 101)] {
        let file = fs::File::create(at(name)).expect("a file");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second)).expect("our file");
    }
    fs::create_dir(at("dir.x")).expect("a directory");
    symlink("old.x", at("link.x")).expect("a link");
    symlink("nowhere", at("lost.x")).expect("a link");
    fs::write(dir.path().join(OsStr::from_bytes(b"\xff.x")), "").expect("a file");
    let seen = |files: &dyn Files, second| {
        let since = Timestamp::from_second(second).expect("a time");
        let found = files.inside_since(dir.path(), &|name| name.ends_with(".x"), since);
        let told = |one: Inside| {
            let stat = one.stat.expect("it was asked for").map_err(|why| why.kind());
            (one.entry.name, stat.map(|stat| stat.kind))
        };
        found.expect("names").into_iter().map(told).collect::<BTreeMap<_, _>>()
    };
    let names = |second| {
        let found = seen(&Disk, second);
        assert_eq!(found, seen(&Plain, second));
        assert_eq!(found["dir.x"], Ok(Kind::Dir), "however old it is");
        assert_eq!(found["lost.x"], Err(ErrorKind::NotFound));
        found.into_keys().filter(|name| !matches!(&**name, "dir.x" | "lost.x")).collect::<Vec<_>>()
    };
    assert_eq!(names(99), ["link.x", "new.x", "old.x"]);
    assert_eq!(names(100), ["new.x"]);
    assert_eq!(names(101), [""; 0]);
}

#[test]
fn stat_follows_links_and_gives_up_on_loops() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "12345").expect("a file");
    symlink("file", at("link")).expect("a link");
    symlink("loop", at("loop")).expect("a link");

    let file = Disk.stat(&at("file")).expect("a stat");
    assert_eq!(file.kind, Kind::File);
    assert_eq!(Disk.stat(&at("link")).expect("a stat"), file);
    Disk.stat(&at("loop")).expect_err("a loop");
    assert_eq!(Disk.stat(&at("none")).expect_err("nothing").kind(), ErrorKind::NotFound);
    let told = fs::metadata(at("file")).expect("a stat").modified().expect("a time");
    assert_eq!(std::time::SystemTime::from(file.modified), told);
}

#[test]
fn only_regular_files_are_opened() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "0123456789").expect("a file");
    symlink("file", at("link")).expect("a link");
    fifo(&at("fifo"));

    let file = Disk.open(&at("link")).expect("a link to a file");
    assert_eq!(file.size(), 10);
    assert_eq!(read(&*file, 4, 3), "3456");
    assert_eq!(read(&*file, 100, 8), "89");
    assert_eq!(read(&*file, 100, 1 << 40), "");
    for refused in [at("fifo"), dir.path().to_owned(), "/dev/null".into()] {
        for listed in [false, true] {
            let opened = Disk.open_as(&refused, Opening { whole: false, listed });
            let error = opened.err().expect("not a regular file");
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
    }
}

/// What comes later is for whoever opens it then. What is cut off is gone from a long one; a short one is read once.
#[test]
fn a_file_is_as_long_as_it_was_when_it_was_opened() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("file");
    for length in [10, 100_000] {
        let text = |letter: &str, length: usize| letter.repeat(length);
        fs::write(&path, text("a", length)).expect("a file");
        let (file, unread) = (Disk.open(&path).expect("a file"), Disk.open(&path).expect("a file"));
        assert_eq!(read(&*file, 3, 1), "aaa");
        fs::write(&path, text("b", length + 3)).expect("a longer one");
        let (end, behind) = (length as u64 - 2, length as u64);
        let old = if length == 10 { "aa" } else { "bb" };
        assert_eq!((read(&*file, 100, end), read(&*file, 100, behind)), (old.into(), "".into()));
        assert_eq!(read(&*unread, 100, end), "bb");
        assert_eq!(read(&*Disk.open(&path).expect("a file"), 100, end), "bbbbb");
        fs::write(&path, "xyz").expect("a shorter one");
        let left = if length == 10 { text("b", 9) } else { "yz".to_owned() };
        assert_eq!((unread.size(), read(&*unread, 100, 1)), (length as u64, left));
        let whole = if length == 10 { text("b", 10) } else { "xyz".to_owned() };
        assert_eq!(read(&*unread, length, 0), whole);
        assert_eq!(unread.held(), (length == 10).then_some(whole.as_bytes()));
    }
    // Of which all will be read, that is held too.
    fs::write(&path, "c".repeat(100_000)).expect("a file");
    let whole = Disk.open_as(&path, Opening { whole: true, listed: true }).expect("a file");
    assert_eq!(read(&*whole, 3, 1), "ccc");
    fs::write(&path, "xyz").expect("a shorter one");
    assert_eq!(whole.held(), Some("c".repeat(100_000).as_bytes()));
    for (length, is_held) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        fs::write(&path, "d".repeat(length)).expect("a file");
        let file = Disk.open_as(&path, Opening { whole: true, listed: true }).expect("a file");
        assert_eq!(file.held().map(<[u8]>::len), is_held.then_some(length));
    }
    // What the room held before is nothing of the next one.
    drop(whole);
    fs::write(&path, "0123456789").expect("a file");
    let cut = Disk.open(&path).expect("a file");
    fs::write(&path, "xyz").expect("a shorter one");
    assert_eq!((cut.held(), read(&*cut, 100, 0)), (Some(&b"xyz"[..]), "xyz".into()));
}

fn read(file: &dyn Bytes, length: usize, at: u64) -> String {
    let mut bytes = vec![0; length];
    let read = file.read_at(&mut bytes, at).expect("a read");
    bytes.truncate(read);
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_path_that_leads_nowhere_stays_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let real = fs::canonicalize(dir.path()).expect("a path");
    symlink(&real, real.join("self")).expect("a link");
    let machine = Machine::native(Patience::Each(Duration::ZERO));
    let both = |path: &str, leads: PathBuf| {
        let path = real.join(path);
        assert_eq!(Disk.resolve(&path), leads);
        assert_eq!([machine.resolve(&path), machine.resolve(&path)], [leads.clone(), leads]);
    };
    fs::create_dir_all(real.join("a/b")).expect("a directory");
    both("self/self", real.clone());
    both("self/none", real.join("self/none"));
    both("a/b", real.join("a/b"));
    both("a/b/..", real.join("a"));
    both("self/a/b", real.join("a/b"));
    both("a/none/b", real.join("a/none/b"));
    let endless = "x/".repeat(100_000);
    both(&endless, real.join(&endless));
    both("", real.clone());
}
