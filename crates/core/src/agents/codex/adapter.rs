//! The adapter: which file answers which question.

use super::{control, known, launch, messages, rollout, store};
use crate::{
    agent::{
        Agent, Card, Claims, Depth, Listing, Message, Part, Program, Server, Shape, Stub, Trouble,
        Watched,
    },
    agents::json,
    control::{Leads, Question, Request, Target, Unheard},
    evidence::{Record, Role, Turn},
    host::Host,
    launch::{Ask, Plan, Signal},
    proof::shell_word,
    push::Push,
    sheet::Sheet,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Codex CLI.
pub(in crate::agents) struct Codex;

static CARD: Card = Card {
    name: "codex",
    aliases: &[],
    title: "Codex",
    binary: "codex",
    home: ".codex",
    variables: &["CODEX_HOME"],
    proved: &["0.140.0", "0.166.0"],
    stays: false, // `-C` does not change the process's own
    keeps_open: true,
    locks_only: false,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: false,
    names_files: true,
    local_ids: false,
    costs: false,
    short: 13, // ids begin with their time: 13 characters are a millisecond
    known: known::KNOWN,
};

impl Agent for Codex {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn watched(&self) -> &'static [Watched] {
        &[
            Watched::Tree("sessions"),
            Watched::Flat("archived_sessions"),
            Watched::Flat("thread-writer-locks"),
        ]
    }

    fn may_be(&self, comm: &str) -> bool {
        comm == "codex"
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let name = program.exe.and_then(|exe| exe.file_name());
        let is_codex = name.is_none_or(|name| name == "codex");
        is_codex.then(|| part_of(program.argv))
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, String> {
        launch::plan(ask)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn interrupts_by(&self) -> &'static str {
        "turn/interrupt"
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

    fn attaches(&self, host: &dyn Host, target: &Target<'_>, role: Option<Role>) -> Option<Leads> {
        let socket = control::socket(host, target).filter(|_| role == Some(Role::Server))?;
        let remote = format!("unix://{}", socket.display());
        let mut words = ["resume", "--remote", &remote].map(str::to_owned).to_vec();
        // 0.166 asks which directory is meant unless it is told.
        let cwd = target.cwd.map(|cwd| cwd.to_string_lossy().into_owned());
        words.extend(cwd.into_iter().flat_map(|cwd| ["-C".to_owned(), cwd]));
        words.push(target.id.to_owned());
        Some(Leads { words, secrets: &[] })
    }

    fn pushes(&self, host: &dyn Host, store: &Path, server: &Server<'_>) -> Option<Push> {
        // A terminal has the same store, and does not listen there.
        control::pushes(host, store, server.process).filter(|_| server.serves)
    }

    fn claims(&self, host: &dyn Host, store: &Path) -> io::Result<Claims> {
        store::claims(host, store)
    }

    fn holds(&self, host: &dyn Host, store: &Path, open: &Path) -> Option<String> {
        store::held_by(&|path| host.resolve(path), store, open)
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, _: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id).into_iter().collect()
    }

    fn find_near(&self, host: &dyn Host, store: &Path, id: &str) -> Vec<Stub> {
        store::find_near(host, store, id).into_iter().collect()
    }

    fn is_its_file(&self, name: &str) -> bool {
        store::thread(name).is_some()
    }

    fn missed(&self, host: &dyn Host, store: &Path, id: &str) -> Option<Trouble> {
        store::missed(host, store, id)
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        rollout::read(sheet, stub) // the newest lines carry the totals: a glance tells all
    }

    fn told_by(&self, _: &dyn Host, _: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        Some(Vec::new())
    }

    fn turn(&self, host: &dyn Host, stub: &Stub) -> io::Result<Turn> {
        rollout::turn(host, stub)
    }

    fn absence(&self, _: &Path, id: &str) -> String {
        let files = "for pid in $(pgrep -x codex); do ls -l /proc/$pid/fd; done 2>/dev/null";
        format!("! {{ {files}; }} | grep -F -- {}", shell_word(id))
    }

    fn messages(&self, line: &[u8]) -> Vec<Message> {
        messages::of(&json::object(line))
    }

    fn shape(&self, line: &[u8]) -> Option<Shape> {
        let line = json::object(line);
        let (kind, payload) = (json::text(&line, "type")?, &line["payload"]);
        let kind = match kind {
            "event_msg" | "response_item" => {
                format!("{kind}/{}", json::text(payload, "type").unwrap_or_default())
            }
            _ => kind.to_owned(),
        };
        Some(Shape { kind, fields: json::fields(payload) })
    }
}

/// What kind of process: the first argument that is no option decides, since a prompt may say anything.
fn part_of(argv: &[String]) -> Part {
    let name = argv.first().map(String::as_str).unwrap_or_default();
    if name.ends_with("codex-linux-sandbox") || name.ends_with("apply_patch") {
        return Part::Bystander;
    }
    let asks = |word: &String| matches!(word.as_str(), "--version" | "-V" | "--help" | "-h");
    if argv.iter().skip(1).take_while(|word| *word != "--").any(asks) {
        return Part::Bystander;
    }
    let mut words = arguments(argv);
    match words.next() {
        Some("exec" | "e" | "review") => Part::Agent(Role::Headless),
        Some("app-server") => match words.next() {
            None => Part::Agent(Role::Server),
            Some(_) => Part::Bystander, // `daemon start`, `proxy`, `generate-json-schema`
        },
        Some(
            "agents" | "apply" | "archive" | "cloud" | "completion" | "debug" | "delete" | "doctor"
            | "features" | "help" | "login" | "logout" | "mcp" | "mcp-server" | "plugin" | "queue"
            | "sandbox" | "unarchive" | "update",
        ) => Part::Bystander,
        _ => Part::Agent(Role::Interactive),
    }
}

/// Arguments that are neither options nor their values.
fn arguments(argv: &[String]) -> impl Iterator<Item = &str> {
    const VALUED: &[&str] = &[
        "-a",
        "-c",
        "-C",
        "-i",
        "-m",
        "-p",
        "-s",
        "--add-dir",
        "--ask-for-approval",
        "--cd",
        "--config",
        "--disable",
        "--enable",
        "--image",
        "--listen",
        "--local-provider",
        "--model",
        "--profile",
        "--remote",
        "--sandbox",
        "--session-source",
    ];
    let mut value = false;
    let words = argv.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
    words.filter(move |word| {
        let skip = value || word.starts_with('-');
        value = !value && VALUED.contains(word);
        !skip
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
        assert_eq!(part("codex"), Part::Agent(Role::Interactive));
        assert_eq!(part("codex --no-daemon exec"), Part::Agent(Role::Headless));
        assert_eq!(part("codex -c a=b -m exec resume"), Part::Agent(Role::Interactive));
        assert_eq!(part("codex app-server --listen unix://"), Part::Agent(Role::Server));
        assert_eq!(part("codex app-server daemon pid-update-loop"), Part::Bystander);
        assert_eq!(part("/x/codex-linux-sandbox -- exec"), Part::Bystander);
        assert_eq!(part("codex -- exec"), Part::Agent(Role::Interactive));
        assert_eq!(part("codex --version"), Part::Bystander);
    }
}
