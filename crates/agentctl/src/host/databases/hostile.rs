//! Bytes that mean no good, in the file of a database.

use super::Databases;
use agentctl_core::host::Tables;
use agentctl_testkit::hostile::Target;
use rusqlite::Connection;
use std::{fs, time::Duration};

/// What a spoiled database answers is rows or an error, in time, and nothing is left beside it.
#[test]
fn any_file_is_a_database_or_an_error() {
    Target { name: "databases", run: ask, seeds }.holds(300);
}

fn seeds() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a folder");
    let database = |name: &str, sql: &str| {
        let path = dir.path().join(name);
        let writer = Connection::open(&path).expect("a database");
        writer.execute_batch(sql).expect("what SQLite understands");
        drop(writer);
        fs::read(path).expect("it was written")
    };
    let small = "pragma page_size=512; create table t(x primary key, y);
        insert into t values('a', 1), ('b', x'00ff'), (3, null)";
    let many = "pragma page_size=1024; create table t(x, y); create index i on t(y);
        with recursive n(x) as (select 1 union all select x + 1 from n where x < 400)
        insert into t select x, hex(x * 7919) from n";
    vec![database("small", small), database("many", many)]
}

fn ask(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a folder");
    let db = dir.path().join("a.db");
    fs::write(&db, bytes).expect("the folder is ours");
    let databases = Databases::new(Duration::from_secs(5));
    for sql in ["select count(*) from t", "select x, y from t order by y", "select x from t"] {
        let rows = databases.rows(&db, sql, &[]);
        assert!(rows.as_ref().map_or(true, |rows| rows.len() < 100_000), "{rows:?}");
    }
    drop(databases);
    let left = fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!((left, fs::read(&db).ok().as_deref()), (1, Some(bytes)), "nothing is changed");
}
