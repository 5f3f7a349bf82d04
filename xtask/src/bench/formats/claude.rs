//! Transcripts in the shape of Claude Code 2.1.197, with made-up text.

use super::super::{
    chance::Chance,
    plan::{Ending, Session},
    prose::prose,
    sink::Sink,
    time::Moment,
};
use crate::failure::{Failure, Outcome};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

const USAGE_REST: &str = r#""server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":7},"inference_geo":"","iterations":[],"speed":"standard""#;
const SKILLS: &str = r#""skillCount":13,"isInitial":true,"names":["deep-research","update-config","keybindings-help","verify","code-review","simplify","loop","run","init","review"]"#;

/// Where a session's transcript is: in the folder of its directory.
pub(super) fn path(store: &Path, session: &Session) -> PathBuf {
    let dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let slug: String = session.cwd.chars().map(dash).collect();
    store.join("projects").join(slug).join(format!("{}.jsonl", session.id))
}

/// Writes a session, with those of its helpers if it has any.
pub(super) fn write(store: &Path, session: &Session) -> Outcome<()> {
    let path = path(store, session);
    Writer::new(Sink::create(&path)?, session, None).all()?;
    if session.special {
        helper(&path.with_extension("").join("subagents"), session)?;
    }
    Ok(())
}

fn helper(dir: &Path, session: &Session) -> Outcome<()> {
    let mut chance = Chance::new(session.seed ^ 1);
    let agent = format!("a{:016x}", chance.next());
    let part = Session {
        size: session.size.min(20_000),
        ending: Ending::Done,
        seed: chance.next(),
        typed: false,
        ..session.clone()
    };
    let sink = Sink::create(&dir.join(format!("agent-{agent}.jsonl")))?;
    Writer::new(sink, &part, Some(&agent)).all()?;
    let meta = dir.join(format!("agent-{agent}.meta.json"));
    let text = format!(
        r#"{{"agentType":"general-purpose","description":"audit","toolUseId":"toolu_{:024x}","spawnDepth":1}}"#,
        chance.next()
    );
    fs::write(&meta, text).map_err(|why| Failure::io("write", &meta, &why))
}

struct Writer<'a> {
    sink: Sink,
    chance: Chance,
    session: &'a Session,
    /// Fields that every line of the chain carries, and those before its `type`.
    common: String,
    lead: String,
    /// The line before, as JSON.
    parent: String,
    prompt: String,
    tool: String,
}

impl<'a> Writer<'a> {
    fn new(sink: Sink, session: &'a Session, agent: Option<&str>) -> Self {
        let entry = if session.typed { "cli" } else { "sdk-cli" };
        let Session { id, cwd, .. } = session;
        let common = format!(
            r#""userType":"external","entrypoint":"{entry}","cwd":"{cwd}","sessionId":"{id}","version":"2.1.197","gitBranch":"main""#
        );
        let lead = match agent {
            Some(agent) => format!(r#""isSidechain":true,"agentId":"{agent}""#),
            None => r#""isSidechain":false"#.to_owned(),
        };
        let chance = Chance::new(session.seed);
        let (parent, prompt, tool) = ("null".to_owned(), String::new(), String::new());
        Self { sink, chance, session, common, lead, parent, prompt, tool }
    }

    fn all(mut self) -> Outcome<()> {
        self.opening()?;
        while self.left() > 6000 {
            for _ in 0..self.chance.between(1, 12) {
                if self.left() > 6000 {
                    self.round()?;
                }
            }
            self.answer("end_turn")?;
            if self.left() > 12_000 {
                self.ask()?;
            }
        }
        self.ending()?;
        self.sink.finish(self.session.end)
    }

    fn left(&self) -> usize {
        usize::try_from(self.session.size.saturating_sub(self.sink.written)).unwrap_or_default()
    }

    fn at(&self) -> Moment {
        self.session.start.towards(self.session.end, self.sink.written, self.session.size)
    }

    /// A line of the chain; `middle` is what makes it what it is.
    fn chain(&mut self, middle: fmt::Arguments<'_>) -> Outcome<()> {
        let (uuid, at) = (self.chance.uuid4(), self.at());
        let Self { parent, lead, common, .. } = self;
        let line = format_args!(
            r#"{{"parentUuid":{parent},{lead},{middle},"uuid":"{uuid}","timestamp":"{at}",{common}}}"#
        );
        self.sink.line(line)?;
        self.parent = format!("\"{uuid}\"");
        Ok(())
    }

    fn opening(&mut self) -> Outcome<()> {
        let (at, id) = (self.at(), &self.session.id);
        self.prompt = prose().phrase(&mut self.chance, 12);
        if !self.session.typed {
            let prompt = &self.prompt;
            self.sink.line(format_args!(r#"{{"type":"queue-operation","operation":"enqueue","timestamp":"{at}","sessionId":"{id}","content":"{prompt}"}}"#))?;
            self.sink.line(format_args!(r#"{{"type":"queue-operation","operation":"dequeue","timestamp":"{at}","sessionId":"{id}"}}"#))?;
        }
        self.ask()?;
        let agents = prose().cut(&mut self.chance, 900);
        self.chain(format_args!(r#""attachment":{{"type":"agent_listing_delta","addedTypes":["claude","Explore","Plan"],"addedLines":["{agents}"],"removedTypes":[],"isInitial":true,"showConcurrencyNote":true}},"type":"attachment""#))?;
        let skills = prose().cut(&mut self.chance, 2400);
        self.chain(format_args!(r#""attachment":{{"type":"skill_listing","content":"{skills}",{SKILLS}}},"type":"attachment""#))
    }

    fn ask(&mut self) -> Outcome<()> {
        let (prompt_id, message) = (self.chance.uuid4(), self.chance.uuid4());
        let (source, at) = (if self.session.typed { "typed" } else { "sdk" }, self.at());
        if self.session.typed {
            self.sink.line(format_args!(r#"{{"type":"file-history-snapshot","messageId":"{message}","snapshot":{{"messageId":"{message}","trackedFileBackups":{{}},"timestamp":"{at}"}},"isSnapshotUpdate":false}}"#))?;
        }
        let size = self.chance.between(40, 900);
        let rest = prose().cut(&mut self.chance, size);
        let prompt = self.prompt.clone();
        self.chain(format_args!(r#""promptId":"{prompt_id}","type":"user","message":{{"role":"user","content":"{prompt}\n{rest}"}},"permissionMode":"default","promptSource":"{source}""#))
    }

    /// The model's line with one block.
    fn says(&mut self, block: fmt::Arguments<'_>, stop: &str) -> Outcome<()> {
        let (message, request) = (self.chance.next(), self.chance.next());
        let (output, read) = (self.chance.between(20, 2000), self.chance.between(5000, 150_000));
        self.chain(format_args!(r#""message":{{"id":"msg_{message:024x}","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{block}],"stop_reason":{stop},"stop_sequence":null,"usage":{{"input_tokens":12,"cache_creation_input_tokens":707,"cache_read_input_tokens":{read},"output_tokens":{output},{USAGE_REST}}},"stop_details":null}},"requestId":"req_{request:024x}","type":"assistant""#))
    }

    fn call(&mut self) -> Outcome<()> {
        if self.chance.percent(30) {
            let (thought, mark) = (prose().cut(&mut self.chance, 700), self.chance.next());
            self.says(
                format_args!(
                    r#"{{"type":"thinking","thinking":"{thought}","signature":"{mark:0700x}"}}"#
                ),
                "null",
            )?;
        }
        self.tool = format!("toolu_{:024x}", self.chance.next());
        let (tool, size) = (self.tool.clone(), self.chance.between(20, 600));
        let (name, command) = (
            self.chance.pick(&["Bash", "Read", "Edit", "Grep"]),
            prose().cut(&mut self.chance, size),
        );
        self.says(format_args!(r#"{{"type":"tool_use","id":"{tool}","name":"{name}","input":{{"command":"{command}","description":"{name}"}}}}"#), "\"tool_use\"")
    }

    fn round(&mut self) -> Outcome<()> {
        self.call()?;
        let size = result_size(&mut self.chance, self.session.size).min(self.left() / 2);
        let (prompt_id, tool, source) =
            (self.chance.uuid4(), self.tool.clone(), self.parent.clone());
        let out = prose().cut(&mut self.chance, size);
        // The result stands in the line twice: as the model sees it, and as the terminal shows it.
        self.chain(format_args!(r#""promptId":"{prompt_id}","type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{tool}","type":"tool_result","content":"{out}","is_error":false}}]}},"toolUseResult":{{"stdout":"{out}","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}},"sourceToolAssistantUUID":{source}"#))
    }

    fn answer(&mut self, stop: &str) -> Outcome<()> {
        let size = self.chance.between(100, 1500);
        let text = prose().cut(&mut self.chance, size);
        self.says(format_args!(r#"{{"type":"text","text":"{text}"}}"#), &format!("\"{stop}\""))?;
        if self.session.typed {
            self.chain(format_args!(r#""type":"system","subtype":"turn_duration","durationMs":48213,"messageCount":14,"isMeta":false"#))?;
        }
        Ok(())
    }

    fn ending(&mut self) -> Outcome<()> {
        // What follows happens at the session's very end, whatever the size came out as.
        self.sink.written = self.sink.written.max(self.session.size);
        match self.session.ending {
            Ending::Done => self.answer("end_turn")?,
            Ending::Failed => {
                self.ask()?;
                let id = self.chance.uuid4();
                self.chain(format_args!(r#""type":"assistant","message":{{"id":"{id}","container":null,"model":"<synthetic>","role":"assistant","stop_reason":"stop_sequence","stop_sequence":"","type":"message","usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"content":[{{"type":"text","text":"API Error: Request rejected (429)"}}],"context_management":null}},"error":"rate_limit","isApiErrorMessage":true,"apiErrorStatus":429"#))?;
            }
            Ending::Interrupted => {
                self.ask()?;
                self.chain(format_args!(r#""type":"user","message":{{"role":"user","content":[{{"type":"text","text":"[Request interrupted by user]"}}]}}"#))?;
            }
            Ending::TurnLimit => {
                self.call()?;
                self.chain(format_args!(r#""attachment":{{"type":"max_turns_reached","maxTurns":20,"turnCount":21}},"type":"attachment""#))?;
            }
            Ending::InTool => return self.call(),
            Ending::Generating => return self.ask(),
            Ending::Torn => {
                self.call()?;
                self.sink.tear();
                return Ok(());
            }
        }
        self.leave()
    }

    /// What an orderly exit appends.
    fn leave(&mut self) -> Outcome<()> {
        let (id, leaf) = (&self.session.id, &self.parent);
        let prompt = &self.prompt;
        self.sink.line(format_args!(r#"{{"type":"last-prompt","lastPrompt":"{prompt}","leafUuid":{leaf},"sessionId":"{id}"}}"#))?;
        if !self.session.typed {
            return Ok(());
        }
        if self.chance.percent(60) {
            let title = prose().phrase(&mut self.chance, 5);
            self.sink.line(format_args!(
                r#"{{"type":"ai-title","aiTitle":"{title}","sessionId":"{id}"}}"#
            ))?;
        }
        self.sink.line(format_args!(r#"{{"type":"mode","mode":"normal","sessionId":"{id}"}}"#))
    }
}

/// How much a tool says: mostly little, now and then a whole file, in giants a line of megabytes.
pub(super) fn result_size(chance: &mut Chance, session: u64) -> usize {
    match chance.below(1000) {
        0..600 => chance.between(100, 2000),
        600..900 => chance.between(2000, 8000),
        900..997 => chance.between(8000, 30_000),
        _ if session > 20_000_000 && chance.percent(30) => 1_500_000,
        _ if session > 1_000_000 => chance.between(100_000, 400_000),
        _ => 20_000,
    }
}
