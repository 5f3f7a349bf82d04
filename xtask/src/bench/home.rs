//! A generated home on disk: written over all cores, and kept for the next run if it still fits.

use super::{
    claude, codex,
    plan::{self, Agent, Scale, Session},
    time::Moment,
};
use crate::failure::{Failure, Outcome};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

/// A new one makes every home that is kept be written anew.
const VERSION: u32 = 1;
/// Recent sessions stay inside a window of seven days for so long.
const KEEPS: u64 = 4 * 24 * 3_600_000;
const MARKER: &str = "bench.json";

/// A home and what is in it.
pub(super) struct Home {
    /// What `HOME` is set to.
    pub(super) dir: PathBuf,
    /// Its sessions, without the live ones.
    pub(super) sessions: Vec<Session>,
}

impl Home {
    /// Where Claude Code keeps everything.
    pub(super) fn claude(&self) -> PathBuf {
        self.dir.join(".claude")
    }

    /// Where Codex keeps everything.
    pub(super) fn codex(&self) -> PathBuf {
        self.dir.join(".codex")
    }

    /// The folders with session files, which `find` is asked to walk.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let codex = ["sessions", "archived_sessions"].map(|name| self.codex().join(name));
        let all = [self.claude().join("projects")].into_iter().chain(codex);
        all.filter(|dir| dir.is_dir()).collect()
    }
}

/// The home of this scale below `root`: one that is there and young enough, else a new one.
pub(super) fn ensure(root: &Path, scale: Scale, now: Moment) -> Outcome<Home> {
    let size = scale.bytes.map_or("natural".to_owned(), |bytes| format!("{bytes:.0}"));
    let dir = root.join(format!("home-{}-{size}", scale.sessions));
    if let Some(made) = made(&dir, now) {
        return Ok(Home { sessions: plan::sessions(&dir, scale, made), dir });
    }
    if dir.exists() {
        // Only what carries our marker, or never got one, is ours to remove.
        fs::remove_dir_all(&dir).map_err(|why| Failure::io("remove", &dir, &why))?;
    }
    let home = Home { sessions: plan::sessions(&dir, scale, now), dir };
    let start = Instant::now();
    write(&home)?;
    let marker = home.dir.join(MARKER);
    let text = format!("{{\"version\":{VERSION},\"now\":{}}}\n", now.0);
    fs::write(&marker, text).map_err(|why| Failure::io("write", &marker, &why))?;
    let took = start.elapsed().as_secs_f64();
    eprintln!("bench: wrote a home of {} sessions in {took:.1} s", scale.sessions);
    Ok(home)
}

/// When a finished home was made, if it can be used.
fn made(dir: &Path, now: Moment) -> Option<Moment> {
    let text = fs::read_to_string(dir.join(MARKER)).ok()?;
    let marker: serde_json::Value = serde_json::from_str(&text).ok()?;
    let made = marker["now"].as_u64().filter(|_| marker["version"] == VERSION)?;
    (made <= now.0 && now.0 - made < KEEPS).then_some(Moment(made))
}

fn write(home: &Home) -> Outcome<()> {
    for dir in plan::projects(&home.dir) {
        fs::create_dir_all(&dir).map_err(|why| Failure::io("create", &dir, &why))?;
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some(session) = home.sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            match session.agent {
                Agent::Claude => claude::write(&home.claude(), session)?,
                Agent::Codex => codex::write(&home.codex(), session)?,
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|it| it.join().unwrap_or_else(|_| Err(Failure::new("a writer panicked"))))
    })?;
    leftovers(home)
}

/// What agents leave beside transcripts: registry files of the dead, stale locks, names.
fn leftovers(home: &Home) -> Outcome<()> {
    let registry = home.claude().join("sessions");
    let locks = home.codex().join("thread-writer-locks");
    for dir in [&registry, &locks] {
        fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
    }
    let put = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(|why| Failure::io("write", &path, &why))
    };
    let of = |agent| home.sessions.iter().filter(move |session| session.agent == agent);
    for (at, session) in of(Agent::Claude).take(3).enumerate() {
        let Session { id, cwd, start, .. } = session;
        // Beyond the highest pid Linux gives out.
        let pid = 4_194_400 + at;
        put(
            registry.join(format!("{pid}.json")),
            &format!(
                r#"{{"pid":{pid},"sessionId":"{id}","cwd":"{cwd}","startedAt":{},"procStart":"58121","version":"2.1.197","kind":"interactive","entrypoint":"cli","status":"busy"}}"#,
                start.0
            ),
        )?;
    }
    for session in of(Agent::Codex).take(3) {
        put(locks.join(format!("{}.lock", session.id)), "")?;
    }
    let named = of(Agent::Codex).step_by(40).map(|session| {
        format!(
            "{{\"id\":\"{}\",\"thread_name\":\"a thread with a name\",\"updated_at\":\"{}\"}}\n",
            session.id, session.end
        )
    });
    put(home.codex().join("session_index.jsonl"), &named.collect::<String>())
}
