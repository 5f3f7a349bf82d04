//! What agents have in common whose sessions are files, or stand in one.

use crate::{
    agent::Stub,
    host::{Host, Kind, Looked, Stat},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// A UUID: what such files are named after, and what may safely stand in a path.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// The session in this file.
pub(super) fn stub(host: &dyn Host, id: &str, path: &Path) -> io::Result<Stub> {
    stub_of(id, path, host.stat(path)?)
}

/// The same, where the file system was asked already.
pub(super) fn stub_of(id: &str, path: &Path, stat: Stat) -> io::Result<Stub> {
    match stat.kind {
        Kind::File => {
            let (updated, touched) = (stat.modified, stat.touched);
            Ok(Stub { touched, stat: Some(stat), ..Stub::new(id, path, updated) })
        }
        Kind::Dir | Kind::Link | Kind::Other => Err(io::Error::other("not a regular file")),
    }
}

/// It went away between the listing and the look: that is no problem. A dangling link is.
pub(super) fn is_gone(why: &io::Error, kind: Kind) -> bool {
    why.kind() == io::ErrorKind::NotFound && kind != Kind::Link
}

/// What SQLite keeps beside a database, which is as much of its content as the file itself.
pub(super) fn logs(host: &dyn Host, db: &Path) -> Vec<PathBuf> {
    let db = host.resolve(db).into_os_string();
    let beside = |end: &str| {
        let mut name = db.clone();
        name.push(end);
        PathBuf::from(name)
    };
    vec![beside("-wal"), beside("-journal")]
}

/// What a look at a path finds. Where that is nothing, it need not be looked at again until it changes.
pub(super) fn found<T>(
    host: &dyn Host,
    looked: Looked<'_>,
    look: impl FnOnce() -> io::Result<Vec<T>>,
) -> io::Result<Vec<T>> {
    if host.knows_none(looked) {
        return Ok(Vec::new());
    }
    let found = look()?;
    if found.is_empty() {
        host.keep_none(looked);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn an_id_cannot_leave_its_folder() {
        assert!(is_id("8f2562be-1350-4693-85a6-3d142d74d7cb"));
        assert!(!is_id("../../../../../../../../../etc/passwd"));
    }
}
