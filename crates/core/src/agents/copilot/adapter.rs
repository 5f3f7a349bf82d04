//! The adapter: which file answers which question.

use super::{
    events::{self, Billed},
    known, launch, messages, store,
};
use crate::{
    agent::{
        Agent, Card, Claim, Claims, Depth, Listing, Message, Part, Program, Shape, Stub, Trouble,
        Watched,
    },
    agents::{json, words::id_behind},
    evidence::{Record, Role},
    host::Host,
    launch::{Ask, Plan, Signal},
    proof::shell_word,
    sheet::Sheet,
    tally::Tally,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// GitHub Copilot CLI.
pub(in crate::agents) struct Copilot;

static CARD: Card = Card {
    name: "copilot",
    aliases: &["copilot-cli"],
    title: "Copilot CLI",
    binary: "copilot",
    home: ".copilot",
    variables: &["COPILOT_HOME"],
    proved: &["1.0.102"],
    stays: false, // a session may be resumed from anywhere
    keeps_open: true,
    locks_only: true,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: false,
    names_files: true,
    local_ids: false,
    costs: false,
    short: 8,
    known: known::KNOWN,
};

impl Agent for Copilot {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched::Tree("session-state")]
    }

    fn may_be(&self, comm: &str) -> bool {
        matches!(comm, "copilot" | "MainThread") // 1.0.102 is called after Node's first thread
    }

    /// Where there is no program of its own for a machine, its script may be run by Node, which goes by either name.
    fn may_lock(&self, comm: &str) -> bool {
        self.may_be(comm) || comm == "node"
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let called = program.argv.first().map(Path::new);
        let name = program.exe.or(called)?.file_name()?; // what npm starts is `node`, and starts this
        (name == "copilot").then(|| part_of(program.argv))
    }

    /// Resumed on a terminal, 1.0.102 takes its lock with the first prompt: until then only this tells.
    fn names(&self, program: &Program<'_>) -> Option<String> {
        id_behind(program.argv, &["--session-id", "--resume", "-r"])
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, String> {
        launch::plan(ask)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn claims(&self, host: &dyn Host, store: &Path) -> io::Result<Claims> {
        store::claims(host, store)
    }

    fn stale(&self, host: &dyn Host, store: &Path, id: Option<&str>) -> io::Result<Claims> {
        store::locks(host, store, id)
    }

    fn holds(&self, _: &dyn Host, store: &Path, open: &Path) -> Option<String> {
        store::held_by(store, open)
    }

    fn locks(&self, host: &dyn Host, store: &Path, open: &Path) -> Option<Claim> {
        store::locked(host, store, open)
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, _: Option<&Path>) -> Vec<Stub> {
        store::stub(host, store, id).into_iter().collect()
    }

    fn is_its_file(&self, name: &str) -> bool {
        store::is_lock(name)
    }

    fn missed(&self, host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
        store::missed(host, store, id)
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        events::read(sheet, stub)
    }

    fn count(
        &self,
        tally: &Tally<'_>,
        sheet: &Sheet<'_>,
        _: &Stub,
        record: &mut Record,
    ) -> io::Result<()> {
        let Billed(tokens) = tally.count(sheet)?;
        record.tokens = Some(tokens);
        Ok(())
    }

    fn counts_apart(&self) -> bool {
        true
    }

    fn told_by(&self, _: &dyn Host, stub: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        stub.path.parent().map(|dir| vec![store::workspace_file(dir)])
    }

    fn absence(&self, _: &Path, id: &str) -> String {
        let lock = shell_word(&format!("{id}/inuse."));
        format!("! ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F -- {lock}")
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line)).into_iter().collect()
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        Some(Shape { kind: json::string(&line, "type")?, fields: json::fields(&line["data"]) })
    }
}

/// What kind of process. A word behind `-p` is a prompt and may say anything.
fn part_of(argv: &[String]) -> Part {
    const COMMANDS: &str = "app completion config help init instruction login lsp mcp memories \
                            plugin sandbox sessions skill update version";
    let mut words = argv.iter().skip(1).map(String::as_str);
    if words.clone().next().is_some_and(|word| COMMANDS.split(' ').any(|name| name == word)) {
        return Part::Bystander;
    }
    let role = words.find_map(|word| match word {
        "-v" | "--version" | "-h" | "--help" => Some(Part::Bystander),
        "--acp" => Some(Part::Agent(Role::Piped)),
        "-i" | "--interactive" => Some(Part::Agent(Role::Interactive)),
        "-p" | "--prompt" => Some(Part::Agent(Role::Headless)),
        _ => word.starts_with("--prompt=").then_some(Part::Agent(Role::Headless)),
    });
    role.unwrap_or(Part::Agent(Role::Interactive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_tell_what_a_process_is() {
        let part = |line: &str| part_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(part("copilot"), Part::Agent(Role::Interactive));
        assert_eq!(part("copilot --allow-all-tools -p --acp"), Part::Agent(Role::Headless));
        assert_eq!(part("copilot -i --version"), Part::Agent(Role::Interactive));
        assert_eq!(part("copilot --acp"), Part::Agent(Role::Piped));
        assert_eq!(part("copilot mcp list"), Part::Bystander);
    }

    #[test]
    fn only_the_program_itself_is_an_agent() {
        let argv = ["node".to_owned(), "/x/.bin/copilot".to_owned()];
        let program = |exe| Program { comm: "MainThread", exe: Some(Path::new(exe)), argv: &argv };
        assert_eq!(Copilot.part(&program("/usr/bin/node")), None);
        assert!(Copilot.part(&program("/x/copilot-linux-x64/copilot")).is_some());
    }
}
