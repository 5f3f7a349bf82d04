//! Runs a target on its corpus and on mutations of it, within the ordinary tests.
#![allow(clippy::print_stdout, reason = "a test that passed says how much it ran")]

use super::{Target, chance::Chance};
use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// The folder of corpora; a target's is below it, under its name.
pub(super) fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

impl Target {
    /// Runs it on its corpus, its seeds and so many mutations of them, the same ones each time.
    ///
    /// # Panics
    ///
    /// Where a promise is broken, with a file that holds the input; or where there is no corpus.
    pub fn holds(&self, mutations: usize) {
        let inputs = self.replayed(mutations).unwrap_or_else(|why| panic!("{why}"));
        println!("{}: {inputs} inputs and {mutations} mutations", self.name);
    }

    fn replayed(&self, mutations: usize) -> io::Result<usize> {
        let mut inputs = files(&corpora().join(self.name))?;
        inputs.extend((self.seeds)());
        if inputs.is_empty() {
            return Err(io::Error::other(format!("{} has no corpus", self.name)));
        }
        for input in &inputs {
            check(self, input)?;
        }
        let mut chance = Chance::new(2026);
        for _ in 0..mutations {
            let (one, other) = (chance.below(inputs.len()), chance.below(inputs.len()));
            check(self, &chance.mutated(&inputs[one], &inputs[other]))?;
        }
        Ok(inputs.len())
    }
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
