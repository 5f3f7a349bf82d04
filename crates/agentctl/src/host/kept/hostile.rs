//! Bytes that mean no good, in the file of what was kept.

use super::shard::{Fresh, MOST, Shard};
use agentctl_testkit::hostile::Target;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Under each name what was kept under it, or nothing: a spoiled file tells nothing else.
#[test]
fn any_file_tells_what_was_kept_or_nothing() {
    Target { name: "shards", run: look, seeds }.holds(1_000);
}

fn kept() -> [(Vec<u8>, Vec<u8>, Vec<u8>); 3] {
    [("one", "1", "{\"turn\":1}"), ("two", "", ""), ("three", "33", "x\0\n")]
        .map(|(name, stamp, record)| (name.into(), stamp.into(), record.into()))
}

fn seeds() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shard");
    let fresh = kept().map(|(name, stamp, record)| Fresh { name, stamp, record });
    Shard::default().with(fresh.into(), MOST).write(&path).expect("the folder is ours");
    assert!(kept().iter().all(|(name, ..)| told(&path, name).is_some()), "it can be read");
    vec![fs::read(path).expect("it was written")]
}

fn told(path: &Path, name: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut room = Vec::new();
    let shard = Shard::open(path).ok()?;
    let (stamp, entry) = shard.newest(name, &mut room)?;
    Some((stamp.to_vec(), entry.to_vec()))
}

fn look(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shard");
    fs::write(&path, bytes).expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    for (name, stamp, record) in kept() {
        let told = told(&path, &name);
        assert!(told.as_ref().is_none_or(|told| *told == (stamp, record)), "{name:?}: {told:?}");
    }
}
