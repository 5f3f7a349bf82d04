//! Puts a captured session into a home, as if it had been written there just now.

use super::{
    cast::{Kind, Part},
    place::Place,
};
use crate::kills::Process;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, types::Value};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A claim is so much older than the moment it is made for: longer than a throwaway id lasts, and older than the capture's
/// first line.
pub(super) const SETTLED: SignedDuration = SignedDuration::from_secs(15);

/// The directories below `/home/dev/work` in which captures were made.
const DIRS: [&str; 4] = ["api", "web", "demo", "ws"];

/// Copies what was captured; all below the home belongs to its user.
pub(super) fn plant(home: &Place, part: &Part) {
    let from = part.captured();
    let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(home.path("")).status();
    assert!(copied.is_ok_and(|status| status.success()), "the capture cannot be copied");
    give(home);
}

/// All below the home and the directory of work belongs to the home's user.
pub(super) fn give(home: &Place) {
    if let Some(user) = home.user() {
        let mut chown = Command::new("chown");
        chown.args(["-hR", &format!("{user}:{user}")]).arg(home.path("")).arg(home.work());
        assert!(chown.status().is_ok_and(|status| status.success()), "it cannot be given away");
    }
}

/// Makes its moments ones that are just over, and its directories those of this home.
pub(super) fn freshen(home: &Place, part: &Part, work: &Path) {
    date(home, part, work, Timestamp::now());
}

/// The same for moments that were over then.
pub(super) fn date(home: &Place, part: &Part, work: &Path, then: Timestamp) {
    let written: Timestamp = part.written.parse().expect("a moment");
    let by = then.duration_since(written);
    let fresh = Fresh { home: home.path(""), work: work.to_owned(), by };
    let mut files = Vec::new();
    walk(&home.path(part.store), &mut files);
    let changes = |path: &PathBuf| match path.extension() {
        Some(end) if end == "db" || end == "sqlite" => fresh.rows(path),
        Some(_) | None => fresh.file(path),
    };
    let changed: Vec<PathBuf> = files.into_iter().filter(changes).collect();
    assert!(
        changed.contains(&home.path(part.record)),
        "the session is old: only {changed:?} are new"
    );
    give(home);
}

/// Copies the captured session under another id, as written just now.
pub(super) fn plant_as(home: &Place, part: &Part, id: &str) {
    let written: Timestamp = part.written.parse().expect("a moment");
    let by = Timestamp::now().duration_since(written);
    let fresh = Fresh { home: home.path(""), work: home.work(), by };
    let mut files = Vec::new();
    walk(&part.captured(), &mut files);
    // Some names hold only the beginning of an id.
    let named = |text: &str| text.replace(part.id, id).replace(&part.id[..8], &id[..8]);
    for file in files {
        let below = file.strip_prefix(part.captured()).expect("it is below");
        let (name, text) = (below.to_str().expect("text"), fs::read_to_string(&file));
        if let Some(text) = text.ok().filter(|_| named(name) != name) {
            let path = home.path(named(name));
            fs::create_dir_all(path.parent().expect("a folder")).expect("our folder");
            let yaml = path.extension().is_some_and(|end| end == "yaml");
            let text = if yaml { fresh.yaml(&text) } else { fresh.text(&text) };
            fs::write(path, named(&text)).expect("our file");
        }
    }
    give(home);
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => walk(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

/// Moves what was captured to this home, and by a span of time.
struct Fresh {
    home: PathBuf,
    work: PathBuf,
    by: SignedDuration,
}

impl Fresh {
    /// Says whether anything in it changed.
    fn file(&self, path: &Path) -> bool {
        let Ok(text) = fs::read_to_string(path) else { return false }; // the log of a database
        let fresh = match path.extension().is_some_and(|end| end == "yaml") {
            true => self.yaml(&text),
            false => self.text(&text),
        };
        let changed = fresh != text;
        if changed {
            fs::write(path, fresh).expect("our file");
        }
        changed
    }

    /// Says whether any of them changed.
    fn rows(&self, path: &Path) -> bool {
        let mut changed = false;
        let database = Connection::open(path).expect("a database");
        let names = |sql: &str| -> Vec<String> {
            let mut query = database.prepare(sql).expect("a query");
            let rows = query.query_map([], |row| row.get(0)).expect("rows");
            rows.map(|name| name.expect("a name")).collect()
        };
        for table in names("SELECT name FROM sqlite_master WHERE type = 'table'") {
            for column in names(&format!("SELECT name FROM pragma_table_info('{table}')")) {
                let sql = format!("SELECT rowid, \"{column}\" FROM \"{table}\"");
                let Ok(mut query) = database.prepare(&sql) else { continue }; // no row ids
                let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
                let rows: Vec<(i64, Value)> = rows.expect("rows").flatten().collect();
                let set = format!("UPDATE \"{table}\" SET \"{column}\" = ? WHERE rowid = ?");
                for (row, value) in rows {
                    if let Some(fresh) = self.value(&value) {
                        database.execute(&set, (fresh, row)).expect("our database");
                        changed = true;
                    }
                }
            }
        }
        changed
    }

    fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Integer(number) => self.number(*number).map(Value::Integer),
            Value::Text(text) => {
                Some(self.text(text)).filter(|fresh| fresh != text).map(Value::Text)
            }
            Value::Null | Value::Real(_) | Value::Blob(_) => None,
        }
    }

    /// A number that is a moment of the capture.
    fn number(&self, number: i64) -> Option<i64> {
        let at = Timestamp::from_millisecond(number).ok()?;
        at.to_string().starts_with("2026-11-15").then(|| (at + self.by).as_millisecond())
    }

    /// A path with odd letters stands in quotes there, as in JSON.
    fn yaml(&self, text: &str) -> String {
        let work = format!(" {}", json!(self.work.display().to_string()));
        let text = DIRS.iter().fold(text.to_owned(), |text, dir| {
            text.replace(&format!(" /home/dev/work/{dir}\n"), &format!("{work}\n"))
        });
        self.text(&text)
    }

    fn text(&self, text: &str) -> String {
        let (mut work, home) = (self.work.display().to_string(), self.home.display().to_string());
        if text.starts_with('{') {
            work = json!(work).to_string().trim_matches('"').to_owned();
        }
        let text = DIRS.iter().fold(text.to_owned(), |text, dir| {
            text.replace(&format!("/home/dev/work/{dir}"), &work)
        });
        self.numbers(&self.moments(&text.replace("/home/dev", home.trim_end_matches('/'))))
    }

    fn moments(&self, text: &str) -> String {
        replaced(text, "2026-11-15T", |rest| {
            let end = rest.find('Z').filter(|end| *end <= 24)? + 1;
            let at: Timestamp = rest[..end].parse().ok()?;
            Some((end, format!("{:.3}", at + self.by)))
        })
    }

    fn numbers(&self, text: &str) -> String {
        replaced(text, "17947", |rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[..digits].parse().ok().filter(|_| digits == 13)?;
            Some((digits, self.number(number)?.to_string()))
        })
    }
}

/// The text with what begins so replaced, where it is something: how long it is, and by what.
fn replaced(text: &str, begin: &str, with: impl Fn(&str) -> Option<(usize, String)>) -> String {
    let mut fresh = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(begin) {
        fresh.push_str(&rest[..at]);
        let kept = || (begin.len(), begin.to_owned());
        let (length, new) = with(&rest[at..]).unwrap_or_else(kept);
        fresh.push_str(&new);
        rest = &rest[at + length..];
    }
    fresh + rest
}

/// Writes down a process where the agent itself does.
pub(super) fn claim(home: &Place, kind: Kind, process: Process) -> Option<PathBuf> {
    claim_since(home, kind, process, Timestamp::now())
}

/// Writes down another process with another session, as the first one is written down.
pub(super) fn claim_as(home: &Place, part: &Part, (first, own): (Process, Process), id: &str) {
    let Some(claim) = part.claim else { return };
    let path = |process: Process| home.path(claim.replace("$$", &process.pid.to_string()));
    let text = fs::read_to_string(path(first)).expect("our file").replace(part.id, id);
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    value["pid"] = own.pid.into();
    value["procStart"] = own.start.to_string().into();
    fs::write(path(own), value.to_string()).expect("our file");
    give(home);
}

/// The same as if it had been written then.
pub(super) fn claim_since(
    home: &Place,
    kind: Kind,
    process: Process,
    then: Timestamp,
) -> Option<PathBuf> {
    let Process { pid, start } = process;
    let place = kind.part().claim?;
    let path = home.path(place.replace("$$", &pid.to_string()));
    let dir = path.parent().expect("a folder");
    let text = match fs::read_dir(dir).into_iter().flatten().flatten().next() {
        Some(captured) => {
            let text = fs::read_to_string(captured.path()).expect("our file");
            let _ = fs::remove_file(captured.path());
            text
        }
        None => "{}".to_owned(),
    };
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let written = then - SETTLED;
    let more = match kind {
        Kind::Claude => json!({"pid": pid, "procStart": start.to_string(),
            "startedAt": written.as_millisecond()}),
        Kind::Codex | Kind::OpenCode | Kind::Pi | Kind::Gemini | Kind::Copilot | Kind::OpenClaw => {
            json!({"pid": pid, "startTime": start, "createdAt": written.to_string()})
        }
    };
    value.as_object_mut().expect("an object").extend(more.as_object().expect("it is").clone());
    fs::create_dir_all(dir).expect("our folder");
    fs::write(&path, value.to_string()).expect("our file");
    give(home);
    Some(path)
}
