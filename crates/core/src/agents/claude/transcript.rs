//! What a transcript says of its session, from its beginning and its end.
//!
//! Lines branch, repeat and come torn; only file order is relied on. See `docs/agents/claude-code.md`.

use super::{
    head::Head,
    picks::{ASKING, BEGINNING, BESIDE, DECISIVE, READ},
    signs::{ANSWERED, ASSISTANT, DETACHED, MOMENT, NAME, QUESTION, tells},
};
use crate::{
    agent::Stub,
    agents::{
        json::{self, Part},
        sign,
    },
    evidence::{Ending, Pending, Record, Turn},
    host::{Bytes, Host},
    lines::{self, Body, Flow, Line},
    proof::Source,
    sheet::Sheet,
    text,
};
use jiff::Timestamp;
use memchr::memmem::Finder;
use serde_json::Value;
use std::{collections::HashSet, io, path::Path};

/// How far back the end is searched for what is only nice to know.
const TAIL: u64 = 256 << 10;
/// The same for its title, which is written again at an orderly exit, a compaction and a resume. One that was killed long after
/// is told by its first prompt.
const TITLE: u64 = 64 << 10;
/// How many lines may stand in the wrong order.
const DISORDER: usize = 16;
/// How many lines the beginning is searched for the first prompt.
const HEAD: usize = 100;

/// Reads the newest turn and what else stands near both ends.
pub(super) fn read(sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
    let file = sheet.file()?;
    let mut tail = Tail::new(&stub.path, stub.updated);
    let size = file.size();
    lines::recent(file, &mut |line| {
        tail.older(file, &line);
        tail.is_settled().then(|| lines::until(tail.is_enough(size - line.at)))
    })?;
    if tail.strange && !tail.understood {
        return Err(io::Error::other("no line of it is understood"));
    }
    let mut head = Head::default();
    lines::head(file, HEAD, &mut |line| {
        head.newer(&json::chosen_parts(file, line, BEGINNING, DECISIVE), line.size());
        head.is_full()
    })?;
    let turn = tail.turn();
    Ok(Record {
        cwd: head.cwd,
        branch: tail.branch,
        model: tail.model,
        title: tail.title,
        prompt: head.prompt,
        last: tail.last,
        version: tail.version.or(head.version),
        started: head.started,
        updated: tail.updated,
        ..Record::of(turn)
    })
}

/// Reads the newest turn only.
pub(super) fn turn(host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
    let file = host.open(&stub.path)?;
    let mut tail = Tail::new(&stub.path, stub.updated);
    lines::recent(&*file, &mut |line| {
        match line.body {
            Body::Whole(bytes) if tail.is_beside(bytes) => tail.looked += 1,
            Body::Whole(_) | Body::Huge(_) => tail.older(&*file, &line),
        }
        tail.is_settled().then_some(Flow::Break(()))
    })?;
    match tail.strange && !tail.understood {
        true => Err(io::Error::other("no line of it is understood")),
        false => Ok(tail.turn()),
    }
}

/// When a session began: the first moment written down, which is no copied one.
pub(super) fn began(file: &dyn Bytes) -> Option<Timestamp> {
    json::first(file, |line| json::time(line, "timestamp"))
}

/// What a walk from the end has met so far.
struct Tail<'a> {
    path: &'a Path,
    written: Timestamp,
    newest: Option<Turn>,
    /// Some line was one of a transcript's, some other was not.
    understood: bool,
    strange: bool,
    /// An orderly exit stands behind the newest turn: where.
    closed: Option<u64>,
    /// Lines met since the newest turn was.
    looked: usize,
    /// The newest line of the turn, and what stands behind it: whoever follows these is newer still.
    /// Older lines do not count, since an older turn may be out of order too.
    seen: HashSet<String>,
    sought: Vec<Finder<'static>>,
    answered: HashSet<String>,
    asked: bool,
    model: Option<String>,
    branch: Option<String>,
    title: Option<String>,
    last: Option<String>,
    version: Option<String>,
    updated: Option<Timestamp>,
}

impl<'a> Tail<'a> {
    fn new(path: &'a Path, written: Timestamp) -> Self {
        Self {
            path,
            written,
            newest: None,
            understood: false,
            strange: false,
            closed: None,
            looked: 0,
            seen: HashSet::new(),
            sought: Vec::new(),
            answered: HashSet::new(),
            asked: false,
            model: None,
            branch: None,
            title: None,
            last: None,
            version: None,
            updated: None,
        }
    }

    /// The newest turn is known, and no line written out of order can change it.
    fn is_settled(&self) -> bool {
        self.newest.is_some() && self.looked > DISORDER
    }

    /// So far from the end nothing is missing that is worth looking for.
    fn is_enough(&self, distance: u64) -> bool {
        let spoke = self.model.is_some() && self.last.is_some();
        spoke && (self.title.is_some() || distance > TITLE) || distance > TAIL
    }

    /// Takes in the next older line.
    fn older(&mut self, file: &dyn Bytes, line: &Line<'_>) {
        if let Body::Whole(bytes) = line.body {
            if self.is_dull(bytes) || bytes.trim_ascii().is_empty() {
                return;
            }
            if self.is_passed_over(bytes) {
                self.looked += 1;
                self.answered.extend(ANSWERED.values(bytes).flatten().map(str::to_owned));
                return;
            }
        } else if self.is_settled() && self.has_told() && self.branch.is_some() {
            return; // of a line that is too long to hold nothing else is read
        }
        let value = self.value(file, line);
        self.understood |= value.text("type").is_some();
        self.strange |= !self.understood;
        let kind = value.text("type").unwrap_or_default();
        let at = value.time("timestamp");
        self.updated = self.updated.max(at.filter(|_| self.looked <= DISORDER));
        self.version = self.version.take().or_else(|| value.string("version"));
        let branch = value.string("gitBranch").filter(|branch| branch != "HEAD");
        self.branch = self.branch.take().or(branch);
        match kind {
            "last-prompt" if self.newest.is_none() => {
                self.closed.get_or_insert(line.at);
            }
            "custom-title" => self.name(&value, "customTitle"),
            "ai-title" => self.name(&value, "aiTitle"),
            "assistant" => self.said(value.get("message")),
            _ => {}
        }
        if !self.is_settled() {
            self.calls(value.get("message").get("content"));
            self.take_turn(kind, &value, (at.unwrap_or(self.written), line.at));
        }
    }

    /// A line as far as it can matter: once a turn was met, most lines only tell where they stand.
    fn value<'l>(&self, file: &dyn Bytes, line: &Line<'l>) -> Part<'l> {
        let is_light = |bytes: &&[u8]| self.is_older(bytes) && !self.may_say(bytes);
        let light = line
            .whole()
            .filter(is_light)
            .map(|bytes| json::light_parts(bytes, if tells(bytes) { ASKING } else { BESIDE }));
        let light = light.filter(|light| light.text("type").is_some());
        light.unwrap_or_else(|| json::chosen_parts(file, line, READ, DECISIVE))
    }

    /// Once the turn is settled, only lines that tell what is still missing are worth parsing.
    fn is_dull(&self, line: &[u8]) -> bool {
        self.is_settled() && !self.may_name(line) && !self.may_say(line)
    }

    /// It may tell a title, which is still looked for.
    fn may_name(&self, line: &[u8]) -> bool {
        self.title.is_none() && NAME.is_in(line)
    }

    /// It may tell what the model said last, or which one that is, and one of these is still looked for.
    fn may_say(&self, line: &[u8]) -> bool {
        (self.model.is_none() || self.last.is_none()) && ASSISTANT.is_in(line)
    }

    /// All that an older line tells is known, or found in it without taking it apart: most lines near the end are such, and
    /// long.
    fn is_passed_over(&self, line: &[u8]) -> bool {
        let on_branch = || self.branch.is_some() || DETACHED.is_in(line);
        self.last.is_some()
            && self.has_told()
            && self.is_older(line)
            && on_branch()
            && !self.may_name(line)
            && !QUESTION.is_in(line)
            && !self.is_later(line)
    }

    /// What any line of a turn tells.
    fn has_told(&self) -> bool {
        self.model.is_some() && self.version.is_some()
    }

    /// Some moment in it is later than those of newer lines, or is not understood.
    fn is_later(&self, line: &[u8]) -> bool {
        let mut moments = MOMENT.values(line).map(|text| text?.parse().ok());
        moments.any(|at: Option<Timestamp>| at.is_none() || at > self.updated)
    }

    /// Once a turn was met, an older line changes it only if it follows a newer one, or asks or answers.
    fn is_beside(&self, line: &[u8]) -> bool {
        self.is_older(line) && !tells(line)
    }

    /// A turn was met, and the line follows none of its lines.
    fn is_older(&self, line: &[u8]) -> bool {
        let follows = || self.sought.iter().any(|uuid| uuid.find(line).is_some());
        self.newest.is_some() && !line.trim_ascii().is_empty() && !follows()
    }

    fn name(&mut self, value: &Part<'_>, key: &str) {
        self.title = self.title.take().or_else(|| value.string(key));
    }

    fn said(&mut self, message: &Part<'_>) {
        if message.text("model") == Some("<synthetic>") {
            return;
        }
        self.model = self.model.take().or_else(|| message.string("model"));
        let said = || first_text(message.get("content")).and_then(text::excerpt);
        self.last = self.last.take().or_else(said);
    }

    /// Notes a question that nobody answered.
    fn calls(&mut self, content: &Part<'_>) {
        for block in content.each() {
            match block.text("type") {
                Some("tool_result") => {
                    self.answered.extend(block.string("tool_use_id"));
                }
                Some("tool_use") => {
                    let question = block.text("name") == Some("AskUserQuestion");
                    let id = block.text("id").unwrap_or_default();
                    self.asked |= question && !self.answered.contains(id);
                }
                _ => {}
            }
        }
    }

    /// Takes the newest turn from this line, if it belongs to one. 2.1.197 may write an answer before
    /// the lines it answers: a line whose parent stands behind it is the newer one.
    fn take_turn(&mut self, kind: &str, value: &Part<'_>, place: (Timestamp, u64)) {
        let follows = value.text("parentUuid").is_some_and(|it| self.seen.contains(it));
        self.looked += usize::from(self.newest.is_some());
        if self.newest.is_none() || follows {
            if let Some(uuid) = value.string("uuid") {
                self.sought.push(sign::finder(&uuid));
                self.seen.insert(uuid);
            }
            self.newest = self.turn_of(kind, value, place).or(self.newest.take());
        }
    }

    /// What this line says of a turn.
    fn turn_of(&self, kind: &str, value: &Part<'_>, place: (Timestamp, u64)) -> Option<Turn> {
        let (at, offset) = place;
        if value.flag("isSidechain") || value.flag("isCompactSummary") {
            return None;
        }
        let how = match kind {
            "user" => user(value)?,
            "assistant" => assistant(value)?,
            "attachment" => match value.get("attachment").text("type") {
                Some("max_turns_reached") => Some(Ending::Failed("turn limit reached".to_owned())),
                _ => None,
            },
            // A print run writes its prompt down here first; killed at once, it leaves nothing else.
            "queue-operation" if offset == 0 => None,
            _ => return None,
        };
        let shows = match value.text("uuid") {
            Some(uuid) => format!("\"uuid\":\"{uuid}\""),
            None => format!("\"type\":\"{kind}\""),
        };
        let without = match how {
            Some(_) => Vec::new(),
            None => vec!["\"stop_reason\":\"end_turn\"".to_owned()],
        };
        let line = |offset, shows| {
            let path = self.path.to_owned();
            Source::Line { path, offset, shows, without }
        };
        Some(match (how, self.closed) {
            (Some(how), _) => Turn::Ended { at, how, line: line(offset, shows) },
            (None, Some(exit)) => {
                let line = line(exit, "\"type\":\"last-prompt\"".to_owned());
                Turn::Ended { at, how: Ending::Interrupted, line }
            }
            (None, None) => {
                Turn::Open { alive: at, pending: Pending::Nothing, line: line(offset, shows) }
            }
        })
    }

    /// The newest turn, with what it hangs on if it is still open.
    fn turn(&mut self) -> Turn {
        match self.newest.take() {
            None => Turn::None,
            Some(Turn::Open { alive, line, .. }) if self.asked => {
                Turn::Open { alive, line, pending: Pending::Answer }
            }
            Some(turn) => turn,
        }
    }
}

/// How a user's line leaves the turn: `None` if it says nothing of a turn, `Some(None)` if open.
fn user(value: &Part<'_>) -> Option<Option<Ending>> {
    if value.flag("isMeta") {
        return None;
    }
    match first_text(value.get("message").get("content")) {
        Some(text) if is_interruption(text) => Some(Some(Ending::Interrupted)),
        Some(text) if is_noise(text) => None,
        _ => Some(None),
    }
}

/// As [`user`], for the agent's lines.
fn assistant(value: &Part<'_>) -> Option<Option<Ending>> {
    if value.flag("isApiErrorMessage") {
        let kind = value.string("error").unwrap_or_else(|| "API error".to_owned());
        let why = value
            .whole("apiErrorStatus")
            .map_or(kind.clone(), |status| format!("{kind} (HTTP {status})"));
        return Some(Some(Ending::Failed(why)));
    }
    let message = value.get("message");
    if message.text("model") == Some("<synthetic>") {
        return None; // written by the program itself, on resume or interruption
    }
    Some(match message.text("stop_reason") {
        Some("end_turn" | "stop_sequence") => Some(Ending::Completed),
        Some(reason @ ("max_tokens" | "refusal")) => Some(Ending::Failed(reason.to_owned())),
        _ => None,
    })
}

/// What a print run prints of each prompt in the end. 2.1.197 may exit before it has written the answer down: on a busy
/// machine one of three such runs did.
pub(super) fn result(line: &[u8]) -> Option<(bool, &'static str)> {
    let line = json::object(line);
    let is = |key: &str, value: &str| json::text(&line, key) == Some(value);
    let good = is("subtype", "success") && line["is_error"] == Value::Bool(false);
    is("type", "result").then_some((good, "\"type\":\"result\""))
}

/// The text of a message: the string itself, or its first text block.
pub(super) fn said(content: &Value) -> Option<&str> {
    let first = || content.as_array()?.iter().find_map(|block| json::text(block, "text"));
    content.as_str().or_else(first)
}

/// The same of what was picked of one.
pub(super) fn first_text<'p>(content: &'p Part<'_>) -> Option<&'p str> {
    let first = || content.each().iter().find_map(|block| block.text("text"));
    content.itself().or_else(first)
}

/// Written in place of a prompt when a person interrupts.
pub(super) fn is_interruption(text: &str) -> bool {
    text.starts_with("[Request interrupted by user")
}

/// A slash command or its output, which no model sees as a prompt.
pub(super) fn is_noise(text: &str) -> bool {
    ["<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>"]
        .iter()
        .any(|tag| text.trim_start().starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// How the newest turn of these lines ended: the fact sheet's order, `uuid` and `parentUuid`.
    fn ended(lines: &[(&str, &str, &str)]) -> Option<Ending> {
        let mut tail = Tail::new(Path::new("/t"), Timestamp::UNIX_EPOCH);
        for (at, (kind, uuid, parent)) in lines.iter().enumerate().rev() {
            let stop = if *kind == "assistant" { "end_turn" } else { "" };
            let message = json!({"model": "m", "stop_reason": stop, "content": "text"});
            let line =
                json!({"type": kind, "uuid": uuid, "parentUuid": parent, "message": message});
            let bytes = line.to_string().into_bytes();
            let line = Line { at: at as u64, body: Body::Whole(&bytes) };
            tail.older(&Vec::new(), &line);
        }
        match tail.turn() {
            Turn::Ended { how, .. } => Some(how),
            Turn::Open { .. } | Turn::None => None,
        }
    }

    #[test]
    fn an_answer_before_what_it_answers_is_the_newer_line() {
        let lines = [("assistant", "c", "b"), ("user", "a", ""), ("attachment", "b", "a")];
        assert_eq!(ended(&lines), Some(Ending::Completed));
    }

    /// What lines say, all but the newest passed over as far as may be.
    fn told(older: &[&str]) -> Record {
        let newest = r#"{"type":"assistant","uuid":"z","parentUuid":"y","version":"2","gitBranch":"b","timestamp":"2026-01-01T00:00:09.000Z","message":{"model":"m","content":[{"type":"text","text":"t"}]}}"#;
        let bytes = [older.join("\n").as_bytes(), b"\n", newest.as_bytes(), b"\n"].concat();
        let mut tail = Tail::new(Path::new("/t"), Timestamp::UNIX_EPOCH);
        lines::back(&bytes, &mut |line| {
            tail.older(&bytes, &line);
            Flow::Continue(())
        })
        .expect("bytes");
        Record { updated: tail.updated, ..Record::of(tail.turn()) }
    }

    #[test]
    fn a_line_that_is_passed_over_tells_what_it_would_tell() {
        let later = r#"{"type":"user","uuid":"a","timestamp":"2026-01-01T00:00:10.000Z"}"#;
        let earlier = r#"{"type":"user","uuid":"b","timestamp":"2026-01-01T00:00:08.000Z"}"#;
        let at = |text: &str| text.parse().ok();
        assert_eq!(told(&[later, earlier]).updated, at("2026-01-01T00:00:10Z"));
        assert_eq!(told(&[earlier]).updated, at("2026-01-01T00:00:09Z"));

        let asks = r#"{"type":"assistant","uuid":"c","message":{"content":[{"type":"tool_use","name":"AskUserQuestion","id":"q"}]}}"#;
        let answers = r#"{"type":"user","uuid":"d","message":{"content":[{"type":"tool_result","tool_use_id":"q"}]}}"#;
        let waits = |turn| matches!(turn, Turn::Open { pending: Pending::Answer, .. });
        assert!(waits(told(&[asks]).turn));
        assert!(!waits(told(&[asks, answers]).turn));
        // Said by a tool, not by Claude Code.
        let quotes = r#"{"type":"user","uuid":"e","message":"\"tool_use_id\":\"q\""}"#;
        assert!(waits(told(&[asks, quotes]).turn));
    }

    #[test]
    fn disorder_in_an_older_turn_changes_nothing() {
        let lines = [
            ("attachment", "b", "a"),
            ("user", "a", ""),
            ("user", "d", "b"),
            ("assistant", "e", "d"),
        ];
        assert_eq!(ended(&lines), Some(Ending::Completed));
    }
}
