//! Requests by which the gateway begins a session, or goes on with one.

use super::{adapter::OpenClaw, gateway, store};
use crate::{
    control::Unheard,
    evidence::Role,
    host::Host,
    hosted::{Call, Hosted, Place},
    launch::{Ask, Earlier, Permission, Signal},
};
use serde_json::{Value, json};
use std::path::Path;

/// None of its variables changes it.
pub(super) static INHERITED: &[&str] = &[];

/// The gateway serves all sessions: ending it ends none of them alone.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[]
}

impl Hosted for OpenClaw {
    fn command(&self) -> &'static str {
        "openclaw gateway run"
    }

    fn calls(&self, host: &dyn Host, ask: &Ask<'_>) -> Result<Vec<Call>, String> {
        if ask.system.is_some() {
            return Err("its gateway keeps its own instructions (--append-system-prompt)".into());
        }
        match &ask.earlier {
            Some(earlier) => {
                let key = key(host, earlier)?;
                if earlier.fork { fork(ask, &key) } else { Ok(go_on(ask, earlier.id, &key)) }
            }
            None => Ok(vec![call("sessions.create", create(ask, name(ask.launch))?)]),
        }
    }

    fn begin(&self, host: &dyn Host, place: &Place<'_>, calls: &[Call]) -> Result<(), Unheard> {
        let line = gateway::line(host, place.store, place.process).map_err(Unheard::Failed)?;
        let mut line = line.ok_or(Unheard::NoChannel)?;
        for call in calls {
            let answer = line.call(&call.method, call.params.clone())?;
            // It made the session before it refused the run.
            if let Some(error) = answer.get("runError") {
                line.call("sessions.delete", json!({ "key": answer["key"] }))?;
                return Err(Unheard::Refused(format!("it refuses: {}", gateway::words(error))));
            }
        }
        Ok(())
    }

    fn session(&self, host: &dyn Host, store: &Path, launch: &str) -> Option<String> {
        store::of_key(host, store, &name(launch))
    }
}

/// The end of the key of a session that we launch: the gateway puts its agent before it.
fn name(launch: &str) -> String {
    format!("agentctl-{launch}")
}

fn call(method: &str, params: Value) -> Call {
    Call { method: method.to_owned(), params }
}

/// The key of a session whose transcript is the newest of its key: any other cannot be gone on with.
fn key(host: &dyn Host, earlier: &Earlier<'_>) -> Result<String, String> {
    let key = store::key(host, earlier.record, earlier.id);
    key.ok_or_else(|| "its key has another transcript since".to_owned())
}

fn create(ask: &Ask<'_>, key: String) -> Result<Value, String> {
    let cwd = ask.cwd.to_str().ok_or("its gateway takes no directory whose name is no text")?;
    let mut params = json!({ "key": key, "cwd": cwd, "message": ask.prompt });
    set(&mut params, "model", ask.model.filter(|_| ask.earlier.is_none()).map(Value::from));
    // Not its label, of which there can be one only.
    set(&mut params, "displayName", ask.name.map(Value::from));
    set(&mut params, "permissionMode", mode(ask.permission).map(Value::from));
    set(&mut params, "timeoutMs", limit(ask));
    Ok(params)
}

/// A copy belongs to the same agent.
fn fork(ask: &Ask<'_>, parent: &str) -> Result<Vec<Call>, String> {
    let agent = parent.strip_prefix("agent:").and_then(|rest| rest.split(':').next());
    let own = name(ask.launch);
    let own = agent.map_or(own.clone(), |agent| format!("agent:{agent}:{own}"));
    let mut params = create(ask, own)?;
    set(&mut params, "parentSessionKey", Some(parent.into()));
    set(&mut params, "fork", Some(true.into()));
    Ok(vec![call("sessions.create", params)])
}

fn go_on(ask: &Ask<'_>, id: &str, key: &str) -> Vec<Call> {
    let allow = mode(ask.permission).map(|mode| {
        let params = json!({ "key": key, "expectedSessionId": id, "permissionMode": mode });
        call("sessions.patch", params)
    });
    let mut params = json!({
        "sessionKey": key, "sessionId": id, "message": ask.prompt, "idempotencyKey": ask.id,
    });
    set(&mut params, "timeoutMs", limit(ask));
    allow.into_iter().chain([call("chat.send", params)]).collect()
}

/// As 2026.9.6 calls them. Its `workspace` lets a model judge commands: nobody asked for that.
fn mode(permission: Permission) -> Option<&'static str> {
    match permission {
        Permission::Default => None,
        Permission::Read => Some("read-only"),
        Permission::Edit => Some("guarded"),
        Permission::Full => Some("full"),
    }
}

fn limit(ask: &Ask<'_>) -> Option<Value> {
    ask.timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into())
}

fn set(params: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        params[name] = value;
    }
}
