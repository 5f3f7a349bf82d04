//! A file of lines that is read more than once, and opened once for that.

use crate::{
    agent::{Depth, Stub},
    host::{Bytes, Host, Kind, Opening, Stat},
};
use std::{cell::OnceCell, io, path::Path};

/// A file that is opened when it is first read. Whoever reads it next reads the same one, whatever its name leads to by then.
pub struct Sheet<'a> {
    /// Where the file is, and others beside it.
    pub host: &'a dyn Host,
    /// Its name.
    pub path: &'a Path,
    /// What was said of it before it was opened.
    pub stat: Option<Stat>,
    depth: Depth,
    file: OnceCell<Box<dyn Bytes>>,
}

impl<'a> Sheet<'a> {
    /// The file of this name, of which all will be read.
    pub fn new(host: &'a dyn Host, path: &'a Path, stat: Option<Stat>) -> Self {
        Self { host, path, stat, depth: Depth::Whole, file: OnceCell::new() }
    }

    /// The record of this session, which will be read to this depth.
    pub fn of(host: &'a dyn Host, stub: &'a Stub, depth: Depth) -> Self {
        Self { depth, ..Self::new(host, &stub.path, stub.stat) }
    }

    /// What is in it. Where it cannot be opened, whoever asks next tries again.
    pub fn file(&self) -> io::Result<&dyn Bytes> {
        if self.file.get().is_none() {
            let listed = self.stat.is_some_and(|stat| stat.kind == Kind::File);
            let opening = Opening { whole: self.depth == Depth::Whole, listed };
            let file = self.host.open_as(self.path, opening)?;
            let _ = self.file.set(file); // nobody else has set it meanwhile
        }
        self.file.get().map(|file| &**file).ok_or_else(|| io::Error::other("it is not open"))
    }
}
