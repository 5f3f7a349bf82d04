//! A generated home on disk: written over all cores, and kept for the next run if it still fits.

use super::{
    formats,
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
const VERSION: u32 = 3;
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
    /// Where an agent keeps everything.
    pub(super) fn store(&self, agent: Agent) -> PathBuf {
        formats::store(&self.dir, agent)
    }

    /// The folders and databases with sessions, which `find` is asked to walk.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let of = |agent| formats::folders(agent).iter().map(move |name| (agent, *name));
        let all = Agent::ALL.into_iter().flat_map(of);
        all.map(|(agent, name)| self.store(agent).join(name)).filter(|it| it.exists()).collect()
    }

    /// Where agentctl keeps what it may lose.
    pub(super) fn cache(&self) -> PathBuf {
        self.dir.join(".cache/agentctl")
    }
}

/// Where homes are, and the repository with the captured databases that they are made of.
pub(super) struct Places<'a> {
    pub(super) homes: &'a Path,
    pub(super) repository: &'a Path,
}

/// The home of this scale: one that is there and young enough, else a new one. There is one for each
/// number of sessions, so that no plan of yesterday fills the disk.
pub(super) fn ensure(places: &Places<'_>, scale: Scale, now: Moment) -> Outcome<Home> {
    let dir = places.homes.join(format!("home-{}", scale.sessions));
    if let Some(made) = made(&dir, scale, now) {
        return Ok(Home { sessions: plan::sessions(&dir, scale, made), dir });
    }
    sweep(places.homes);
    if dir.exists() {
        // Only what carries our marker, or never got one, is ours to remove.
        fs::remove_dir_all(&dir).map_err(|why| Failure::io("remove", &dir, &why))?;
    }
    let home = Home { sessions: plan::sessions(&dir, scale, now), dir };
    let start = Instant::now();
    write(&home, places.repository)?;
    let marker = home.dir.join(MARKER);
    let text = serde_json::json!({ "plan": plan_of(scale), "now": now.0 });
    fs::write(&marker, format!("{text}\n")).map_err(|why| Failure::io("write", &marker, &why))?;
    let took = start.elapsed().as_secs_f64();
    eprintln!("bench: wrote a home of {} sessions in {took:.1} s", scale.sessions);
    Ok(home)
}

/// Removes homes of earlier versions of this program: they are large, and of no use to it.
fn sweep(homes: &Path) {
    for dir in fs::read_dir(homes).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let marker = fs::read_to_string(dir.join(MARKER)).unwrap_or_default();
        if !marker.is_empty() && !marker.contains(&format!("\"version {VERSION},")) {
            let _ = fs::remove_dir_all(&dir); // another run may do the same
        }
    }
}

/// When a finished home was made, if it can be used.
fn made(dir: &Path, scale: Scale, now: Moment) -> Option<Moment> {
    let text = fs::read_to_string(dir.join(MARKER)).ok()?;
    let marker: serde_json::Value = serde_json::from_str(&text).ok()?;
    let made = marker["now"].as_u64().filter(|_| marker["plan"] == plan_of(scale))?;
    (made <= now.0 && now.0 - made < KEEPS).then_some(Moment(made))
}

/// What is in a home, in a word.
fn plan_of(scale: Scale) -> String {
    format!("version {VERSION}, {scale:?}")
}

fn write(home: &Home, repository: &Path) -> Outcome<()> {
    for dir in plan::projects(&home.dir) {
        fs::create_dir_all(&dir).map_err(|why| Failure::io("create", &dir, &why))?;
    }
    let of = |agent| {
        home.sessions.iter().filter(move |session| session.agent == agent).collect::<Vec<_>>()
    };
    let next = AtomicUsize::new(0);
    let files = || {
        while let Some(session) = home.sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            formats::write(&home.dir, session)?;
        }
        Ok(())
    };
    let opencode =
        || formats::opencode(repository, &home.store(Agent::OpenCode), &of(Agent::OpenCode));
    let openclaw =
        || formats::openclaw(repository, &home.store(Agent::OpenClaw), &of(Agent::OpenClaw));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let mut workers = vec![scope.spawn(opencode), scope.spawn(openclaw)];
        workers.extend((0..threads).map(|_| scope.spawn(files)));
        workers
            .into_iter()
            .try_for_each(|it| it.join().unwrap_or_else(|_| Err(Failure::new("a writer panicked"))))
    })?;
    leftovers(home)
}

/// What agents leave beside transcripts: registry files of the dead, and names. No lock files: a Codex that begins removes those
/// of the dead, and one is live in each home.
fn leftovers(home: &Home) -> Outcome<()> {
    let registry = home.store(Agent::Claude).join("sessions");
    let locks = home.store(Agent::Codex).join("thread-writer-locks");
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
    let named = of(Agent::Codex).step_by(40).map(|session| {
        format!(
            "{{\"id\":\"{}\",\"thread_name\":\"a thread with a name\",\"updated_at\":\"{}\"}}\n",
            session.id, session.end
        )
    });
    put(home.store(Agent::Codex).join("session_index.jsonl"), &named.collect::<String>())
}
