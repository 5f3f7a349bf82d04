//! Runs a target on its corpus and on mutations of it, within the ordinary tests.
#![allow(clippy::print_stdout, reason = "a test that passed says how much it ran")]

use super::{Target, chance::Chance};
use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How long the mutations of one target may take in the ordinary tests.
const WITHIN: Duration = Duration::from_secs(2);

/// What a replay runs on.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The folder of corpora; a target's is below it, under its name.
    pub corpora: PathBuf,
    /// So many mutations are run besides.
    pub mutations: usize,
    /// Or as many as fit into this.
    pub within: Duration,
}

/// How much was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Files of the corpus and seeds.
    pub inputs: usize,
    /// Mutations of these.
    pub mutations: usize,
}

impl Replay {
    /// The corpora of this repository.
    pub fn new(mutations: usize) -> Self {
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        Self { corpora, mutations, within: WITHIN }
    }

    /// Runs a target; an error names the input that broke a promise, which is kept in a file.
    pub fn run(&self, target: &Target) -> io::Result<Ran> {
        let mut inputs = files(&self.corpora.join(target.name))?;
        inputs.extend((target.seeds)());
        if inputs.is_empty() {
            return Err(io::Error::other(format!("{} has no corpus", target.name)));
        }
        for input in &inputs {
            check(target, input)?;
        }
        let mut chance = Chance::new(2026);
        let (began, mut mutations) = (Instant::now(), 0);
        while mutations < self.mutations && began.elapsed() < self.within {
            let (one, other) = (chance.below(inputs.len()), chance.below(inputs.len()));
            check(target, &chance.mutated(&inputs[one], &inputs[other]))?;
            mutations += 1;
        }
        Ok(Ran { inputs: inputs.len(), mutations })
    }
}

/// Runs a target on its corpus and so many mutations, and fails with what broke it.
///
/// # Panics
///
/// Where a promise is broken, or there is no corpus.
pub fn holds(target: &Target, mutations: usize) {
    let ran = Replay::new(mutations).run(target).unwrap_or_else(|why| panic!("{why}"));
    println!("{}: {} inputs and {} mutations", target.name, ran.inputs, ran.mutations);
}

fn check(target: &Target, input: &[u8]) -> io::Result<()> {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_ok() {
        return Ok(());
    }
    let (file, path) = tempfile::Builder::new()
        .prefix(&format!("{}-", target.name))
        .tempfile()?
        .keep()
        .map_err(|why| why.error)?;
    drop(file);
    fs::write(&path, input)?;
    let name = target.name;
    let what = format!(
        "{name} breaks a promise; mend it and put {} into fuzz/corpus/{name}",
        path.display()
    );
    Err(io::Error::other(what))
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    match fs::read_dir(folder) {
        Ok(entries) => {
            for entry in entries {
                paths.push(entry?.path());
            }
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(why),
    }
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(fs::read).collect()
}
