//! Waiting for a file to change or a process to end, without asking again and again.

#[cfg(target_os = "linux")]
use super::{Handle, Refused, Waited};
use super::{Listening, Native, Portable};
use agentctl_core::{host::Kernel, ident::ProcKey, push::Push};
use notify::{
    Config, Event, EventKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher,
    event::{CreateKind, ModifyKind},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    io::{self, PipeReader, PipeWriter},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This path, as it was asked for, was written to, made, replaced or removed.
    File(PathBuf),
    /// Something in this directory, as it was asked for, or the directory itself.
    Below {
        /// The directory.
        dir: PathBuf,
        /// What of it.
        what: Part,
    },
    /// This process ended.
    Ended(ProcKey),
    /// This process told, unasked, that something changed.
    Pushed(ProcKey),
    /// This process tells nothing any more on the line of this number, or never did.
    Hushed(ProcKey, u64),
    /// Changes may have been missed: look at everything anew. If a directory was removed, what
    /// comes in its place is seen only by a new watch.
    Lost,
    /// Nothing, for as long as was asked.
    TimedOut,
}

/// What of a directory changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A file.
    File,
    /// A directory in it was made or moved: what is in there may have come before it was watched.
    Folder,
    /// The directory itself came or went: it must be asked for again.
    Itself,
}

/// How much of a directory is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What is directly in it.
    Flat,
    /// All below it.
    Deep,
    /// That it comes: it is not there yet.
    Awaited,
}

/// A watch over some files and processes; it ends when dropped.
pub(crate) struct Watch {
    queue: Arc<Queue>,
    ends: Mutex<Vec<End>>,
    asked: Arc<Mutex<Asked>>,
    /// None where the system has no more of them to give.
    files: Option<RecommendedWatcher>,
}

impl Watch {
    /// Watches these files, which need not exist yet; the directories they are in must.
    pub(crate) fn new(paths: &[PathBuf]) -> notify::Result<Self> {
        let (mut watch, refused) = Self::of(Asked::of(paths));
        let dirs = locked(&watch.asked).dirs.clone();
        for dir in dirs {
            watch.add(&dir, RecursiveMode::NonRecursive)?;
        }
        refused.map_or(Ok(watch), Err)
    }

    /// Watches nothing yet, and says why no directory ever can be.
    pub(crate) fn empty() -> (Self, Option<notify::Error>) {
        Self::of(Asked::of(&[]))
    }

    fn of(asked: Asked) -> (Self, Option<notify::Error>) {
        let (queue, asked) = (Arc::new(Queue::default()), Arc::new(Mutex::new(asked)));
        let (told, known) = (Arc::clone(&queue), Arc::clone(&asked));
        // Whoever only reads wakes nobody, and our own reading would wake us for ever.
        let config = Config::default().with_event_kinds(EventKindMask::CORE);
        let tell = move |event| locked(&known).tell(event, &told);
        let made = RecommendedWatcher::new(tell, config);
        let (files, refused) = match made {
            Ok(files) => (Some(files), None),
            Err(why) => (None, Some(why)),
        };
        (Self { queue, ends: Mutex::default(), asked, files }, refused)
    }

    fn add(&mut self, dir: &Path, mode: RecursiveMode) -> notify::Result<()> {
        self.files.as_mut().map_or(Ok(()), |files| files.watch(dir, mode))
    }

    /// Watches a directory; of one that is not there, that it comes. Says how far that reaches. One
    /// that was removed must be asked for again.
    pub(crate) fn below(&mut self, dir: &Path, deep: bool) -> notify::Result<Reach> {
        loop {
            let there = dir.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("/"));
            let reach = match (there == dir, deep) {
                (false, _) => Reach::Awaited,
                (true, true) => Reach::Deep,
                (true, false) => Reach::Flat,
            };
            let next = dir.strip_prefix(there).ok().and_then(|rest| rest.iter().next());
            let of = next.map_or_else(|| dir.to_owned(), |name| there.join(name));
            self.place(Place { dir: dir.to_owned(), of: of.clone(), reach }, there)?;
            // What came before it was watched for is never told.
            if reach != Reach::Awaited || !of.is_dir() {
                return Ok(reach);
            }
        }
    }

    fn place(&mut self, place: Place, there: &Path) -> notify::Result<()> {
        let mode = match place.reach {
            Reach::Deep => RecursiveMode::Recursive,
            Reach::Flat | Reach::Awaited => RecursiveMode::NonRecursive,
        };
        let mut asked = locked(&self.asked);
        asked.places.retain(|other| other.dir != place.dir);
        // Asked for anew, a directory in a tree would no longer be watched with what is below it.
        let within = |other: &Place| other.reach == Reach::Deep && there.starts_with(&other.of);
        let covered = place.reach != Reach::Deep && asked.places.iter().any(within);
        asked.places.push(place);
        drop(asked);
        if covered { Ok(()) } else { self.add(there, mode) }
    }

    /// Watches for the end of this process too; one that is gone has ended at once.
    pub(crate) fn process(&self, key: &ProcKey) -> io::Result<()> {
        let end = End::watch(key.clone(), Arc::clone(&self.queue))?;
        let mut ends = locked(&self.ends);
        ends.retain(|end| !end.is_over());
        ends.push(end);
        Ok(())
    }

    /// Listens to what a process tells unasked, for as long as the answer is kept.
    /// Its end is told with this number.
    pub(crate) fn server(&self, push: Push, number: u64) -> io::Result<Listening> {
        let queue = Arc::clone(&self.queue);
        Listening::begin(push, number, move |change| queue.push(change))
    }

    /// What happened by now and was not asked for.
    pub(crate) fn waiting(&self) -> Vec<Change> {
        locked(&self.queue.changes).drain(..).collect()
    }

    /// The next change, waited for without a limit where none is given. Changes of one file that
    /// came since the last call are one.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Change {
        self.queue.next(timeout)
    }
}

/// What happened and was not asked for yet; never longer than what is watched.
#[derive(Debug, Default)]
struct Queue {
    changes: Mutex<VecDeque<Change>>,
    filled: Condvar,
}

impl Queue {
    fn push(&self, change: Change) {
        let mut changes = locked(&self.changes);
        if !changes.contains(&change) {
            changes.push_back(change);
            self.filled.notify_all();
        }
    }

    fn next(&self, timeout: Option<Duration>) -> Change {
        let changes = locked(&self.changes);
        let is_empty = |changes: &mut VecDeque<Change>| changes.is_empty();
        let mut changes = match timeout {
            None => {
                self.filled.wait_while(changes, is_empty).unwrap_or_else(PoisonError::into_inner)
            }
            Some(limit) => {
                let waited = self.filled.wait_timeout_while(changes, limit, is_empty);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        changes.pop_front().unwrap_or(Change::TimedOut)
    }
}

/// Which paths stand for which that were asked for, and where they are.
struct Asked {
    paths: Vec<(PathBuf, PathBuf)>,
    dirs: BTreeSet<PathBuf>,
    places: Vec<Place>,
}

/// A directory that was asked for.
struct Place {
    dir: PathBuf,
    /// It, or what must come first while it is not there.
    of: PathBuf,
    reach: Reach,
}

impl Place {
    /// `leaves`: what was there is there no longer, and all below it.
    fn has(&self, path: &Path, leaves: bool) -> bool {
        let within = match self.reach {
            Reach::Flat => path == self.of || path.parent() == Some(&self.of),
            Reach::Deep => path.starts_with(&self.of),
            Reach::Awaited => path == self.of,
        };
        within || leaves && self.of.starts_with(path)
    }
}

impl Asked {
    /// A link is watched as itself and where it leads.
    fn of(paths: &[PathBuf]) -> Self {
        let mut asked = Self { paths: Vec::new(), dirs: BTreeSet::new(), places: Vec::new() };
        for path in paths {
            let target = target(path).filter(|target| target != path);
            for seen in [Some(path.clone()), target].into_iter().flatten() {
                asked.dirs.extend(parent(&seen).map(Path::to_owned));
                asked.paths.push((seen, path.clone()));
            }
        }
        asked
    }

    fn tell(&self, event: notify::Result<Event>, queue: &Queue) {
        let Ok(event) = event else { return queue.push(Change::Lost) };
        let lost_dir =
            matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)))
                && event.paths.iter().any(|path| self.dirs.contains(path));
        if event.need_rescan() || lost_dir {
            return queue.push(Change::Lost);
        }
        for (_, path) in self.paths.iter().filter(|(seen, _)| event.paths.contains(seen)) {
            queue.push(Change::File(path.clone()));
        }
        let leaves =
            matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        let folder = matches!(
            event.kind,
            EventKind::Create(CreateKind::Folder) | EventKind::Modify(ModifyKind::Name(_))
        );
        // As root, SQLite takes over the owner of a database's log whenever it is read, by us too.
        if matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_))) {
            return;
        }
        for place in &self.places {
            for path in event.paths.iter().filter(|path| place.has(path, leaves)) {
                let itself = leaves && place.of.starts_with(path);
                let what = match (itself || place.reach == Reach::Awaited, folder) {
                    (true, _) => Part::Itself,
                    (false, true) => Part::Folder,
                    (false, false) => Part::File,
                };
                queue.push(Change::Below { dir: place.dir.clone(), what });
            }
        }
    }
}

/// Where a path leads, or will lead once it exists.
fn target(path: &Path) -> Option<PathBuf> {
    let later = || Some(fs::canonicalize(parent(path)?).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(later)
}

/// The directory of a path; a bare name lies in the current one.
fn parent(path: &Path) -> Option<&Path> {
    path.parent().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
}

/// A thread that waits for one process.
struct End {
    /// Closing it ends the thread.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl End {
    fn watch(key: ProcKey, queue: Arc<Queue>) -> io::Result<Self> {
        let (stop, writer) = io::pipe()?;
        let wait = move || {
            if waited(&key, &stop) {
                queue.push(Change::Ended(key));
            }
        };
        let thread = thread::Builder::new().name("end of a process".to_owned()).spawn(wait)?;
        Ok(Self { stop: Some(writer), thread: Some(thread) })
    }

    fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It touches no lock of ours but the queue's, and wakes at once.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until the process ended, which is true, or the watch was dropped.
#[cfg(target_os = "linux")]
fn waited(key: &ProcKey, stop: &PipeReader) -> bool {
    use std::os::fd::AsFd;
    match Handle::open(key) {
        Ok(process) => match process.wait_unless(stop.as_fd()) {
            Ok(waited) => waited == Waited::Ended,
            Err(_) => looked(key, stop),
        },
        Err(Refused::Gone | Refused::Reused) => true,
        // Another kernel's name, or one that has no pidfds.
        Err(Refused::Rebooted | Refused::Untold(_)) => looked(key, stop),
    }
}

#[cfg(not(target_os = "linux"))]
fn waited(key: &ProcKey, stop: &PipeReader) -> bool {
    looked(key, stop)
}

/// The same by asking once a second, where the kernel offers nothing better.
fn looked(key: &ProcKey, stop: &PipeReader) -> bool {
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    while is_there(key, &Native::new()) || is_there(key, &Portable::new()) {
        let mut stopped = [PollFd::new(stop, PollFlags::IN)];
        match poll(&mut stopped, Some(&second)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
    true
}

/// It lives, or nobody can tell that it does not.
fn is_there(key: &ProcKey, kernel: &dyn Kernel) -> bool {
    let Ok(table) = kernel.table() else { return true };
    table.of(key).is_some_and(|process| !process.zombie)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
