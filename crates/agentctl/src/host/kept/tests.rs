//! What is kept, for what it comes back, and what is not worth keeping.

use super::*;
use agentctl_core::{
    agent::Stub,
    evidence::{Ending, Pending, Role, Tokens, Turn},
    host::{Kind, Stat},
    proof::Source,
};
use rustix::fs::FileType;

fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

fn stub(path: &str) -> Stub {
    let stat = Stat {
        kind: Kind::File,
        modified: moment(100),
        touched: moment(200),
        identity: (1, 2),
        size: 3,
    };
    let (updated, touched) = (stat.modified, stat.touched);
    Stub { touched, stat: Some(stat), ..Stub::new("id", path, updated) }
}

fn original(stub: &Stub) -> Original<'_> {
    let stat = stub.stat.expect("it was asked");
    let (live, brief) = (false, false);
    Original { agent: "agent", depth: Depth::Glance, stub, stat, beside: Vec::new(), live, brief }
}

fn record(prompt: &str) -> Record {
    Record { prompt: Some(prompt.to_owned()), ..Record::of(Turn::None) }
}

/// One of each kind of turn, with all that a record may say.
pub(super) fn records() -> Vec<Record> {
    let (path, shows) = (PathBuf::from("/a"), "shows".to_owned());
    let (offset, without) = (7, vec!["a".to_owned(), String::new()]);
    let line = Source::Line { path: path.clone(), offset, shows: shows.clone(), without };
    let file = Source::File { path: "/b".into(), shows: shows.clone() };
    let row = Source::Row { path, query: "q".to_owned(), shows };
    let at = Timestamp::new(-5, -7).expect("a time");
    let unless =
        Pending::ApprovalUnless { variable: "v".to_owned(), values: vec!["1".to_owned(); 2] };
    let pending = [Pending::Nothing, Pending::Answer, Pending::Approval, Pending::Unnamed];
    let pending = pending.into_iter().chain([Pending::Retry("why".to_owned()), unless]);
    let open = pending.map(|pending| Turn::Open { alive: at, pending, line: line.clone() });
    let how = [Ending::Completed, Ending::Failed("why".to_owned()), Ending::Interrupted];
    let lines = [line.clone(), file, row];
    let ended = how.into_iter().zip(lines).map(|(how, line)| Turn::Ended { at, how, line });
    let some = |text: &str| Some(text.to_owned());
    let roles = [Role::Headless, Role::Piped, Role::Interactive, Role::Background, Role::Server];
    let told = |(turn, role)| Record {
        turn,
        cwd: Some("/ü".into()),
        branch: some("branch"),
        model: some("model"),
        title: some(""),
        prompt: some("prompt\n"),
        last: some("last"),
        version: some("1.2"),
        started: Some(at),
        updated: Some(Timestamp::MAX),
        tokens: Some(Tokens { input: 1, output: 2, cache_read: 3, cache_write: u64::MAX }),
        cost_usd: Some(0.1 + 0.2),
        parent: some("parent"),
        forked_from: some("origin"),
        made_by: Some(role),
        archived: true,
        gap: some("gap"),
        elsewhere: false,
    };
    let all = open.chain(ended).zip(roles.into_iter().cycle()).map(told);
    all.chain([Record::of(Turn::None)]).collect()
}

#[test]
fn all_that_a_record_says_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, record) in records().into_iter().enumerate() {
        let dir = folder.path().join(format!("{number}"));
        let one = stub("/a");
        kept(&dir, 1000, &[(original(&one), record.clone())]);
        assert_eq!(recalled(&dir, &original(&one)).as_ref(), Some(&record));
        // In brief without what no table shows.
        let prompt = record.prompt.clone().filter(|_| record.title.is_none());
        let brief = Record { prompt, last: None, ..record };
        assert_eq!(recalled(&dir, &Original { brief: true, ..original(&one) }), Some(brief));
    }
}

/// As a command does that begins then and keeps this.
fn kept(dir: &Path, began: i64, all: &[(Original<'_>, Record)]) {
    let kept = Kept::at(Some(dir.to_owned()), moment(began));
    all.iter().for_each(|(original, record)| kept.keep(original, record));
    kept.put_down();
}

fn recalled(dir: &Path, original: &Original<'_>) -> Option<Record> {
    Kept::at(Some(dir.to_owned()), moment(1000)).recall(original)
}

#[test]
fn that_nothing_was_found_is_known_of_the_very_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |began| Kept::at(Some(folder.path().join("records")), moment(began));
    let stat = stub("/a").stat.expect("it was asked");
    let looked = ("agent", Path::new("/a"), stat);
    // Touched a moment before the look.
    let young = at(202);
    young.keep_none(looked);
    young.put_down();
    assert!(!at(1000).knows_none(looked));
    let rested = at(1000);
    rested.keep_none(looked);
    rested.put_down();
    assert!(at(1000).knows_none(looked));
    let changed = |change: fn(&mut Stat)| {
        let mut stat = stat;
        change(&mut stat);
        at(1000).knows_none(("agent", Path::new("/a"), stat))
    };
    assert!(!changed(|stat| stat.size = 4));
    assert!(!changed(|stat| stat.identity.1 = 9));
    assert!(!changed(|stat| stat.modified = moment(101)));
    assert!(!changed(|stat| stat.touched = moment(201)));
    assert!(!at(1000).knows_none(("other", Path::new("/a"), stat)));
    assert!(!at(1000).knows_none(("agent", Path::new("/b"), stat)));
}

#[test]
fn names_are_those_of_a_folder_that_has_not_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |began| Kept::at(Some(folder.path().join("records")), moment(began));
    let (dir, stat) = (Path::new("/a"), stub("/a").stat.expect("it was asked"));
    let kinds = [FileType::RegularFile, FileType::Directory, FileType::Symlink, FileType::Unknown];
    let called = |count: usize| {
        let mut names = Names::default();
        (0..count).for_each(|at| names.add(c"some name", kinds[at % kinds.len()]));
        names
    };
    let kept = |began, count| {
        let kept = at(began);
        kept.keep_names(dir, &stat, &called(count));
        kept.put_down();
        at(1000).names(dir, &stat)
    };
    assert_eq!(kept(202, 1000), None, "it was touched a moment before the look");
    assert_eq!(kept(1000, 10), None, "they are soon read");
    assert_eq!(kept(1000, 10_000), None, "others need room");
    assert_eq!(kept(1000, 1000), Some(called(1000)));
    let mut seen = Vec::new();
    let told = called(1000).each(&mut |name, kind| {
        assert_eq!(name, c"some name");
        seen.push(kind);
        Ok(())
    });
    assert!(told.is_ok() && seen.len() == 1000 && seen[..4] == kinds);
    assert_eq!(at(1000).names(Path::new("/b"), &stat), None);
    assert_eq!(at(1000).names(dir, &Stat { touched: moment(201), ..stat }), None);
    assert_eq!(at(1000).names(dir, &Stat { identity: (1, 9), ..stat }), None);
}

#[test]
fn a_record_comes_back_for_the_very_content_it_was_read_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("records");
    let (one, two) = (stub("/a"), stub("/b"));
    kept(&dir, 1000, &[(original(&one), record("one"))]);
    kept(&dir, 1000, &[(original(&two), record("two"))]);
    assert_eq!(recalled(&dir, &original(&one)), Some(record("one")));
    assert_eq!(recalled(&dir, &original(&two)), Some(record("two")));
    let with = |change: fn(&mut Stub, &mut Stat)| {
        let (mut stub, mut stat) = (one.clone(), one.stat.expect("it was asked"));
        change(&mut stub, &mut stat);
        recalled(&dir, &Original { stat, ..original(&stub) })
    };
    assert_eq!(with(|_, _| ()), Some(record("one")));
    assert_eq!(with(|_, stat| stat.size = 4), None);
    assert_eq!(with(|_, stat| stat.identity.0 = 9), None);
    assert_eq!(with(|_, stat| stat.identity.1 = 9), None);
    assert_eq!(with(|_, stat| stat.modified = moment(101)), None);
    assert_eq!(with(|_, stat| stat.touched = moment(201)), None);
    assert_eq!(with(|stub, _| stub.updated = moment(101)), None);
    assert_eq!(with(|stub, _| stub.title = Some(String::new())), None);
    assert_eq!(with(|stub, _| stub.path = "/c".into()), None);
    assert_eq!(with(|stub, _| stub.id = "other".to_owned()), None);
    let beside = |beside: &[Option<Stat>]| {
        recalled(&dir, &Original { beside: beside.to_vec(), ..original(&one) })
    };
    assert_eq!((beside(&[None]), beside(&[one.stat])), (None, None));
    assert_eq!(recalled(&dir, &Original { agent: "other", ..original(&one) }), None);
    assert_eq!(recalled(&dir, &Original { depth: Depth::Whole, ..original(&one) }), None);
}

#[test]
fn the_newest_reading_of_a_file_takes_the_place_of_the_older() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("records");
    let one = stub("/a");
    let later = Original { stat: Stat { size: 9, ..original(&one).stat }, ..original(&one) };
    kept(&dir, 1000, &[(original(&one), record("one"))]);
    kept(&dir, 1000, &[(later.clone(), record("later"))]);
    assert_eq!(recalled(&dir, &later), Some(record("later")));
    assert_eq!(recalled(&dir, &original(&one)), None);
    // By one command, too.
    let both = [(later.clone(), record("later")), (original(&one), record("again"))];
    kept(&dir, 1000, &both);
    assert_eq!(recalled(&dir, &original(&one)), Some(record("again")));
    assert_eq!(recalled(&dir, &later), None);
}

#[test]
fn what_is_too_long_to_be_kept_leaves_nothing_under_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("records");
    let one = stub("/a");
    kept(&dir, 1000, &[(original(&one), record("one"))]);
    kept(&dir, 1000, &[(original(&one), record(&"long ".repeat(60 << 10)))]);
    assert_eq!(recalled(&dir, &original(&one)), None);
}

/// Touched at 200: whoever begins before 203 may see another content under the same date.
#[test]
fn what_was_touched_a_moment_ago_or_will_be_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = stub("/a");
    for (began, is_kept) in [(100, false), (200, false), (203, false), (204, true)] {
        let dir = folder.path().join(format!("{began}"));
        kept(&dir, began, &[(original(&one), record("one"))]);
        assert_eq!(recalled(&dir, &original(&one)).is_some(), is_kept, "{began}");
    }
}

/// Sessions of one file are told apart, and the files beside it count as it does.
#[test]
fn a_record_of_several_files_comes_back_for_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("records");
    let (one, two) = (stub("/db"), Stub { id: "two".to_owned(), ..stub("/db") });
    let log = Stat { size: 7, ..original(&one).stat };
    let of = |stub, log| Original { beside: vec![Some(log), None], ..original(stub) };
    let cost = 0.1 + 0.2;
    let first = Record { cost_usd: Some(cost), ..record("one") };
    kept(&dir, 1000, &[(of(&one, log), first.clone()), (of(&two, log), record("two"))]);
    assert_eq!(recalled(&dir, &of(&one, log)), Some(first));
    assert_eq!(recalled(&dir, &of(&two, log)), Some(record("two")));
    let young = Stat { touched: moment(999), ..log };
    assert_eq!(recalled(&dir, &of(&one, young)), None);
    kept(&dir, 1000, &[(of(&one, young), record("young"))]);
    assert_eq!(recalled(&dir, &of(&one, young)), None);
}

/// A count comes back as it is, or to go on with if the same file is longer; never if it was written anew.
#[test]
fn a_count_comes_back_for_the_same_content_and_for_more_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let stat = original(&stub("/a")).stat;
    let of = |stat| Counting { agent: "agent", path: Path::new("/a"), stat };
    let told = |began: i64, now: Stat| {
        let dir = folder.path().join(format!("{began}"));
        let kept = Kept::at(Some(dir.clone()), moment(began));
        kept.keep_count(&of(stat), b"count");
        kept.put_down();
        let found = Kept::at(Some(dir), moment(1000)).counted(&of(now))?;
        assert_eq!(found.kept, b"count");
        Some(found.same)
    };
    let longer = Stat { size: stat.size + 1, touched: moment(300), ..stat };
    assert_eq!((told(1000, stat), told(1000, longer)), (Some(true), Some(false)));
    assert_eq!(told(1000, Stat { touched: moment(300), ..stat }), None);
    assert_eq!(told(1000, Stat { size: stat.size - 1, ..longer }), None);
    assert_eq!(told(1000, Stat { identity: (1, 3), ..longer }), None);
    // Touched a moment before it was counted: another content may bear the same dates.
    assert_eq!((told(202, stat), told(202, longer)), (Some(false), Some(false)));
    assert_eq!(told(202, Stat { touched: moment(300), ..stat }), None);
}

/// Writes these to a file, each a name and what is kept under it, and opens it again.
pub(super) fn written(path: &Path, all: &[(&[u8], Fresh<'_>)]) -> Shard {
    let mut draft = Draft::begin(path, MOST).expect("room");
    for (name, fresh) in all {
        draft.add(&Fresh { name, ..*fresh }).expect("room");
    }
    draft.end(path).expect("room");
    Shard::open(path).expect("what was written can be read")
}

#[test]
fn only_so_much_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shard");
    let room = vec![b'x'; 1 << 20];
    let of = |size: usize| Fresh {
        name: b"",
        stamp: b"",
        record: &room[..size / 2],
        rest: &room[..size / 2],
    };
    let has = |shard: &Shard, name: &[u8]| shard.record(name, b"", &mut Vec::new()).is_some();
    let names: Vec<String> = (0..100).map(|number| format!("{number}")).collect();
    let all: Vec<_> = names.iter().map(|name| (name.as_bytes(), of(30 << 10))).collect();
    let full = written(&path, &all);
    let size = fs::metadata(&path).expect("a file").len();
    assert!((1 << 20..=2 << 20).contains(&size), "{size}");
    assert!(has(&full, b"0") && !has(&full, b"99"));
    // What is new comes before what is old.
    let later = written(&path, &[(b"100", of(30 << 10)), (b"101", of(1 << 20))]);
    assert!(has(&later, b"100") && !has(&later, b"101"));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "no draft is left");
}

#[test]
fn every_damage_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shard");
    let fresh = || Fresh { name: b"", stamp: b"stamp", record: b"record", rest: b"rest" };
    written(&path, &[(b"one", fresh()), (b"two", fresh())]);
    let whole = fs::read(&path).expect("a file");
    // What can still be read of these bytes.
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("room");
        let shard = Shard::open(&path).unwrap_or_default();
        [&b"one"[..], b"two"].map(|name| {
            let room = &mut Vec::new();
            let found = shard.record(name, b"stamp", room)?;
            let (place, record) = (found.place, found.record.to_vec());
            Some((record, shard.rest(&place, room).map(<[u8]>::to_vec)))
        })
    };
    let one = || Some((b"record".to_vec(), Some(b"rest".to_vec())));
    let both = [one(), one()];
    assert_eq!(read(&whole), both);
    for at in 0..whole.len() {
        let mut spoiled = whole.clone();
        spoiled[at] ^= 1;
        for found in [read(&spoiled), read(&whole[..at])] {
            let fine = found.iter().flatten().all(|(record, rest)| {
                record == b"record" && rest.as_ref().is_none_or(|rest| rest == b"rest")
            });
            assert!(found != both && fine, "at {at}: {found:?}");
        }
    }
}

#[test]
fn what_every_list_asks_for_stands_in_one_short_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("records");
    let stubs: Vec<Stub> = (0..300).map(|number| stub(&format!("/{number}"))).collect();
    let live = |stub| Original { live: true, ..original(stub) };
    let long = record(&"x".repeat(2000));
    let looked = ("agent", Path::new("/a"), original(&stubs[0]).stat);
    let first = Kept::at(Some(dir.clone()), moment(1000));
    first.keep_none(looked);
    first.put_down();
    for few in stubs.chunks(10) {
        let all: Vec<_> = few.iter().map(|stub| (live(stub), long.clone())).collect();
        kept(&dir, 1000, &all);
    }
    let names: Vec<_> = fs::read_dir(&dir).expect("ours").flatten().collect();
    let [file] = names.as_slice() else { panic!("{names:?}") };
    assert_eq!(file.file_name(), "live");
    assert!(file.metadata().expect("ours").len() <= LIVE_MOST as u64);
    // The newest, and what is short, have room.
    assert_eq!(recalled(&dir, &live(&stubs[299])), Some(long));
    assert_eq!(recalled(&dir, &original(&stubs[299])), None, "it stands nowhere else");
    let known = stubs.iter().filter(|stub| recalled(&dir, &live(stub)).is_some()).count();
    assert!((100..300).contains(&known), "{known}");
    assert!(Kept::at(Some(dir), moment(1000)).knows_none(looked));
}
