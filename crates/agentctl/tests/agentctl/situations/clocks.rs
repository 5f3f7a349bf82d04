//! Clocks that are stepped, zones, and locales.

use super::{
    Scene,
    cast::ALL,
    each,
    stores::{ended, works},
    world::within,
};
use crate::kills::until;
use std::{
    fs::{self, File},
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
