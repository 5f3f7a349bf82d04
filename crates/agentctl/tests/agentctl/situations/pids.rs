//! Pids that are used again: by the innocent, by another agent, after a restart, after a day.

use super::{
    Scene,
    cast::{ALL, Kind, REAL},
    each, furnished, planted,
    player::enclosing,
    scene::Heir,
    situation,
    stores::{ended, works},
    truth::Said,
    world::{must, within},
};
use crate::{
    home::receipts::{boot, days},
    kills::Process,
    support::uuid,
};
use std::{
    fs::{self, File},
    time::{Duration, SystemTime},
};

situation!(
    a_pid_that_goes_to_an_innocent,
    real_pid_that_goes_to_an_innocent,
    |mut scene: Scene| {
        scene.recycle(Heir::Innocent);
        ended(&scene);
    }
);

situation!(
    a_pid_that_goes_to_another_agent,
    real_pid_that_goes_to_another_agent,
    |mut scene: Scene| {
        let heir = scene.recycle(Heir::Another);
        is_its_own(&scene, heir);
    }
);

situation!(a_stop_of_a_recycled_pid, real_stop_of_a_recycled_pid, |mut scene: Scene| {
    let heir = scene.recycle(Heir::Innocent);
    stops_nobody(&scene, heir);
});

/// Neither by the name of the session nor by its old pid is anybody reached, nor by all names.
fn stops_nobody(scene: &Scene, heir: Process) {
    let pid = format!("pid:{}", heir.pid);
    for words in [&[scene.id.as_str()] as &[&str], &[&pid], &["--all"]] {
        let words = [&["stop", "--force", "--grace", "100ms", "--json"], words].concat();
        let answer = scene.place.ask(&words);
        assert!(answer.stdout.find("SIGKILL").is_none(), "{answer:#?}");
        assert!(heir.lives(), "{answer:#?}");
    }
    scene.harmed_nobody();
    ended(scene);
}

#[test]
fn a_stop_of_an_agent_that_got_the_pid() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        let heir = scene.recycle(Heir::Another);
        let answer = scene.place.ask(&["stop", &scene.id, "--force", "--grace", "100ms", "--json"]);
        assert!(heir.lives(), "{answer:#?}");
        is_its_own(&scene, heir);
    });
}

/// The session is over, and who got its pid is listed by itself.
fn is_its_own(scene: &Scene, heir: Process) {
    let mut told = scene.truth();
    // A Pi tells nobody whether it took up the newest session of its directory, as a captured one's is not.
    let may_go_on = scene.kind == Kind::Pi && !scene.is_played();
    let state = if may_go_on { "unknown" } else { "died" };
    assert_eq!(told.rows.remove(&scene.id), Some(Said::new(state, None)));
    if scene.kind.is_told_by_name() {
        let alone = told.rows.remove(&format!("pid:{}", heir.pid));
        assert_eq!(alone, Some(Said::new("unknown", Some(heir))));
    }
}

/// It writes down the pid that it has there, and shares our home.
#[test]
fn an_agent_in_a_container() {
    each(&[Kind::Claude], |kind| {
        let mut scene = Scene::new(kind);
        scene.enclose();
        assert_eq!(scene.said(), Some(Said::new("idle", Some(scene.holder.process))));
        scene.holder.end();
        ended(&scene);
    });
}

/// It writes down no pid, and our home has another name for it.
#[test]
fn an_agent_that_sees_its_store_elsewhere() {
    each(&[Kind::Pi], |kind| {
        let mut scene = Scene::new(kind);
        scene.move_in();
        works(&scene);
        scene.holder.end();
        ended(&scene);
    });
}

/// Two containers have a pid 1 of one moment: which of them is written down cannot be told.
#[test]
fn twins_in_two_containers() {
    each(&[Kind::Claude], |kind| {
        let mut scene = Scene::new(kind);
        scene.enclose_twins();
        may_be_held(&scene, "pid 1 may hold it: two containers have a pid 1 of then");
        scene.others[0].1.end();
        assert!(scene.said().is_some_and(|said| said.live), "{:?}", scene.said());
        scene.holder.end();
        ended(&scene);
    });
}

/// It counts from another boot than we do, and so says another start.
#[test]
fn an_agent_with_a_clock_of_its_own() {
    each(&[Kind::Claude], |kind| {
        let mut scene = Scene::new(kind);
        scene.hasten();
        let pid = scene.holder.process.pid;
        let why = format!("pid {pid} may hold it: pid {pid} keeps another time than we do");
        may_be_held(&scene, &why);
        scene.holder.end();
        ended(&scene);
    });
}

/// Its holder cannot be told, for this reason.
fn may_be_held(scene: &Scene, why: &str) {
    let told = scene.truth();
    assert_eq!(told.rows[&scene.id], Said::new("unknown", None));
    assert_eq!(told.row(&scene.id)["reason"], why);
}

/// Seen from a container that shares its home: it was never one of ours, and whether it lives cannot be told.
#[test]
fn an_agent_outside_of_the_container() {
    each(&[Kind::Claude], |kind| {
        let mut scene = Scene::new(kind);
        scene.holder.end();
        let Process { pid, start } = scene.holder.process;
        for process in [Process { pid: 4_000_000, start }, Process { pid, start: 1 }] {
            planted::claim(&scene.place, kind, process);
            let said = scene.said().expect("it is listed");
            assert_eq!(said, Said::new("unknown", None));
        }
    });
}

/// A namespace was made and `/proc` not mounted anew: its pids are not those that signals go to.
#[test]
fn a_proc_of_another_namespace() {
    each(&[Kind::Claude], |kind| {
        let mut scene = Scene::new(kind);
        scene.innocent(None);
        let id = scene.id.clone();
        let ask = |words: &[&str]| {
            let mut command = enclosing(&scene.place.agentctl(words));
            command.output().expect("util-linux")
        };
        let list = ask(&["list", "--since", "all", "--json"]);
        let list: serde_json::Value = serde_json::from_slice(&list.stdout).expect("JSON");
        let rows = list["sessions"].as_array().expect("sessions").iter();
        let state = rows.filter(|row| row["id"] == *id).map(|row| row["state"].clone());
        assert_eq!(state.collect::<Vec<_>>(), ["unknown"], "{list:#}");
        let stopped = ask(&["stop", &id, "--force", "--grace", "100ms"]);
        assert!(!stopped.status.success(), "{stopped:?}");
        works(&scene);
    });
}

/// A real one is collected by our shim.
#[test]
fn a_zombie_that_nobody_collects() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        scene.holder.kill();
        ended(&scene);
        let place = format!("/proc/{}", scene.holder.process.pid);
        assert!(fs::exists(place).is_ok_and(|there| there), "somebody collected it");
    });
}

/// Makes all that is recorded, and what we noted, a day older than it is.
fn age(scene: &Scene) {
    let day = Duration::from_secs(24 * 60 * 60);
    let mut todo = vec![scene.store.clone(), scene.place.path(".local/state/agentctl")];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).expect("ours").flatten().map(|entry| entry.path()));
        } else if path.is_file() {
            let file = File::options().append(true).open(&path).expect("our file");
            file.set_modified(SystemTime::now() - day).expect("a time");
        }
    }
}

/// We saw it work, and noted its launch; then we were away.
#[test]
fn a_day_later() {
    each(ALL, |kind| {
        for heir in [Heir::Innocent, Heir::Another] {
            let mut scene = Scene::new(kind);
            works(&scene);
            receipt(&scene, scene.holder.process, &boot());
            works(&scene);
            let heir = (heir, scene.recycle(heir));
            planted::plant(&scene.place, kind.part()); // as it was written a day ago
            let written = kind.part().written.parse().expect("a moment");
            planted::claim_since(&scene.place, kind, scene.holder.process, written);
            age(&scene);
            match heir.0 {
                Heir::Innocent => stops_nobody(&scene, heir.1),
                Heir::Another => is_its_own(&scene, heir.1),
            }
        }
    });
}

/// The machine came up a minute ago, and calls itself by another id.
#[test]
fn a_restart_of_the_machine() {
    let uptime = fs::read_to_string("/proc/uptime").expect("Linux has one");
    let up: u64 = uptime.split('.').next().and_then(|up| up.parse().ok()).expect("a number");
    let later = format!("--boottime=-{}", up.saturating_sub(60));
    let world = ["--time", later.as_str()];
    let world = if up > 60 { &world[..] } else { &[] };
    within(world, ALL, |kind| {
        for heir in [Heir::Innocent, Heir::Another] {
            let mut scene = Scene::new(kind);
            works(&scene);
            let before = boot();
            let process = scene.recycle(heir);
            planted::plant(&scene.place, kind.part()); // as it was written before
            age(&scene);
            receipt(&scene, process, &before);
            claimed(&scene, process);
            let id = scene.place.work().join("boot_id");
            fs::write(&id, format!("{}\n", uuid())).expect("our file");
            let id = id.to_string_lossy();
            must("mount", &["--bind", &id, "/proc/sys/kernel/random/boot_id"]);
            match heir {
                Heir::Innocent => stops_nobody(&scene, process),
                // Nothing tells another Claude Code of that pid and start from the one that wrote it down, if the clock was set.
                Heir::Another if kind == Kind::Claude => {
                    let pid = process.pid;
                    may_be_held(
                        &scene,
                        &format!("pid {pid} may hold it, or was another's before this boot"),
                    );
                }
                Heir::Another => is_its_own(&scene, process),
            }
            must("umount", &["/proc/sys/kernel/random/boot_id"]);
        }
    });
}

/// What the agent wrote down a day ago names, by chance, just this process.
fn claimed(scene: &Scene, process: Process) {
    let Some(path) = planted::claim(&scene.place, scene.kind, process) else {
        return;
    };
    let mut value: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("ours")).expect("JSON");
    match scene.kind {
        Kind::Claude => value["startedAt"] = 1_794_767_035_203_u64.into(),
        Kind::Codex | Kind::OpenCode | Kind::Pi | Kind::Gemini | Kind::Copilot | Kind::OpenClaw => {
            value["createdAt"] = "2026-11-15T22:01:45.866Z".into()
        }
    }
    fs::write(path, value.to_string()).expect("our file");
}

/// And so does a receipt of ours.
fn receipt(scene: &Scene, process: Process, boot: &str) {
    let dir = scene.place.path(".local/state/agentctl/launches");
    fs::create_dir_all(&dir).expect("a folder");
    let mut value = furnished::receipt("01a1e06a", &scene.id, process);
    value["agent"] = scene.kind.name().into();
    value["at"] = days(-1).into();
    value["process"]["boot"] = boot.into();
    fs::write(dir.join("01a1e06a.json"), value.to_string()).expect("our file");
    planted::give(&scene.place);
}
