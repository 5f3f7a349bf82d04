//! Fuses that are set, put off, taken away, or left to fire.

use super::{Soak, chance::Chance, record::Fused};
use std::{fs, path::PathBuf, time::Duration};

/// Where scripts write down that they were run.
pub(super) fn fired(soak: &Soak<'_>) -> PathBuf {
    soak.stage.sandbox.root().join("out/fired")
}

/// One after the other; what is set last falls due before the end.
pub(super) fn play(soak: &Soak<'_>) {
    let mut chance = soak.chance(2);
    let dir = soak.stage.sandbox.dir("fuses");
    let dir = dir.to_str().expect("a plain name");
    while !soak.over.is_over() {
        one(soak, &mut chance, dir);
        soak.over.pause(chance.between(0, 2000));
    }
}

fn one(soak: &Soak<'_>, chance: &mut Chance, dir: &str) {
    let ttl = time(chance.between(50, 4000));
    let script = chance.once_in(2);
    let line = format!("echo \"$AGENTCTL_FUSE_ID\" >> '{}'", fired(soak).display());
    let run = ["--on-expire", "script", "--script", &line];
    let more: &[&str] = if script { &run } else { &[] };
    let words = [&["fuse", "set", dir, "--json", "--ttl", &ttl], more].concat();
    let set = soak.ask(&words);
    assert_eq!(set.code, Some(0), "{set:?}");
    let id = set.json()["fuses"][0]["id"].as_str().expect("an id").to_owned();
    let mut fuse = Fused { id, cancelled: false, extended: 0, script };
    soak.over.pause(chance.between(0, 1500));
    match chance.below(3) {
        0 => {
            let ttl = time(chance.between(50, 3000));
            let put_off = soak.ask(&["fuse", "extend", &fuse.id, "--ttl", &ttl, "--json"]);
            fuse.extended += usize::from(put_off.code == Some(0));
        }
        1 => {
            let taken = soak.ask(&["fuse", "cancel", &fuse.id, "--json"]);
            fuse.cancelled = taken.code == Some(0);
        }
        _ => {}
    }
    soak.record.fuse(fuse);
}

fn time(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// How often each script was run, by the fuse's name.
pub(super) fn runs(soak: &Soak<'_>) -> Vec<String> {
    let text = fs::read_to_string(fired(soak)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
