//! What receipts are called. Each rule stands here once: whoever writes one and whoever looks for one ask the same.

use agentctl_core::ident::ProcKey;
use std::path::Path;
use uuid::Uuid;

/// So many digits of an id that nobody else has.
const LAUNCH: usize = 12;

/// A new name of a launch.
pub(crate) fn launch_name() -> String {
    Uuid::new_v4().simple().to_string()[..LAUNCH].to_owned()
}

/// What the receipt of a stop of this process is called.
pub(crate) fn stop_name(key: &ProcKey) -> String {
    format!("{}.json", stop_stem(key.pid, key.start))
}

fn stop_stem(pid: u32, start: u64) -> String {
    format!("{pid}-{start}")
}

/// Only we give such a name: to what belongs to a launch, or to a stop.
pub(super) fn is_ours(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    is_launch(stem) || is_stop(stem)
}

fn is_launch(stem: &str) -> bool {
    stem.len() == LAUNCH && stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_stop(stem: &str) -> bool {
    let key = stem
        .split_once('-')
        .and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    key.is_some_and(|(pid, start)| stop_stem(pid, start) == stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_give_are_ours() {
        let stop = stop_name(&ProcKey { pid: 41, start: 7, boot: String::new() });
        let launch = launch_name();
        for name in [&stop, "1-2.json", "0a1b2c3d4e5f.json", "0a1b2c3d4e5f.exit"] {
            assert!(is_ours(Path::new(name)), "{name}");
        }
        assert!(is_launch(&launch), "{launch}");
        let others = [
            "",
            "a.json",
            "0A1B2C3D4E5F.json",
            "0a1b2c3d4e5.json",
            "0a1b2c3d4e5f6.json",
            "1-.json",
            "-1.json",
            "01-2.json",
            "+1-2.json",
            "1-2-3.json",
            "5000000000-1.json",
            "0a1b2c3d4e5g.json",
        ];
        for name in others {
            assert!(!is_ours(Path::new(name)), "{name}");
        }
    }
}
