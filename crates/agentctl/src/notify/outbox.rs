//! What one target is still to be told, on disk: a file for each message, whose name says which.
//!
//! `queue/` holds what waits, `done/` empty files of what was heard, so that it is not told again, and
//! `failed/` what was given up. A message goes from one to the other by a rename: it is in one of them at
//! every moment. One process writes at a time; anybody may look.

use super::{message::Message, tries::Tries};
use crate::{read, write};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// The number of these shapes.
const SCHEMA: u32 = 1;
/// What files of messages end with.
const KIND: &str = "json";
/// Nobody needs so long to write one.
const WRITTEN: SignedDuration = SignedDuration::from_hours(1);
const QUEUE: &str = "queue";
const DONE: &str = "done";
const FAILED: &str = "failed";

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Messages that wait; the oldest are dropped first.
    pub(super) messages: usize,
    /// Their bytes.
    pub(super) bytes: u64,
    /// What was heard.
    pub(super) done: usize,
    /// What was given up.
    pub(super) failed: usize,
}

impl Limits {
    /// Months of what people wait for, and hours of everything.
    pub(super) const USUAL: Self =
        Self { messages: 2000, bytes: 16 << 20, done: 4096, failed: 200 };
}

/// What one target is still to be told.
#[derive(Debug)]
pub(super) struct Outbox {
    dir: PathBuf,
    limits: Limits,
}

/// A message, by the name of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Which came first.
    number: u64,
    /// The session that it is about: these are told in order.
    pub(super) lane: String,
    /// The id of its event.
    pub(super) id: String,
}

/// What is in such a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    schema: u32,
    at: Timestamp,
    message: Message,
}

/// What is put in.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) lane: String,
    pub(super) id: String,
    pub(super) message: Message,
}

/// What could not be kept or told: how often, and why last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trouble {
    schema: u32,
    pub(super) count: u64,
    pub(super) at: Timestamp,
    pub(super) message: String,
}

/// How much is where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) waiting: usize,
    pub(super) failed: usize,
    /// What was dropped for want of room.
    pub(super) dropped: Option<Trouble>,
    /// Why something did not go through; it is taken away once something does.
    pub(super) trouble: Option<Trouble>,
    /// Files that cannot be read.
    pub(super) unread: Vec<Unread>,
}

/// A file of ours, and what is wrong with it.
pub(super) type Unread = (PathBuf, String);

/// A name that is safe as part of a file's: of letters and digits, with an end.
pub(super) fn safe(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match !text.is_empty() && text.len() <= 64 && text.bytes().all(plain) {
        true => text.to_owned(),
        false => {
            let hash = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            format!("x{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
        }
    }
}

impl Outbox {
    /// Nothing is made before something is put in.
    pub(super) fn new(dir: PathBuf, limits: Limits) -> Self {
        Self { dir, limits }
    }

    /// Puts messages in, behind all others; each is on the disk when this returns. Those that are there, or
    /// were heard lately, or given up, are passed over. Says how many were dropped for want of room: one that is
    /// too long by itself, too, or it would be in the way of all that follow.
    pub(super) fn put(&self, parcels: &[Parcel], now: Timestamp) -> io::Result<usize> {
        for folder in [QUEUE, DONE, FAILED] {
            write::make_dir(&self.dir.join(folder))?;
        }
        self.sweep(now);
        let mut known = self.entries(DONE)?;
        // Here, where they are read anyway, and not after each that is heard.
        let old = known.len().saturating_sub(self.limits.done);
        self.remove(DONE, &known[..old])?;
        for folder in [QUEUE, FAILED] {
            known.extend(self.entries(folder)?);
        }
        let mut next =
            known.iter().map(|entry| entry.number.saturating_add(1)).max().unwrap_or_default();
        let mut ids: BTreeSet<String> = known.into_iter().map(|entry| entry.id).collect();
        let mut too_long = 0;
        for parcel in parcels {
            let id = safe(&parcel.id);
            if !ids.insert(id.clone()) {
                continue;
            }
            let entry = Entry { number: next, lane: safe(&parcel.lane), id };
            let written = Written { schema: SCHEMA, at: now, message: parcel.message.clone() };
            match write::within(&self.path(QUEUE, &entry), &written, self.limits.bytes) {
                Err(why) if why.kind() == io::ErrorKind::FileTooLarge => too_long += 1,
                written => written?,
            }
            next = next.saturating_add(1);
        }
        if too_long > 0 {
            self.note(DROPPED, too_long as u64, "it was too long to be kept", now)?;
        }
        Ok(too_long + self.make_room(now)?)
    }

    /// A message of some length can be written.
    pub(super) fn has_room(&self) -> bool {
        const SOME: usize = 32 << 10;
        let path = self.dir.join("room.json");
        let made = write::make_dir(&self.dir.join(QUEUE));
        let written = made.and_then(|()| write::whole(&path, &"x".repeat(SOME)));
        written.and_then(|()| fs::remove_file(&path)).is_ok()
    }

    /// Takes away what those who were killed left half written; it is no message, and was put in again.
    fn sweep(&self, now: Timestamp) {
        for folder in [&self.dir, &self.dir.join(QUEUE)] {
            let files = fs::read_dir(folder).into_iter().flatten().flatten();
            let drafts = files.map(|file| file.path()).filter(|path| {
                path.extension().is_some_and(|kind| kind == write::DRAFT)
                    && read::is_left(path, now, WRITTEN)
            });
            for draft in drafts {
                let _ = fs::remove_file(draft); // it is in nobody's way
            }
        }
    }

    /// Drops the oldest until the rest is within bounds. They are counted first: whoever is killed in
    /// between counts some twice, and none not at all.
    fn make_room(&self, now: Timestamp) -> io::Result<usize> {
        let waiting = self.waiting()?;
        let size =
            |entry: &Entry| fs::metadata(self.path(QUEUE, entry)).map_or(0, |stat| stat.len());
        let mut room = self.limits.bytes;
        let fits = |entry: &&Entry| {
            let left = room.checked_sub(size(entry));
            room = left.unwrap_or_default();
            left.is_some()
        };
        let kept = waiting.iter().rev().take(self.limits.messages).take_while(fits).count();
        let dropped = &waiting[..waiting.len() - kept];
        if !dropped.is_empty() {
            let why = "there was no room for more, and the oldest were dropped";
            self.note(DROPPED, dropped.len() as u64, why, now)?;
        }
        self.remove(QUEUE, dropped)?;
        Ok(dropped.len())
    }

    /// What waits, the oldest first.
    pub(super) fn waiting(&self) -> io::Result<Vec<Entry>> {
        self.entries(QUEUE)
    }

    /// A message that waits.
    pub(super) fn message(&self, entry: &Entry) -> io::Result<Message> {
        self.read(QUEUE, entry)
    }

    /// Where a message lies once it is given up.
    pub(super) fn given_up(&self, entry: &Entry) -> PathBuf {
        self.path(FAILED, entry)
    }

    fn read(&self, folder: &str, entry: &Entry) -> io::Result<Message> {
        let written: Written = read::within(&self.path(folder, entry), self.limits.bytes)?;
        match written.schema == SCHEMA {
            true => Ok(written.message),
            false => Err(io::Error::other(format!("its schema is {}", written.schema))),
        }
    }

    /// It was heard.
    pub(super) fn done(&self, entry: &Entry) -> io::Result<()> {
        let path = self.path(DONE, entry);
        let _ = write::make_dir(&self.dir.join(DONE)); // the rename says what is wrong
        passed_by(fs::rename(self.path(QUEUE, entry), &path))?;
        let _ = fs::File::options().write(true).open(&path).map(|file| file.set_len(0));
        let _ = fs::remove_file(self.dir.join(TROUBLE));
        Ok(())
    }

    /// It is given up, and kept for a person to look at.
    pub(super) fn give_up(&self, entry: &Entry, now: Timestamp) -> io::Result<()> {
        let _ = write::make_dir(&self.dir.join(FAILED)); // the rename says what is wrong
        passed_by(fs::rename(self.path(QUEUE, entry), self.path(FAILED, entry)))?;
        let failed = self.entries(FAILED)?;
        let old = &failed[..failed.len().saturating_sub(self.limits.failed)];
        if !old.is_empty() {
            let why = "there was no room for more of what was given up";
            self.note(DROPPED, old.len() as u64, why, now)?;
        }
        self.remove(FAILED, old)
    }

    /// What was given up waits again, but for what cannot be read: nobody can be told that. Says how much waits, and
    /// what stays.
    pub(super) fn retry(&self) -> io::Result<(usize, Vec<Unread>)> {
        let (mut count, mut unread) = (0, Vec::new());
        for entry in self.entries(FAILED)? {
            let path = self.path(FAILED, &entry);
            let read = passed_by(self.read(FAILED, &entry).map(drop));
            let put = || {
                write::make_dir(&self.dir.join(QUEUE))?;
                passed_by(fs::rename(&path, self.path(QUEUE, &entry)))
            };
            let no_put = |why: io::Error| format!("cannot be put back: {why}");
            match read.map_err(|why| not_read(&why)).and_then(|()| put().map_err(no_put)) {
                Ok(()) => count += 1,
                Err(what) => unread.push((path, what)),
            }
        }
        Ok((count, unread))
    }

    /// Something did not go through.
    pub(super) fn trouble(&self, why: &str, now: Timestamp) -> io::Result<()> {
        self.note(TROUBLE, 1, why, now)
    }

    /// When to try again, as far as it was written down.
    pub(super) fn tries(&self) -> Tries {
        let read = read::within::<Tries>(&self.dir.join(TRIES), self.limits.bytes);
        read.ok().filter(Tries::is_ours).unwrap_or_default()
    }

    /// Writes that down.
    pub(super) fn remember(&self, tries: &Tries) -> io::Result<()> {
        write::within(&self.dir.join(TRIES), tries, self.limits.bytes)
    }

    /// How much is where.
    pub(super) fn summary(&self) -> io::Result<Summary> {
        let failed = self.entries(FAILED)?;
        let messages = failed
            .iter()
            .map(|entry| (self.path(FAILED, entry), passed_by(self.read(FAILED, entry).map(drop))));
        let notes = [DROPPED, TROUBLE].map(|name| {
            let path = self.dir.join(name);
            let read = passed_by(read::whole::<Trouble>(&path).map(drop));
            (path, read)
        });
        let unread = |(path, read): (PathBuf, io::Result<()>)| Some((path, not_read(&read.err()?)));
        let unread: Vec<Unread> = messages.chain(notes).filter_map(unread).collect();
        Ok(Summary {
            waiting: self.waiting()?.len(),
            failed: failed.len(),
            unread,
            dropped: read::whole(&self.dir.join(DROPPED)).ok(),
            trouble: read::whole(&self.dir.join(TROUBLE)).ok(),
        })
    }

    fn note(&self, name: &str, count: u64, why: &str, at: Timestamp) -> io::Result<()> {
        let path = self.dir.join(name);
        let before = read::whole::<Trouble>(&path).map_or(0, |trouble| trouble.count);
        let count = before.saturating_add(count);
        write::whole(&path, &Trouble { schema: SCHEMA, count, at, message: why.to_owned() })
    }

    fn remove(&self, folder: &str, entries: &[Entry]) -> io::Result<()> {
        entries.iter().try_for_each(|entry| passed_by(fs::remove_file(self.path(folder, entry))))
    }

    fn path(&self, folder: &str, entry: &Entry) -> PathBuf {
        let Entry { number, lane, id } = entry;
        self.dir.join(folder).join(format!("{number:016}-{lane}-{id}.{KIND}"))
    }

    /// The messages of a folder, the oldest first. Drafts and strangers are no messages.
    fn entries(&self, folder: &str) -> io::Result<Vec<Entry>> {
        let dir = self.dir.join(folder);
        let named =
            |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", dir.display()));
        let mut entries = Vec::new();
        for file in read::dir(&dir).map_err(named)?.into_iter().flatten() {
            entries.extend(entry(&file?.path()));
        }
        entries.sort();
        Ok(entries)
    }
}

const DROPPED: &str = "dropped.json";
const TROUBLE: &str = "trouble.json";
const TRIES: &str = "tries.json";

fn entry(path: &Path) -> Option<Entry> {
    let name = path.file_name()?.to_str()?.strip_suffix(&format!(".{KIND}"))?;
    let mut parts = name.splitn(3, '-');
    let number = parts.next()?.parse().ok()?;
    let (lane, id) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    (safe(&id) == id).then_some(Entry { number, lane, id })
}

/// Why, and the way out where there is one.
fn not_read(why: &io::Error) -> String {
    match read::is_destroyed(why) {
        true => format!("cannot be read: {why}; what it told of is lost: remove it"),
        false => format!("cannot be read: {why}"),
    }
}

/// Whoever else took it away did what was to be done.
fn passed_by(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Its first line is a name, the rest what stands there: a message that is read is one of ours, and no name
        /// leads out of the outbox.
        fn look(bytes: &[u8]) {
            let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
            let name = String::from_utf8_lossy(&bytes[..end]);
            let dir = tempfile::tempdir().expect("a folder");
            let outbox = Outbox { dir: dir.path().to_owned(), limits: Limits::USUAL };
            let own = Entry { number: 1, lane: "a".into(), id: "b".into() };
            let entry =
                entry(Path::new(&*name)).filter(|it| !it.lane.contains('\0')).unwrap_or(own);
            let path = outbox.path(QUEUE, &entry);
            assert_eq!(path.parent(), Some(dir.path().join(QUEUE).as_path()));
            fs::create_dir(dir.path().join(QUEUE)).expect("the folder is ours");
            if fs::write(&path, bytes.get(end + 1..).unwrap_or_default()).is_ok() {
                let _ = outbox.read(QUEUE, &entry).map_err(|why| not_read(&why));
            }
        }

        #[test]
        fn any_message_is_one_of_ours_or_an_error() {
            let seeds = || {
                vec![b"00000000000000000007-lane-e1.json\n{\"schema\":1,\"at\":\"2026-11-15T18:24:04Z\",\"message\":{}}".to_vec()]
            };
            Target { name: "outbox", run: look, seeds }.holds(1_000);
        }
    }
}
