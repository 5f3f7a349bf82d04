//! Transcripts in the shape of Pi 1.5.0, and the entries of OpenClaw 2026.9.6, which are of their kind.

use super::{
    super::{plan::Session, prose::prose, sink::Sink, time::Moment},
    course::{self, Pace, Voice},
};
use crate::failure::Outcome;
use std::{
    fmt,
    path::{Path, PathBuf},
};

const SECTIONS: &str = r#""preamble":"You are a coding assistant running inside pi","tools":"<tools>\n- read: Read file contents\n- bash: Execute bash commands\n</tools>""#;

/// Where a session's transcript is: in the folder of its directory.
pub(super) fn path(store: &Path, session: &Session) -> PathBuf {
    let folder = session.cwd.trim_start_matches('/').replace(['/', '\\', ':'], "-");
    let time = session.start.to_string().replace([':', '.'], "-");
    let name = format!("{time}_{}.jsonl", session.id);
    store.join("sessions").join(format!("--{folder}--")).join(name)
}

/// Writes a session.
pub(super) fn write(store: &Path, session: &Session) -> Outcome<()> {
    let mut sink = Sink::create(&path(store, session))?;
    let mut torn = false;
    {
        let mut put = |line: fmt::Arguments<'_>, _: Moment| sink.line(line);
        let mut writer = Writer::new(session, Kind::Pi, &mut put);
        course::play(&mut writer)?;
        torn |= writer.torn;
    }
    if torn {
        sink.tear();
    }
    sink.finish(session.end)
}

/// Whose entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pi,
    OpenClaw,
}

/// Takes one entry, with its moment, and says how long it is.
pub(super) type Put<'a> = &'a mut dyn FnMut(fmt::Arguments<'_>, Moment) -> Outcome<()>;

/// A transcript under way.
pub(super) struct Writer<'a> {
    pace: Pace<'a>,
    kind: Kind,
    put: Put<'a>,
    /// The entry before, as JSON.
    parent: String,
    call: String,
    torn: bool,
}

impl<'a> Writer<'a> {
    /// Nothing is written yet.
    pub(super) fn new(session: &'a Session, kind: Kind, put: Put<'a>) -> Self {
        let (pace, parent) = (Pace::new(session), "null".to_owned());
        Self { pace, kind, put, parent, call: String::new(), torn: false }
    }

    fn entry(&mut self, kind: &str, rest: fmt::Arguments<'_>) -> Outcome<()> {
        let id = match self.kind {
            Kind::Pi => format!("{:08x}", self.pace.chance.next() >> 32),
            Kind::OpenClaw => self.pace.chance.uuid4(),
        };
        let (at, parent) = (self.pace.at(), &self.parent);
        let line = format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{at}",{rest}}}"#
        );
        self.pace.written += line.len() as u64 + 1;
        self.parent = format!("\"{id}\"");
        (self.put)(format_args!("{line}"), at)
    }

    fn message(&mut self, rest: fmt::Arguments<'_>) -> Outcome<()> {
        let at = self.pace.at().0;
        self.entry("message", format_args!(r#""message":{{{rest},"timestamp":{at}}}"#))
    }

    /// The model's message.
    fn says(&mut self, content: fmt::Arguments<'_>, stop: &str) -> Outcome<()> {
        let (input, output) =
            (self.pace.chance.between(50, 9000), self.pace.chance.between(20, 2000));
        let read = self.pace.chance.between(5000, 150_000);
        let total = input + output + read;
        let last = match self.kind {
            Kind::Pi => r#","durationMs":2153,"thinkingLevel":"off""#,
            Kind::OpenClaw => "",
        };
        self.message(format_args!(r#""role":"assistant","content":[{content}],"api":"openai-completions","provider":"openai","model":"gpt-5.5","usage":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":0,"totalTokens":{total},"cost":{{"input":0.0003,"output":0.0001,"cacheRead":0.000003,"cacheWrite":0,"total":0.0004}}}},"stopReason":"{stop}","responseId":"chatcmpl-{total:024x}"{last}"#))
    }
}

impl<'a> Voice<'a> for Writer<'a> {
    fn pace(&mut self) -> &mut Pace<'a> {
        &mut self.pace
    }

    fn opening(&mut self) -> Outcome<()> {
        let Session { id, cwd, start, .. } = self.pace.session;
        let version = match self.kind {
            Kind::Pi => 3,
            Kind::OpenClaw => 4,
        };
        let line = format!(
            r#"{{"type":"session","version":{version},"id":"{id}","timestamp":"{start}","cwd":"{cwd}"}}"#
        );
        self.pace.written += line.len() as u64 + 1;
        (self.put)(format_args!("{line}"), *start)?;
        self.entry("model_change", format_args!(r#""provider":"openai","modelId":"gpt-5.5""#))?;
        self.entry("thinking_level_change", format_args!(r#""thinkingLevel":"off""#))?;
        match self.kind {
            Kind::Pi => self.message(format_args!(
                r#""role":"system","content":"","sections":{{{SECTIONS}}},"toolsAdded":[]"#
            )),
            Kind::OpenClaw => self.entry("custom", format_args!(r#""customType":"model-snapshot","data":{{"provider":"openai","modelApi":"openai-completions","modelId":"gpt-5.5"}}"#)),
        }
    }

    fn ask(&mut self) -> Outcome<()> {
        let size = self.pace.chance.between(40, 900);
        let text = prose().cut(&mut self.pace.chance, size);
        match self.kind {
            Kind::Pi => self.message(format_args!(
                r#""role":"user","content":[{{"type":"text","text":"{text}"}}]"#
            )),
            Kind::OpenClaw => self.message(format_args!(
                r#""role":"user","content":"{text}","__openclaw":{{"senderIsOwner":true}}"#
            )),
        }
    }

    fn call(&mut self) -> Outcome<()> {
        self.call = format!("call_{:024x}", self.pace.chance.next());
        let (call, size) = (self.call.clone(), self.pace.chance.between(20, 600));
        let command = prose().cut(&mut self.pace.chance, size);
        self.says(format_args!(r#"{{"type":"toolCall","id":"{call}","name":"bash","arguments":{{"command":"{command}"}}}}"#), "toolUse")
    }

    fn round(&mut self, size: usize) -> Outcome<()> {
        self.call()?;
        let (call, out) = (self.call.clone(), prose().cut(&mut self.pace.chance, size));
        self.message(format_args!(r#""role":"toolResult","toolCallId":"{call}","toolName":"bash","content":[{{"type":"text","text":"{out}"}}],"isError":false"#))
    }

    fn answer(&mut self) -> Outcome<()> {
        let size = self.pace.chance.between(100, 1500);
        let text = prose().cut(&mut self.pace.chance, size);
        self.says(format_args!(r#"{{"type":"text","text":"{text}"}}"#), "stop")
    }

    fn fail(&mut self) -> Outcome<()> {
        self.message(format_args!(r#""role":"assistant","content":[],"api":"openai-completions","provider":"openai","model":"gpt-5.5","usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"error","errorMessage":"401: unauthorized","durationMs":36"#))
    }

    fn interrupt(&mut self) -> Outcome<()> {
        let text = prose().cut(&mut self.pace.chance, 60);
        self.says(format_args!(r#"{{"type":"text","text":"{text}"}}"#), "aborted")
    }

    fn leave(&mut self) -> Outcome<()> {
        Ok(())
    }

    fn tear(&mut self) {
        self.torn = true;
    }
}
