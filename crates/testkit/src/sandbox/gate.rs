//! A file whose appearance lets a held model, or a waiting tool, go on.

use std::fs;
use std::path::{Path, PathBuf};

/// A gate, shut until it is opened; scripts and tools wait for its file.
#[derive(Debug, Clone)]
pub struct Gate {
    file: PathBuf,
}

impl Gate {
    pub(super) fn new(file: PathBuf) -> Gate {
        Gate { file }
    }

    /// The file that is waited for.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// The script line that holds the model until the gate opens.
    pub fn until(&self) -> String {
        format!("MOCK:until {}", self.file.display())
    }

    /// A shell command that marks its beginning and ends when the gate opens.
    pub fn tool(&self) -> String {
        let file = self.file.display();
        format!("touch {file}.began; until test -e {file}; do sleep 0.05; done; echo tool-ended")
    }

    /// Whether [`Gate::tool`] runs, or has run.
    pub fn has_begun(&self) -> bool {
        self.file.with_added_extension("began").exists()
    }

    /// Lets everybody through.
    pub fn open(&self) {
        fs::write(&self.file, "").unwrap_or_else(|why| panic!("cannot open {self:?}: {why}"));
    }
}
