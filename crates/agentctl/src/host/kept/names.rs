//! Names in a folder, with what each is there, as bytes: none of it changes without the folder's dates.

use rustix::fs::FileType;
use std::{ffi::CStr, io};

/// They are kept if they are as many bytes as this, which is more than a block of most file systems.
const FEWEST: usize = 4 << 10;
/// And no more than that: they stand beside what every list asks for.
const MOST: usize = 32 << 10;

/// What tells kinds apart; of any other it is asked again.
const KINDS: [(u8, FileType); 3] =
    [(b'f', FileType::RegularFile), (b'd', FileType::Directory), (b'l', FileType::Symlink)];

/// For each name its kind, the name, and a zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::host) struct Names(Vec<u8>);

impl Names {
    /// What was kept.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// One more. Beyond what is kept there may be any number.
    pub(in crate::host) fn add(&mut self, name: &CStr, kind: FileType) {
        if self.0.len() <= MOST {
            let known = KINDS.iter().find(|(_, known)| *known == kind);
            self.0.push(known.map_or(b'?', |(letter, _)| *letter));
            self.0.extend_from_slice(name.to_bytes_with_nul());
        }
    }

    /// What is worth keeping: so many that to read them takes longer than to recall them.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (FEWEST..=MOST).contains(&self.0.len()).then_some(&self.0)
    }

    /// Sees each of them.
    pub(in crate::host) fn each(
        &self,
        see: &mut dyn FnMut(&CStr, FileType) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rest = &*self.0;
        while let [letter, behind @ ..] = rest {
            let Ok(name) = CStr::from_bytes_until_nul(behind) else { break };
            let known = KINDS.iter().find(|(known, _)| known == letter);
            see(name, known.map_or(FileType::Unknown, |(_, kind)| *kind))?;
            rest = &behind[name.count_bytes() + 1..];
        }
        Ok(())
    }
}
