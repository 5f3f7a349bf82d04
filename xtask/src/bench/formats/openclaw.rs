//! Sessions in the shape of OpenClaw 2026.9.6: rows of one database, entries like Pi's.

use super::{
    super::{
        plan::{Ending, Session},
        time::Moment,
    },
    course, database,
    pi::{Kind, Writer},
};
use crate::failure::{Failure, Outcome};
use rusqlite::{Connection, Statement, params};
use std::{fmt, path::Path};

/// Below the store.
pub(super) const DATABASE: &str = "agents/main/agent/openclaw-agent.sqlite";
const CAPTURED: &str = "crates/core/fixtures/openclaw/2026.9.6/history/home/.openclaw/agents/main/agent/openclaw-agent.sqlite";
const TABLES: &[&str] = &["session_nodes", "session_windows", "transcript_events"];

/// Writes all sessions of a store.
pub(in super::super) fn write_all(root: &Path, store: &Path, all: &[&Session]) -> Outcome<()> {
    let Some(newest) = all.iter().map(|session| session.end).max() else { return Ok(()) };
    let path = store.join(DATABASE);
    database::fill(&root.join(CAPTURED), &path, TABLES, |db| {
        let mut events = db.prepare(
            "insert into transcript_events(session_id, seq, event_json, created_at, event_utf8_bytes) values (?1, ?2, ?3, ?4, ?5)",
        )?;
        for session in all {
            row(db, session)?;
            if let Err(why) = transcript(&mut events, session) {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    })?;
    database::date(&path, newest)
}

fn transcript(events: &mut Statement<'_>, session: &Session) -> Outcome<()> {
    let mut seq = 0;
    let mut put = |line: fmt::Arguments<'_>, at: Moment| {
        let line = line.to_string();
        let length = i64::try_from(line.len()).unwrap_or_default();
        seq += 1;
        let row = params![session.id, seq - 1, line, millis(at), length];
        let put = events.execute(row);
        put.map(|_| ()).map_err(|why| Failure::new(format!("cannot write an entry: {why}")))
    };
    course::play(&mut Writer::new(session, Kind::OpenClaw, &mut put))
}

fn row(db: &Connection, session: &Session) -> rusqlite::Result<()> {
    let Session { id, cwd, start, end, .. } = session;
    // None is left as running: only a gateway could say whether it does.
    let status = match session.ending {
        Ending::Done => "done",
        Ending::Failed => "failed",
        Ending::TurnLimit => "timeout",
        Ending::Interrupted | Ending::InTool | Ending::Generating | Ending::Torn => "killed",
    };
    let (start, end) = (millis(*start), millis(*end));
    let key = format!("agent:main:bench-{}", id.get(..8).unwrap_or_default());
    let entry = format!(
        r#"{{"sessionId":"{id}","updatedAt":{end},"sessionStartedAt":{start},"spawnedCwd":"{cwd}","createdVia":"run","createdAt":{start},"status":"{status}","startedAt":{start},"endedAt":{end},"model":"gpt-5.5"}}"#
    );
    db.execute(
        "insert into session_nodes(session_key, current_session_id, entry_json, entry_valid, updated_at, status, created_at, created_via) values (?1, ?2, ?3, 1, ?4, ?5, ?6, 'run')",
        params![key, id, entry, end, status, start],
    )?;
    db.execute(
        "insert into session_windows(session_id, session_key, created_at, updated_at, transcript_updated_at, started_at, ended_at, status, model_provider, model) values (?1, ?2, ?3, ?4, ?4, ?3, ?4, ?5, 'openai', 'gpt-5.5')",
        params![id, key, start, end, status],
    )?;
    Ok(())
}

fn millis(at: Moment) -> i64 {
    i64::try_from(at.0).unwrap_or_default()
}
