//! What Gemini CLI's chats tell, and what the words of its process do.

mod chats;
mod counted;
mod store;

use crate::world::{Machine, machine};
use agentctl_core::{
    agent::{Agent, Part, Program, Stub},
    agents,
    evidence::Role,
    host::Env,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const ID: &str = "11111111-1111-4111-8111-111111111111";
const STORE: &str = "/h/.gemini";
const CHATS: &str = "/h/.gemini/tmp/work/chats";
const CHAT: &str = "/h/.gemini/tmp/work/chats/session-2026-01-02T03-04-11111111.jsonl";

fn gemini() -> &'static dyn Agent {
    agents::named("gemini").expect("an agent")
}

/// A store with one session, of `/work`.
fn store(chat: &str) -> Machine {
    let mut machine = machine(Vec::new());
    for (number, folder) in
        [STORE, "/h/.gemini/tmp", "/h/.gemini/tmp/work", CHATS].iter().enumerate()
    {
        machine.folder(folder, 50 + number as u64);
    }
    machine.file("/h/.gemini/tmp/work/.project_root", b"/work\n");
    machine.file(CHAT, chat.as_bytes());
    machine
}

fn stub(machine: &Machine) -> Stub {
    gemini().find(machine, Path::new(STORE), ID, None).remove(0)
}

/// The first line of a chat.
fn head(id: &str) -> Value {
    json!({"sessionId": id, "projectHash": "p", "startTime": "2026-01-02T03:04:00Z",
        "lastUpdated": "2026-01-02T03:04:00Z", "kind": "main"})
}

fn message(id: &str, kind: &str, content: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-02T03:04:05Z", "type": kind, "content": content})
}

/// What the model answered.
fn answer(id: &str, content: &str) -> Value {
    let mut answer = message(id, "gemini", content);
    answer["model"] = "m".into();
    answer
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn its_store_is_below_the_home_directory_or_the_one_that_a_variable_names() {
    let stores = |pairs: &[(&str, &str)]| {
        let env: Env = pairs.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        gemini().stores(&env)
    };
    let (home, below) = (("HOME", "/h"), [PathBuf::from("/h/.gemini")]);
    assert_eq!(stores(&[home]), below);
    assert_eq!(stores(&[home, ("GEMINI_CLI_HOME", "")]), below);
    assert_eq!(stores(&[home, ("GEMINI_CLI_HOME", "/g")]), [PathBuf::from("/g/.gemini")]);
    assert!(stores(&[]).is_empty());
}

/// Asks something of the process with these words.
fn of<T>(line: &str, ask: impl Fn(&Program<'_>) -> T) -> T {
    let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    ask(&Program { comm: "node", exe: None, argv: &argv })
}

#[test]
fn a_process_that_answers_about_itself_holds_no_session() {
    let part = |words: &str| of(&format!("node /bin/gemini {words}"), |of| gemini().part(of));
    let bystanders = "extensions list|hooks migrate|mcp list|gemma setup|skill install x|skills list|\
        --list-sessions|--list-extensions|-l|--delete-session=2|--version|-v|--help|-h|mcp --help";
    for words in bystanders.split('|') {
        assert_eq!(part(words), Some(Part::Bystander), "{words}");
    }
    for words in ["-m pro", "--resume latest", "-i skills"] {
        assert_eq!(part(words), Some(Part::Agent(Role::Interactive)), "{words}");
    }
    assert_eq!(part("--experimental-acp"), Some(Part::Agent(Role::Piped)));
    let script = "node /lib/node_modules/@google/gemini-cli/bundle/gemini.js";
    assert_eq!(of(script, |of| gemini().part(of)), Some(Part::Agent(Role::Interactive)));
    assert_eq!(of("node /other/bundle/gemini.js", |of| gemini().part(of)), None);
}

/// Newer releases of Node name their first thread.
#[test]
fn it_runs_in_node_and_keeps_no_chat_open() {
    let names = ["node", "MainThread", "gemini", "bash", "nodejs"];
    assert_eq!(names.map(|name| gemini().may_be(name)), [true, true, true, false, false]);
    let machine = store(&text(&[head(ID)]));
    assert_eq!(gemini().holds(&machine, Path::new(STORE), Path::new(CHAT)), None);
}

#[test]
fn only_a_process_that_goes_on_with_the_newest_may_have_taken_that_up() {
    let resumes = |words: &str| of(words, |of| gemini().may_resume(of));
    for words in ["-r", "--resume", "--resume latest", "--resume=latest", "-r -y", "-y -r latest"] {
        assert!(resumes(&format!("node /bin/gemini {words}")), "{words}");
    }
    let own = format!("--resume {ID}");
    for words in ["-y", "latest", "-r 2", &own] {
        assert!(!resumes(&format!("node /bin/gemini {words}")), "{words}");
    }
    assert!(!resumes("node /bin/other -r latest"));
}

/// The first letter stands in brackets: the check does not find itself.
#[test]
fn an_absence_is_checked_in_the_arguments_of_all_processes() {
    let check = |id: &str| gemini().absence(Path::new(STORE), id);
    let all = "! cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -E";
    assert_eq!(check("1a-b"), format!("{all} '(^|=)[1]a-b$'"));
    assert_eq!(check("a'$(b)"), format!("{all} '(^|=)[a]...b.$'"));
}

/// What `doctor` compares with what is known.
#[test]
fn a_line_is_a_message_a_change_of_the_head_or_the_head() {
    let shape = |line: Value| {
        let shape = gemini().shape(line.to_string().as_bytes())?;
        Some(format!("{}: {}", shape.kind, shape.fields.join(" ")))
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(shape(head(ID)), is("header: kind lastUpdated projectHash sessionId startTime"));
    assert_eq!(shape(message("a", "user", "hi")), is("user: content id timestamp type"));
    assert_eq!(shape(json!({"$set": {"summary": "s"}})), is("$set: summary"));
    assert_eq!(shape(json!({"$rewindTo": "a"})), is("$rewindTo: $rewindTo"));
    assert_eq!(shape(json!([1])), None);
}
