//! What is told, to a server that may do anything.

mod kept;
mod server;
mod spoiled;
mod told;

use super::{Notice, Target};
use crate::config::{Format, Secret};
use agentctl_core::{
    fuse::Action,
    wire::{Event, EventKind, Fuse, Session, StateName},
};
use jiff::Timestamp;
use std::collections::BTreeMap;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// A session that has ended.
pub(crate) fn session(id: &str) -> Session {
    Session {
        id: Some(id.to_owned()),
        agent: "codex".to_owned(),
        adapter: "codex".to_owned(),
        state: StateName::Failed,
        status: StateName::Failed.status(),
        live: false,
        reason: None,
        waiting_for: None,
        outcome: Some("failed".to_owned()),
        exit_code: Some(3),
        pid: None,
        process: None,
        processes: Vec::new(),
        kind: None,
        shared: false,
        halted: false,
        host: "here".to_owned(),
        cwd: Some("/work/a b".into()),
        branch: None,
        model: None,
        title: None,
        prompt: Some(format!("mend <!channel> & \u{1b}[31m\n{}", "x".repeat(300))),
        last: None,
        started_at: Some(at(1000)),
        updated_at: Some(at(1090)),
        ended_at: Some(at(1090)),
        tokens: None,
        cost_usd: None,
        group: Some("g".to_owned()),
        labels: BTreeMap::new(),
        parent: None,
        forked_from: None,
        archived: false,
        launch_id: None,
        log: None,
        deadline: None,
        overdue: false,
        budget: None,
        stall: None,
        hooks: Vec::new(),
        callback: Some(agentctl_core::receipt::Callback {
            session: Some("key".to_owned()),
            agent: Some("main".to_owned()),
        }),
        version: None,
        source: None,
        because: Vec::new(),
    }
}

fn event(kind: EventKind, id: &str, session: Option<Session>) -> Event {
    let after = session.as_ref().map(|session| session.state);
    Event {
        schema: 1,
        kind,
        id: id.to_owned(),
        at: at(1090),
        cursor: "c1.x".to_owned(),
        before: None,
        after,
        session: session.map(Box::new),
        lock: None,
        fuse: None,
        budget: None,
        from: None,
        to: None,
    }
}

/// A fuse that sets off webhooks was set for this, or fired.
fn fuse(kind: EventKind, target: agentctl_core::fuse::Target) -> Event {
    let fuse = Fuse {
        id: "f1".to_owned(),
        target,
        set_at: at(1000),
        deadline: at(1090),
        extended_at: None,
        action: Action::Webhook,
        label: None,
        overdue: false,
        fired: None,
        cancelled_at: None,
    };
    Event { fuse: Some(fuse), ..event(kind, "f", None) }
}

/// Something that happened to a session.
pub(crate) fn some_event(id: &str) -> Event {
    ended(id, "s")
}

fn ended(id: &str, of: &str) -> Event {
    event(EventKind::Ended, id, Some(session(of)))
}

fn notices(events: &[Event]) -> Vec<Notice<'_>> {
    events.iter().map(|event| Notice { event, to_all: false }).collect()
}

/// A target that is told everything in these words.
fn target(url: &str, format: Format) -> Target {
    Target::new(Secret::new(url), Some(Secret::new("s3cret-word")), format)
}
