//! Real databases, and second connections that write, lock and crash.

use super::{Databases, opened::beside};
use agentctl_core::{
    host::{Cell, Showing, Shown, Tables, together},
    lines::Flow,
};
use rusqlite::Connection;
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(5);
const LOGGED: &str = "pragma journal_mode=wal; create table t(x); insert into t values(1)";
const ENDLESS: &str =
    "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";

fn names(dir: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

/// Writes so that the file's date tells, also where dates are coarse.
fn write(writer: &Connection, sql: &str) {
    let db = fs::File::options().write(true).open(writer.path().unwrap()).unwrap();
    let before = db.metadata().unwrap().modified().unwrap();
    writer.execute_batch(sql).unwrap();
    db.set_modified(before + Duration::from_secs(1)).unwrap();
}

/// One without a row, and nobody who has it open.
fn empty(dir: &Path, name: &str) -> PathBuf {
    let db = dir.join(name);
    Connection::open(&db).unwrap().execute_batch("create table t(x)").unwrap();
    db
}

fn count(db: &Path) -> io::Result<Vec<Vec<Cell>>> {
    counted(&Databases::new(PATIENCE), db)
}

fn counted(databases: &dyn Tables, db: &Path) -> io::Result<Vec<Vec<Cell>>> {
    databases.rows(db, "select count(*) from t", &[])
}

/// A database that nobody has open, as a crash leaves it: all in the log, which has no index.
fn crashed(dir: &Path) -> PathBuf {
    let from = tempfile::tempdir().unwrap();
    let db = from.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch(LOGGED).unwrap();
    let copy = dir.join("copied.db");
    fs::copy(&db, &copy).unwrap();
    fs::copy(beside(&db, "-wal"), beside(&copy, "-wal")).unwrap();
    copy
}

#[test]
fn what_is_only_in_the_log_is_read_and_nothing_is_left_behind() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a?b#c%.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch(LOGGED).unwrap();
    assert_eq!(count(&db).unwrap(), [[Cell::Number(1)]]);
    let dir = tempfile::tempdir().unwrap();
    let copy = crashed(dir.path());
    let before = names(dir.path());
    assert_eq!(count(&copy).unwrap(), [[Cell::Number(1)]]);
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_closed_database_stays_alone_and_a_broken_one_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch("create table t(x)").unwrap();
    assert_eq!(count(&db).unwrap(), [[Cell::Number(0)]]);
    assert_eq!(names(home.path()), ["a.db"]);
    drop(writer);
    fs::write(&db, b"no database at all, but long enough to be looked at as one").unwrap();
    assert!(count(&db).is_err());
}

#[test]
fn a_locked_one_does_not_hang() {
    let home = tempfile::tempdir().unwrap();
    let (plain, logged) = (home.path().join("plain.db"), home.path().join("logged.db"));
    let writer = Connection::open(&plain).unwrap();
    writer
        .execute_batch(
            "create table t(x); begin exclusive; insert into t values(1); pragma user_version=1",
        )
        .unwrap();
    let asked = Instant::now();
    assert_eq!(count(&plain).unwrap_err().to_string(), "database is locked");
    assert!(asked.elapsed() < PATIENCE, "it took {:?}", asked.elapsed());
    writer.execute_batch("commit").unwrap();
    assert_eq!(count(&plain).unwrap(), [[Cell::Number(1)]]);

    let writer = Connection::open(&logged).unwrap();
    writer.execute_batch(LOGGED).unwrap();
    writer.execute_batch("begin exclusive; insert into t values(2)").unwrap();
    assert_eq!(count(&logged).unwrap(), [[Cell::Number(1)]], "a log lets readers by");
}

#[test]
fn what_is_written_between_two_questions_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let databases = Databases::new(PATIENCE);
    let plain = home.path().join("plain.db");
    let writer = Connection::open(&plain).unwrap();
    writer.execute_batch("create table t(x)").unwrap();
    for number in 0..20 {
        assert_eq!(counted(&databases, &plain).unwrap(), [[Cell::Number(number)]]);
        writer.execute_batch("insert into t values(1)").unwrap();
    }
    let copy = crashed(home.path());
    assert_eq!(counted(&databases, &copy).unwrap(), [[Cell::Number(1)]]);
    let writer = Connection::open(&copy).unwrap();
    for number in 2..20 {
        writer.execute_batch("insert into t values(2)").unwrap();
        assert_eq!(counted(&databases, &copy).unwrap(), [[Cell::Number(number)]]);
    }
    drop(writer); // the log is gone now
    assert_eq!(counted(&databases, &copy).unwrap(), [[Cell::Number(19)]]);
}

#[test]
fn a_log_that_cannot_be_looked_at_is_not_absent() {
    let home = tempfile::tempdir().unwrap();
    let db = empty(home.path(), "a.db");
    let log = beside(&db, "-wal");
    std::os::unix::fs::symlink(&log, &log).unwrap(); // leads nowhere but to itself
    assert!(count(&db).is_err());
    fs::remove_file(log).unwrap();
    assert_eq!(count(&db).unwrap(), [[Cell::Number(0)]]);
}

#[test]
fn an_endless_answer_ends_and_nobody_else_waits_for_it() {
    let home = tempfile::tempdir().unwrap();
    let [slow, other] = ["slow.db", "other.db"].map(|name| empty(home.path(), name));
    let databases = Databases::new(Duration::from_secs(1));
    let (done, ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let late = databases.rows(&slow, ENDLESS, &[]);
            done.send(Instant::now()).unwrap();
            assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
        while databases.open.lock().unwrap().is_empty() {
            thread::yield_now();
        }
        assert_eq!(counted(&databases, &other).unwrap(), [[Cell::Number(0)]]);
        let answered = Instant::now();
        assert!(answered < ended.recv().unwrap(), "it waited for the other one");
    });
    let many = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n";
    let why = Databases::new(PATIENCE).rows(&other, many, &[]).unwrap_err();
    assert_eq!(why.to_string(), "its answer has more than 500000 rows");
    let long = "with recursive n(x) as (select 1 union all select x + 1 from n) \
                select zeroblob(100000000) from n";
    let why = Databases::new(PATIENCE).rows(&other, long, &[]).unwrap_err();
    assert_eq!(why.to_string(), "its answer is longer than 268435456 bytes");
}

#[test]
fn who_was_late_has_half_the_time() {
    let home = tempfile::tempdir().unwrap();
    let [slow, other] = ["slow.db", "other.db"].map(|name| empty(home.path(), name));
    let databases = Databases::new(Duration::from_millis(500));
    let is_late = |db: &Path, sql: &str| match databases.rows(db, sql, &[]) {
        Err(why) => why.kind() == io::ErrorKind::TimedOut,
        Ok(_) => false,
    };
    let late = || databases.open.lock().unwrap()[&slow].late;
    for before in 0..40 {
        assert!(is_late(&slow, ENDLESS));
        assert_eq!(late(), before + 1);
    }
    // It would come in time.
    let long = ENDLESS.replace(" from n)", " from n limit 10000)");
    assert!(is_late(&slow, &long) && !is_late(&other, &long));
    assert!(!is_late(&slow, "select z from t") && late() == 41);
}

#[test]
fn bytes_that_are_no_text_do_not_hide_the_other_rows() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    let fill = "create table t(x); insert into t values(cast(x'61ff' as text)), ('b')";
    writer.execute_batch(fill).unwrap();
    let rows = Databases::new(PATIENCE).rows(&db, "select x from t", &[]).unwrap();
    assert_eq!(rows, [[Cell::Text("a\u{fffd}".into())], [Cell::Text("b".into())]]);
}

#[test]
fn rows_are_shown_where_they_stand_until_it_is_enough() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let fill = "create table t(x, y); insert into t values(cast(x'61ff' as text), 1), \
                (x'00', 2.5), (null, 3)";
    Connection::open(&db).unwrap().execute_batch(fill).unwrap();
    let databases = Databases::new(PATIENCE);
    let shown = |least: &Cell, enough: usize| {
        let mut all = Vec::new();
        let question = ("select x, y from t where y >= ?1 order by y", &[least.clone()][..]);
        let showing = databases.show(&db, question, &mut |row| {
            all.push(format!("{row:?}"));
            if all.len() == enough { Flow::Break(()) } else { Flow::Continue(()) }
        });
        assert_eq!(showing.unwrap(), Showing::Sound);
        all
    };
    let [text, bytes, null] = [
        [Shown::Text(b"a\xff"), Shown::Number(1)],
        [Shown::Bytes(b"\0"), Shown::Fraction(2.5)],
        [Shown::Null, Shown::Number(3)],
    ]
    .map(|row| format!("{row:?}"));
    assert_eq!(shown(&Cell::Number(0), 9), [text.clone(), bytes.clone(), null.clone()]);
    assert_eq!(shown(&Cell::Number(0), 2), [text, bytes]);
    assert_eq!(shown(&Cell::Fraction(2.6), 1), [null]);
    let wrong = databases.show(&db, ("select z from t", &[]), &mut |_| Flow::Continue(()));
    assert_eq!(wrong.unwrap_err().to_string(), "no such column: z in select z from t at offset 7");
}

#[test]
fn what_changes_while_it_is_shown_does_not_count() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch("create table t(x); insert into t values(1), (2)").unwrap();
    let databases = Databases::new(PATIENCE);
    let shown = |meanwhile: &str| {
        let mut count = 0;
        let showing = databases.show(&db, ("select x from t", &[]), &mut |_| {
            if !meanwhile.is_empty() {
                write(&writer, meanwhile);
            }
            count += 1;
            Flow::Continue(())
        });
        (showing.unwrap(), count)
    };
    assert_eq!(shown("insert into t values(3)").0, Showing::Torn);
    assert_eq!(shown(""), (Showing::Sound, 4), "the next look sees all");
    let late = Databases::new(Duration::ZERO).show(&db, (ENDLESS, &[]), &mut |_| Flow::Break(()));
    assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[test]
fn questions_that_belong_together_are_put_again_where_it_changed() {
    let home = tempfile::tempdir().unwrap();
    let [db, other] = ["a.db", "b.db"].map(|name| home.path().join(name));
    let [writer, elsewhere] = [&db, &other].map(|db| Connection::open(db).unwrap());
    writer.execute_batch("create table t(x); insert into t values(1)").unwrap();
    elsewhere.execute_batch("create table t(x)").unwrap();
    let databases = Databases::new(PATIENCE);
    let tries = std::cell::Cell::new(0);
    let counts = together(&databases, &db, |tables| {
        tries.set(tries.get() + 1);
        let before = counted(tables, &db)?;
        if tries.get() < 3 {
            write(&writer, "insert into t values(2)");
        }
        // Who asks while a row is shown, and who asks another database, is answered too.
        let mut more = Vec::new();
        let _ = tables.show(&db, ("select 1", &[]), &mut |_| {
            more.extend([counted(tables, &db), counted(tables, &other)]);
            Flow::Continue(())
        })?;
        Ok((before, more.into_iter().collect::<io::Result<Vec<_>>>()?))
    });
    let [all, none] = [3, 0].map(|count| vec![vec![Cell::Number(count)]]);
    assert_eq!((counts.unwrap(), tries.get()), ((all.clone(), vec![all, none]), 3));
    let fast = together(&databases, &db, |tables| {
        write(&writer, "insert into t values(2)");
        counted(tables, &db)
    });
    assert_eq!(fast.unwrap_err().to_string(), "it changes faster than it can be read");
}

#[test]
fn questions_that_are_put_again_have_the_time_of_one() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch("create table t(x)").unwrap();
    let changed = || write(&writer, "insert into t values(1)");
    let hurried = together(&Databases::new(Duration::ZERO), &db, |_| {
        changed();
        Ok(())
    });
    assert_eq!(hurried.unwrap_err().kind(), io::ErrorKind::TimedOut);
    // Each of them would come in time, had it been put for the first time.
    let patience = Duration::from_secs(1);
    let long = ENDLESS.replace(" from n)", " from n limit 100000)");
    let asked = |tables: &dyn Tables| {
        let [first, other] = [(); 2].map(|()| tables.rows(&db, &long, &[]).map(|_| ()));
        let shown = tables.show(&db, (&long, &[]), &mut |_| Flow::Continue(())).map(|_| ());
        [first, other, shown].map(|told| told.err().map(|why| why.kind()))
    };
    let tries = std::cell::Cell::new(0);
    let told = together(&Databases::new(patience), &db, |tables| {
        tries.set(tries.get() + 1);
        if tries.get() == 1 {
            changed();
            return Ok([None; 3]);
        }
        thread::sleep(patience);
        Ok(asked(tables))
    });
    assert_eq!((told.unwrap(), tries.get()), ([Some(io::ErrorKind::TimedOut); 3], 2));
}

/// A log is shown as far as it is committed. Of a file that was just written each question sees what is there by then, and all are put again.
#[test]
fn of_questions_put_at_once_each_may_see_more() {
    let home = tempfile::tempdir().unwrap();
    for (name, fill, tries) in
        [("a.db", "create table t(x); insert into t values(1)", 2), ("b.db", LOGGED, 1)]
    {
        let db = home.path().join(name);
        let writer = Connection::open(&db).unwrap();
        writer.execute_batch(fill).unwrap();
        let seen = std::cell::RefCell::new(Vec::new());
        let asked = together(&Databases::new(PATIENCE), &db, |tables| {
            let before = counted(tables, &db)?;
            if seen.borrow().is_empty() {
                write(&writer, "insert into t values(2)");
            }
            seen.borrow_mut().push([before, counted(tables, &db)?]);
            Ok(())
        });
        let [one, two] = [1, 2].map(|count| vec![vec![Cell::Number(count)]]);
        let all = [[one, two.clone()], [two.clone(), two]];
        assert_eq!((asked.is_ok(), seen.into_inner()), (true, all[..tries].to_vec()), "{name}");
    }
}

/// OpenCode's parts are left out by how they begin, and read by us where no name stands twice.
#[test]
fn of_a_name_that_stands_twice_the_first_counts() {
    let home = tempfile::tempdir().unwrap();
    let db = empty(home.path(), "a.db");
    let sql = r#"select json_extract('{"type":"tool","type":"text"}', '$.type')"#;
    let rows = Databases::new(PATIENCE).rows(&db, sql, &[]).unwrap();
    assert_eq!(rows, [[Cell::Text("tool".into())]]);
}

#[test]
fn what_is_too_large_is_not_copied() {
    let home = tempfile::tempdir().unwrap();
    let db = crashed(home.path());
    fs::OpenOptions::new().write(true).open(&db).unwrap().set_len(300 << 20).unwrap();
    let why = count(&db).unwrap_err().to_string();
    assert!(why.ends_with("bytes are too many to copy"), "{why}");
}

/// Somebody emptied the file under its writer, who has more in the log: that must be there when it is put back.
#[test]
fn the_log_of_an_emptied_file_stays() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join("a.db");
    let writer = Connection::open(&db).unwrap();
    writer.execute_batch(LOGGED).unwrap();
    let (bytes, before) = (fs::read(&db).unwrap(), names(home.path()));
    for index in ["there", "gone"] {
        fs::write(&db, "").unwrap();
        let why = count(&db).unwrap_err().to_string();
        assert_eq!(why, "it is empty, and its log is not", "its index is {index}");
        assert!(beside(&db, "-wal").exists(), "the log is gone, its index is {index}");
        fs::write(&db, &bytes).unwrap();
        if index == "there" {
            assert_eq!(names(home.path()), before);
            assert_eq!(count(&db).unwrap(), [[Cell::Number(1)]]);
            fs::remove_file(beside(&db, "-shm")).unwrap();
        }
    }
}
