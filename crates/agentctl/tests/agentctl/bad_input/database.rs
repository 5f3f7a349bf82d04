//! A database that is none. The OpenClaw one may hold any session, and older files beside it are stale.

use serde_json::json;

use crate::home::{
    Home, Seen,
    lines::{id, prompt, reply},
};

const DATABASE: &str = ".openclaw/agents/main/agent/openclaw-agent.sqlite";
const INDEX: &str = ".openclaw/agents/main/sessions/sessions.json";

#[test]
fn what_an_unreadable_database_may_hold_is_unknown_and_never_absent() {
    let home = Home::new();
    home.write(DATABASE, "this is no database");
    let stale = json!({"agent:main:old": {"sessionId": id(1), "status": "done"}});
    home.write(INDEX, format!("{stale:#}"));
    assert_eq!(
        home.seen(),
        Seen::good().and(id(1), "unknown").problem(DATABASE, "file is not a database")
    );
    for id in [id(1), id(2)] {
        let answer = home.run(&["status", &id, "--json"]);
        assert_eq!(answer.code, Some(8), "{answer:?}");
        let said = answer.json();
        assert_eq!(said["session"]["state"], "unknown", "{said:#}");
        assert_eq!(said["session"]["agent"], "openclaw", "{said:#}");
    }
    // It is not suspected of what another agent has.
    home.claude(&id(3), &[prompt("Begin"), reply("Done")]);
    let said = home.run(&["status", &id(3), "--json"]).json();
    assert_eq!(said["session"]["agent"], "claude-code", "{said:#}");
    assert_eq!(said["session"]["state"], "done", "{said:#}");
}
