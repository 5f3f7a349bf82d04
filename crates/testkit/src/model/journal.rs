//! What was asked of the model, for tests to look at and to wait on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::dialects::Dialect;
use super::lock::locked;

/// One request, noted when it was read and before it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// How the client speaks; `None` for anything but a call for an answer.
    pub dialect: Option<Dialect>,
    /// The model asked for, empty where the request names none.
    pub model: String,
    /// The start of the user's newest text.
    pub prompt: String,
    /// The script line performed, without its `MOCK:`; `None` when none was (side calls, `ok`,
    /// `done`).
    pub directive: Option<String>,
    /// The names of the tools offered.
    pub tools: Vec<String>,
    /// Headers that tell who asks: the user agent, and what names a session or a thread.
    pub headers: BTreeMap<String, String>,
}

/// All requests so far.
pub(crate) struct Journal {
    requests: Mutex<Vec<Request>>,
    bell: Condvar,
    log: Option<Mutex<File>>,
}

impl Journal {
    /// An empty journal that also writes each request to `log` as a line of JSON.
    pub(crate) fn new(log: Option<File>) -> Journal {
        Journal { requests: Mutex::default(), bell: Condvar::new(), log: log.map(Mutex::new) }
    }

    /// Adds `request` and wakes those who wait for it.
    pub(crate) fn note(&self, request: Request) {
        if let (Some(log), Ok(line)) = (&self.log, serde_json::to_string(&request)) {
            // A full disk must not change what the model answers.
            let _ = writeln!(locked(log), "{line}");
        }
        locked(&self.requests).push(request);
        self.bell.notify_all();
    }

    /// A copy of all requests, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        locked(&self.requests).clone()
    }

    /// Waits until `holds` for the requests so far; false when `limit` passed first.
    pub(crate) fn wait_for(&self, holds: impl Fn(&[Request]) -> bool, limit: Duration) -> bool {
        let (requests, _) = self
            .bell
            .wait_timeout_while(locked(&self.requests), limit, |requests| !holds(requests))
            .unwrap_or_else(PoisonError::into_inner);
        holds(&requests)
    }
}
