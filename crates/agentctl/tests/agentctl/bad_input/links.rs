//! Links: in loops, to nowhere, to elsewhere, and to the same thing twice.

use crate::home::{
    DAY, Home, PROJECT, Seen,
    lines::{codex_end, codex_open, id, prompt, reply},
    text,
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};

#[test]
fn loops_and_dangling_links_are_problems() {
    let home = Home::new();
    let claude = |number| format!("{PROJECT}/{}.jsonl", id(number));
    symlink("loop", home.path(".claude/projects/loop")).expect("a link");
    symlink("gone", home.path(".claude/projects/dangling")).expect("a link");
    symlink(format!("{}.jsonl", id(1)), home.path(claude(1))).expect("a link");
    symlink("gone", home.path(claude(2))).expect("a link");
    symlink("loop", home.path(format!("{DAY}/../loop"))).expect("a link");
    let (around, gone) = (
        "Too many levels of symbolic links (os error 40)",
        "No such file or directory (os error 2)",
    );
    let expected = Seen::good()
        .problem(".claude/projects/loop", around)
        .problem(".claude/projects/dangling", gone)
        .problem(&claude(1), around)
        .problem(&claude(2), gone)
        .problem(".codex/sessions/2026/11/loop", around);
    assert_eq!(home.seen(), expected);
}

/// Folders that contain themselves: the walk ends, and nobody is listed twice.
#[test]
fn folders_in_folders_end() {
    let home = Home::new();
    symlink("..", home.path(".claude/projects/up")).expect("a link");
    symlink(".", home.path(".claude/projects/here")).expect("a link");
    symlink(home.path(""), home.path(".codex/sessions/2026/up")).expect("a link");
    symlink(".", home.path(".codex/sessions/2026/11/here")).expect("a link");
    assert_eq!(home.seen(), Seen::good());
}

/// One file under two names is one session.
#[test]
fn a_second_name_of_a_folder_lists_nobody_twice() {
    let home = Home::new();
    let project = Path::new(PROJECT).file_name().expect("a name");
    symlink(project, home.path(".claude/projects/alias")).expect("a link");
    symlink("2026", home.path(".codex/sessions/alias")).expect("a link");
    assert_eq!(home.seen(), Seen::good());
    assert_eq!(home.run(&["status", "900dc1a0"]).code, Some(0));
}

/// A folder elsewhere, on another device where there is one.
fn elsewhere(home: &Home) -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let other = device(memory).is_some_and(|found| Some(found) != device(&home.root()));
    let folder = match other {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let folder = folder.expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("our folder");
    folder
}

#[test]
fn sessions_on_another_device_are_listed() {
    let home = Home::new();
    let folder = elsewhere(&home);
    let lines = text(&[prompt("Begin"), reply("Done")]);
    fs::write(folder.path().join(format!("{}.jsonl", id(1))), &lines).expect("a file");
    fs::write(folder.path().join("plain"), &lines).expect("a file");
    let mut thread = codex_open(&id(3), "Begin");
    thread.push(codex_end("Done"));
    let name = format!("rollout-2026-11-01T10-00-00-{}.jsonl", id(3));
    fs::write(folder.path().join(name), text(&thread)).expect("a file");
    symlink(folder.path(), home.path(".claude/projects/-elsewhere")).expect("a link");
    let link = home.path(format!("{PROJECT}/{}.jsonl", id(2)));
    symlink(folder.path().join("plain"), link).expect("a link");
    symlink(folder.path(), home.path(format!("{DAY}/../02"))).expect("a link");
    let expected = Seen::good().and(id(1), "done").and(id(2), "done").and(id(3), "done");
    assert_eq!(home.seen(), expected);
}

/// The whole store may be a link as well.
#[test]
fn a_store_on_another_device_is_read() {
    let home = Home::new();
    let folder = elsewhere(&home);
    let project = folder.path().join("projects/-elsewhere");
    fs::create_dir_all(&project).expect("a folder");
    let lines = text(&[prompt("Begin"), reply("Done")]);
    fs::write(project.join(format!("{}.jsonl", id(1))), lines).expect("a file");
    symlink(folder.path(), home.path("moved")).expect("a link");
    let mut list = home.agentctl(crate::home::ALL);
    let list = home.ask(list.env("CLAUDE_CONFIG_DIR", home.path("moved"))).json();
    let ids: Vec<_> =
        list["sessions"].as_array().expect("sessions").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&serde_json::json!(id(1)), &serde_json::json!(crate::home::GOOD_CODEX)]);
}
