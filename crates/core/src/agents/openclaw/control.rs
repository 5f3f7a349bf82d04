//! Requests to the gateway that runs a session.

use super::gateway::{self, Line};
use crate::{
    agents::json,
    control::{Request, Target, Unheard},
    host::Host,
};
use serde_json::{Value, json};
use std::io;

/// Asks this of the gateway.
pub(super) fn ask(
    host: &dyn Host,
    target: &Target<'_>,
    request: Request<'_>,
) -> Result<(), Unheard> {
    if let Request::Say(_) = request {
        // 2026.9.6 writes the time before what it is sent: its store would never show the message.
        let why = "its gateway takes messages by `openclaw agent --session-key KEY -m TEXT`";
        return Err(Unheard::Refused(why.to_owned()));
    }
    let line = gateway::line(host, target.store, target.process).map_err(Unheard::Failed)?;
    let mut line = line.ok_or(Unheard::NoChannel)?;
    let rows = line.rows().map_err(Unheard::Silent)?;
    let row = rows.iter().find(|row| json::text(row, "sessionId") == Some(target.id));
    let key = row.and_then(|row| json::text(row, "key"));
    let key = key.ok_or_else(|| Unheard::Refused("no run of it is active".to_owned()))?;
    match request {
        Request::Say(_) | Request::Interrupt => {
            call(&mut line, "sessions.abort", json!({ "key": key })).map(|_| ())
        }
        Request::Allow => decide(&mut line, key, "allow-once"),
        Request::Deny => decide(&mut line, key, "deny"),
    }
}

fn decide(line: &mut Line, key: &str, decision: &str) -> Result<(), Unheard> {
    let asks = call(line, "exec.approval.list", json!({}))?;
    let own = |ask: &&Value| json::text(&ask["request"], "sessionKey") == Some(key);
    let ask = asks.as_array().into_iter().flatten().find(own);
    let id = ask.and_then(|ask| json::text(ask, "id"));
    let id = id.ok_or_else(|| Unheard::Refused("it asks for no approval".to_owned()))?;
    let leave = json!({ "id": id, "decision": decision });
    call(line, "exec.approval.resolve", leave).map(|_| ())
}

fn call(line: &mut Line, method: &str, params: Value) -> Result<Value, Unheard> {
    let id = line.say(method, params).map_err(Unheard::Failed)?;
    line.answer(&id).map_err(|why| match why.kind() {
        io::ErrorKind::PermissionDenied => Unheard::Refused(why.to_string()),
        _ => Unheard::Silent(why),
    })
}
