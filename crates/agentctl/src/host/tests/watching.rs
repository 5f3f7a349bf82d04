//! Changes as they come.

use super::Running;
use crate::host::{Change, Native, Part, Portable, Reach, Watch};
use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    time::Duration,
};

const SOON: Option<Duration> = Some(Duration::from_secs(20));

/// The changes until this file is written, which is done last.
fn upto(watch: &Watch, last: &PathBuf) -> Vec<Change> {
    fs::write(last, "last").expect("a file");
    let mut changes = Vec::new();
    loop {
        match watch.next(SOON) {
            Change::File(path) if path == *last => return changes,
            Change::TimedOut => panic!("the last change never came: {changes:?}"),
            change => changes.push(change),
        }
    }
}

#[test]
fn files_are_seen_when_written_made_replaced_and_removed() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let (log, new) = (at("log"), at("new"));
    let mut file = fs::File::create(&log).expect("a file");
    let steps: [(&str, &PathBuf, &mut dyn FnMut()); 4] = [
        ("written", &log, &mut || file.write_all(b"line\n").expect("a write")),
        ("made", &new, &mut || fs::write(&new, "").expect("a file")),
        ("replaced", &log, &mut || fs::rename(&new, &log).expect("a rename")),
        ("removed", &log, &mut || fs::remove_file(&log).expect("a removal")),
    ];
    // Each step ends with a file of its own, as the writing of one may be told in two changes.
    let mut paths = steps.each_ref().map(|(what, ..)| at(what)).to_vec();
    paths.extend([log.clone(), new.clone()]);
    let watch = Watch::new(&paths).expect("a watch");
    for (what, path, act) in steps {
        act();
        let seen = upto(&watch, &at(what));
        assert!(seen.contains(&Change::File(path.clone())), "{what}: {seen:?}");
        assert!(!seen.contains(&Change::Lost), "{what}: {seen:?}");
    }
}

#[test]
fn others_and_reading_are_no_change() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("log"), "text").expect("a file");
    let watch = Watch::new(&[at("log"), at("last")]).expect("a watch");
    fs::write(at("other"), "").expect("a file");
    fs::read(at("log")).expect("a read");
    assert_eq!(upto(&watch, &at("last")), []);
}

#[test]
fn a_link_is_watched_where_it_leads() {
    let (dir, far) = (tempfile::tempdir().expect("a"), tempfile::tempdir().expect("b"));
    let (link, target) = (dir.path().join("link"), far.path().join("target"));
    fs::write(&target, "").expect("a file");
    symlink(&target, &link).expect("a link");
    let watch = Watch::new(std::slice::from_ref(&link)).expect("a watch");
    fs::write(&target, "more").expect("a write");
    assert_eq!(watch.next(SOON), Change::File(link));

    symlink(far.path(), dir.path().join("far")).expect("a link");
    let later = dir.path().join("far/later");
    let watch = Watch::new(std::slice::from_ref(&later)).expect("a watch");
    fs::write(far.path().join("later"), "").expect("a file");
    assert_eq!(watch.next(SOON), Change::File(later));
}

#[test]
fn a_removed_directory_is_a_loss() {
    let dir = tempfile::tempdir().expect("a directory");
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).expect("a directory");
    let watch = Watch::new(&[inner.join("log")]).expect("a watch");
    fs::remove_dir(&inner).expect("a removal");
    assert_eq!(watch.next(SOON), Change::Lost);
    assert!(Watch::new(&[inner.join("log")]).is_err());
}

#[test]
fn the_end_of_a_process_is_a_change_in_both_words() {
    let (first, second) = (Running::sleeping(), Running::sleeping());
    let keys = [first.key(&Native::new()), second.key(&Portable::new())];
    let watch = Watch::new(&[]).expect("a watch");
    for key in &keys {
        watch.process(key).expect("a thread");
    }
    assert_eq!(watch.next(Some(Duration::from_millis(50))), Change::TimedOut);
    first.end();
    assert_eq!(watch.next(SOON), Change::Ended(keys[0].clone()));
    second.end();
    assert_eq!(watch.next(SOON), Change::Ended(keys[1].clone()));
    watch.process(&keys[0]).expect("a thread");
    assert_eq!(watch.next(SOON), Change::Ended(keys[0].clone()));
}

#[test]
fn a_watch_can_be_dropped_while_processes_live() {
    let child = Running::sleeping();
    for key in [child.key(&Native::new()), child.key(&Portable::new())] {
        let watch = Watch::new(&[]).expect("a watch");
        watch.process(&key).expect("a thread");
        drop(watch);
    }
}

/// What is told of a directory until something else is, which is done last.
fn told(watch: &mut Watch, last: &PathBuf) -> Vec<(PathBuf, Part)> {
    watch.below(last, false).expect("a watch");
    fs::write(last.join("last"), "").expect("a file");
    let mut told = Vec::new();
    loop {
        match watch.next(SOON) {
            Change::Below { dir, .. } if dir == *last => return told,
            Change::Below { dir, what } => told.push((dir, what)),
            change => panic!("{change:?} after {told:?}"),
        }
    }
}

#[test]
fn directories_are_watched_as_far_as_was_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    for name in ["flat/in", "deep/in", "last"] {
        fs::create_dir_all(at(name)).expect("a directory");
    }
    let (mut watch, refused) = Watch::empty();
    assert!(refused.is_none(), "{refused:?}");
    assert_eq!(watch.below(&at("flat"), false).expect("a watch"), Reach::Flat);
    assert_eq!(watch.below(&at("deep"), true).expect("a watch"), Reach::Deep);
    fs::write(at("flat/in/file"), "").expect("a file");
    fs::write(at("deep/in/file"), "").expect("a file");
    assert_eq!(told(&mut watch, &at("last")), [(at("deep"), Part::File)]);
    fs::read(at("deep/in/file")).expect("a file");
    fs::set_permissions(at("deep/in/file"), Permissions::from_mode(0o600)).expect("our file");
    assert_eq!(told(&mut watch, &at("last")), []);
    fs::write(at("flat/file"), "").expect("a file");
    fs::create_dir(at("deep/new")).expect("a directory");
    let seen = told(&mut watch, &at("last"));
    assert!(seen.contains(&(at("flat"), Part::File)), "{seen:?}");
    assert!(seen.contains(&(at("deep"), Part::Folder)), "{seen:?}");
}

/// A directory that is not there is awaited, from above if need be; one that goes says so.
#[test]
fn directories_come_and_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, inner) = (dir.path().join("store"), dir.path().join("store/inner"));
    let (mut watch, _) = Watch::empty();
    let itself = Change::Below { dir: inner.clone(), what: Part::Itself };
    for _ in 0..3 {
        assert_eq!(watch.below(&inner, true).expect("a watch"), Reach::Awaited);
        fs::create_dir(&store).expect("a directory");
        assert_eq!(watch.next(SOON), itself);
        assert_eq!(watch.below(&inner, true).expect("a watch"), Reach::Awaited);
        fs::create_dir(&inner).expect("a directory");
        assert_eq!(watch.next(SOON), itself);
        assert_eq!(watch.below(&inner, true).expect("a watch"), Reach::Deep);
        fs::write(inner.join("file"), "").expect("a file");
        while watch.next(SOON) != (Change::Below { dir: inner.clone(), what: Part::File }) {}
        fs::remove_dir_all(&store).expect("a removal");
        while watch.next(SOON) != itself {}
        while watch.next(Some(Duration::from_millis(50))) != Change::TimedOut {}
    }
}
