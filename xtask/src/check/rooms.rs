//! Arrows point inwards: faces → `ops` → `host` → `core`.
//!
//! What a room is for stands in `STYLE.md`; here is only who may name whom. Paths from `crate::`,
//! from enough `super::` to reach the crate's root, and from `agentctl_core::` are looked at.
//! Modules that are no room (`crate::error`) are common ground: every room may use them, and they
//! may use no room. `main.rs` and `lib.rs` bring the rooms together and may name all.

use super::{
    paths::{self, Used},
    report::Finding,
    tree::{Source, Tree},
};

const PROGRAM: &str = "crates/agentctl/src/";
const CORE: &str = "crates/core/src/";

/// One room of the program.
struct Room {
    name: &'static str,
    /// The other rooms it may use.
    may: &'static [&'static str],
    /// The modules of `core` it may not use.
    core_not: &'static [&'static str],
}

/// No face opens a native file or computes a state; it is told both by `ops`.
const NOT_FOR_FACES: &[&str] = &["host", "derive"];

/// The program's rooms. Only `ops`, `shim` and `daemon` touch `host`; nothing below `ops` knows an
/// agent by name; the shim outlives everyone and so leans on nobody but `host`.
#[rustfmt::skip]
const ROOMS: &[Room] = &[
    Room { name: "host", may: &[], core_not: &["agents", "derive"] },
    Room { name: "git", may: &[], core_not: &["agents", "derive", "policy"] },
    Room { name: "intents", may: &[], core_not: &["agents", "derive", "policy"] },
    Room { name: "config", may: &[], core_not: &["host", "derive", "policy"] },
    Room { name: "shim", may: &["host"], core_not: &["agents", "derive"] },
    Room { name: "ops", may: &["git", "host", "intents", "shim"], core_not: &[] },
    Room { name: "notify", may: &["config"], core_not: &["agents", "derive"] },
    Room { name: "metrics", may: &["notify", "ops"], core_not: &["agents", "derive"] },
    Room {
        name: "daemon",
        may: &["ops", "host", "intents", "config", "notify", "metrics", "web"],
        core_not: &[],
    },
    Room { name: "view", may: &[], core_not: NOT_FOR_FACES },
    Room { name: "fleet", may: &["ops", "view"], core_not: NOT_FOR_FACES },
    Room { name: "tui", may: &["ops", "view", "fleet"], core_not: NOT_FOR_FACES },
    Room { name: "web", may: &["ops", "view", "fleet"], core_not: NOT_FOR_FACES },
    Room { name: "mcp", may: &["ops", "view", "fleet"], core_not: NOT_FOR_FACES },
    Room {
        name: "cli",
        may: &["ops", "view", "tui", "web", "mcp", "fleet", "daemon", "shim", "config", "notify", "metrics"],
        core_not: NOT_FOR_FACES,
    },
];

/// Modules of `core`, and those of their neighbours they may not use: an adapter reports and never
/// decides, and what decides knows no agent and reads nothing.
const CORE_WALLS: &[(&str, &[&str])] = &[
    ("agents", &["derive", "event", "policy"]),
    ("derive", &["agents", "host"]),
    ("evidence", &["agents", "derive"]),
    ("event", &["agents", "host"]),
    ("policy", &["agents", "host"]),
    ("wire", &["agents", "host"]),
];

/// Every path that crosses a wall.
pub(crate) fn crossings(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .flat_map(|file| {
            if let Some(inner) = file.path.strip_prefix(PROGRAM) {
                in_program(file, inner)
            } else if let Some(inner) = file.path.strip_prefix(CORE) {
                in_core(file, inner)
            } else {
                Vec::new()
            }
        })
        .collect()
}

fn in_program(file: &Source, inner: &str) -> Vec<Finding> {
    let module = module(inner);
    let Some(room) = ROOMS.iter().find(|room| room.name == module) else {
        return outside(file, inner);
    };
    let code = paths::code_only(&file.text);
    let is_crossing = |name: &str| name != room.name && is_room(name) && !room.may.contains(&name);
    let rooms = rooted(&code, inner).into_iter().filter(|used| is_crossing(&used.name));
    let core = paths::under(&code, "agentctl_core").into_iter();
    let core = core.filter(|used| room.core_not.contains(&used.name.as_str()));
    rooms
        .map(|used| finding(file, &used, &format!("`{module}` may not use room")))
        .chain(core.map(|used| finding(file, &used, &format!("`{module}` may not use core's"))))
        .collect()
}

/// A file that is in no room: one of the two roots, common ground, or a room nobody has drawn.
fn outside(file: &Source, inner: &str) -> Vec<Finding> {
    if ["main.rs", "lib.rs"].contains(&inner) {
        return Vec::new();
    }
    if inner.contains('/') && !inner.starts_with("bin/") {
        let what = format!("`{}` is no room: add it to the table in xtask", module(inner));
        return vec![Finding::new(&file.path, 1, what)];
    }
    let used = rooted(&paths::code_only(&file.text), inner).into_iter();
    used.filter(|used| is_room(&used.name))
        .map(|used| finding(file, &used, "common ground may not use room"))
        .collect()
}

fn in_core(file: &Source, inner: &str) -> Vec<Finding> {
    let module = module(inner);
    let code = paths::code_only(&file.text);
    let outer =
        ["agentctl", "agentctl_testkit"].iter().flat_map(|outer| paths::under(&code, outer));
    let mut findings: Vec<Finding> =
        outer.map(|used| finding(file, &used, "core may not use the outside's")).collect();
    if let Some((_, not)) = CORE_WALLS.iter().find(|(name, _)| *name == module) {
        let crossed = rooted(&code, inner).into_iter().filter(|it| not.contains(&it.name.as_str()));
        let what = format!("core's `{module}` may not use");
        findings.extend(crossed.map(|used| finding(file, &used, &what)));
    }
    findings
}

fn finding(file: &Source, used: &Used, what: &str) -> Finding {
    Finding::new(&file.path, used.line, format!("{what} `{}`", used.name))
}

fn is_room(name: &str) -> bool {
    ROOMS.iter().any(|room| room.name == name)
}

/// The module directly under the crate's root that a file belongs to.
fn module(inner: &str) -> &str {
    let first = inner.split('/').next().unwrap_or(inner);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Names used from the crate's root, by `crate::` or by as many `super::` as lead there.
fn rooted(code: &str, inner: &str) -> Vec<Used> {
    let up = vec!["super"; depth(inner)].join("::");
    let mut used = paths::under(code, "crate");
    used.extend(paths::under(code, &up));
    used.sort_by_key(|used| used.line);
    used
}

/// How many modules a file is below the crate's root.
fn depth(inner: &str) -> usize {
    inner.split('/').filter(|part| *part != "mod.rs").count()
}

#[cfg(test)]
mod tests {
    use super::{Finding, Tree, crossings};

    fn crossed(path: &str, text: &str) -> Vec<String> {
        crossings(&Tree::of(&[(path, text)])).iter().map(Finding::to_string).collect()
    }

    const CLI: &str = "crates/agentctl/src/cli/list.rs";

    #[test]
    fn arrows_inwards_are_free() {
        assert_eq!(crossed(CLI, "use crate::{error, ops::list, view};"), [""; 0]);
        assert_eq!(crossed("crates/agentctl/src/ops/list.rs", "use crate::host::Kernel;"), [""; 0]);
        assert_eq!(crossed("crates/agentctl/src/main.rs", "use crate::host;"), [""; 0]);
        assert_eq!(crossed(CLI, "use agentctl_core::wire::Session;"), [""; 0]);
    }

    #[test]
    fn arrows_outwards_are_found_with_their_line() {
        assert_eq!(
            crossed(CLI, "//! x\nuse crate::{\n    ops,\n    host::Kernel,\n};\n"),
            [format!("{CLI}:4: `cli` may not use room `host`")]
        );
        let ops = "crates/agentctl/src/ops/mod.rs";
        assert_eq!(
            crossed(ops, "fn f() { crate::view::table() }"),
            [format!("{ops}:1: `ops` may not use room `view`")]
        );
        let view = "crates/agentctl/src/view.rs";
        assert_eq!(
            crossed(view, "use crate::ops;"),
            [format!("{view}:1: `view` may not use room `ops`")]
        );
    }

    #[test]
    fn super_reaches_other_rooms_too() {
        assert_eq!(
            crossed(CLI, "use super::super::host;"),
            [format!("{CLI}:1: `cli` may not use room `host`")]
        );
        assert_eq!(crossed(CLI, "use super::host;"), [""; 0]);
        let ops = "crates/agentctl/src/ops/mod.rs";
        assert_eq!(
            crossed(ops, "use super::cli;"),
            [format!("{ops}:1: `ops` may not use room `cli`")]
        );
    }

    #[test]
    fn some_of_core_is_not_for_everyone() {
        assert_eq!(
            crossed(CLI, "use agentctl_core::{wire, derive::derive};"),
            [format!("{CLI}:1: `cli` may not use core's `derive`")]
        );
        let host = "crates/agentctl/src/host/kernel.rs";
        assert_eq!(
            crossed(host, "use agentctl_core::agents;"),
            [format!("{host}:1: `host` may not use core's `agents`")]
        );
    }

    #[test]
    fn core_keeps_its_own_walls() {
        let codex = "crates/core/src/agents/codex/mod.rs";
        assert_eq!(crossed(codex, "use crate::host::Host;"), [""; 0]);
        assert_eq!(
            crossed(codex, "use crate::derive::State;"),
            [format!("{codex}:1: core's `agents` may not use `derive`")]
        );
        let ident = "crates/core/src/ident.rs";
        assert_eq!(
            crossed(ident, "use agentctl::ops;"),
            [format!("{ident}:1: core may not use the outside's `ops`")]
        );
    }

    #[test]
    fn rooms_must_be_drawn_and_common_ground_stays_below() {
        let attic = "crates/agentctl/src/attic/mod.rs";
        assert_eq!(
            crossed(attic, "//! x"),
            [format!("{attic}:1: `attic` is no room: add it to the table in xtask")]
        );
        let error = "crates/agentctl/src/error.rs";
        assert_eq!(crossed(error, "use agentctl_core::ident;"), [""; 0]);
        assert_eq!(
            crossed(error, "use crate::ops;"),
            [format!("{error}:1: common ground may not use room `ops`")]
        );
    }
}
