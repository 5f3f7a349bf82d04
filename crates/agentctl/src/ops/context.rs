//! Gathers what is put before a prompt: a specification, an issue, files.

mod issue;

pub(crate) use issue::Issue;

use crate::error::{Error, Kind};
use agentctl_core::{context::Piece, text::one_line};
use rustix::fs::OFlags;
use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// What is asked for.
#[derive(Debug)]
pub(crate) struct Sources {
    /// What is to be built.
    pub(crate) spec: Option<PathBuf>,
    /// What it is about.
    pub(crate) issue: Option<Issue>,
    /// Files it will need.
    pub(crate) files: Vec<PathBuf>,
    /// No piece may have more bytes.
    pub(crate) limit: u64,
}

impl Sources {
    /// They say by themselves what is to be done.
    pub(crate) fn are_a_task(&self) -> bool {
        self.spec.is_some() || self.issue.is_some()
    }

    /// Every piece, or why one cannot be used. `cwd` is where the agent will work.
    pub(crate) fn gather(&self, cwd: &Path) -> Result<Vec<Piece>, Error> {
        let mut pieces = Vec::new();
        if let Some(spec) = &self.spec {
            pieces.push(self.piece("Specification", spec, cwd)?);
        }
        if let Some(issue) = &self.issue {
            pieces.push(issue.piece(cwd, self.limit)?);
        }
        for file in &self.files {
            pieces.push(self.piece("File", file, cwd)?);
        }
        Ok(pieces)
    }

    /// A file is looked for where the command is given, and then where the agent will work.
    fn piece(&self, what: &str, file: &Path, cwd: &Path) -> Result<Piece, Error> {
        let there = cwd.join(file);
        let path = if file.exists() || !there.exists() { file } else { &there };
        let text = text(path, self.limit)?;
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let shown = whole.strip_prefix(cwd).unwrap_or(file);
        Ok(Piece { title: format!("{what} {}", one_line(&shown.to_string_lossy())), text })
    }
}

/// The text of a file: no pipe that would be waited for, not long, and not binary.
pub(crate) fn text(path: &Path, limit: u64) -> Result<String, Error> {
    let name = one_line(&path.to_string_lossy());
    let off = |why: &str| Error::new(Kind::Usage, format!("cannot use {name}: {why}"));
    let file = open(path).map_err(|why| off(&why.to_string()))?;
    let stat = file.metadata().map_err(|why| off(&why.to_string()))?;
    if stat.is_dir() {
        return Err(off("it is a directory").hint("name its files one by one"));
    }
    if !stat.is_file() {
        return Err(off("it is no plain file"));
    }
    let mut bytes = Vec::new();
    // What a file says of its size is no promise: those of /proc have none.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|why| off(&why.to_string()))?;
    if bytes.len() as u64 > limit {
        let size = stat.len().max(bytes.len() as u64);
        return Err(too_long(&name, size, limit));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(off(&format!("it is binary: byte {at} is nought")));
    }
    String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to();
        off(&format!("it is binary: byte {at} is not UTF-8"))
    })
}

fn too_long(name: &str, size: u64, limit: u64) -> Error {
    Error::new(Kind::Usage, format!("cannot use {name}: it has {size} bytes, more than {limit}"))
        .hint(format!("--max-file-size {size} takes it"))
}

/// Links are followed, pipes are not waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags are small");
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
