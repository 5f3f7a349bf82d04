//! Sessions in the shape of Copilot CLI 1.0.102: a folder each, with events and a page about it.

use super::{
    super::{
        plan::{Ending, Session},
        prose::prose,
        sink::Sink,
    },
    course::{self, Pace, Voice},
};
use crate::failure::{Failure, Outcome};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// Beyond the highest pid Linux gives out.
const NOBODY: u32 = 4_194_500;

/// Where a session's events are.
pub(super) fn path(store: &Path, session: &Session) -> PathBuf {
    store.join("session-state").join(&session.id).join("events.jsonl")
}

/// The file that a process locks while it has the session, beside its events.
pub(in super::super) fn lock(events: &Path, pid: u32) -> PathBuf {
    events.with_file_name(format!("inuse.{pid}.hold"))
}

/// Writes a session.
pub(super) fn write(store: &Path, session: &Session) -> Outcome<()> {
    let path = path(store, session);
    let sink = Sink::create(&path)?;
    let mut writer = Writer {
        sink,
        pace: Pace::new(session),
        parent: "null".to_owned(),
        asked: [String::new(), String::new()],
        call: String::new(),
        prompt: String::new(),
    };
    course::play(&mut writer)?;
    let prompt = writer.prompt.clone();
    writer.sink.finish(session.end)?;
    about(&path, session, &prompt)?;
    match session.ending {
        Ending::InTool | Ending::Generating | Ending::Torn => put(&lock(&path, NOBODY), ""),
        Ending::Done | Ending::Failed | Ending::Interrupted | Ending::TurnLimit => Ok(()),
    }
}

fn about(events: &Path, session: &Session, prompt: &str) -> Outcome<()> {
    let Session { id, cwd, start, end, .. } = session;
    let text = format!(
        "id: {id}\ncwd: {cwd}\ngit_root: {cwd}\nbranch: main\nclient_name: github/cli\nname: {prompt}\nuser_named: false\nsummary_count: 0\nfork_count: 0\ncreated_at: {start}\nupdated_at: {end}\n"
    );
    put(&events.with_file_name("workspace.yaml"), &text)
}

fn put(path: &Path, text: &str) -> Outcome<()> {
    fs::write(path, text).map_err(|why| Failure::io("write", path, &why))
}

struct Writer<'a> {
    sink: Sink,
    pace: Pace<'a>,
    /// The event before, as JSON.
    parent: String,
    /// The newest prompt: its message, and what it set off.
    asked: [String; 2],
    call: String,
    /// The first prompt, which the session is called by.
    prompt: String,
}

impl Writer<'_> {
    fn event(&mut self, kind: &str, data: fmt::Arguments<'_>) -> Outcome<()> {
        let (id, at) = (self.pace.chance.uuid4(), self.pace.at());
        let (before, parent) = (self.sink.written, &self.parent);
        self.sink.line(format_args!(r#"{{"type":"{kind}","data":{{{data}}},"id":"{id}","timestamp":"{at}","parentId":{parent}}}"#))?;
        self.pace.written += self.sink.written - before;
        self.parent = format!("\"{id}\"");
        Ok(())
    }

    /// One call of the model: what it used, and what it said.
    fn says(&mut self, text: &str, tools: fmt::Arguments<'_>) -> Outcome<()> {
        let [message, interaction] = self.asked.clone();
        let (id, api) = (self.pace.chance.uuid4(), self.pace.chance.next());
        let (input, output) =
            (self.pace.chance.between(5000, 150_000), self.pace.chance.between(20, 2000));
        let (cached, session) = (input / 2, &self.pace.session.id);
        self.event(
            "assistant.turn_start",
            format_args!(r#""turnId":"0","interactionId":"{interaction}""#),
        )?;
        self.event("session.usage_record", format_args!(r#""usage":{{"model":"gpt-5.5","modelDisplayName":"gpt-5.5","inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{cached},"cacheWriteTokens":0,"reasoningTokens":4,"cost":0.0,"duration":5117,"initiator":"user","interactionType":"conversation-agent","maxPromptTokens":128000,"transport":"http","apiCallId":"chatcmpl-{api:016x}","apiEndpoint":"/chat/completions","accounting":{{"sourceSessionId":"{session}","sequence":1}},"aiCreditsStatus":"unavailable","availableToolCount":17,"toolTokenCount":5748,"finishReason":"stop"}}"#))?;
        self.event("assistant.message", format_args!(r#""messageId":"{id}","originatingMessageId":"{message}","model":"gpt-5.5","content":"{text}","toolRequests":[{tools}],"interactionId":"{interaction}","turnId":"0","rte":false,"apiCallId":"chatcmpl-{api:016x}""#))
    }
}

impl<'a> Voice<'a> for Writer<'a> {
    fn pace(&mut self) -> &mut Pace<'a> {
        &mut self.pace
    }

    fn opening(&mut self) -> Outcome<()> {
        self.prompt = prose().phrase(&mut self.pace.chance, 8);
        let Session { id, cwd, start, .. } = self.pace.session;
        self.event("session.start", format_args!(r#""sessionId":"{id}","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"{start}","selectedModel":"gpt-5.5","contextTier":null,"context":{{"cwd":"{cwd}","gitRoot":"{cwd}","branch":"main"}},"alreadyInUse":false,"remoteSteerable":false"#))
    }

    fn ask(&mut self) -> Outcome<()> {
        self.asked = [self.pace.chance.uuid4(), self.pace.chance.uuid4()];
        let ([message, interaction], prompt) = (self.asked.clone(), self.prompt.clone());
        let size = self.pace.chance.between(40, 900);
        let text = prose().cut(&mut self.pace.chance, size);
        let at = self.pace.at();
        self.event("user.message", format_args!(r#""content":"{prompt}\n{text}","transformedContent":"<current_datetime>{at}</current_datetime>\n\n{prompt}\n{text}","messageId":"{message}","supportedNativeDocumentMimeTypes":[],"delivery":"idle","interactionId":"{interaction}","turnId":"0""#))
    }

    fn call(&mut self) -> Outcome<()> {
        self.call = format!("call_{:024x}", self.pace.chance.next());
        let (call, size) = (self.call.clone(), self.pace.chance.between(20, 600));
        let command = prose().cut(&mut self.pace.chance, size);
        self.says("", format_args!(r#"{{"toolCallId":"{call}","name":"bash","arguments":{{"command":"{command}"}},"type":"function","toolTitle":"Running command"}}"#))?;
        self.event("tool.execution_start", format_args!(r#""toolCallId":"{call}","toolName":"bash","arguments":{{"command":"{command}"}},"turnId":"0","model":"gpt-5.5","toolTitle":"Running command""#))
    }

    fn round(&mut self, size: usize) -> Outcome<()> {
        self.call()?;
        let (call, [_, interaction]) = (self.call.clone(), self.asked.clone());
        // What the model is told, and what a person is shown.
        let out = prose().cut(&mut self.pace.chance, size / 2);
        self.event("tool.execution_complete", format_args!(r#""toolCallId":"{call}","model":"gpt-5.5","interactionId":"{interaction}","success":true,"result":{{"content":"{out}","detailedContent":"{out}"}}"#))?;
        self.event("assistant.turn_end", format_args!(r#""turnId":"0""#))
    }

    fn answer(&mut self) -> Outcome<()> {
        let size = self.pace.chance.between(100, 1500);
        let text = prose().cut(&mut self.pace.chance, size);
        self.says(text, format_args!(""))?;
        self.event("assistant.turn_end", format_args!(r#""turnId":"0""#))
    }

    fn fail(&mut self) -> Outcome<()> {
        self.event("session.error", format_args!(r#""errorType":"authentication","message":"Authentication failed (HTTP 401).","statusCode":401"#))
    }

    fn interrupt(&mut self) -> Outcome<()> {
        self.event("abort", format_args!(r#""reason":"user_abort""#))
    }

    fn leave(&mut self) -> Outcome<()> {
        let start = self.pace.session.start.0;
        self.event("session.shutdown", format_args!(r#""shutdownType":"routine","totalPremiumRequests":0,"totalApiDurationMs":5117,"sessionStartTime":{start},"codeChanges":{{"linesAdded":0,"linesRemoved":0,"filesModified":[]}},"modelMetrics":{{}},"currentTokens":10330"#))
    }

    fn tear(&mut self) {
        self.sink.tear();
    }
}
