//! Requests to the server in the process that runs a session.

use super::{
    database,
    server::{Asked, encoded},
    store,
};
use crate::{
    agent::{Server, Stub},
    agents::json,
    control::{Question, Request, Target, Unheard, plain},
    host::{self, Cell, Host},
    proof::Source,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{io, path::Path};

/// Asks this of the server.
pub(super) fn ask(
    host: &dyn Host,
    target: &Target<'_>,
    request: Request<'_>,
) -> Result<(), Unheard> {
    reach(host, target, |asked, cwd| carry_out(asked, target.id, cwd, request))
}

/// What it asks leave for.
pub(super) fn asks(host: &dyn Host, target: &Target<'_>) -> Result<Vec<Question>, Unheard> {
    reach(host, target, |asked, cwd| {
        let (_, asks) = asked.page("permission", cwd).map_err(Unheard::Failed)?;
        let all = asks.as_array().into_iter().flatten();
        let own = all.filter(|ask| json::text(ask, "sessionID") == Some(target.id));
        Ok(own.filter_map(question).collect())
    })
}

/// 1.18.4: which tool, and what it was called for.
fn question(ask: &Value) -> Option<Question> {
    let tool = json::text(ask, "permission").unwrap_or_default();
    let patterns = ask["patterns"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let what: Vec<&str> = patterns.collect();
    Some(Question { id: json::string(ask, "id")?, words: format!("{tool}: {}", what.join(", ")) })
}

/// Does this with the server in its process that knows the session.
fn reach<T>(
    host: &dyn Host,
    target: &Target<'_>,
    act: impl Fn(&Asked<'_>, &Path) -> Result<T, Unheard>,
) -> Result<T, Unheard> {
    let ports = host.ports(target.process).map_err(|_| Unheard::NoChannel)?;
    let server = Server { process: target.process, since: Timestamp::UNIX_EPOCH, serves: true };
    let cwd = target.cwd.unwrap_or_else(|| Path::new("/"));
    let mut failure = Unheard::NoChannel; // a terminal without `--port` has no server
    for place in ports.into_iter().filter_map(host::loopback) {
        let asked = Asked { host, server: &server, place };
        // What else listens there does not know the session.
        match asked.page(&format!("session/{}", encoded(target.id)), cwd) {
            Ok((_, session)) if json::text(&session, "id") == Some(target.id) => {
                return act(&asked, cwd);
            }
            Ok(_) => {}
            Err(why) => failure = Unheard::Failed(why),
        }
    }
    Err(failure)
}

fn carry_out(asked: &Asked<'_>, id: &str, cwd: &Path, request: Request<'_>) -> Result<(), Unheard> {
    let session = format!("session/{}", encoded(id));
    let post = |page: &str, body: &Value| asked.post(page, cwd, &body.to_string());
    let reply = |ask: &str, reply: &str| {
        post(&format!("permission/{}/reply", encoded(ask)), &json!({"reply": reply}))
    };
    match request {
        Request::Say(text) => {
            let body = json!({"parts": [{"type": "text", "text": text}]});
            post(&format!("{session}/prompt_async"), &body)
        }
        Request::Interrupt => post(&format!("{session}/abort"), &json!({})),
        Request::Allow(ask) => reply(ask, "once"),
        Request::Deny(ask) => reply(ask, "reject"),
    }
}

/// The row that shows a message which was written since then.
pub(super) fn row(
    host: &dyn Host,
    stub: &Stub,
    (since, text): (u64, &str),
) -> io::Result<Option<Source>> {
    if store::is_file(stub) {
        return Ok(None); // no server that writes files was ever seen to answer
    }
    let sql = "select p.id, json_extract(p.data, '$.text') from part p \
               join message m on m.id = p.message_id where p.session_id = ?1 \
               and p.time_created >= ?2 and json_valid(p.data) and json_valid(m.data) \
               and json_extract(m.data, '$.role') = 'user' and json_extract(p.data, '$.type') = 'text'";
    let since = Cell::Number(i64::try_from(since).unwrap_or(i64::MAX));
    let rows = host.rows(&stub.path, sql, &[Cell::Text(stub.id.clone()), since])?;
    let is_it = |said: &str| said.trim() == text.trim();
    let found = rows.iter().find_map(|row| match row.as_slice() {
        [id, said] if said.text().is_some_and(is_it) => id.text(),
        _ => None,
    });
    Ok(found.map(|id| Source::Row {
        path: stub.path.clone(),
        query: format!("select data from part where id = {}", database::quoted(id)),
        shows: plain(text).to_owned(),
    }))
}
