//! `sessions/<pid>.json`: which process has which session loaded, written by the process itself.
//!
//! 2.1.197 rewrites the file in place and cuts it afterwards: a reader may meet nothing, or a new
//! value with the tail of the old one behind it.

use crate::{
    agent::{About, Claim, Claims, Trail, Trouble, Untold},
    agents::json,
    evidence::{Need, Role, Say},
    host::{self, Host},
    proof::Source,
};
use jiff::SignedDuration;
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
};

/// More than any registry file holds.
const LIMIT: usize = 64 << 10;
/// `--continue` first writes a throwaway id and corrects it within 0.2 s.
const SETTLES: SignedDuration = SignedDuration::from_millis(1000);

const ANOTHER: &str = "it names another process than it is named after";

/// Every registry file of a store.
pub(super) fn claims(host: &dyn Host, store: &Path) -> io::Result<Claims> {
    let dir = store.join("sessions");
    let entries = match host.entries(&dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Claims::default()),
        Err(why) => return Ok(Claims::unreadable(dir, &why)),
        Ok(entries) => entries,
    };
    let mut found = Claims::default();
    for entry in &entries {
        let Some(name) = entry.name.strip_suffix(".json") else { continue };
        let (path, pid) = (dir.join(&entry.name), name.parse::<u32>().ok());
        let word = registered(host, &path);
        let empty = matches!(word, Ok(Word::Empty));
        let why = match word {
            Ok(Word::Nothing) => continue,
            Ok(Word::File(file)) if is_bystander(&file) => continue,
            Ok(Word::File(file)) => match claim(path.clone(), &file) {
                Some(claim) if pid.is_none() || process(&claim) == pid => {
                    found.claims.push(claim);
                    continue;
                }
                Some(claim) => {
                    let trouble = Trouble { path: path.clone(), why: ANOTHER.to_owned() };
                    let other = process(&claim).map(|pid| Untold { pid, empty, trouble });
                    found.untold.extend(other);
                    ANOTHER.to_owned()
                }
                None => "it names no session and process that could be checked".to_owned(),
            },
            Ok(Word::Empty) => "it is empty".to_owned(),
            Err(why) => {
                found.problems.push(Trouble { path: path.clone(), why: why.to_string() });
                why.to_string()
            }
        };
        let trouble = Trouble { path, why };
        found.untold.extend(pid.map(|pid| Untold { pid, empty, trouble }));
    }
    Ok(found)
}

/// What a registry file says.
enum Word {
    /// It went away.
    Nothing,
    /// Not a byte.
    Empty,
    /// This value.
    File(Value),
}

/// The first JSON value of the file, tried twice.
fn registered(host: &dyn Host, path: &Path) -> io::Result<Word> {
    for _ in 0..2 {
        let bytes = match host::slurp(host, path, LIMIT) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Word::Nothing),
            bytes => bytes?,
        };
        if bytes.is_empty() {
            return Ok(Word::Empty);
        }
        let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => return Ok(Word::File(value)),
            // Half a character in a name, as JavaScript writes it.
            Some(Err(_)) | None => match json::object(&bytes) {
                Value::Null => {}
                value => return Ok(Word::File(value)),
            },
        }
    }
    Err(io::Error::other("not a JSON value (it may be in the middle of a rewrite)"))
}

/// It is of the agent's own supervisor, and holds no session.
fn is_bystander(file: &Value) -> bool {
    matches!(json::text(file, "kind"), Some("daemon" | "daemon-worker"))
}

/// The process that a file speaks of.
fn process(claim: &Claim) -> Option<u32> {
    match claim.trail {
        Trail::Process { pid, .. } => Some(pid),
        Trail::Flock(_) | Trail::Known(_) | Trail::Server { .. } => None,
    }
}

/// A claim, unless the file names no session or no process that could be checked.
fn claim(path: PathBuf, file: &Value) -> Option<Claim> {
    let kind = json::text(file, "kind");
    let started = json::millis(file, "startedAt")?;
    let trail = Trail::Process {
        pid: u32::try_from(json::count(file, "pid")).ok()?,
        start: json::text(file, "procStart")?.parse().ok()?,
        written: started,
    };
    let session = json::string(file, "sessionId")?;
    let shows = format!("\"sessionId\":\"{session}\"");
    let says = says(file).map(|(say, shows)| (say, Source::File { path: path.clone(), shows }));
    Some(Claim {
        trail,
        source: Source::File { path, shows },
        about: About {
            says,
            role: role(kind, json::text(file, "entrypoint")),
            settles: started.checked_add(SETTLES).ok(),
            cwd: json::path(file, "cwd"),
            title: given_name(file),
            started: Some(started),
            version: json::string(file, "version"),
        },
        session,
    })
}

fn says(file: &Value) -> Option<(Say, String)> {
    let waiting_for = json::text(file, "waitingFor");
    let status = json::text(file, "status");
    let say = match (status, waiting_for) {
        (Some("busy"), _) => Say::Busy,
        (Some("idle" | "shell"), _) => Say::Idle,
        (Some("waiting"), Some("permission prompt" | "worker request" | "sandbox request")) => {
            Say::Waiting(Need::Approval)
        }
        (Some("waiting"), _) => Say::Waiting(Need::Answer),
        _ => return None, // `-p` does not say; newer words are not guessed at
    };
    Some((say, format!("\"status\":\"{}\"", status?)))
}

/// What the file itself is sure of; a print run may be one-shot or fed by a stream: its arguments tell.
fn role(kind: Option<&str>, entrypoint: Option<&str>) -> Option<Role> {
    match (kind, entrypoint) {
        (Some("bg"), _) => Some(Role::Background),
        (_, Some("cli")) => Some(Role::Interactive),
        _ => None,
    }
}

/// A name somebody gave; derived ones say less than the first prompt.
fn given_name(file: &Value) -> Option<String> {
    match json::text(file, "nameSource") {
        Some("derived") => None,
        _ => json::string(file, "name"),
    }
}
