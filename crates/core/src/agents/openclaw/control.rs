//! Requests to the gateway that runs a session.

use super::{
    database,
    gateway::{self, Line},
    store,
};
use crate::{
    agent::Stub,
    agents::json,
    control::{Question, Request, Target, Unheard, line_since},
    host::Host,
    proof::Source,
};
use serde_json::{Value, json};
use std::io;

/// Asks this of the gateway.
pub(super) fn ask(
    host: &dyn Host,
    target: &Target<'_>,
    request: Request<'_>,
) -> Result<(), Unheard> {
    let line = gateway::line(host, target.store, target.process).map_err(Unheard::Failed)?;
    let mut line = line.ok_or(Unheard::NoChannel)?;
    match request {
        Request::Say(text) => {
            let stub = store::find(host, target.store, target.id);
            let key = stub.and_then(|stub| store::key(host, &stub.path, target.id));
            let key = key.ok_or_else(|| refused("its key has another transcript since"))?;
            // It knows a message that it was sent before by this.
            let once = format!("agentctl-{}", host.now().as_nanosecond());
            let params = json!({
                "sessionKey": key, "sessionId": target.id, "message": text, "idempotencyKey": once,
            });
            line.call("chat.send", params).map(|_| ())
        }
        Request::Interrupt => {
            let key = active(&mut line, target.id)?;
            line.call("sessions.abort", json!({ "key": key })).map(|_| ())
        }
        Request::Allow(ask) => decide(&mut line, ask, "allow-once"),
        Request::Deny(ask) => decide(&mut line, ask, "deny"),
    }
}

/// What it asks leave for.
pub(super) fn asks(host: &dyn Host, target: &Target<'_>) -> Result<Vec<Question>, Unheard> {
    let line = gateway::line(host, target.store, target.process).map_err(Unheard::Failed)?;
    let mut line = line.ok_or(Unheard::NoChannel)?;
    let key = active(&mut line, target.id)?;
    let asks = line.call("exec.approval.list", json!({}))?;
    let all = asks.as_array().into_iter().flatten();
    let own = all.filter(|ask| json::text(&ask["request"], "sessionKey") == Some(&*key));
    let question = |ask: &Value| {
        let words = json::string(&ask["request"], "command").unwrap_or_default();
        Some(Question { id: json::string(ask, "id")?, words })
    };
    Ok(own.filter_map(question).collect())
}

fn refused(why: &str) -> Unheard {
    Unheard::Refused(why.to_owned())
}

/// The key of a session with a run.
fn active(line: &mut Line, id: &str) -> Result<String, Unheard> {
    let rows = line.rows().map_err(Unheard::Silent)?;
    let row = rows.iter().find(|row| json::text(row, "sessionId") == Some(id));
    let key = row.and_then(|row| json::string(row, "key"));
    key.ok_or_else(|| refused("no run of it is active"))
}

fn decide(line: &mut Line, id: &str, decision: &str) -> Result<(), Unheard> {
    line.call("exec.approval.resolve", json!({ "id": id, "decision": decision })).map(|_| ())
}

/// Where messages that come from now on will stand: in a database they are known by their time.
pub(super) fn mark(host: &dyn Host, stub: &Stub) -> io::Result<u64> {
    match store::is_database(stub) {
        true => Ok(u64::try_from(host.now().as_millisecond()).unwrap_or_default()),
        false => Ok(host.open(&stub.path)?.size()),
    }
}

/// What shows a message that came since that mark.
pub(super) fn shows(host: &dyn Host, stub: &Stub, said: (u64, &str)) -> io::Result<Option<Source>> {
    if store::is_database(stub) {
        return database::received(host, stub, said);
    }
    let is_it = |line: &[u8]| store::is_prompt(&json::object(line), said.1);
    line_since(host, &stub.path, said, &is_it)
}
