//! The one door through which a coding agent enters the program.

mod claims;
mod stub;
mod tail;

pub use claims::{About, Claim, Claims, Trail, Untold};
pub use stub::Stub;
pub(crate) use tail::{last_lines, lines_since};

use crate::{
    control::{self, Leads, Question, Request, Target, Unheard},
    evidence::{Record, Role, Turn},
    host::{Env, Host},
    hosted::Hosted,
    ident::ProcKey,
    launch::{Ask, Plan, Signal},
    proof::Source,
    push::Push,
    sheet::Sheet,
    tally::Tally,
    turns,
};
use jiff::Timestamp;
use serde::Serialize;
use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

/// Facts about an agent that are data, not code.
#[derive(Debug)]
pub struct Card {
    /// Stable name on the command line and in JSON.
    pub name: &'static str,
    /// Other names it is asked for by.
    pub aliases: &'static [&'static str],
    /// How people call it.
    pub title: &'static str,
    /// Executable to look for on the search path.
    pub binary: &'static str,
    /// Where sessions live when no variable says otherwise, below the home directory.
    pub home: &'static str,
    /// Variables that move the store; read from the environment of live agents too.
    pub variables: &'static [&'static str],
    /// Versions whose files and behaviour this adapter was proved against.
    pub proved: &'static [&'static str],
    /// A session's directory is the one its process was started in.
    pub stays: bool,
    /// A process keeps the files of the sessions it holds open, so that none open means none held.
    pub keeps_open: bool,
    /// Nothing but what a process has locked tells that it has a session: also of one that only goes by the agent's names.
    pub locks_only: bool,
    /// A variable that the tools of a session carry, with the session's id.
    pub tool_variable: Option<&'static str>,
    /// Variables that change an agent that is started from inside another: not handed on.
    pub inherited: &'static [&'static str],
    /// It leaves no trail: the only process of a directory holds the only session written there since.
    pub infers: bool,
    /// A file is called after each session: to look whether there is one takes a moment.
    pub names_files: bool,
    /// People may choose ids, which are then unique only per directory.
    pub local_ids: bool,
    /// It writes down what its sessions cost.
    pub costs: bool,
    /// How many characters of an id tell sessions apart at a glance.
    pub short: usize,
    /// Line types of its transcripts and their fields that are known; `doctor` names any other.
    pub known: &'static [(&'static str, &'static [&'static str])],
}

/// A part of a store that changes when its sessions do; below the store, which itself is "".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A directory with all that is below it.
    Tree(&'static str),
    /// What is directly in a directory; of a store that is a file, what is beside it.
    Flat(&'static str),
}

/// A process as an adapter may judge it: by its program and arguments alone.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Short name.
    pub comm: &'a str,
    /// The program's file, where it can be told.
    pub exe: Option<&'a Path>,
    /// Arguments, the program's name first; empty where they cannot be told.
    pub argv: &'a [String],
}

/// What a process is to its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It holds sessions.
    Agent(Role),
    /// It holds sessions, and its arguments do not tell how it is run.
    Untold,
    /// It belongs to the agent and never holds a session.
    Bystander,
}

/// A live process that may answer questions about its sessions on a port of its own.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Which process: the host tells its ports, and what its environment says about asking.
    pub process: &'a ProcKey,
    /// When it started.
    pub since: Timestamp,
    /// It does nothing else: nobody sits before it.
    pub serves: bool,
}

/// The sessions of a store, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Listing {
    /// What is there.
    pub stubs: Vec<Stub>,
    /// What could not be read.
    pub problems: Vec<Trouble>,
}

impl Listing {
    /// Leaves out what was reached a second time by a link.
    pub fn without_aliases(mut self, host: &dyn Host) -> Self {
        if self.stubs.len() < 2 {
            return self; // the way to it need not be gone
        }
        let mut seen = HashSet::new();
        let mut stubs: Vec<(PathBuf, Stub)> =
            self.stubs.into_iter().map(|stub| (host.resolve(&stub.path), stub)).collect();
        stubs.sort_by_key(|(real, stub)| *real != stub.path); // real names before aliases
        stubs.retain(|(real, _)| seen.insert(real.clone()));
        self.stubs = stubs.into_iter().map(|(_, stub)| stub).collect();
        self
    }
}

/// A path that could not be read or understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Where.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// How much of a record to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Its beginning and its end.
    Glance,
    /// All of it: tokens are counted.
    Whole,
}

/// How far back a listing goes.
#[derive(Clone, Copy, Debug)]
pub struct Lately {
    /// What was last written before is left out.
    pub since: Timestamp,
    /// Names in a folder may be those of an earlier look, if it has not changed since; what they lead to may not.
    pub recalls: bool,
}

impl Lately {
    /// To the beginning, by what is there now.
    pub const EVER: Self = Self { since: Timestamp::MIN, recalls: false };
}

/// What a transcript line is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its type, as [`Card::known`] names it.
    pub kind: String,
    /// Its fields.
    pub fields: Vec<String>,
}

impl Card {
    /// The directory that a variable names, else the usual one below the home directory.
    pub fn store(&self, env: &Env) -> Option<PathBuf> {
        let set = |name: &str| env.get(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let moved = self.variables.iter().find_map(|name| set(name));
        moved.or_else(|| Some(PathBuf::from(env.get("HOME")?).join(self.home)))
    }

    /// What of a line was never seen before: its type, or fields of it.
    pub fn strange(&self, shape: &Shape) -> Vec<String> {
        match self.known.iter().find(|(kind, _)| *kind == shape.kind) {
            None => vec![format!("line type `{}`", shape.kind)],
            Some((kind, known)) => {
                let new = shape.fields.iter().filter(|field| !known.contains(&field.as_str()));
                new.map(|field| format!("field `{field}` of `{kind}`")).collect()
            }
        }
    }
}

/// Who speaks in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// A person, or whoever prompts.
    User,
    /// The model.
    Assistant,
    /// The model, thinking aloud.
    Thinking,
    /// The model asks for a tool.
    Call,
    /// What the tool answered.
    Result,
    /// The agent's program itself: errors, interruptions, summaries.
    System,
}

/// One readable piece of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Who speaks.
    pub speaker: Speaker,
    /// Name of the tool, for calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The call or result failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// What was said.
    pub text: String,
}

/// One coding agent. Implementations keep nothing between calls and never look at processes.
pub trait Agent: Sync {
    /// Names and versions.
    fn card(&self) -> &'static Card;
    /// Where its sessions live, given this environment.
    fn stores(&self, env: &Env) -> Vec<PathBuf> {
        self.card().store(env).into_iter().collect()
    }
    /// What of a store changes when its sessions do.
    fn watched(&self) -> &'static [Watched] {
        &[Watched::Tree("")]
    }
    /// A process of this name may be one of the agent's: worth a closer look.
    fn may_be(&self, comm: &str) -> bool;
    /// A process of this name may have locked a session, though it is none of the agent's as far as can be told.
    fn may_lock(&self, comm: &str) -> bool {
        self.may_be(comm)
    }
    /// What a process is to the agent.
    fn part(&self, program: &Program<'_>) -> Option<Part>;
    /// The session that a process's arguments name, where they cannot go stale.
    fn names(&self, _: &Program<'_>) -> Option<String> {
        None
    }
    /// The session that a process's arguments name where it may have left it for another since.
    fn may_name(&self, _: &Program<'_>) -> Option<String> {
        None
    }
    /// Every process that has a session loaded has written itself down, unless it has only just begun: one of which
    /// nothing is written may have lost that.
    fn registers(&self) -> bool {
        false
    }
    /// What cannot be read at a place among its claims may be the claim of the session of this record, and nothing else shows
    /// who has it: a process of it may go by any name.
    fn speaks_of(&self, _unread: &Path, _record: &Path) -> bool {
        false
    }
    /// It may have been told to go on with the session of its directory that was written last, which it need
    /// not have written to since.
    fn may_resume(&self, _: &Program<'_>) -> bool {
        false
    }
    /// Whether a process that works here goes on with this session if it is the newest, where its place alone
    /// tells.
    fn goes_on_here(&self, _: &Stub, _cwd: &Path) -> Option<bool> {
        None
    }
    /// A process that works in `cwd` may go on with the newest session of a directory.
    fn shares(&self, own: &Path, cwd: &Path) -> bool {
        own == cwd
    }
    /// A variable, and its value, that every process carries which a tool of the agent started.
    fn tool_mark(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// How to start it for this; an error says what it cannot do, and what to do instead.
    fn plan(&self, _: &Ask<'_>) -> Result<Plan, String> {
        Err("its server runs its sessions".to_owned())
    }
    /// Its server runs its sessions: that is asked, and nothing is started.
    fn hosted(&self) -> Option<&dyn Hosted> {
        None
    }
    /// Signals that end a process of this kind, the one that it likes best first.
    fn ends_by(&self, role: Option<Role>) -> &'static [Signal];
    /// One more message, as a process reads it that was started with an open input.
    fn line(&self, _: &str) -> Option<String> {
        None
    }
    /// Asks this of a session by the channel that its process offers.
    fn control(&self, _: &dyn Host, _: &Target<'_>, _: Request<'_>) -> Result<(), Unheard> {
        Err(Unheard::NoChannel)
    }
    /// What a session asks a person leave for, the first first, as the process says that has it.
    fn asks(&self, _: &dyn Host, _: &Target<'_>) -> Result<Vec<Question>, Unheard> {
        Err(Unheard::NoChannel)
    }
    /// What its server is told for the end of a turn, in its own words.
    fn interrupts_by(&self) -> &'static str {
        "interrupt"
    }
    /// Its own command that shows a session which this process has.
    fn attaches(&self, _: &dyn Host, _: &Target<'_>, _: Option<Role>) -> Option<Leads> {
        None
    }
    /// Its own command that ends a session which its supervisor would start again.
    fn stops(&self, _: &str, _: Option<Role>) -> Option<Vec<String>> {
        None
    }
    /// A server of it takes a message for any session of its store, idle or not.
    fn wakes(&self) -> bool {
        false
    }
    /// A line of a transcript shows that this message has reached the agent.
    fn says(&self, line: &[u8], text: &str) -> bool {
        let is_it = |one: &Message| one.speaker == Speaker::User && one.text.trim() == text.trim();
        self.messages(line).iter().any(is_it)
    }
    /// Where messages that come from now on will stand.
    fn mark(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        Ok(host.open(&stub.path)?.size())
    }
    /// What shows that this message has come since that mark.
    fn shows(&self, host: &dyn Host, stub: &Stub, said: (u64, &str)) -> io::Result<Option<Source>> {
        control::line_since(host, &stub.path, said, &|line| self.says(line, said.1))
    }
    /// Where a process works, given its environment and the directory the kernel shows.
    fn directory(&self, _: &Program<'_>, _: &Env, cwd: PathBuf) -> PathBuf {
        cwd
    }
    /// Which sessions of a store a live process runs, all of them, as it says when asked. `None`
    /// where it cannot be asked.
    fn serves(&self, _: &dyn Host, _: &Path, _: &Server<'_>) -> io::Result<Option<Vec<Claim>>> {
        Ok(None)
    }
    /// How a live process tells, unasked, that sessions of a store changed; `None` where it does not, or
    /// where whoever listens changes something.
    fn pushes(&self, _: &dyn Host, _: &Path, _: &Server<'_>) -> Option<Push> {
        None
    }
    /// Sessions that a session spawned and its process runs too, each with what shows it; only where
    /// they leave no trail of their own.
    fn spawned(&self, _: &dyn Host, _: &Path, _: &str) -> io::Result<Vec<(Stub, Source)>> {
        Ok(Vec::new())
    }
    /// Which sessions of a store claim to be loaded, and by which process.
    fn claims(&self, host: &dyn Host, store: &Path) -> io::Result<Claims>;
    /// Claims of one session, or of all, that nobody stands behind, where [`Agent::claims`] leaves them out.
    fn stale(&self, _: &dyn Host, _: &Path, _id: Option<&str>) -> io::Result<Claims> {
        Ok(Claims::default())
    }
    /// The session a process of the agent has loaded if it has this file open for writing.
    fn holds(&self, host: &dyn Host, store: &Path, open: &Path) -> Option<String>;
    /// The claim of a process which has a file of this name open, wherever it lies for that process, if it has locked it: the
    /// trail says which file of this store that would be.
    fn locks(&self, _: &dyn Host, _store: &Path, _open: &Path) -> Option<Claim> {
        None
    }
    /// All sessions of a store, from names and sizes alone.
    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing>;
    /// The same without those that [`Agent::goes_on_here`] says are of other directories than this, where names save a
    /// look at them, and as far back as that.
    fn list_of(
        &self,
        _: &dyn Host,
        _: &Path,
        _cwd: &Path,
        _: Lately,
    ) -> Option<io::Result<Listing>> {
        None
    }
    /// The records of a full id, the likeliest first: there may be copies, and some agents' ids are
    /// unique only per directory. `cwd` is a hint where to look.
    fn find(&self, host: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub>;
    /// The same as far as the id itself says where to look, where all of a store would be walked otherwise.
    fn find_near(&self, host: &dyn Host, store: &Path, id: &str) -> Vec<Stub> {
        self.find(host, store, id, None)
    }
    /// The same as far as a process that works there would keep it, where names tell that.
    fn find_at(&self, host: &dyn Host, store: &Path, id: &str, _cwd: &Path) -> Vec<Stub> {
        self.find_near(host, store, id)
    }
    /// A file of this name is a session's, wherever it lies.
    fn is_its_file(&self, _name: &str) -> bool {
        false
    }
    /// A place in which the record of a session that was not found may be, and that cannot be looked at.
    fn missed(&self, _: &dyn Host, _store: &Path, _id: &str) -> Option<Trouble> {
        None
    }
    /// Whether an inference may join a session with a process of this kind that began then.
    fn may_join(&self, _: &Record, _: Timestamp, _: Option<Role>) -> bool {
        true
    }
    /// A file that every process which uses this store has open: one without it holds nothing there.
    fn always_open(&self, _: &dyn Host, _: &Path) -> Option<PathBuf> {
        None
    }
    /// What one session says of itself at either end.
    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record>;
    /// The same to this depth: a glance, and what is counted apart.
    fn read(&self, host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
        // Whoever counts nothing apart reads the sheet at its ends, if at all.
        let read = if self.counts_apart() { depth } else { Depth::Glance };
        let sheet = Sheet::of(host, stub, read);
        let mut record = self.glance(&sheet, stub)?;
        if depth == Depth::Whole {
            self.count(&Tally::anew(host), &sheet, stub, &mut record)?;
        }
        Ok(record)
    }
    /// Adds what it used to a record that was read at a glance, where that is counted apart. After an error, what it
    /// added stands.
    fn count(&self, _: &Tally<'_>, _: &Sheet<'_>, _: &Stub, _: &mut Record) -> io::Result<()> {
        Ok(())
    }
    /// A whole record is a glance, and what is counted apart.
    fn counts_apart(&self) -> bool {
        false
    }
    /// What a line of its output says of its last prompt, where its record may not: whether it was answered, and the words
    /// that say so.
    fn answers(&self, _: &[u8]) -> Option<(bool, &'static str)> {
        None
    }
    /// Files by whose bytes a record read to this depth is told, with its stub and the bytes of its own, and by
    /// nothing else. `None` where that cannot be said.
    fn told_by(&self, host: &dyn Host, stub: &Stub, depth: Depth) -> Option<Vec<PathBuf>>;
    /// Its newest turn alone, as far as the record itself tells; asked once for each line of it.
    fn turn(&self, host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
        Ok(self.glance(&Sheet::of(host, stub, Depth::Glance), stub)?.turn)
    }
    /// A shell command that exits 0 if nothing native claims the session is loaded.
    fn absence(&self, store: &Path, id: &str) -> String;
    /// What a line of a transcript says, readably.
    fn messages(&self, line: &[u8]) -> Vec<Message>;
    /// The last `count` messages, oldest first, and where to go on.
    fn tail(&self, host: &dyn Host, stub: &Stub, count: usize) -> io::Result<(Vec<Message>, u64)> {
        last_lines(|line| self.messages(line), host, &stub.path, count)
    }
    /// The messages since then, and where to go on.
    fn since(&self, host: &dyn Host, stub: &Stub, at: u64) -> io::Result<(Vec<Message>, u64)> {
        lines_since(|line| self.messages(line), host, &stub.path, at)
    }
    /// How often the model has answered in a session.
    fn turns(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        turns::of_lines(|line| self.messages(line), host, &stub.path)
    }
    /// The file that changes when the session says more; `None` where no one file does.
    fn grows(&self, stub: &Stub) -> Option<PathBuf> {
        Some(stub.path.clone())
    }
    /// The shape of a transcript line, for drift: `None` where it is none.
    fn shape(&self, line: &[u8]) -> Option<Shape>;
}
