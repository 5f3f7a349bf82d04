//! Chats in the shape of Gemini CLI 0.61, with made-up text.

use super::{
    super::{plan::Session, prose::prose, sink::Sink},
    course::{self, Pace, Voice},
};
use crate::failure::{Failure, Outcome};
use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

/// Where a session's chat is: in the folder of its directory, named by its minute and its first digits.
pub(super) fn path(store: &Path, session: &Session) -> PathBuf {
    let minute: String = session.start.to_string().chars().take(16).collect();
    let start: String = session.id.chars().take(8).collect();
    let name = format!("session-{}-{start}.jsonl", minute.replace(':', "-"));
    project(store, session).join("chats").join(name)
}

fn project(store: &Path, session: &Session) -> PathBuf {
    let name = session.cwd.rsplit('/').next().unwrap_or_default();
    let dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    store.join("tmp").join(name.chars().map(dash).collect::<String>())
}

/// Writes a session, and which directory its folder stands for.
pub(super) fn write(store: &Path, session: &Session) -> Outcome<()> {
    let sink = Sink::create(&path(store, session))?;
    let root = project(store, session).join(".project_root");
    fs::write(&root, &session.cwd).map_err(|why| Failure::io("write", &root, &why))?;
    let mut writer = Writer { sink, pace: Pace::new(session), message: String::new() };
    course::play(&mut writer)?;
    writer.sink.finish(session.end)
}

struct Writer<'a> {
    sink: Sink,
    pace: Pace<'a>,
    /// Id and fields of the model's last message: it is written again once its tool has run.
    message: String,
}

impl Writer<'_> {
    fn line(&mut self, line: fmt::Arguments<'_>) -> Outcome<()> {
        let before = self.sink.written;
        self.sink.line(line)?;
        self.pace.written += self.sink.written - before;
        Ok(())
    }

    /// A line, and that the session changed.
    fn told(&mut self, line: fmt::Arguments<'_>) -> Outcome<()> {
        self.line(line)?;
        let at = self.pace.at();
        self.line(format_args!(r#"{{"$set":{{"lastUpdated":"{at}"}}}}"#))
    }

    fn of_user(&mut self, content: fmt::Arguments<'_>) -> Outcome<()> {
        let (id, at) = (self.pace.chance.uuid4(), self.pace.at());
        self.told(format_args!(
            r#"{{"id":"{id}","timestamp":"{at}","type":"user","content":[{content}]}}"#
        ))
    }

    fn says(&mut self, text: &str) -> Outcome<()> {
        let (id, at) = (self.pace.chance.uuid4(), self.pace.at());
        let (input, output) =
            (self.pace.chance.between(5000, 150_000), self.pace.chance.between(20, 2000));
        let cached = input / 2;
        self.message = format!(
            r#""id":"{id}","timestamp":"{at}","type":"gemini","content":"{text}","thoughts":[],"tokens":{{"input":{input},"output":{output},"cached":{cached},"thoughts":7,"tool":0,"total":{}}},"model":"gemini-2.5-pro""#,
            input + output + 7
        );
        let message = self.message.clone();
        self.told(format_args!("{{{message}}}"))
    }
}

impl<'a> Voice<'a> for Writer<'a> {
    fn pace(&mut self) -> &mut Pace<'a> {
        &mut self.pace
    }

    fn opening(&mut self) -> Outcome<()> {
        let Session { id, cwd, start, .. } = self.pace.session;
        let hash: String = (0..4).map(|_| format!("{:016x}", self.pace.chance.next())).collect();
        self.line(format_args!(r#"{{"sessionId":"{id}","projectHash":"{hash}","startTime":"{start}","lastUpdated":"{start}","kind":"main"}}"#))?;
        let (first, tree) =
            (hash.get(..32).unwrap_or_default(), prose().cut(&mut self.pace.chance, 800));
        self.line(format_args!(r#"{{"$set":{{"messages":[{{"id":"{first}","timestamp":"{start}","type":"user","content":[{{"text":"<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - {cwd}\n{tree}</session_context>"}}]}}],"lastUpdated":"{start}"}}}}"#))
    }

    fn ask(&mut self) -> Outcome<()> {
        let size = self.pace.chance.between(40, 900);
        let text = prose().cut(&mut self.pace.chance, size);
        self.of_user(format_args!(r#"{{"text":"{text}"}}"#))
    }

    fn call(&mut self) -> Outcome<()> {
        self.says("")
    }

    fn round(&mut self, size: usize) -> Outcome<()> {
        self.call()?;
        let call = format!("run_shell_command_{:016x}", self.pace.chance.next());
        // The output stands in the file twice: with the call, and as what the model is told.
        let out = prose().cut(&mut self.pace.chance, size / 2);
        let told = format!(
            r#"{{"functionResponse":{{"id":"{call}","name":"run_shell_command","response":{{"output":"{out}"}}}}}}"#
        );
        let (message, at) = (self.message.clone(), self.pace.at());
        self.line(format_args!(r#"{{{message},"toolCalls":[{{"id":"{call}","name":"run_shell_command","args":{{"command":"make check"}},"result":[{told}],"status":"success","timestamp":"{at}","resultDisplay":"ok","displayName":"Shell"}}]}}"#))?;
        self.of_user(format_args!("{told}"))
    }

    fn answer(&mut self) -> Outcome<()> {
        let size = self.pace.chance.between(100, 1500);
        let text = prose().cut(&mut self.pace.chance, size);
        self.says(text)
    }

    fn fail(&mut self) -> Outcome<()> {
        let (id, at) = (self.pace.chance.uuid4(), self.pace.at());
        self.told(format_args!(r#"{{"id":"{id}","timestamp":"{at}","type":"error","content":"[API Error: quota exceeded]"}}"#))
    }

    fn interrupt(&mut self) -> Outcome<()> {
        let (id, at) = (self.pace.chance.uuid4(), self.pace.at());
        self.told(format_args!(
            r#"{{"id":"{id}","timestamp":"{at}","type":"info","content":"Request cancelled."}}"#
        ))
    }

    fn leave(&mut self) -> Outcome<()> {
        if !self.pace.chance.percent(40) {
            return Ok(());
        }
        let title = prose().phrase(&mut self.pace.chance, 6);
        self.line(format_args!(r#"{{"$set":{{"summary":"{title}"}}}}"#))
    }

    fn tear(&mut self) {
        self.sink.tear();
    }
}
