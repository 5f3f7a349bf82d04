//! Every parser of `core` on its corpus, and on mutations of it.

use agentctl_testkit::hostile::{CORE, core};
use std::{collections::BTreeSet, fs, path::Path};

/// The more a run costs, the fewer there are: all of them take some seconds.
fn holds(name: &str, mutations: usize) {
    core(name).holds(mutations);
}

#[test]
fn agents_hold() {
    holds("agents", 200);
}

#[test]
fn lines_hold() {
    holds("lines", 150);
}

#[test]
fn matrix_files_hold() {
    holds("matrix", 2_000);
}

#[test]
fn receipts_hold() {
    holds("receipts", 10_000);
}

#[test]
fn cursors_hold() {
    holds("cursors", 10_000);
}

#[test]
fn names_hold() {
    holds("names", 10_000);
}

#[test]
fn text_holds() {
    holds("text", 10_000);
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path().file_stem().expect("a name").display().to_string()).collect()
}

/// A target that nobody runs proves nothing: each is run here, and by libFuzzer, which nothing builds here.
#[test]
fn every_target_is_run() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let all: BTreeSet<String> = CORE.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names(&fuzz.join("fuzz_targets")), all);
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("a manifest");
    let bins: BTreeSet<String> = manifest
        .split("[[bin]]\n")
        .skip(1)
        .filter_map(|bin| Some(bin.split_once("name = \"")?.1.split_once('"')?.0.to_owned()))
        .collect();
    assert_eq!(bins, all);
    let (own, corpora) = (include_str!("hostile.rs"), names(&fuzz.join("corpus")));
    for name in &all {
        assert!(own.contains(&format!("holds(\"{name}\", ")) && corpora.contains(name), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        let text =
            fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).expect("a target");
        let call = format!("agentctl_testkit::hostile::core(\"{name}\").run)(input)");
        assert!(text.contains(&call), "{name}: {text}");
    }
}
