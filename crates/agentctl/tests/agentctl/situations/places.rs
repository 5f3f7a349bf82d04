//! Where agents work, beside whom, and what of the machine they are shown in.

use super::{
    Kind, Scene,
    cast::ALL,
    each, planted,
    stores::{ended, works},
    truth::Said,
    world::{Mounted, must},
};
use crate::{home::other_user, kills::until};
use serde_json::Value;
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Makes a directory of this name below another.
fn below(dir: &Path, name: &str) -> PathBuf {
    let dir = dir.join(name);
    fs::create_dir(&dir).expect("a folder");
    dir
}

/// It works in the directory of this name below that of the others, and every face says so.
fn works_in(scene: &Scene, name: &str) {
    works(scene);
    let asked = scene.place.work().join(name);
    let dir = asked.canonicalize().expect("a folder");
    let [asked, dir] = [&asked, &dir].map(|path| path.to_str().expect("it is text"));
    let told = scene.truth();
    let cwd = &told.row(&scene.id)["cwd"];
    if scene.kind == Kind::OpenClaw {
        assert_eq!(cwd, &Value::Null, "a local run of it writes no directory down");
        return;
    }
    assert_eq!(cwd, dir);
    let there = |answer: Value, list: &str, field: &str| {
        let rows = answer[list].as_array().expect("a list").clone();
        let row = rows.into_iter().find(|row| row[field] == *scene.id);
        row.unwrap_or_else(|| panic!("it is not told: {answer:#}"))
    };
    for dir in [asked, dir] {
        let found = scene.place.ask(&["list", "--cwd", dir, "--json"]).json();
        there(found, "sessions", "id");
    }
    let locks = scene.place.ask(&["locks", "--json"]).json();
    assert_eq!(there(locks, "locks", "session_id")["directory"], dir);
}

/// Makes a directory of this name, in which an agent works.
fn named(kind: Kind, name: &str) {
    works_in(&Scene::within(kind, |work| below(work, name)), name);
}

#[test]
fn a_directory_with_spaces() {
    each(ALL, |kind| named(kind, " a  b "));
}

#[test]
fn a_directory_in_unicode() {
    each(ALL, |kind| named(kind, "żółć 漢字 \u{1f980}"));
}

#[test]
fn a_directory_with_newlines_and_quotes() {
    each(ALL, |kind| named(kind, "a\nb\"c'd"));
}

#[test]
fn a_directory_behind_a_link() {
    let link = |work: &Path| {
        let (real, link) = (below(work, "real"), work.join("link"));
        symlink(&real, &link).expect("a link");
        (real, link)
    };
    each(ALL, |kind| {
        // Agents write down where the kernel says they are; one might write the link.
        works_in(&Scene::within(kind, |work| link(work).0), "link");
        works(&Scene::within(kind, |work| link(work).1));
    });
}

/// It must not be called ended because its directory is gone.
#[test]
fn a_directory_that_is_removed() {
    each(ALL, |kind| {
        let scene = Scene::within(kind, |work| below(work, "gone"));
        fs::remove_dir(scene.place.work().join("gone")).expect("our folder");
        let said = scene.said().expect("it is listed");
        assert!(said.live || said.state == "unknown", "{said:?}");
    });
}

/// One has the session, another of the same kind has none, and neither is taken for the other.
#[test]
fn two_of_a_kind_in_one_directory() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        let work = scene.place.work();
        scene.another(&work, scene.place.user());
        let said = scene.said().expect("it is listed");
        assert!(said.live || said.state == "unknown", "{said:?}");
        let holder = u64::from(scene.holder.process.pid);
        assert!(said.pid.is_none_or(|pid| pid == holder), "{said:?}");
        scene.holder.end();
        let said = scene.said().expect("it is listed");
        assert!(!said.live, "the other has no session: {said:?}");
    });
}

/// Each has a session of its own and leaves a trail to it: neither's end touches the other.
#[test]
fn twins_in_one_directory() {
    each(&[Kind::Claude, Kind::Codex, Kind::Gemini, Kind::Copilot], |kind| {
        let mut scene = Scene::new(kind);
        let (id, process) = scene.twin();
        let twin_works = |scene: &Scene| {
            let told = scene.truth();
            assert_eq!(told.rows[&id], Said::new("working", Some(process)));
            let unnamed = told.rows.keys().any(|name| name.starts_with("pid:"));
            assert!(!unnamed, "{:#}", told.list);
        };
        works(&scene);
        twin_works(&scene);
        scene.holder.end();
        ended(&scene);
        twin_works(&scene);
    });
}

#[test]
fn all_kinds_in_one_directory() {
    each(&ALL[..1], |kind| {
        let mut scene = Scene::new(kind);
        ALL[1..].iter().for_each(|kind| scene.join(*kind));
        let told = scene.truth();
        for (id, player) in &scene.others {
            let said = &told.rows[id.expect("each has one")];
            assert_eq!(said, &Said::new("working", Some(player.process)));
        }
        works(&scene);
        for at in 0..scene.others.len() {
            scene.others[at].1.end();
            scene.truth();
        }
        works(&scene);
    });
}

/// In the same directory, and since before the last write: it is not ours, and holds nothing of ours.
#[test]
fn another_user_s_agent() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        let work = scene.place.work();
        let theirs = scene.another(&work, Some(other_user()));
        let bytes = fs::read(&scene.record).expect("our file");
        fs::write(&scene.record, bytes).expect("our file"); // it may have been written by them
        works(&scene);
        scene.holder.end();
        ended(&scene);
        let stopped = scene.place.ask(&["stop", "--all", "--force", "--json"]);
        assert!(theirs.lives(), "{stopped:#?}");
        let name = format!("pid:{}", theirs.pid);
        let refused = scene.place.ask(&["stop", &name, "--force", "--json"]);
        assert!(refused.code != Some(0) && theirs.lives(), "{refused:#?}");
    });
}

/// What containers make of the list of locks: nothing, what nobody may read, or locks without
/// saying whose they are.
fn odd_locks(scene: &Scene) -> Vec<PathBuf> {
    let locks = fs::read_to_string("/proc/locks").expect("Linux has it");
    let whose = |pid: &str| {
        let line = |line: &str| {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            // A waiter has an arrow before its kind.
            let at = if words.get(1) == Some(&"->") { 5 } else { 4 };
            words[at] = pid;
            words.join(" ") + "\n"
        };
        locks.lines().map(line).collect::<String>()
    };
    let work = scene.place.work();
    let file = |name: &str, text: String, mode: u32| {
        let path = work.join(name);
        fs::write(&path, text).expect("our file");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("our file");
        path
    };
    vec![
        file("nothing", String::new(), 0o444),
        file("forbidden", String::new(), 0o000),
        file("nobody", whose("0"), 0o444),
        file("unknown", whose("-1"), 0o444),
    ]
}

/// As in containers.
#[test]
fn a_machine_that_shows_no_locks() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        let odd = odd_locks(&scene);
        for locks in &odd {
            let shown = Mounted::over(locks, Path::new("/proc/locks"));
            let said = scene.said().expect("it is listed");
            assert!(said.live || said.state == "unknown", "{}: {said:?}", locks.display());
            drop(shown);
        }
        works(&scene);
        scene.holder.end();
        for locks in &odd {
            let shown = Mounted::over(locks, Path::new("/proc/locks"));
            let said = scene.said().expect("it is listed");
            assert!(!said.live, "{}: {said:?}", locks.display());
            drop(shown);
        }
    });
}

#[test]
fn a_machine_that_hides_the_processes_of_others() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        must("mount", &["-o", "remount,hidepid=2", "/proc"]);
        works(&scene);
        scene.holder.end();
        ended(&scene);
    });
}

/// It has our session, and is another user's, as that of a container may be: the kernel says no more than that it lives.
#[test]
fn an_agent_that_the_machine_hides() {
    each(&[Kind::Claude, Kind::OpenClaw], |kind| {
        let mut scene = Scene::new(kind);
        scene.holder.end();
        let work = scene.place.work();
        let theirs = scene.another(&work, Some(other_user()));
        planted::claim(&scene.place, kind, theirs);
        let told = |scene: &Scene| {
            let list = scene.place.ask(&["list", "--since", "all", "--json"]).json();
            let rows = list["sessions"].as_array().expect("sessions").clone();
            let row = rows.into_iter().find(|row| row["id"] == *scene.id).expect("it is listed");
            (row["live"] == true, row["reason"].clone(), row["state"].clone())
        };
        assert!(told(&scene).0, "{:?}", told(&scene));
        for how in 0..=2 {
            let option = ["hidepid=1", "hidepid=2", "hidepid=4"][how];
            must("mount", &["-o", &format!("remount,{option}"), "/proc"]);
            let why = ["permission denied", HIDDEN, HIDDEN][how];
            let why = format!("pid {} may hold it: {why}", theirs.pid);
            assert_eq!(told(&scene), (false, why.into(), "unknown".into()), "{option}");
            let stopped = scene.place.ask(&["stop", &scene.id, "--json"]);
            assert!(stopped.code != Some(0) && theirs.lives(), "{stopped:#?}");
        }
        scene.others[0].1.end();
        assert_eq!(told(&scene), (false, Value::Null, "died".into()));
    });
}

const HIDDEN: &str = "it lives, and /proc hides it from us";

/// The agent is halted, as by a debugger or a person's Ctrl-Z: it lives.
#[test]
fn an_agent_that_is_halted() {
    each(ALL, |kind| {
        let scene = Scene::new(kind);
        let holder = scene.holder.process;
        assert_eq!(scene.truth().row(&scene.id)["halted"], Value::Null);
        holder.signal(rustix::process::Signal::STOP);
        until("halted process", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", holder.pid)).expect("it lives");
            stat.contains(") T ").then_some(())
        });
        works(&scene);
        assert_eq!(scene.truth().row(&scene.id)["halted"], true);
        let why = scene.place.ask(&["explain", &scene.id]).stdout;
        assert!(why.contains(&format!("pid {} is halted", holder.pid)), "{why}");
    });
}

/// What a dead process had locked is locked by somebody who only looks at it.
#[test]
fn a_lock_that_an_innocent_took() {
    each(&[Kind::Codex, Kind::Copilot], |kind| {
        let mut scene = Scene::new(kind);
        let pid = scene.holder.process.pid.to_string();
        let lock = kind.part().keeps[0].trim_start_matches('+').replace("$$", &pid);
        scene.holder.end();
        let innocent = scene.innocent(Some(Path::new(&lock)));
        let told = scene.truth();
        let row = told.row(&scene.id);
        let words = "which is not known to be such an agent";
        assert_eq!(row["reason"], format!("locked by pid {}, {words}", innocent.pid), "{row:#}");
        assert_eq!(told.rows[&scene.id], Said::new("unknown", None));
    });
}
