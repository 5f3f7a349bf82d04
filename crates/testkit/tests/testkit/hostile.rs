//! Every parser of `core` on its corpus, and on some thousand mutations of it.

use agentctl_testkit::hostile::{self, core};

/// The more a run costs, the fewer there are.
fn holds(name: &str, mutations: usize) {
    hostile::holds(&core(name), mutations);
}

#[test]
fn agents_hold() {
    holds("agents", 3_000);
}

#[test]
fn lines_hold() {
    holds("lines", 400);
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

/// A target that nobody runs proves nothing.
#[test]
fn every_target_is_run() {
    let source = include_str!("hostile.rs");
    for target in hostile::CORE {
        assert!(source.contains(&format!("holds(\"{}\", ", target.name)), "{}", target.name);
    }
}
