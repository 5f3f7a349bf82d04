//! Sessions in the shape of OpenCode 1.18.33: rows of one database for sessions, messages and parts.

use super::{
    super::{plan::Session, prose::prose},
    course::{self, Pace, Voice},
    database,
};
use crate::failure::{Failure, Outcome};
use rusqlite::{Connection, Statement, params};
use std::path::Path;

/// Below the store.
pub(super) const DATABASE: &str = "opencode.db";
const CAPTURED: &str =
    "crates/core/fixtures/opencode/1.18.33/history/home/.local/share/opencode/opencode.db";
const TABLES: &[&str] =
    &["session", "message", "part", "event", "event_sequence", "project_directory"];
/// Of a session that nobody sits before.
const RULES: &str = r#"[{"permission":"question","pattern":"*","action":"deny"}]"#;

/// Writes all sessions of a store.
pub(in super::super) fn write_all(root: &Path, store: &Path, all: &[&Session]) -> Outcome<()> {
    let Some(newest) = all.iter().map(|session| session.end).max() else { return Ok(()) };
    let path = store.join(DATABASE);
    database::fill(&root.join(CAPTURED), &path, TABLES, |db| {
        for session in all {
            let mut writer = Writer::new(db, session)?;
            if let Err(why) = course::play(&mut writer) {
                return Ok(Err(why));
            }
            let used = writer.used;
            row(db, session, used)?;
        }
        Ok(Ok(()))
    })?;
    database::date(&path, newest)
}

fn row(db: &Connection, session: &Session, used: [i64; 3]) -> rusqlite::Result<()> {
    let Session { id, cwd, start, end, typed, .. } = session;
    let title = prose().phrase(&mut super::super::chance::Chance::new(session.seed ^ 2), 5);
    let rules = (!typed).then_some(RULES);
    let [input, output, read] = used;
    let cost = 0.000_01 * (input + output) as f64;
    db.execute(
        "insert into session(id, project_id, slug, directory, path, title, version, cost, tokens_input, tokens_output, tokens_cache_read, permission, agent, model, time_created, time_updated) values (?1, 'global', 'clever-star', ?2, '', ?3, '1.18.33', ?4, ?5, ?6, ?7, ?8, 'build', '{\"id\":\"gpt-5.5\",\"providerID\":\"openai\"}', ?9, ?10)",
        params![id, cwd, title, cost, input, output, read, rules, number(start.0), number(end.0)],
    )?;
    Ok(())
}

struct Writer<'a> {
    pace: Pace<'a>,
    messages: Statement<'a>,
    parts: Statement<'a>,
    /// How many ids were made.
    made: u64,
    /// The newest prompt and the message under way.
    prompt: String,
    message: String,
    /// Tokens so far: in, out, from the cache.
    used: [i64; 3],
}

impl<'a> Writer<'a> {
    fn new(db: &'a Connection, session: &'a Session) -> rusqlite::Result<Self> {
        let message = "insert into message(id, session_id, time_created, time_updated, data) values (?1, ?2, ?3, ?3, ?4)";
        let part = "insert into part(id, message_id, session_id, time_created, time_updated, data) values (?1, ?2, ?3, ?4, ?4, ?5)";
        Ok(Self {
            pace: Pace::new(session),
            messages: db.prepare(message)?,
            parts: db.prepare(part)?,
            made: 0,
            prompt: String::new(),
            message: String::new(),
            used: [0; 3],
        })
    }

    /// Ids grow with time, and with their number within a millisecond.
    fn id(&mut self, kind: &str) -> String {
        self.made += 1;
        let at = self.pace.at().0;
        self.pace.chance.id_since(kind, (at << 12) + (self.made & 0xfff))
    }

    fn message(&mut self, data: &str) -> Outcome<String> {
        let (id, at) = (self.id("msg_"), number(self.pace.at().0));
        self.pace.written += data.len() as u64;
        let put = self.messages.execute(params![id, self.pace.session.id, at, data]);
        put.map_err(|why| failed(&why))?;
        self.message.clone_from(&id);
        Ok(id)
    }

    fn part(&mut self, data: &str) -> Outcome<()> {
        let (id, at) = (self.id("prt_"), number(self.pace.at().0));
        self.pace.written += data.len() as u64;
        let row = params![id, self.message, self.pace.session.id, at, data];
        self.parts.execute(row).map(|_| ()).map_err(|why| failed(&why))
    }

    /// A message of the model, up to its first part.
    fn says(&mut self, ended: &str) -> Outcome<()> {
        let (prompt, cwd, at) = (self.prompt.clone(), &self.pace.session.cwd, self.pace.at().0);
        let input = number(self.pace.chance.between(50, 9000) as u64);
        let output = number(self.pace.chance.between(20, 2000) as u64);
        let read = number(self.pace.chance.between(5000, 150_000) as u64);
        let total = input + output + read;
        self.used = [self.used[0] + input, self.used[1] + output, self.used[2] + read];
        self.message(&format!(r#"{{"parentID":"{prompt}","role":"assistant","mode":"build","agent":"build","path":{{"cwd":"{cwd}","root":"{cwd}"}},"cost":0.01,"tokens":{{"total":{total},"input":{input},"output":{output},"reasoning":0,"cache":{{"write":0,"read":{read}}}}},"modelID":"gpt-5.5","providerID":"openai","time":{{"created":{at}{ended}"#))?;
        self.part(r#"{"snapshot":"4b825dc642cb6eb9a060e54bf8d69288fbee4904","type":"step-start"}"#)
    }

    /// What follows a message's times once it is complete.
    fn complete(&self, how: &str) -> String {
        format!(r#","completed":{}}},{how}}}"#, self.pace.at().0)
    }

    fn tool(&mut self, state: &str) -> Outcome<()> {
        let call = self.pace.chance.next();
        self.part(&format!(
            r#"{{"type":"tool","tool":"bash","callID":"call_{call:016x}","state":{{{state}}}}}"#
        ))
    }
}

impl<'a> Voice<'a> for Writer<'a> {
    fn pace(&mut self) -> &mut Pace<'a> {
        &mut self.pace
    }

    fn opening(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn ask(&mut self) -> Outcome<()> {
        let at = self.pace.at().0;
        self.prompt = self.message(&format!(r#"{{"role":"user","time":{{"created":{at}}},"agent":"build","model":{{"providerID":"openai","modelID":"gpt-5.5"}},"summary":{{"diffs":[]}}}}"#))?;
        let size = self.pace.chance.between(40, 900);
        let text = prose().cut(&mut self.pace.chance, size);
        self.part(&format!(r#"{{"type":"text","text":"{text}"}}"#))
    }

    /// A message without an end: once the tool has answered, its rows are those of [`Voice::round`].
    fn call(&mut self) -> Outcome<()> {
        self.says("}}")?;
        let at = self.pace.at().0;
        self.tool(&format!(r#""status":"running","input":{{"command":"make check"}},"title":"make check","time":{{"start":{at}}}"#))
    }

    fn round(&mut self, size: usize) -> Outcome<()> {
        let ended = self.complete(r#""finish":"tool-calls""#);
        self.says(&ended)?;
        let (at, out) = (self.pace.at().0, prose().cut(&mut self.pace.chance, size / 2));
        self.tool(&format!(r#""status":"completed","input":{{"command":"make check"}},"output":"{out}","metadata":{{"output":"{out}","exit":0,"truncated":false}},"title":"make check","time":{{"start":{at},"end":{at}}}"#))
    }

    fn answer(&mut self) -> Outcome<()> {
        let ended = self.complete(r#""finish":"stop""#);
        self.says(&ended)?;
        let size = self.pace.chance.between(100, 1500);
        let (at, text) = (self.pace.at().0, prose().cut(&mut self.pace.chance, size));
        self.part(&format!(
            r#"{{"type":"text","text":"{text}","time":{{"start":{at},"end":{at}}}}}"#
        ))?;
        self.part(r#"{"reason":"stop","type":"step-finish","cost":0.01}"#)
    }

    fn fail(&mut self) -> Outcome<()> {
        let ended = self.complete(r#""error":{"name":"APIError","data":{"message":"unauthorized","statusCode":401,"isRetryable":false}}"#);
        self.says(&ended)
    }

    fn interrupt(&mut self) -> Outcome<()> {
        let ended =
            self.complete(r#""error":{"name":"MessageAbortedError","data":{"message":"aborted"}}"#);
        self.says(&ended)
    }

    fn leave(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn tear(&mut self) {}
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or_default()
}

fn failed(why: &rusqlite::Error) -> Failure {
    Failure::new(format!("cannot write a row: {why}"))
}
