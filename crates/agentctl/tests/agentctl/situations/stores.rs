//! What happens to an agent's store while a process has a session of it loaded.

use super::{
    Scene,
    cast::{ALL, Kind, REAL},
    each, situation,
    truth::{Said, Told},
    world::Mounted,
};
use crate::kills::until;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs::{self, File, Permissions},
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

situation!(all_is_well, real_all_is_well, |scene: Scene| works(&scene));

situation!(a_record_without_a_process, real_record_without_a_process, |mut scene: Scene| {
    scene.holder.end();
    ended(&scene);
});

situation!(a_process_without_a_record, real_process_without_a_record, |scene: Scene| {
    let away = scene.place.path("away");
    fs::rename(&scene.record, &away).expect("our file");
    let told = scene.truth();
    never_ended(&scene, &told);
    fs::rename(&away, &scene.record).expect("our file");
    works(&scene);
});

situation!(
    /// Its file, or a folder on the way to it.
    an_unreadable_record,
    real_unreadable_record,
    |scene: Scene| {
        closed(&scene, &scene.record);
        let above = scene.record.ancestors().skip(1).take_while(|dir| *dir != scene.store);
        above.for_each(|dir| closed(&scene, dir));
    }
);

situation!(an_unreadable_store, real_unreadable_store, |scene: Scene| {
    closed(&scene, &scene.store);
});

/// Nobody may look at it for a while.
fn closed(scene: &Scene, path: &Path) {
    let before = fs::metadata(path).expect("it is there").permissions();
    fs::set_permissions(path, Permissions::from_mode(0o000)).expect("our file");
    let told = scene.truth();
    never_ended(scene, &told);
    let said = told.rows.get(&scene.id);
    assert!(said.is_none_or(|said| said.state != "idle"), "it is in its turn: {told:#?}");
    assert!(!told.problems.is_empty(), "nothing is said of {}: {told:#?}", path.display());
    fs::set_permissions(path, before).expect("our file");
    works(scene);
}

/// What is done to a file's bytes.
fn damages(bytes: &[u8]) -> [Vec<u8>; 4] {
    let garbage = bytes.iter().map(|byte| byte.wrapping_mul(31) ^ 0xa5).collect();
    let half = bytes[..bytes.len() / 2].to_vec();
    [Vec::new(), half, garbage, vec![0; bytes.len()]]
}

situation!(
    /// Cut, emptied, filled with garbage or zeros, in place; then it is as it was.
    a_corrupt_record,
    real_corrupt_record,
    |scene: Scene| {
        let files = while_halted(&scene, || beside(&scene));
        for damaged in damages(&files[0].1) {
            while_halted(&scene, || fs::write(&scene.record, &damaged).expect("our file"));
            never_ended(&scene, &scene.truth());
            while_halted(&scene, || {
                for (path, bytes) in &files {
                    fs::write(path, bytes).expect("our file");
                }
            });
        }
        works(&scene);
    }
);

/// Does this while a real agent is halted, and not in the middle of a change to a database: it would go on with that in
/// another file than it began in, and the index of its log would tell of what is not there, for good.
fn while_halted<T>(scene: &Scene, act: impl Fn() -> T) -> T {
    if scene.is_played() {
        return act();
    }
    let process = scene.holder.process;
    until("moment at which it changes nothing", || {
        process.signal(Signal::STOP);
        until("agent that is halted", || process.is_halted().then_some(()));
        let done = (!is_being_changed(&scene.record)).then(&act);
        process.signal(Signal::CONT);
        done
    })
}

/// Somebody has one of the locks on the index of its log by which SQLite changes a database.
fn is_being_changed(database: &Path) -> bool {
    let index = format!("{}-shm", database.display());
    let Ok(index) = fs::metadata(index) else { return false };
    let (inode, locks) = (format!(":{} ", index.ino()), fs::read_to_string("/proc/locks"));
    let locks = locks.expect("Linux has it");
    locks.lines().any(|line| line.contains(&inode) && line.contains(" WRITE "))
}

/// The record, and what a database keeps beside it.
fn beside(scene: &Scene) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let name = scene.record.to_string_lossy();
    let all = ["", "-wal", "-shm"].map(|end| std::path::PathBuf::from(format!("{name}{end}")));
    all.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

situation!(
    /// It is renamed, and then hidden under another file system, as one that is not mounted yet.
    a_store_that_vanishes_and_comes_back,
    real_store_that_vanishes_and_comes_back,
    |scene: Scene| {
        let away = scene.place.path("away");
        fs::rename(&scene.store, &away).expect("our folder");
        never_ended(&scene, &scene.truth());
        fs::rename(&away, &scene.store).expect("our folder");
        works(&scene);
        let hidden = Mounted::memory("mode=755", &scene.store);
        never_ended(&scene, &scene.truth());
        drop(hidden);
        works(&scene);
    }
);

situation!(a_locked_record, real_locked_record, |mut scene: Scene| {
    match scene.kind {
        Kind::OpenCode | Kind::OpenClaw => {
            let database = Connection::open(&scene.record).expect("our database");
            database.busy_timeout(Duration::from_secs(20)).expect("a limit");
            match scene.is_played() {
                true => lock_all_out(&database, &scene.record),
                // While the agent has it open, only writers can be locked out.
                false => database.execute_batch("BEGIN EXCLUSIVE").expect("a lock"),
            }
            never_ended(&scene, &scene.truth());
        }
        Kind::Claude | Kind::Codex | Kind::Pi | Kind::Gemini | Kind::Copilot => {
            let record = scene.record.clone();
            scene.innocent(Some(&record));
        }
    }
    works(&scene);
});

/// Nobody else can read the database, as long as it is open here.
fn lock_all_out(database: &Connection, path: &Path) {
    let write = "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE held (x); DROP TABLE held";
    database.execute_batch(write).expect("a lock");
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let reader = reader.expect("it is opened before it is read");
    reader.busy_timeout(Duration::ZERO).expect("a limit");
    let read =
        reader.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
    let why = read.expect_err("it can be read");
    assert_eq!(why.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{why}");
}

/// Whoever opens the file waits until this ends, or for 45 s, as with a disk that is far away.
struct Slow {
    child: Child,
    /// The file, as `/proc/locks` names it.
    inode: String,
}

impl Slow {
    fn make(path: &Path) -> Self {
        const LEASE: &str = "$SIG{IO} = 'IGNORE'; $| = 1; open(F, '+<', shift) or die $!; \
                             fcntl(F, 1024, 1) or die $!; print 'x'; sleep 1000";
        let mut perl = Command::new("perl");
        let child = perl.args(["-e", LEASE]).arg(path).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("perl");
        let mut word = [0];
        let read = child.stdout.as_mut().expect("a pipe").read_exact(&mut word);
        assert!(read.is_ok(), "{} cannot be made slow", path.display());
        let inode = fs::metadata(path).expect("our file").ino();
        Self { child, inode: format!(":{inode} ") }
    }

    /// Somebody wants to open the file, and nobody can yet: else the kernel has taken the lease away.
    fn is_met(&self) -> bool {
        let locks = fs::read_to_string("/proc/locks").expect("Linux has it");
        let of_it = |line: &&str| line.contains("LEASE") && line.contains(&self.inode);
        locks.lines().filter(of_it).any(|line| line.contains("BREAKING"))
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it is ours, and not collected yet
        let _ = self.child.wait();
    }
}

#[test]
fn a_slow_store() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        // Nobody can be given a lease on what another has open.
        let open = matches!(kind, Kind::Codex | Kind::OpenCode);
        if open {
            scene.holder.end();
        }
        let slow = Slow::make(&scene.record);
        let answer = scene.place.ask(&["list", "--since", "all", "--json", "--timeout", "1s"]);
        assert!(slow.is_met(), "it was not asked, or waited for: {answer:#?}");
        let list = answer.json();
        let rows = list["sessions"].as_array().expect("sessions");
        let row = rows.iter().find(|row| row["id"] == *scene.id);
        let told = row.is_none_or(|row| row["live"] == true || row["state"] == "unknown");
        assert!(told, "{list:#}");
        let late = list["problems"].to_string().contains(kind.name());
        let live = row.is_some_and(|row| row["live"] == true);
        assert!(late || live, "nothing is said of what is missing: {list:#}");
        assert_eq!(
            answer.code,
            Some(if list["problems"] == serde_json::json!([]) { 0 } else { 8 })
        );
        drop(slow);
        if open { ended(&scene) } else { works(&scene) }
    });
}

/// A line of which one byte is there, or half of it, or all but the last byte.
#[test]
fn a_record_whose_last_line_is_not_whole() {
    let lines = [Kind::Claude, Kind::Codex, Kind::Pi, Kind::Gemini, Kind::Copilot];
    each(&lines, |kind| {
        let scene = Scene::new(kind);
        let text = fs::read(&scene.record).expect("our file");
        let line = text.split_inclusive(|byte| *byte == b'\n').next_back().expect("a line");
        let before = &text[..text.len() - line.len()];
        for end in [1, line.len() / 2, line.len() - 1] {
            let mut file = File::options().append(true).open(&scene.record).expect("our file");
            file.set_len(before.len() as u64).expect("our file");
            file.write_all(&line[..end]).expect("our file");
            never_ended(&scene, &scene.truth());
        }
        fs::write(&scene.record, &text).expect("our file");
        works(&scene);
    });
}

/// Its process has it loaded, and works; until that is seen it may be unknown, as always when a file
/// was written at the same moment. It is listed all the time.
pub(super) fn works(scene: &Scene) {
    let expected = Said::new("working", Some(scene.holder.process));
    until("working session", || {
        let said = scene.said();
        let late = said.as_ref().is_some_and(|said| said.is_late);
        let works = late || said.as_ref() == Some(&expected);
        let row = || scene.truth().row(&scene.id).clone();
        assert!(works, "{}: {said:?}, not {expected:?}: {:#}", row()["reason"], row());
        (!late).then_some(())
    });
}

/// Its process is gone, and nobody closed its turn.
pub(super) fn ended(scene: &Scene) {
    assert_eq!(scene.said(), Some(Said::new("died", None)));
}

/// Its process lives: it is alive, or cannot be told; and where it is not listed its process is, or it
/// is said of its agent that something cannot be read. Only who goes by no name is known by what its
/// store holds alone.
fn never_ended(scene: &Scene, told: &Told) {
    let Some(said) = told.rows.get(&scene.id) else {
        let alone = told.rows.contains_key(&format!("pid:{}", scene.holder.process.pid));
        let of_it = |problem: &Value| problem["agent"] == scene.kind.name();
        let shown = alone || told.problems.iter().any(of_it);
        let empty = fs::metadata(&scene.record).map_or(true, |stat| stat.len() == 0);
        let unknowable = empty && !scene.kind.is_told_by_name();
        assert!(shown || unknowable, "nothing is said of it: {told:#?}");
        return;
    };
    assert!(said.live || said.state == "unknown", "{told:#?}");
}
