//! Bytes that mean no good, in the file of what was kept.

use super::{
    draft::Fresh,
    record,
    shard::Shard,
    tests::{records, written},
};
use agentctl_testkit::hostile::Target;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Under each name what was kept under it, or nothing: a spoiled file tells nothing else.
#[test]
fn any_file_tells_what_was_kept_or_nothing() {
    Target { name: "shards", run: look, seeds }.holds(1_000);
}

/// Any bytes are a record, which is then kept as these bytes, or none.
#[test]
fn any_bytes_are_read_as_a_record_or_refused() {
    let run = |bytes: &[u8]| {
        let path = Path::new("/a");
        if let Some(read) = record::record(bytes, path, false) {
            let again = record::bytes(&read, path).expect("it was kept");
            assert_eq!(record::record(&again, path, false), Some(read));
        }
    };
    let seeds = || records().iter().filter_map(|one| record::bytes(one, Path::new("/a"))).collect();
    Target { name: "kept-records", run, seeds }.holds(3_000);
}

type Kept = (&'static [u8], Fresh<'static>);

fn kept() -> [Kept; 3] {
    let fresh = |stamp, record, rest| Fresh { name: b"", stamp, record, rest };
    [
        (b"one", fresh(b"1", b"{\"turn\":1}", b"more")),
        (b"two", fresh(b"", b"", b"")),
        (b"three", fresh(b"33", b"x\0\n", b"")),
    ]
}

fn seeds() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shard");
    written(&path, &kept());
    assert!(kept().iter().all(|(name, ..)| told(&path, name).is_some()), "it can be read");
    vec![fs::read(path).expect("it was written")]
}

type Told = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn told(path: &Path, name: &[u8]) -> Option<Told> {
    let mut room = Vec::new();
    let shard = Shard::open(path).ok()?;
    let found = shard.newest(name, &mut room)?;
    let (stamp, record, place) = (found.stamp.to_vec(), found.record.to_vec(), found.place);
    Some((stamp, record, shard.rest(&place, &mut room).map(<[u8]>::to_vec)))
}

fn look(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("shard");
    fs::write(&path, bytes).expect("the folder is ours");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    for (name, fresh) in kept() {
        let told = told(&path, name);
        let is_kept = |(stamp, record, rest): &Told| {
            let rest = rest.as_ref().is_none_or(|rest| rest == fresh.rest);
            stamp == fresh.stamp && record == fresh.record && rest
        };
        assert!(told.as_ref().is_none_or(is_kept), "{name:?}: {told:?}");
    }
}
