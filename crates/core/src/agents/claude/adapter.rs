//! The adapter: which file answers which question.

use super::{fork, known, launch, messages, registry, store, transcript, usage};
use crate::{
    agent::{
        Agent, Card, Claims, Depth, Listing, Message, Part, Program, Shape, Stub, Trouble, Watched,
    },
    agents::{files::is_id, json, words::behind},
    control::{Leads, Target},
    evidence::{Record, Role, Turn},
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

/// Claude Code.
pub(in crate::agents) struct Claude;

static CARD: Card = Card {
    name: "claude-code",
    aliases: &["claude"],
    title: "Claude Code",
    binary: "claude",
    home: ".claude",
    variables: &["CLAUDE_CONFIG_DIR"],
    proved: &["2.1.197"],
    stays: true,
    keeps_open: false,
    locks_only: false,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: false,
    names_files: true,
    local_ids: false,
    costs: false,
    short: 8,
    known: known::KNOWN,
};

impl Agent for Claude {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched::Tree("projects"), Watched::Flat("sessions")]
    }

    fn may_be(&self, comm: &str) -> bool {
        // 2.1.197: workers of the background fleet are started by file name, `claude.exe`; those of a
        // native install by the version their file is named after.
        matches!(comm, "claude" | "claude.exe") || is_version(comm)
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let is_claude = match program.exe {
            Some(exe) => is_program(exe, program.comm),
            None => matches!(program.comm, "claude" | "claude.exe"),
        };
        is_claude.then(|| part_of(program.argv))
    }

    /// Until it has written itself down, and where that is lost.
    fn may_name(&self, program: &Program<'_>) -> Option<String> {
        behind(program.argv, &["--resume", "-r", "--session-id"]).find_map(session)
    }

    /// 2.1.197: not at the trust dialog, and not while `-p` waits for the end of its input.
    fn registers(&self) -> bool {
        true
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

    /// 2.1.197: its fleet knows sessions by the first 8 characters.
    fn attaches(&self, _: &dyn Host, target: &Target<'_>, role: Option<Role>) -> Option<Leads> {
        let short = target.id.get(..8).filter(|_| role == Some(Role::Background))?;
        Some(Leads { words: vec!["attach".to_owned(), short.to_owned()], secrets: &[] })
    }

    /// 2.1.197: its fleet would start a killed worker again.
    fn stops(&self, id: &str, role: Option<Role>) -> Option<Vec<String>> {
        let short = id.get(..8).filter(|_| role == Some(Role::Background))?;
        Some(vec!["stop".to_owned(), short.to_owned()])
    }

    fn says(&self, line: &[u8], text: &str) -> bool {
        messages::has_come(&json::object(line), text)
    }

    fn claims(&self, host: &dyn Host, store: &Path) -> io::Result<Claims> {
        registry::claims(host, store)
    }

    fn holds(&self, _: &dyn Host, _: &Path, _: &Path) -> Option<String> {
        None
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, cwd: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id, cwd)
    }

    fn missed(&self, host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
        store::missed(host, store, id)
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        transcript::read(sheet, stub)
    }

    fn count(
        &self,
        tally: &Tally<'_>,
        sheet: &Sheet<'_>,
        stub: &Stub,
        record: &mut Record,
    ) -> io::Result<()> {
        let (tokens, copied) = usage::counted(tally, sheet, stub.alone);
        record.forked_from = copied.and_then(|copied| fork::origin(tally.host, stub, &copied));
        record.tokens = Some(tokens?);
        Ok(())
    }

    fn counts_apart(&self) -> bool {
        true
    }

    /// Tokens are those of sub-agents too, and a fork's origin is another's file: both are counted apart.
    fn told_by(&self, _: &dyn Host, _: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        Some(Vec::new())
    }

    fn answers(&self, line: &[u8]) -> Option<(bool, &'static str)> {
        transcript::result(line)
    }

    fn turn(&self, host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
        transcript::turn(host, stub)
    }

    fn absence(&self, store: &Path, id: &str) -> String {
        let registry = shell_word(&store.join("sessions").to_string_lossy());
        let claim = shell_word(&format!("\"sessionId\":\"{id}\""));
        format!("! grep -rsF -- {claim} {registry}")
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line))
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        Some(Shape { kind: json::string(&line, "type")?, fields: json::fields(&line) })
    }
}

/// What `--resume` takes: an id, or the file of a session of any directory.
fn session(word: &str) -> Option<String> {
    let file = word.strip_suffix(".jsonl").and_then(|path| Path::new(path).file_name()?.to_str());
    Some(file.unwrap_or(word)).filter(|id| is_id(id)).map(str::to_owned)
}

fn is_version(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit()) && name.contains('.')
}

fn is_program(exe: &Path, comm: &str) -> bool {
    let name = exe.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let versions = exe.parent().is_some_and(|dir| dir.ends_with("claude/versions"));
    match name {
        "claude" | "claude.exe" => true,
        "node" | "bun" => comm == "claude", // before the native program: it names itself so
        _ => versions && is_version(name),
    }
}

fn part_of(argv: &[String]) -> Part {
    const BYSTANDERS: &[&str] = &["--bg-spare", "--bg-pty-host"];
    const COMMANDS: &[&str] = &[
        "agents",
        "attach",
        "auth",
        "auto-mode",
        "config",
        "daemon",
        "doctor",
        "gateway",
        "install",
        "logs",
        "mcp",
        "plugin",
        "plugins",
        "project",
        "respawn",
        "rm",
        "setup-token",
        "stop",
        "ultrareview",
        "update",
        "upgrade",
    ];
    let name = argv.first().and_then(|word| Path::new(word).file_name()).and_then(|n| n.to_str());
    if name.is_some_and(|name| !matches!(name, "claude" | "claude.exe") && !is_version(name)) {
        return Part::Bystander; // 2.1.197 runs itself under other names, as `rg` for instance
    }
    let options: Vec<&str> =
        argv.iter().skip(1).map(String::as_str).take_while(|word| *word != "--").collect();
    let has = |names: &[&str]| options.iter().any(|word| names.contains(word));
    let command = options.first().is_some_and(|word| COMMANDS.contains(word));
    let version = has(&["--version", "-v", "--help", "-h"]);
    if command || version || has(BYSTANDERS) {
        return Part::Bystander;
    }
    let streamed = options.windows(2).any(|pair| pair == ["--input-format", "stream-json"])
        || has(&["--input-format=stream-json"]);
    Part::Agent(match (streamed, has(&["-p", "--print"])) {
        (true, _) => Role::Piped,
        (false, true) => Role::Headless,
        (false, false) => Role::Interactive,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(line: &str) -> Part {
        part_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_tell_what_a_process_is() {
        assert_eq!(part("claude"), Part::Agent(Role::Interactive));
        assert_eq!(part("claude -p hello"), Part::Agent(Role::Headless));
        assert_eq!(part("claude -- -p"), Part::Agent(Role::Interactive));
        assert_eq!(part("claude -p --input-format stream-json"), Part::Agent(Role::Piped));
        assert_eq!(part("/x/claude.exe --bg-spare"), Part::Bystander);
        assert_eq!(part("claude daemon run"), Part::Bystander);
        assert_eq!(part("claude gateway"), Part::Bystander);
        assert_eq!(part("rg --files"), Part::Bystander);
    }

    #[test]
    fn a_session_is_named_by_its_id_or_its_file() {
        let id = "8f2562be-1350-4693-85a6-3d142d74d7cb";
        let named = |word: &str| {
            let argv = ["claude".to_owned(), "--resume".to_owned(), word.to_owned()];
            Claude.may_name(&Program { comm: "claude", exe: None, argv: &argv })
        };
        assert_eq!(named(id).as_deref(), Some(id));
        assert_eq!(named(&format!("/h/.claude/projects/-w/{id}.jsonl")).as_deref(), Some(id));
        assert_eq!(named(&format!("{id}.jsonl")).as_deref(), Some(id));
        assert_eq!(named("/h/notes.jsonl"), None);
        assert_eq!(named("a title"), None);
    }

    #[test]
    fn a_stranger_of_the_same_name_is_not_taken_for_claude() {
        let program = |exe| Program { comm: "claude", exe: Some(Path::new(exe)), argv: &[] };
        assert_eq!(Claude.part(&program("/bin/bash")), None);
        assert!(Claude.part(&program("/x/claude-code/bin/claude.exe")).is_some());
        assert!(Claude.part(&program("/h/.local/share/claude/versions/2.1.197")).is_some());
    }
}
