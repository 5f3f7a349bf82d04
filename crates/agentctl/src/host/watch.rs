//! Waiting for a file to change or a process to end, without asking again and again.

#[cfg(target_os = "linux")]
use super::{Handle, Refused, Waited};
use super::{Native, Portable};
use agentctl_core::{host::Kernel, ident::ProcKey};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
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
    /// This process ended.
    Ended(ProcKey),
    /// Changes may have been missed: look at everything anew. If a directory was removed, what
    /// comes in its place is seen only by a new watch.
    Lost,
    /// Nothing, for as long as was asked.
    TimedOut,
}

/// A watch over some files and processes; it ends when dropped.
pub(crate) struct Watch {
    queue: Arc<Queue>,
    ends: Mutex<Vec<End>>,
    _files: RecommendedWatcher,
}

impl Watch {
    /// Watches these files, which need not exist yet; the directories they are in must.
    pub(crate) fn new(paths: &[PathBuf]) -> notify::Result<Self> {
        let queue = Arc::new(Queue::default());
        let asked = Asked::of(paths);
        let dirs = asked.dirs.clone();
        let told = Arc::clone(&queue);
        let mut files = notify::recommended_watcher(move |event| asked.tell(event, &told))?;
        for dir in dirs {
            files.watch(&dir, RecursiveMode::NonRecursive)?;
        }
        Ok(Self { queue, ends: Mutex::default(), _files: files })
    }

    /// Watches for the end of this process too; one that is gone has ended at once.
    pub(crate) fn process(&self, key: &ProcKey) -> io::Result<()> {
        let end = End::watch(key.clone(), Arc::clone(&self.queue))?;
        locked(&self.ends).push(end);
        Ok(())
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
}

impl Asked {
    /// A link is watched as itself and where it leads.
    fn of(paths: &[PathBuf]) -> Self {
        let mut asked = Self { paths: Vec::new(), dirs: BTreeSet::new() };
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
        // Our own reading would wake us for ever.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for (_, path) in self.paths.iter().filter(|(seen, _)| event.paths.contains(seen)) {
            queue.push(Change::File(path.clone()));
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
    let alive = |process: &&agentctl_core::host::Process| !process.zombie;
    table.process(key.pid).filter(alive).is_some_and(|process| table.key(process) == *key)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
