//! Clocks that are stepped, zones, and locales.

use super::{
    Kind, Scene,
    cast::ALL,
    each, planted,
    scene::Heir,
    stores::{ended, works},
    truth::Said,
    world::{Mounted, must, within},
};
use crate::kills::until;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

/// Times since the boot are ten years longer than on the machine around.
#[test]
fn a_machine_that_is_up_for_ten_years() {
    within(&["--time", "--boottime=315360000", "--monotonic=315360000"], ALL, |kind| {
        let mut scene = Scene::new(kind);
        works(&scene);
        scene.holder.end();
        ended(&scene);
    });
}

/// Puts into the place of a process in `/proc` what stands there, dated an hour ago.
const NOTED: &str = r#"
mkdir -p "$2/fd" "$2/task/$1" "$2/ns"
for file in stat cmdline environ status; do cat "/proc/$1/$file" > "$2/$file"; done
cp "$2/stat" "$2/task/$1/stat"
for link in exe cwd root ns/mnt ns/pid ns/time; do ln -s "$(readlink "/proc/$1/$link")" "$2/$link"; done
chown -hR "$3:$3" "$2"
touch -d '1 hour ago' "$2"
"#;

/// It runs for a minute, and the clock was set forward by an hour: only the kernel's note of it is as old as what it wrote.
#[test]
fn a_clock_that_was_set_forward() {
    each(&[Kind::Pi], |kind| {
        let scene = Scene::new(kind);
        let hour = SignedDuration::from_hours(1);
        let (work, part) = (scene.place.work(), kind.part());
        planted::plant(&scene.place, part);
        let then = Timestamp::now() - hour + SignedDuration::from_secs(1);
        planted::date(&scene.place, part, &work, then);
        let file = File::options().append(true).open(&scene.record).expect("our file");
        file.set_modified(then.into()).expect("a time");
        let pid = scene.holder.process.pid.to_string();
        let user = scene.place.user().unwrap_or(0).to_string();
        let noted = work.join("noted");
        let place = noted.to_string_lossy();
        must("sh", &["-ec", NOTED, "sh", &pid, &place, &user]);
        let shown = Mounted::over(&noted, Path::new(&format!("/proc/{pid}")));
        works(&scene);
        drop(shown);
    });
}

/// The clock was set back by an hour: whatever was written before is of a time that is yet to come, and whoever began
/// since seems older than that.
#[test]
fn a_clock_that_was_set_back() {
    each(ALL, |kind| {
        for heir in [Heir::Innocent, Heir::Another] {
            let mut scene = Scene::new(kind);
            wrote_ahead(&scene);
            lives_or_cannot_be_told(&scene);
            touch(&scene.record, SystemTime::now()); // it goes on by the new clock
            lives_or_cannot_be_told(&scene);
            let process = scene.recycle(heir);
            wrote_ahead(&scene);
            let told = scene.truth();
            let (said, row) = (&told.rows[&scene.id], told.row(&scene.id));
            let never = !said.live && matches!(said.state.as_str(), "died" | "unknown");
            assert!(never && process.lives(), "{heir:?}: {row:#}");
            // Another of its kind, which has written itself down nowhere, may have taken it up since.
            let surely = matches!(heir, Heir::Innocent) && leaves_a_trail(kind);
            assert!(said.state == "died" || !surely, "{heir:?}: {row:#}");
            has_a_reason(row);
        }
    });
}

/// Who has a session is written down, or locked: no time is needed to tell.
fn leaves_a_trail(kind: Kind) -> bool {
    match kind {
        Kind::Claude | Kind::Codex | Kind::Copilot | Kind::OpenClaw => true,
        Kind::Gemini | Kind::OpenCode | Kind::Pi => false,
    }
}

/// All that its agent wrote is dated an hour ahead, and so are the files themselves.
fn wrote_ahead(scene: &Scene) {
    let ahead = Timestamp::now() + SignedDuration::from_hours(1);
    let part = scene.kind.part();
    planted::plant(&scene.place, part);
    planted::date(&scene.place, part, &scene.place.work(), ahead);
    let own = planted::claim_since(&scene.place, scene.kind, scene.holder.process, ahead);
    // The captured claim is of a pid that nobody had here.
    for dir in own.iter().filter_map(|own| own.parent()) {
        let claims =
            fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("a file").path());
        for captured in claims.filter(|path| Some(path) != own.as_ref()) {
            fs::remove_file(captured).expect("our file");
        }
    }
    touch(&scene.record, ahead.into());
}

fn touch(path: &Path, at: SystemTime) {
    let file = File::options().append(true).open(path).expect("our file");
    file.set_modified(at).expect("a time");
}

/// Its process lives, and so does it, or it is said why that cannot be told.
fn lives_or_cannot_be_told(scene: &Scene) {
    let told = scene.truth();
    let row = told.row(&scene.id);
    let said = &told.rows[&scene.id];
    let works = *said == Said::new("working", Some(scene.holder.process));
    let untold = said.state == "unknown" && !leaves_a_trail(scene.kind);
    assert!(works || untold, "{row:#}");
    has_a_reason(row);
}

fn has_a_reason(row: &Value) {
    let reason = row["reason"].as_str().unwrap_or_default();
    assert!(row["state"] != "unknown" || !reason.is_empty(), "{row:#}");
}

/// A file says it was written in another century, since a clock was wrong then.
#[test]
fn a_record_that_a_wrong_clock_dated() {
    each(ALL, |kind| {
        let mut scene = Scene::new(kind);
        let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        let now = SystemTime::now();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        for moment in [long_ago, now - century / 2, now + century] {
            let file = File::options().append(true).open(&scene.record).expect("our file");
            file.set_modified(moment).expect("a time");
            let said = scene.said().expect("it is listed");
            assert!(said.live || said.state == "unknown", "{said:?}");
        }
        let bytes = fs::read(&scene.record).expect("our file");
        fs::write(&scene.record, bytes).expect("our file");
        works(&scene);
        scene.holder.end();
        ended(&scene);
    });
}

#[test]
fn zones_and_locales() {
    each(ALL, |kind| {
        let scene = Scene::new(kind);
        // What is said to people, and to programs without the moment of the look.
        let told = |set: &[(&str, &str)]| {
            let words = ["list", "--since", "all", "--timeout", "none"];
            let mut command = scene.place.agentctl(&words);
            let people = scene.place.answer(command.envs(set.iter().copied())).stdout;
            let mut programs = scene.place.answer(command.arg("--json")).json();
            programs.as_object_mut().expect("an object").remove("at");
            (people, programs)
        };
        for set in [
            [("TZ", "Pacific/Kiritimati"), ("LC_ALL", "tr_TR.UTF-8")],
            [("TZ", "America/St_Johns"), ("LC_ALL", "C")],
            [("TZ", ":/no/such/zone"), ("LC_ALL", "ar_EG.ISO-8859-6")],
        ] {
            // Ages are told too: only where none has changed in between, all must be the same.
            until("two looks of one age", || {
                let (before, odd, after) = (told(&[]), told(&set), told(&[]));
                (before == after).then(|| assert_eq!(odd, before, "{set:?}"))
            });
        }
        works(&scene);
    });
}
