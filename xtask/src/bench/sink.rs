//! A transcript being written: whole lines, in large pieces.

use crate::failure::{Failure, Outcome};
use std::{
    fmt,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::time::Moment;

/// How much is held before it goes to the file.
const PIECE: usize = 1 << 20;

/// A file under way.
pub(super) struct Sink {
    path: PathBuf,
    file: File,
    held: Vec<u8>,
    /// Bytes so far, held ones included.
    pub(super) written: u64,
}

impl Sink {
    /// A new file; its folders are made.
    pub(super) fn create(path: &Path) -> Outcome<Self> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
        }
        let file = File::create(path).map_err(|why| Failure::io("create", path, &why))?;
        Ok(Self { path: path.to_owned(), file, held: Vec::new(), written: 0 })
    }

    /// One more line.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) -> Outcome<()> {
        let before = self.held.len();
        // A vector takes everything.
        let _ = self.held.write_fmt(line);
        self.held.push(b'\n');
        self.written += (self.held.len() - before) as u64;
        if self.held.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// The last line loses its end, as after a kill in mid-write.
    pub(super) fn tear(&mut self) {
        let left = self.held.len().saturating_sub(57);
        self.held.truncate(left);
    }

    /// Ends the file; it was last changed at that moment.
    pub(super) fn finish(mut self, at: Moment) -> Outcome<()> {
        self.flush()?;
        let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(at.0);
        let set = self.file.set_modified(modified);
        set.map_err(|why| Failure::io("set the time of", &self.path, &why))
    }

    fn flush(&mut self) -> Outcome<()> {
        let wrote = self.file.write_all(&self.held);
        self.held.clear();
        wrote.map_err(|why| Failure::io("write", &self.path, &why))
    }
}
