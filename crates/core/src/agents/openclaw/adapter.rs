//! The adapter: which question the gateway answers, and which its stores do.

use super::{control, gateway, known, launch, store};
use crate::{
    agent::{
        Agent, Card, Claim, Claims, Depth, Listing, Message, Part, Program, Server, Shape, Stub,
        Watched,
    },
    agents::{files::logs, json, pi::messages},
    control::{Question, Request, Target, Unheard},
    evidence::{Record, Role},
    host::{Env, Host},
    hosted::Hosted,
    launch::Signal,
    proof::{Source, shell_word},
    push::Push,
    sheet::Sheet,
    turns,
};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

/// The agent's name.
pub(super) const AGENT: &str = "openclaw";

/// OpenClaw.
pub(in crate::agents) struct OpenClaw;

/// What the kernel keeps of the title that a gateway gives itself: 15 bytes.
const TITLE: &str = "openclaw-gatewa";

static CARD: Card = Card {
    name: AGENT,
    aliases: &[],
    title: "OpenClaw",
    binary: "openclaw",
    home: ".openclaw",
    variables: &["OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "OPENCLAW_PROFILE"],
    proved: &["2026.6.11", "2026.9.6"],
    stays: false,
    keeps_open: false,
    locks_only: false,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: false,
    names_files: false,
    local_ids: false,
    costs: true,
    short: 8,
    known: known::KNOWN,
};

impl Agent for OpenClaw {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn stores(&self, env: &Env) -> Vec<PathBuf> {
        let trimmed = |text: &'_ OsString| match text.to_str() {
            Some(text) => OsString::from(text.trim()),
            None => text.clone(),
        };
        let set = |name| env.get(name).map(trimmed).filter(|text| !text.is_empty());
        let home = set("OPENCLAW_HOME").or_else(|| set("HOME"));
        let moved =
            set("OPENCLAW_STATE_DIR").map(|dir| match (Path::new(&dir).strip_prefix("~"), &home) {
                (Ok(below), Some(home)) => Path::new(home).join(below),
                _ => PathBuf::from(dir),
            });
        let profile = set("OPENCLAW_PROFILE").filter(|name| !name.eq_ignore_ascii_case("default"));
        let mut name = OsString::from(CARD.home);
        if let Some(profile) = profile {
            name.push("-");
            name.push(profile);
        }
        moved.or_else(|| home.map(|home| Path::new(&home).join(name))).into_iter().collect()
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched::Tree("agents"), Watched::Tree("tmp")]
    }

    fn may_be(&self, comm: &str) -> bool {
        comm == TITLE
    }

    /// Other commands are clients, or take the gateway's lock while they run an agent themselves.
    fn part(&self, _: &Program<'_>) -> Option<Part> {
        Some(Part::Agent(Role::Server))
    }

    fn hosted(&self) -> Option<&dyn Hosted> {
        Some(self)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn interrupts_by(&self) -> &'static str {
        "sessions.abort"
    }

    fn control(
        &self,
        host: &dyn Host,
        target: &Target<'_>,
        request: Request<'_>,
    ) -> Result<(), Unheard> {
        control::ask(host, target, request)
    }

    fn asks(&self, host: &dyn Host, target: &Target<'_>) -> Result<Vec<Question>, Unheard> {
        control::asks(host, target)
    }

    fn wakes(&self) -> bool {
        true
    }

    fn mark(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        control::mark(host, stub)
    }

    fn shows(&self, host: &dyn Host, stub: &Stub, said: (u64, &str)) -> io::Result<Option<Source>> {
        control::shows(host, stub, said)
    }

    fn claims(&self, host: &dyn Host, store: &Path) -> io::Result<Claims> {
        store::claims(host, store)
    }

    /// `openclaw agent --local` is known by its lock, which may be of any, and by the row that runs, of its own agent.
    fn speaks_of(&self, unread: &Path, record: &Path) -> bool {
        let agent = |dir: &&Path| dir.parent().is_some_and(|above| above.ends_with("agents"));
        unread.ancestors().find(agent).is_none_or(|agent| record.starts_with(agent))
    }

    fn serves(
        &self,
        host: &dyn Host,
        store: &Path,
        server: &Server<'_>,
    ) -> io::Result<Option<Vec<Claim>>> {
        gateway::ask(host, store, server.process)
    }

    fn pushes(&self, host: &dyn Host, store: &Path, server: &Server<'_>) -> Option<Push> {
        gateway::pushes(host, store, server.process)
    }

    fn holds(&self, _: &dyn Host, _: &Path, _: &Path) -> Option<String> {
        None // the gateway opens its databases, not sessions
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, _: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id).into_iter().collect()
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        self.read(sheet.host, stub, Depth::Glance)
    }

    fn read(&self, host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
        store::read(host, stub, depth)
    }

    fn told_by(&self, host: &dyn Host, stub: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        store::is_database(stub).then(|| logs(host, &stub.path))
    }

    /// No gateway lives, or it answers and does not name the session. A gateway that does not answer
    /// shows nothing, nor does a command that is missing (`pgrep` has 1 for "none").
    fn absence(&self, store: &Path, id: &str) -> String {
        let lives = format!("pgrep -u \"$(id -u)\" -x {TITLE}");
        let ask = "openclaw gateway call sessions.list --params '{\"activeOnly\":true}' --json";
        let ask = format!("OPENCLAW_STATE_DIR={} {ask}", shell_word(&store.to_string_lossy()));
        let unnamed = format!("! printf %s \"$rows\" | grep -F -- {}", shell_word(id));
        format!("{{ {lives}; test $? = 1; }} || {{ rows=$({ask}) && {unnamed}; }}")
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line))
    }

    fn tail(&self, host: &dyn Host, stub: &Stub, count: usize) -> io::Result<(Vec<Message>, u64)> {
        store::tail(host, stub, count)
    }

    fn since(&self, host: &dyn Host, stub: &Stub, at: u64) -> io::Result<(Vec<Message>, u64)> {
        store::since(host, stub, at)
    }

    fn turns(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        Ok(turns::of(&self.since(host, stub, 0)?.0))
    }

    fn grows(&self, stub: &Stub) -> Option<PathBuf> {
        Some(store::grows(stub))
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        let kind = json::text(&line, "type")?.to_owned();
        Some(Shape { kind, fields: json::fields(&line) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_of_one_agent_says_nothing_of_another() {
        let speaks = |unread: &str| {
            let record = Path::new("/h/.openclaw/agents/main/agent/openclaw-agent.sqlite");
            OpenClaw.speaks_of(&Path::new("/h/.openclaw").join(unread), record)
        };
        assert!(speaks("agents/main/agent/openclaw-agent.sqlite"));
        assert!(speaks("agents/main/sessions"));
        assert!(!speaks("agents/other/agent/openclaw-agent.sqlite"));
        assert!(speaks("tmp/openclaw-1000/gateway.state.lock"));
        assert!(speaks(""));
    }
}
