//! The adapter: which file answers which question.

use super::{
    known, launch, messages, store,
    transcript::{self, Billed},
};
use crate::{
    agent::{Agent, Card, Claims, Depth, Lately, Listing, Message, Part, Program, Shape, Stub},
    agents::json,
    evidence::{Record, Role},
    host::{Env, Host},
    launch::{Ask, Plan, Signal},
    proof::shell_word,
    sheet::Sheet,
    tally::Tally,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Pi.
pub(in crate::agents) struct Pi;

/// A process makes its session as it starts, which took 5 s on a loaded machine.
const STARTS_WITHIN: SignedDuration = SignedDuration::from_secs(20);

static CARD: Card = Card {
    name: "pi",
    aliases: &[],
    title: "Pi",
    binary: "pi",
    home: ".pi/agent",
    variables: &["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"],
    proved: &["0.73.1", "1.5.0"],
    stays: true,
    keeps_open: false,
    locks_only: false,
    tool_variable: Some("PI_SESSION_ID"), // 0.82 and later
    inherited: launch::INHERITED,
    infers: true,
    names_files: false,
    local_ids: true,
    costs: true,
    short: 13, // ids begin with their time: 13 characters are a millisecond
    known: known::KNOWN,
};

impl Agent for Pi {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn stores(&self, env: &Env) -> Vec<PathBuf> {
        store::root(env, CARD.home).into_iter().collect()
    }

    fn may_be(&self, comm: &str) -> bool {
        // Until it names itself, up to 3 s after its start, it goes by the names that Node gives.
        matches!(comm, "pi" | "pi-rpc" | "node" | "MainThread")
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let exe = program.exe.and_then(|exe| exe.file_name()?.to_str());
        let runs = exe.is_none_or(|exe| exe.starts_with("node") || matches!(exe, "bun" | "pi"));
        match program.comm {
            "pi" => runs.then_some(Part::Untold),
            "pi-rpc" => runs.then_some(Part::Agent(Role::Piped)),
            _ => starting(program.argv),
        }
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, String> {
        launch::plan(ask)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn line(&self, text: &str) -> Option<String> {
        Some(launch::message(text))
    }

    fn claims(&self, _: &dyn Host, _: &Path) -> io::Result<Claims> {
        Ok(Claims::default()) // it writes down no process
    }

    fn holds(&self, _: &dyn Host, _: &Path, _: &Path) -> Option<String> {
        None // each entry is appended through a file that is closed again
    }

    /// It erases its arguments as it starts.
    fn may_resume(&self, program: &Program<'_>) -> bool {
        let told = |word: &String| matches!(word.as_str(), "-c" | "--continue");
        matches!(program.comm, "pi" | "pi-rpc") || program.argv.iter().any(told)
    }

    fn goes_on_here(&self, stub: &Stub, cwd: &Path) -> Option<bool> {
        store::goes_on_here(&stub.path, cwd)
    }

    fn may_join(&self, record: &Record, since: Timestamp, _: Option<Role>) -> bool {
        // A session made later is that of another process, or of a change of session within this one.
        record.started.is_none_or(|started| started.duration_since(since) <= STARTS_WITHIN)
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store, &|_| true, Lately::EVER)
    }

    fn list_of(
        &self,
        host: &dyn Host,
        store: &Path,
        cwd: &Path,
        lately: Lately,
    ) -> Option<io::Result<Listing>> {
        Some(store::list(host, store, &store::may_be_of(cwd), lately))
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id, cwd)
    }

    fn find_at(&self, host: &dyn Host, store: &Path, id: &str, cwd: &Path) -> Vec<Stub> {
        store::find_at(host, store, id, cwd)
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        transcript::read(sheet, stub)
    }

    fn count(
        &self,
        tally: &Tally<'_>,
        sheet: &Sheet<'_>,
        _: &Stub,
        record: &mut Record,
    ) -> io::Result<()> {
        let Billed { tokens, cost_usd } = tally.count(sheet)?;
        (record.tokens, record.cost_usd) = (Some(tokens), Some(cost_usd));
        Ok(())
    }

    fn counts_apart(&self) -> bool {
        true
    }

    fn told_by(&self, _: &dyn Host, _: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        Some(Vec::new())
    }

    /// No tool of the session has a living Pi for its parent: what a killed one left is nobody's.
    fn absence(&self, _: &Path, id: &str) -> String {
        let variable = shell_word(&format!("PI_SESSION_ID={id}"));
        format!(
            "! grep -lszxF -- {variable} /proc/[0-9]*/environ | sed 's/environ$/status/' | \
             xargs -r awk '/^PPid:/ {{ print \"/proc/\" $2 \"/comm\" }}' | xargs -r cat | \
             grep -xE 'pi|pi-rpc'"
        )
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line))
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        let (kind, message) = (json::text(&line, "type")?, &line["message"]);
        Some(match json::text(message, "role").filter(|_| kind == "message") {
            Some(role) => Shape { kind: format!("message/{role}"), fields: json::fields(message) },
            None => Shape { kind: kind.to_owned(), fields: json::fields(&line) },
        })
    }
}

/// What a process of Node is that has not erased its arguments yet.
fn starting(argv: &[String]) -> Option<Part> {
    const COMMANDS: &[&str] =
        &["config", "install", "list", "remove", "uninstall", "update", "--help", "--version"];
    let mut words = argv.iter().skip(1).map(String::as_str);
    let script = words.find(|word| !word.starts_with('-'))?;
    if !script.ends_with("/bin/pi")
        && !script.ends_with("/.bin/pi")
        && !script.contains("/pi-coding-agent/")
    {
        return None;
    }
    match words.next() {
        Some(word) if COMMANDS.contains(&word) => Some(Part::Bystander),
        _ => Some(Part::Untold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(comm: &str, exe: &str, line: &str) -> Option<Part> {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Pi.part(&Program { comm, exe: Some(Path::new(exe)), argv: &argv })
    }

    #[test]
    fn a_running_pi_does_not_tell_how_it_runs() {
        assert_eq!(part("pi", "/usr/bin/node", "pi"), Some(Part::Untold));
        assert_eq!(part("pi-rpc", "/usr/bin/node", "pi-rpc"), Some(Part::Agent(Role::Piped)));
        assert_eq!(part("pi", "/usr/bin/perl", "pi"), None);
    }

    #[test]
    fn a_starting_pi_is_told_by_its_script() {
        let node = |line| part("MainThread", "/usr/bin/node", line);
        assert_eq!(node("node /x/node_modules/.bin/pi -p hello"), Some(Part::Untold));
        assert_eq!(node("node --no-warnings /usr/bin/pi"), Some(Part::Untold));
        assert_eq!(node("node /usr/bin/pi update"), Some(Part::Bystander));
        assert_eq!(node("node server.js /usr/bin/pi"), None);
    }
}
