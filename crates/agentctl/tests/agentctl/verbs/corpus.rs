//! Every captured record of every agent in one home whose user may keep caches, and answers with and without what was
//! kept.

use crate::home::{Answer, Home, until};
use rusqlite::{Connection, config::DbConfig};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write,
    iter,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/fixtures");
/// Where records are kept.
pub(super) const KEPT: &str = ".cache/agentctl/records";
/// What was touched within three seconds before the look is not kept.
const RESTS: Duration = Duration::from_millis(3100);
/// From so many sessions of an agent on, what was kept of them is asked for.
const MANY: usize = 24;
const AGENTS: [&str; 7] =
    ["claude-code", "codex", "copilot", "gemini", "openclaw", "opencode", "pi"];

/// The captured records, in a home.
pub(super) struct Corpus {
    pub(super) home: Home,
}

impl Corpus {
    /// All of them, in folders of their own for each case.
    pub(super) fn new() -> Self {
        let corpus = Self::of(&[""]);
        for db in corpus.files("openclaw-agent.sqlite").iter().take(3) {
            assert!(log(db, "update session_windows set model = 'in the log'"));
        }
        corpus
    }

    /// Those in these stores.
    pub(super) fn of(stores: &[&str]) -> Self {
        let corpus = Self { home: Home::new() };
        let fixtures = below(Path::new(FIXTURES));
        let paths = fixtures.iter().map(|path| path.to_str().expect("a name"));
        let mut cases: Vec<&str> = Vec::new();
        for (case, file) in paths.filter_map(|path| path.split_once("/home/")) {
            if !stores.iter().any(|store| file.starts_with(store)) {
                continue;
            }
            if cases.last() != Some(&case) {
                cases.push(case);
            }
            // A database that is broken would stand for all older sessions.
            let number = cases.len();
            let again = file.starts_with(".copilot").then_some(number + 0x8000); // there are few
            let sound = iter::once(number).chain(again).filter(|_| !case.ends_with("-corrupt"));
            for at in sound.filter_map(|number| place(file, number)) {
                let bytes = fs::read(format!("{case}/home/{file}")).expect("a fixture");
                corpus.home.write(at, bytes);
            }
        }
        may_keep(&corpus.home);
        corpus
    }

    /// Files whose names end so.
    pub(super) fn files(&self, end: &str) -> Vec<PathBuf> {
        let name = |path: &PathBuf| path.file_name().is_some_and(|name| is_ending(name, end));
        below(&self.home.path("")).into_iter().filter(name).collect()
    }

    /// Transcripts below a folder of the home.
    pub(super) fn transcripts(&self, store: &str) -> Vec<PathBuf> {
        let mut all = self.files(".jsonl");
        all.retain(|path| path.starts_with(self.home.path(store)));
        all
    }

    /// The files of what was kept, with what tells one writing of each from another.
    pub(super) fn kept(&self) -> Vec<(PathBuf, u64)> {
        let entries = fs::read_dir(self.home.path(KEPT)).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            entries.map(|entry| (entry.path(), entry.metadata().expect("a file").ino())).collect();
        files.sort();
        files
    }

    /// Waits until nothing was touched for so long that it is kept, and asks until nothing new is.
    pub(super) fn warm(&self, words: &[&str]) -> Answer {
        let stores = [".claude", ".codex", ".copilot", ".gemini", ".openclaw", ".local", ".pi"];
        let stores = stores.iter().map(|dir| self.home.path(dir)).filter(|dir| dir.is_dir());
        let files: Vec<_> = stores.flat_map(|dir| below(&dir)).collect();
        let touched = |path: &PathBuf| {
            let stat = fs::metadata(path).expect("a file");
            UNIX_EPOCH + Duration::new(stat.ctime().unsigned_abs(), stat.ctime_nsec() as u32)
        };
        let newest = files.iter().map(touched).max().expect("files");
        until("all has rested", || {
            SystemTime::now().duration_since(newest).is_ok_and(|age| age > RESTS).then_some(())
        });
        self.settled(words)
    }

    /// Asks until nothing new is kept: counts are, of what was written a moment ago too.
    pub(super) fn settled(&self, words: &[&str]) -> Answer {
        until("all is kept", || {
            let before = self.kept();
            let answer = self.home.run(words);
            (!before.is_empty() && before == self.kept()).then_some(answer)
        })
    }

    /// The answer of a machine that never kept anything.
    pub(super) fn cold(&self, words: &[&str]) -> Answer {
        let mut command = self.home.agentctl(words);
        self.home.ask(command.env("XDG_CACHE_HOME", self.home.path("nowhere")))
    }

    /// Whoever kept something, now and once more, and whoever did not say the same.
    pub(super) fn agree(&self, words: &[&str]) -> Answer {
        let (first, second, bare) = (self.home.run(words), self.home.run(words), self.cold(words));
        same(&first, &bare);
        same(&second, &bare);
        bare
    }

    /// The same for what tells how long ago something was: as long as that is the same before and after.
    pub(super) fn agree_now(&self, words: &[&str]) {
        until("an answer that no clock changes", || {
            let (before, kept, after) = (self.cold(words), self.home.run(words), self.cold(words));
            (told(&before) == told(&after)).then(|| same(&kept, &before))
        });
    }
}

/// The user of the home may make caches there.
pub(super) fn may_keep(home: &Home) {
    let cache = home.path(".cache");
    fs::create_dir(&cache).expect("a folder");
    chown(&cache, home.user(), home.user()).expect("our folder");
}

/// Where a file of a case lies among those of all others; none for what is no record.
fn place(file: &str, case: usize) -> Option<String> {
    let own = |store: &str| file.strip_prefix(store)?.split_once('/');
    for store in [".claude/projects/", ".pi/agent/sessions/", ".gemini/tmp/", ".openclaw/agents/"] {
        if let Some((folder, rest)) = own(store) {
            return Some(format!("{store}{case:04}{folder}/{rest}"));
        }
    }
    if let Some((_, rest)) = own(".codex/sessions/") {
        return Some(format!(".codex/sessions/{case:04}/{rest}"));
    }
    if let Some((id, rest)) = own(".copilot/session-state/") {
        return Some(format!(".copilot/session-state/{case:08x}{}/{rest}", &id[8..]));
    }
    let end = file.strip_prefix(".local/share/opencode/opencode.db");
    let channel = end.map(|end| format!(".local/share/opencode/opencode-{case:04}.db{end}"));
    let as_it_is = [".local/share/opencode/storage/", ".codex/archived", ".codex/session_index"];
    let as_it_is = as_it_is.iter().any(|start| file.starts_with(start)).then(|| file.to_owned());
    channel.or(as_it_is)
}

fn is_ending(name: &std::ffi::OsStr, end: &str) -> bool {
    name.to_str().is_some_and(|name| name.ends_with(end))
}

/// All files below a folder, in order.
fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry")) {
        match entry.path() {
            path if entry.file_type().expect("a kind").is_dir() => found.extend(below(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

/// All that an answer says.
pub(super) fn told(answer: &Answer) -> (Option<i32>, &str, &str) {
    (answer.code, &answer.stdout, &answer.stderr)
}

/// The same bytes; else the first line that differs is told, which a whole answer would hide.
pub(super) fn same(one: &Answer, other: &Answer) {
    let lines = |answer: &Answer| format!("{}\n{}", answer.stderr, answer.stdout);
    let (one_lines, other_lines) = (lines(one), lines(other));
    if let Some((a, b)) = one_lines.lines().zip(other_lines.lines()).find(|(a, b)| a != b) {
        panic!("{}\n{a}\n{}\n{b}", one.call, other.call);
    }
    assert!(told(one) == told(other), "{}\n{}", one.call, other.call);
}

/// Sessions of an answer, by agent and by what tells them apart.
pub(super) fn sessions(answer: &Answer) -> BTreeMap<String, BTreeMap<String, Value>> {
    let mut found: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    let answer = answer.json();
    for one in answer["sessions"].as_array().expect("sessions") {
        let agent = one["agent"].as_str().expect("an agent");
        let name = format!("{} {}", one["source"], one["id"]);
        found.entry(agent.to_owned()).or_default().insert(name, one.clone());
    }
    found
}

/// There are so many of each agent that what was kept is asked for.
pub(super) fn many(answer: &Answer) {
    let found = sessions(answer);
    for agent in AGENTS {
        let count = found.get(agent).map_or(0, BTreeMap::len);
        assert!(count >= MANY, "{agent}: {count}");
    }
}

/// Files whose sessions are told otherwise than before.
pub(super) fn changed(before: &Answer, after: &Answer) -> BTreeSet<PathBuf> {
    let (before, after) = (sessions(before), sessions(after));
    let told = |one: &BTreeMap<String, BTreeMap<String, Value>>| {
        one.values().flatten().map(|(name, one)| (name.clone(), one.clone())).collect()
    };
    let (before, after): (BTreeMap<_, _>, BTreeMap<String, Value>) = (told(&before), told(&after));
    let differs = |(name, one): &(&String, &Value)| after.get(*name) != Some(one);
    let source = |(_, one): (&String, &Value)| one["source"].as_str().map(PathBuf::from);
    before.iter().filter(differs).filter_map(source).collect()
}

pub(super) fn append(path: &Path, text: &str) {
    let mut file = File::options().append(true).open(path).expect("a transcript");
    file.write_all(text.as_bytes()).expect("room");
}

/// Changes a file in place, as long as it was, and dates it back: only what nobody can set tells.
pub(super) fn rewrite(path: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let stat = fs::metadata(path).expect("a file");
    fs::write(path, change(fs::read(path).expect("a file"))).expect("room");
    let file = File::options().append(true).open(path).expect("a file");
    file.set_modified(stat.modified().expect("a time")).expect("our file");
    let now = fs::metadata(path).expect("a file");
    assert_eq!((now.len(), now.ino()), (stat.len(), stat.ino()), "{}", path.display());
    assert_eq!(now.modified().ok(), stat.modified().ok());
}

/// The same with words of the same length for others, wherever they stand.
pub(super) fn reword(path: &Path, (from, to): (&str, &str)) {
    assert_eq!(from.len(), to.len());
    rewrite(path, |bytes| String::from_utf8_lossy(&bytes).replace(from, to).into_bytes());
}

/// Writes to a database as its program does while it runs: into the log beside it. False where it has no such table.
pub(super) fn log(db: &Path, sql: &str) -> bool {
    let open = Connection::open(db).expect("a database");
    open.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("a setting");
    let done = open.execute_batch(&format!("pragma journal_mode = wal; {sql}")).is_ok();
    drop(open);
    let _ = fs::remove_file(format!("{}-shm", db.display())); // readers make a copy, and one of their own
    done
}
