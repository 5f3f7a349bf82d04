//! The adapter: which file answers which question.

use super::{chat, known, launch, messages, store, usage};
use crate::{
    agent::{Agent, Card, Claims, Depth, Listing, Message, Part, Program, Shape, Stub, Watched},
    agents::{
        json,
        words::{behind, id_behind},
    },
    evidence::{Record, Role},
    host::{Env, Host},
    launch::{Ask, Plan, Signal},
    sheet::Sheet,
    tally::Tally,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Gemini CLI.
pub(in crate::agents) struct Gemini;

static CARD: Card = Card {
    name: "gemini",
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    binary: "gemini",
    home: ".gemini",
    variables: &["GEMINI_CLI_HOME"],
    proved: &["0.61.0"],
    stays: true,
    keeps_open: false,
    locks_only: false,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: true,
    names_files: false,
    local_ids: true,
    costs: false,
    short: 8,
    known: known::KNOWN,
};

impl Agent for Gemini {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn stores(&self, env: &Env) -> Vec<PathBuf> {
        let moved = env.get("GEMINI_CLI_HOME").filter(|dir| !dir.is_empty());
        let home = moved.or_else(|| env.get("HOME"));
        home.map(|home| Path::new(home).join(CARD.home)).into_iter().collect()
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched::Tree("tmp")]
    }

    fn may_be(&self, comm: &str) -> bool {
        matches!(comm, "node" | "MainThread" | "gemini") // newer Nodes name their first thread
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        words(program.argv).map(part_of)
    }

    /// Only of a process that answers one prompt: on a terminal, `/clear` and `/resume` go on under
    /// another id (0.61).
    fn names(&self, program: &Program<'_>) -> Option<String> {
        let one = part_of(words(program.argv)?) == Part::Agent(Role::Headless);
        self.may_name(program).filter(|_| one)
    }

    fn may_name(&self, program: &Program<'_>) -> Option<String> {
        id_behind(words(program.argv)?, &["--session-id", "--resume", "-r"])
    }

    fn may_resume(&self, program: &Program<'_>) -> bool {
        let Some(words) = words(program.argv) else { return false };
        let is_newest = |word: &str| matches!(word, "" | "latest") || word.starts_with('-');
        behind(words, &["--resume", "-r"]).any(is_newest)
    }

    fn tool_mark(&self) -> Option<(&'static str, &'static str)> {
        Some(("GEMINI_CLI", "1"))
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, String> {
        launch::plan(ask)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn claims(&self, _: &dyn Host, _: &Path) -> io::Result<Claims> {
        Ok(Claims::default())
    }

    fn holds(&self, _: &dyn Host, _: &Path, _: &Path) -> Option<String> {
        None
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, _: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id)
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        let mut record = chat::read(sheet, stub)?;
        let cwd = store::directory(sheet.host, &stub.path);
        record.elsewhere = cwd.is_err();
        record.cwd = cwd.unwrap_or_default();
        Ok(record)
    }

    fn count(
        &self,
        tally: &Tally<'_>,
        sheet: &Sheet<'_>,
        stub: &Stub,
        record: &mut Record,
    ) -> io::Result<()> {
        record.tokens = Some(usage::tokens(tally, sheet, stub)?);
        Ok(())
    }

    fn counts_apart(&self) -> bool {
        true
    }

    fn told_by(&self, _: &dyn Host, stub: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        store::root_of(&stub.path).map(|root| vec![root])
    }

    fn absence(&self, _: &Path, id: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '.' };
        let id: String = id.chars().map(plain).collect();
        // In brackets, so that the command does not find its own arguments.
        let (first, rest) = id.split_at(id.len().min(1));
        format!("! cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -E '(^|=)[{first}]{rest}$'")
    }

    fn turns(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        usage::turns(host, stub)
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line))
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        let (kind, of) = match (json::string(&line, "type"), line.get("$set")) {
            (Some(kind), _) => (kind, &line),
            (None, Some(set)) => ("$set".to_owned(), set),
            (None, None) if line.get("$rewindTo").is_some() => ("$rewindTo".to_owned(), &line),
            (None, None) => ("header".to_owned(), &line),
        };
        line.is_object().then(|| Shape { kind, fields: json::fields(of) })
    }
}

/// The arguments behind the script, if that is Gemini's: Node's own options stand before it.
fn words(argv: &[String]) -> Option<&[String]> {
    let at = 1 + argv.iter().skip(1).position(|word| !word.starts_with('-'))?;
    let script = Path::new(&argv[at]);
    let ours = script.ends_with("gemini") || script.ends_with("gemini-cli/bundle/gemini.js");
    ours.then(|| &argv[at + 1..])
}

fn part_of(words: &[String]) -> Part {
    const COMMANDS: &[&str] = &["extension", "extensions", "gemma", "hook", "hooks", "mcp"];
    const ANSWERS: &[&str] = &["--delete-session", "--list-extensions", "--list-sessions", "-l"];
    let has = |names: &[&str]| {
        let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
        words.iter().any(|word| names.contains(&name(word).as_str()))
    };
    let first = words.first().map(String::as_str).unwrap_or_default();
    let command = COMMANDS.contains(&first) || matches!(first, "skill" | "skills");
    if has(&["-p", "--prompt"]) {
        return Part::Agent(Role::Headless);
    }
    if command || has(ANSWERS) || has(&["--version", "-v", "--help", "-h"]) {
        return Part::Bystander;
    }
    match has(&["--acp", "--experimental-acp"]) {
        true => Part::Agent(Role::Piped),
        false => Part::Agent(Role::Interactive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "aaaaaaa1-0000-4000-8000-000000000001";

    fn judged(line: &str) -> (Option<Part>, Option<String>) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let program = Program { comm: "node", exe: None, argv: &argv };
        (Gemini.part(&program), Gemini.names(&program))
    }

    #[test]
    fn arguments_tell_what_a_process_is() {
        let part = |line: &str| judged(line).0;
        assert_eq!(part("node /x/bin/gemini"), Some(Part::Agent(Role::Interactive)));
        let worker = "/usr/bin/node --max-old-space-size=9 /x/bin/gemini -p mcp";
        assert_eq!(part(worker), Some(Part::Agent(Role::Headless)));
        assert_eq!(part("node /x/bin/gemini --prompt=hi"), Some(Part::Agent(Role::Headless)));
        assert_eq!(part("node /x/bin/gemini --acp"), Some(Part::Agent(Role::Piped)));
        assert_eq!(part("node /x/bin/gemini mcp list"), Some(Part::Bystander));
        assert_eq!(part("node /x/server.js gemini"), None);
        assert_eq!(part("node"), None);
    }

    #[test]
    fn only_a_full_id_of_a_single_prompt_names_the_session() {
        let named = |line: &str| judged(&format!("node /x/bin/gemini {line}")).1;
        assert_eq!(named(&format!("--session-id {ID} -p hi")).as_deref(), Some(ID));
        assert_eq!(named(&format!("-p hi --resume={ID}")).as_deref(), Some(ID));
        assert_eq!(named("-p hi -r latest"), None);
        assert_eq!(named("-p hi -r"), None);
        assert_eq!(named(&format!("--session-id {ID}")), None, "`/clear` would leave it behind");
    }
}
