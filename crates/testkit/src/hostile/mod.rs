//! Bytes that mean no good, for every parser of foreign bytes in `core`.
//!
//! A [`Target`] takes any bytes and panics where a promise is broken. The same targets are fuzzed by
//! libFuzzer (`fuzz/`) and replayed by the ordinary tests ([`Target::holds`]): every file of the target's
//! corpus, every seed, and so many mutations of them, the same ones each time.

mod agents;
mod chance;
mod machine;
mod parsers;
mod replay;
mod spoiled;

/// A parser and what it promises.
#[derive(Clone, Copy)]
pub struct Target {
    /// The name of its corpus, and of its target in `fuzz/`.
    pub name: &'static str,
    /// Parses the bytes; panics where a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to begin with, besides the corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target of `core`.
pub static CORE: &[Target] = &[
    Target { name: "agents", run: agents::run, seeds: agents::seeds },
    Target { name: "lines", run: parsers::lines, seeds: none },
    Target { name: "matrix", run: parsers::matrix, seeds: none },
    Target { name: "receipts", run: parsers::receipts, seeds: none },
    Target { name: "cursors", run: parsers::cursors, seeds: none },
    Target { name: "names", run: parsers::names, seeds: none },
    Target { name: "text", run: parsers::text, seeds: none },
];

fn none() -> Vec<Vec<u8>> {
    Vec::new()
}

impl Target {
    /// One whose inputs are all in its corpus.
    pub fn new(name: &'static str, run: fn(&[u8])) -> Self {
        Self { name, run, seeds: none }
    }
}

/// The target of this name.
pub fn core(name: &str) -> Target {
    let found = CORE.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("no target is called {name}"))
}
