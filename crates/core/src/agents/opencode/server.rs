//! What the server in a live process says of the sessions it runs.
//!
//! `serve`, `acp`, `web` and a terminal with `--port` have one. It answers for one directory at a time
//! and loads what it is asked about: only directories in which a turn is open are named to it.

use super::{database, store};
use crate::{
    agent::{About, Claim, Server, Trail},
    agents::json,
    control::Unheard,
    evidence::{Need, Say},
    host::{self, Host},
    proof::Source,
    push::{Line, Push},
};
use serde_json::Value;
use std::{
    fmt::Write,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
const USER: &str = "OPENCODE_SERVER_USERNAME";
/// What whoever speaks to a server has to know, if it was started with it.
pub(super) const SECRETS: &[&str] = &[PASSWORD, USER];

/// Messages after which the server or its store may answer otherwise. What it writes as it goes on
/// (`session.updated`, `message.*`) its store tells, and each piece of a streamed answer nobody needs.
const WAKES: &[&str] = &[
    r#""type":"server.connected""#,
    r#""type":"session.status""#,
    r#""type":"session.idle""#,
    r#""type":"session.error""#,
    r#""type":"permission."#,
    r#""type":"question."#,
    r#""type":"server.instance.disposed""#,
    r#""type":"global.disposed""#,
];

/// Every session it runs; none without asking where no turn is open that it could run. Of sessions in
/// files nothing is asked: no server that writes them was ever seen to answer (1.1.65 was not tried).
pub(super) fn claims(
    host: &dyn Host,
    store: &Path,
    server: &Server<'_>,
) -> io::Result<Option<Vec<Claim>>> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for db in store::databases(host, store)? {
        directories.extend(database::busy(host, &db, server.since)?);
    }
    if store::has_newer_files(host, store, server.since) {
        return Ok(None);
    }
    let mut claims = Vec::new();
    if directories.is_empty() {
        return Ok(Some(claims));
    }
    let Ok(ports) = host.ports(server.process) else { return Ok(None) };
    let places = ports.into_iter().filter_map(host::loopback);
    let asked = places.map(|place| Asked { host, server, place });
    let mut failure = None;
    for asked in asked {
        match asked.all(&directories) {
            Ok(found) => {
                claims.extend(found);
                return Ok(Some(claims));
            }
            Err(why) => failure = Some(why),
        }
    }
    failure.map_or(Ok(None), Err) // a terminal without `--port` has no server
}

/// Its events of all directories. To listen loads none of them (1.18.33), as to ask for one's would.
pub(super) fn pushes(host: &dyn Host, server: &Server<'_>) -> Option<Push> {
    let ports = host.ports(server.process).ok()?;
    let at: Vec<SocketAddr> = ports.into_iter().filter_map(host::loopback).collect();
    let (name, password) = Asked { host, server, place: *at.first()? }.user();
    let user = password.map(|password| (name, password));
    let line = Line::Events { at, page: "/global/event".to_owned(), user };
    Some(Push { process: server.process.clone(), line, wakes: WAKES })
}

/// A server where its process listens: nobody else hears its password.
pub(super) struct Asked<'a> {
    pub(super) host: &'a dyn Host,
    pub(super) server: &'a Server<'a>,
    pub(super) place: SocketAddr,
}

impl Asked<'_> {
    fn all(&self, directories: &[PathBuf]) -> io::Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for directory in directories {
            let (url, busy) = self.page("session/status", directory)?;
            let busy = busy.as_object().ok_or_else(|| io::Error::other("no OpenCode server"))?;
            if busy.is_empty() {
                continue; // idle sessions are not named
            }
            // What waits for a person counts as busy too, so it comes first.
            claims.extend(self.waiting("permission", directory, Need::Approval)?);
            claims.extend(self.waiting("question", directory, Need::Answer)?);
            for (id, status) in busy {
                if !matches!(json::text(status, "type"), Some("busy" | "retry")) {
                    return Err(io::Error::other(format!("its answer for {id} is not understood")));
                }
                if !claims.iter().any(|claim: &Claim| claim.session == *id) {
                    claims.push(self.claim(id.clone(), &url, Say::Busy));
                }
            }
        }
        Ok(claims)
    }

    fn waiting(&self, page: &str, directory: &Path, need: Need) -> io::Result<Vec<Claim>> {
        let (url, asks) = self.page(page, directory)?;
        let asks = asks.as_array().map(Vec::as_slice).unwrap_or_default();
        let ids = asks.iter().filter_map(|ask| json::string(ask, "sessionID"));
        Ok(ids.map(|id| self.claim(id, &url, Say::Waiting(need))).collect())
    }

    fn claim(&self, session: String, url: &str, say: Say) -> Claim {
        let source = Source::Answer { url: url.to_owned(), shows: session.clone() };
        Claim {
            trail: Trail::Known(self.server.process.clone()),
            about: About { says: Some((say, source.clone())), ..About::default() },
            source,
            session,
        }
    }

    pub(super) fn page(&self, page: &str, directory: &Path) -> io::Result<(String, Value)> {
        let url = self.url(page, directory);
        let (name, password) = self.user();
        let user = password.as_deref().map(|password| (name.as_str(), password));
        let body = self.host.get(&url, user)?;
        let value = serde_json::from_slice(&body).map_err(io::Error::other)?;
        Ok((url, value))
    }

    pub(super) fn post(&self, page: &str, directory: &Path, body: &str) -> Result<(), Unheard> {
        let (name, password) = self.user();
        let user = password.as_deref().map(|password| (name.as_str(), password));
        self.host.post(&self.url(page, directory), user, body)
    }

    fn url(&self, page: &str, directory: &Path) -> String {
        let directory = encoded(&directory.to_string_lossy());
        format!("http://{}/{page}?directory={directory}", self.place)
    }

    fn user(&self) -> (String, Option<String>) {
        let mut env = self.host.env(self.server.process, SECRETS).unwrap_or_default();
        let mut word = |name: &str| env.remove(name)?.into_string().ok();
        (word(USER).unwrap_or_else(|| "opencode".to_owned()), word(PASSWORD))
    }
}

/// Text as a value of a query.
pub(super) fn encoded(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                safe.push(char::from(byte));
            }
            _ => write!(safe, "%{byte:02X}").unwrap_or_default(),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::says;

    #[test]
    fn only_messages_that_may_change_a_state_wake() {
        let wakes = |payload: &str| {
            let line =
                format!(r#"data: {{"directory":"/w","project":"global","payload":{payload}}}"#);
            WAKES.iter().any(|word| says(line.as_bytes(), word))
        };
        let of = |kind: &str| format!(r#"{{"id":"evt_1","type":"{kind}","properties":{{}}}}"#);
        for kind in ["server.connected", "session.status", "session.idle", "session.error"] {
            assert!(wakes(&of(kind)), "{kind}");
        }
        for kind in ["permission.asked", "permission.replied", "question.asked"] {
            assert!(wakes(&of(kind)), "{kind}");
        }
        for kind in ["server.heartbeat", "message.part.delta", "session.updated", "sync"] {
            assert!(!wakes(&of(kind)), "{kind}");
        }
    }

    #[test]
    fn directories_of_any_name_stay_one_value() {
        assert_eq!(encoded("/a b&c=d/é"), "/a%20b%26c%3Dd/%C3%A9");
    }
}
