//! Files of ours that somebody destroyed: named, with what is lost, and in nobody's way.

use super::{
    super::{Post, listed, outbox::Limits, post::Step, retry, send::Outcome, tries::Tries},
    at, ended, notices, target,
};
use crate::{config::Format, read};
use rustix::io::Errno;
use std::{fs, io, os::unix::fs::symlink, path::PathBuf};

#[test]
fn a_spoiled_message_is_named_and_the_others_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = || target("http://127.0.0.1/", Format::Event);
    let post = Post::with(folder.path(), own(), Limits::USUAL);
    post.put(&notices(&[ended("bad", "s1"), ended("next", "s1"), ended("other", "s2")]))
        .expect("a disk");
    let files = |name: &str| {
        let found = fs::read_dir(folder.path().join("outbox/--url").join(name)).expect("a folder");
        let mut found: Vec<PathBuf> = found.flatten().map(|one| one.path()).collect();
        found.sort();
        found
    };
    fs::write(&files("queue")[0], "\u{1}garbage").expect("a disk");
    let (mut tries, mut heard, mut problems) = (Tries::default(), Vec::new(), Vec::new());
    let mut drain = |tries: &mut Tries, refuse: bool| {
        let mut now = at(0);
        loop {
            let mut send = |id: &str, _: &_| match refuse {
                true => Outcome::Gone("it answers 410".to_owned()),
                false => {
                    heard.push(id.to_owned());
                    Outcome::Heard(Some(200))
                }
            };
            let tell = &mut |one| problems.push(one);
            match post.step(tries, now, &mut send, tell).expect("a disk") {
                Step::On => {}
                Step::Until(Some(until)) => now = until,
                Step::Until(None) => break,
            }
        }
    };
    drain(&mut tries, true);
    let spoiled = files("failed")[0].clone();
    let again = retry(folder.path(), vec![own()]);
    assert_eq!((again.retried, again.problems.len()), (2, 1), "{again:#?}");
    assert_eq!(again.problems[0].path.as_ref(), Some(&spoiled));
    assert!(again.problems[0].message.contains("what it told of is lost: remove it"), "{again:#?}");
    let shown = listed(folder.path(), vec![own()], Vec::new());
    assert_eq!(shown.problems, again.problems, "{shown:#?}");
    drain(&mut tries, false);
    assert_eq!(heard, ["next", "other"]);
    let name = spoiled.to_string_lossy().into_owned();
    assert!(problems[0].message.contains(&name), "{problems:#?}");
    fs::remove_file(spoiled).expect("the way out");
    assert_eq!(retry(folder.path(), vec![own()]).problems, []);
}

/// What we wrote down beside them, and the folder itself.
#[test]
fn whatever_else_is_spoiled_is_named_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = || target("http://127.0.0.1/", Format::Event);
    let dir = folder.path().join("outbox/--url");
    fs::create_dir_all(&dir).expect("a folder");
    for name in ["dropped.json", "trouble.json"] {
        fs::write(dir.join(name), "").expect("a disk");
        let shown = listed(folder.path(), vec![own()], Vec::new());
        assert_eq!(shown.problems[0].path, Some(dir.join(name)), "{shown:#?}");
        fs::remove_file(dir.join(name)).expect("a file");
    }
    fs::write(dir.join("failed"), "in the way").expect("a disk");
    let again = retry(folder.path(), vec![own()]);
    let name = dir.join("failed").to_string_lossy().into_owned();
    assert!(again.problems[0].message.contains(&name), "{again:#?}");
    let shown = listed(folder.path(), vec![own()], Vec::new());
    assert!(
        shown.webhooks[0].problem.as_ref().is_some_and(|why| why.contains(&name)),
        "{shown:#?}"
    );
}

/// What may pass is no loss, and nobody is told to remove it.
#[test]
fn a_message_that_cannot_be_had_now_is_not_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = || target("http://127.0.0.1/", Format::Event);
    let dir = folder.path().join("outbox/--url");
    let post = Post::with(folder.path(), own(), Limits::USUAL);
    post.put(&notices(&[ended("kept", "s1")])).expect("a disk");
    let mut tries = Tries::default();
    let mut send = |_: &str, _: &_| Outcome::Gone("it answers 410".to_owned());
    post.step(&mut tries, at(0), &mut send, &mut |_| {}).expect("a disk");
    let (queue, away) = (dir.join("queue"), dir.join("away"));
    fs::rename(&queue, &away).expect("a folder");
    for in_the_way in [true, false] {
        match in_the_way {
            true => fs::write(&queue, "no folder").expect("a disk"),
            false => symlink("nowhere", &queue).expect("a link"),
        }
        let again = retry(folder.path(), vec![own()]);
        let [problem] = &again.problems[..] else { panic!("{again:#?}") };
        assert_eq!(again.retried, 0, "{again:#?}");
        assert!(problem.message.contains("cannot be put back"), "{again:#?}");
        assert!(!problem.message.contains("lost"), "{again:#?}");
        let shown = listed(folder.path(), vec![own()], Vec::new());
        let told = shown.webhooks[0].problem.clone().unwrap_or_default();
        assert!(told.contains("its messages cannot be read"), "{shown:#?}");
        fs::remove_file(&queue).expect("ours");
    }
    assert_eq!(retry(folder.path(), vec![own()]).retried, 1, "the folder is made");
    assert_eq!(fs::read_dir(&queue).expect("a folder").count(), 1);
}

#[test]
fn what_is_lost_is_told_from_what_may_pass() {
    let passing = [Errno::MFILE, Errno::IO, Errno::ACCESS, Errno::NOENT].map(io::Error::from);
    assert!(!passing.iter().any(read::is_destroyed));
    let folder = tempfile::tempdir().expect("a folder");
    let [link, text] = ["link", "text"].map(|name| folder.path().join(name));
    symlink("nowhere", &link).expect("a link");
    fs::write(&text, "{").expect("a disk");
    for path in [link.as_path(), &text, folder.path()] {
        let why = read::whole::<String>(path).expect_err("nothing of ours");
        assert!(read::is_destroyed(&why), "{}: {why}", path.display());
    }
}
