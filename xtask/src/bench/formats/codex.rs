//! Rollouts in the shape of Codex 0.166 (and of 0.140), with made-up text.

use super::{
    super::{
        chance::Chance,
        plan::{Ending, Session},
        prose::prose,
        sink::Sink,
        time::Moment,
    },
    claude::result_size,
};
use crate::failure::Outcome;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// As long as the default prompt, which every rollout of 0.166 begins with.
const INSTRUCTIONS: usize = 20_000;

/// Where a session's rollout is: in the folder of its day, or in the archive.
pub(super) fn path(store: &Path, session: &Session) -> PathBuf {
    let name = format!("rollout-{}-{}.jsonl", session.start.in_name(), session.id);
    match session.archived {
        true => store.join("archived_sessions").join(name),
        false => store.join("sessions").join(session.start.folder()).join(name),
    }
}

/// Writes a session.
pub(super) fn write(store: &Path, session: &Session) -> Outcome<()> {
    let chance = Chance::new(session.seed);
    let sink = Sink::create(&path(store, session))?;
    Writer { sink, chance, session, ordinal: 0, turn: String::new(), call: String::new(), used: 0 }
        .all()
}

struct Writer<'a> {
    sink: Sink,
    chance: Chance,
    session: &'a Session,
    ordinal: u64,
    turn: String,
    call: String,
    used: u64,
}

impl Writer<'_> {
    fn all(mut self) -> Outcome<()> {
        self.opening()?;
        while self.left() > 6000 {
            self.ask()?;
            for _ in 0..self.chance.between(1, 12) {
                if self.left() > 6000 {
                    self.round()?;
                }
            }
            self.answer()?;
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

    fn line(&mut self, kind: &str, payload: fmt::Arguments<'_>) -> Outcome<()> {
        let (at, ordinal) = (self.at(), self.ordinal);
        self.ordinal += 1;
        match self.session.special {
            true => self.sink.line(format_args!(
                r#"{{"timestamp":"{at}","type":"{kind}","payload":{{{payload}}}}}"#
            )),
            false => self.sink.line(format_args!(
                r#"{{"timestamp":"{at}","ordinal":{ordinal},"type":"{kind}","payload":{{{payload}}}}}"#
            )),
        }
    }

    fn opening(&mut self) -> Outcome<()> {
        let Session { id, cwd, start, .. } = self.session;
        if self.session.special {
            return self.line("session_meta", format_args!(r#""id":"{id}","timestamp":"{start}","cwd":"{cwd}","originator":"codex_exec","cli_version":"0.140.0","source":"exec","thread_source":"user","model_provider":"openai","base_instructions":{{"text":"You are a coding agent."}}"#));
        }
        let (root, lineage) = match &self.session.parent {
            None => (id, r#""source":"exec","thread_source":"user""#.to_owned()),
            Some(parent) => (
                parent,
                format!(
                    r#""parent_thread_id":"{parent}","source":{{"subagent":{{"thread_spawn":{{"parent_thread_id":"{parent}","depth":1,"agent_nickname":"Mendel"}}}}}},"thread_source":"subagent","agent_nickname":"Mendel""#
                ),
            ),
        };
        let text = prose().cut(&mut self.chance, INSTRUCTIONS);
        self.line("session_meta", format_args!(r#""session_id":"{root}","id":"{id}","timestamp":"{start}","cwd":"{cwd}","runtime_workspace_roots":["{cwd}"],"originator":"codex_exec","cli_version":"0.166.0",{lineage},"model_provider":"openai","base_instructions":{{"text":"{text}","provenance":{{"type":"default"}}}},"history_mode":"paginated","git":{{"commit_hash":"0123456789abcdef","branch":"main"}}"#))
    }

    /// The marks of a new turn, and its prompt.
    fn ask(&mut self) -> Outcome<()> {
        let cwd = &self.session.cwd;
        let at = self.at().0;
        let (turn, seconds) = (self.chance.uuid7(at), at / 1000);
        self.turn.clone_from(&turn);
        self.line("event_msg", format_args!(r#""type":"task_started","turn_attribution":{{"turn_id":"{turn}","turn_trigger":"exec","parent_turn_id":null,"root_turn_id":"{turn}"}},"turn_id":"{turn}","root_turn_id":"{turn}","started_at":{seconds},"model_context_window":258400,"collaboration_mode_kind":"default""#))?;
        if self.ordinal < 8 {
            let rules = prose().cut(&mut self.chance, 900);
            self.line("response_item", format_args!(r#""type":"message","id":"msg_{turn}","role":"developer","content":[{{"type":"input_text","text":"<permissions instructions>\n{rules}</permissions instructions>"}}]"#))?;
            self.line("response_item", format_args!(r#""type":"message","id":"msg_{turn}","role":"user","content":[{{"type":"input_text","text":"<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>bash</shell>\n</environment_context>"}}]"#))?;
            let world = prose().cut(&mut self.chance, 700);
            self.line(
                "world_state",
                format_args!(r#""full":true,"state":{{"agents_md":{{}},"notes":"{world}"}}"#),
            )?;
        }
        self.line("turn_context", format_args!(r#""turn_id":"{turn}","cwd":"{cwd}","approval_policy":"never","approvals_reviewer":"user","sandbox_policy":{{"type":"danger-full-access"}},"permission_profile":{{"type":"disabled"}},"model":"gpt-5.5-codex","collaboration_mode":{{"mode":"default","settings":{{"model":"gpt-5.5-codex","reasoning_effort":null,"developer_instructions":null}}}},"multi_agent_version":"v1","realtime_active":false,"summary":"none""#))?;
        let size = self.chance.between(40, 900);
        let prompt = prose().cut(&mut self.chance, size);
        self.line("response_item", format_args!(r#""type":"message","id":"msg_{turn}","role":"user","content":[{{"type":"input_text","text":"{prompt}"}}]"#))?;
        match self.session.special {
            true => self.line("event_msg", format_args!(r#""type":"user_message","message":"{prompt}","images":[],"local_images":[],"text_elements":[]"#)),
            false => self.item(format_args!(r#""type":"UserMessage","id":"{turn}","content":[{{"type":"text","text":"{prompt}","text_elements":[]}}]"#)),
        }
    }

    fn item(&mut self, item: fmt::Arguments<'_>) -> Outcome<()> {
        let (turn, at) = (self.turn.clone(), self.at().0);
        let id = &self.session.id;
        self.line("event_msg", format_args!(r#""type":"item_completed","thread_id":"{id}","turn_id":"{turn}","item":{{{item}}},"started_at_ms":{at},"completed_at_ms":{at}"#))
    }

    fn call(&mut self) -> Outcome<()> {
        if self.chance.percent(60) {
            let (size, mark) = (self.chance.between(300, 1500), self.chance.next());
            self.line("response_item", format_args!(r#""type":"reasoning","id":"rs_{mark:024x}","summary":[],"content":null,"encrypted_content":"{mark:0size$x}""#))?;
        }
        self.call = format!("call_{:024x}", self.chance.next());
        let (call, turn) = (self.call.clone(), self.turn.clone());
        let command = prose().phrase(&mut self.chance, 9);
        self.line("response_item", format_args!(r#""type":"function_call","status":"completed","id":"fc_{call}","name":"exec_command","arguments":"{{\"cmd\": \"{command}\", \"yield_time_ms\": 120000}}","call_id":"{call}","internal_chat_message_metadata_passthrough":{{"turn_id":"{turn}"}}"#))
    }

    fn round(&mut self) -> Outcome<()> {
        self.call()?;
        self.usage()?;
        let size = result_size(&mut self.chance, self.session.size).min(self.left() / 2);
        let (call, cwd) = (self.call.clone(), &self.session.cwd);
        let out = prose().cut(&mut self.chance, size);
        if !self.session.special {
            self.item(format_args!(r#""type":"CommandExecution","id":"{call}","process_id":"2468","command":["/bin/bash","-lc","make check"],"cwd":"file://{cwd}","parsed_cmd":[{{"type":"unknown","cmd":"make check"}}],"source":"unified_exec_startup","status":"completed","aggregated_output":"{out}","exit_code":0,"duration":{{"secs":0,"nanos":5864}}"#))?;
        }
        self.line("response_item", format_args!(r#""type":"function_call_output","id":"fco_{call}","call_id":"{call}","output":"Chunk ID: 657102\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\n{out}""#))
    }

    fn usage(&mut self) -> Outcome<()> {
        self.used += self.chance.between(1000, 20_000) as u64;
        let (id, used, turn) = (&self.session.id, self.used, self.turn.clone());
        let tokens = format!(
            r#"{{"input_tokens":{used},"cached_input_tokens":{},"cache_write_input_tokens":0,"output_tokens":{},"reasoning_output_tokens":7,"total_tokens":{used}}}"#,
            used / 2,
            used / 30
        );
        if !self.session.special {
            self.line("token_usage_record", format_args!(r#""thread_id":"{id}","turn_id":"{turn}","session_id":"{id}","root_turn_id":"{turn}","response_id":"resp_055121a0cfe24e8d","usage":{tokens},"turn_token_usage":{tokens},"thread_token_usage":{tokens}"#))?;
        }
        self.line("event_msg", format_args!(r#""type":"token_count","info":{{"total_token_usage":{tokens},"last_token_usage":{tokens},"last_usage_includes_reasoning":false,"model_context_window":258400}},"rate_limits":{{"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null,"rate_limit_reached_type":null}}"#))
    }

    fn answer(&mut self) -> Outcome<()> {
        let (turn, size) = (self.turn.clone(), self.chance.between(100, 1500));
        let text = prose().cut(&mut self.chance, size);
        match self.session.special {
            true => self.line("event_msg", format_args!(r#""type":"agent_message","message":"{text}","phase":null,"memory_citation":null"#))?,
            false => self.item(format_args!(r#""type":"AgentMessage","id":"msg_{turn}","content":[{{"type":"Text","text":"{text}"}}]"#))?,
        }
        self.line("response_item", format_args!(r#""type":"message","status":"completed","id":"msg_{turn}","role":"assistant","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]"#))?;
        self.usage()?;
        let end = self.at().0 / 1000;
        self.line("event_msg", format_args!(r#""type":"task_complete","root_turn_id":"{turn}","turn_id":"{turn}","last_agent_message":"{text}","started_at":{end},"completed_at":{end},"duration_ms":5600,"time_to_first_token_ms":51"#))
    }

    fn ending(&mut self) -> Outcome<()> {
        // What follows happens at the session's very end, whatever the size came out as.
        self.sink.written = self.sink.written.max(self.session.size);
        self.ask()?;
        let turn = self.turn.clone();
        match self.session.ending {
            Ending::Done => self.answer(),
            Ending::Failed => self.line("event_msg", format_args!(r#""type":"task_complete","root_turn_id":"{turn}","turn_id":"{turn}","last_agent_message":null,"error":{{"message":"unexpected status 401 Unauthorized","codex_error_info":{{"http_connection_failed":{{"http_status_code":401}}}}}},"duration_ms":79"#)),
            Ending::Interrupted | Ending::TurnLimit => {
                self.call()?;
                self.line("event_msg", format_args!(r#""type":"turn_aborted","turn_id":"{turn}","reason":"interrupted""#))
            }
            Ending::InTool => self.call(),
            Ending::Generating => self.usage(),
            Ending::Torn => {
                self.usage()?;
                self.sink.tear();
                Ok(())
            }
        }
    }
}
