//! What OpenCode's words, files and servers tell.

mod files;
mod said;
mod server;
mod turns;

use crate::world::{Machine, at, key, machine};
use agentctl_core::{
    agent::{Agent, Depth, Part, Program, Stub},
    agents,
    evidence::{Record, Role, Turn},
    host::Env,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

const ID: &str = "ses_e1f7b6bd9ffeXM7NCCIsxbHspv";
const STORE: &str = "/store";
const DB: &str = "/store/opencode.db";

fn opencode() -> &'static dyn Agent {
    agents::named("opencode").expect("an agent")
}

/// A file below the store, with the folders that lead to it.
fn put(machine: &mut Machine, path: &str, bytes: &[u8]) {
    let path = format!("{STORE}/{path}");
    let above: Vec<&Path> = Path::new(&path).ancestors().skip(1).collect();
    for folder in above.into_iter().filter(|folder| folder.starts_with(STORE)) {
        if !machine.files.contains_key(folder) {
            let number = 100 + machine.files.len() as u64;
            machine.folder(folder.to_str().expect("a name of ours"), number);
        }
    }
    machine.file(&path, bytes);
}

fn put_json(machine: &mut Machine, path: &str, value: &Value) {
    put(machine, path, format!("{value:#}").as_bytes());
}

/// The session in this file or database.
fn stub(path: &str) -> Stub {
    Stub::new(ID, path, at(200))
}

/// The same object with these fields.
fn with(mut object: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("fields") {
        object[name] = value.clone();
    }
    object
}

fn argv(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Asks something of a process of these words.
fn of<T>(line: &str, ask: impl Fn(&Program<'_>) -> T) -> T {
    ask(&Program { comm: "opencode", exe: None, argv: &argv(line) })
}

#[test]
fn opencode_is_known_by_the_name_of_its_program() {
    let names = ["opencode", "opencode.exe", "opencode-cli", "node", "bash"];
    let known = names.map(|name| opencode().may_be(name));
    assert_eq!(known, [true, true, true, false, false]);
    let part = |exe: Option<&str>, line: &str| {
        let argv = argv(line);
        opencode().part(&Program { comm: "opencode", exe: exe.map(Path::new), argv: &argv })
    };
    let terminal = Some(Part::Agent(Role::Interactive));
    assert_eq!(part(Some("/usr/lib/opencode-ai/bin/opencode.exe"), "opencode"), terminal);
    assert_eq!(part(None, "opencode"), terminal);
    assert_eq!(part(Some("/usr/bin/perl"), "opencode"), None);
}

#[test]
fn its_words_tell_what_it_is_whatever_stands_between_them() {
    let part = |line: &str| of(line, |program| opencode().part(program));
    let role = |role| Some(Part::Agent(role));
    assert_eq!(part("opencode -s x run"), role(Role::Headless));
    // What an option is given is no option, and what follows it is a word again.
    assert_eq!(part("opencode --prompt --model run hello"), role(Role::Headless));
    assert_eq!(part("opencode run --interactive"), role(Role::Interactive));
    assert_eq!(part("opencode --port 4096 serve"), role(Role::Server));
    assert_eq!(part("opencode web"), role(Role::Server));
    assert_eq!(part("opencode --help"), Some(Part::Bystander));
    assert_eq!(part("opencode run -v"), Some(Part::Bystander));
    assert_eq!(part("opencode github"), Some(Part::Bystander));
    assert_eq!(part("opencode /work"), role(Role::Interactive));
}

#[test]
fn its_words_may_name_a_session_or_go_on_with_the_newest() {
    let named = |line: &str| of(line, |program| opencode().may_name(program));
    assert_eq!(named(&format!("opencode --session {ID}")).as_deref(), Some(ID));
    assert_eq!(named(&format!("opencode --session={ID}")).as_deref(), Some(ID));
    assert_eq!(named("opencode --session last"), None);
    assert_eq!(named("opencode --session ses/../x"), None);
    assert_eq!(named("opencode"), None);
    let goes_on = |line: &str| of(line, |program| opencode().may_resume(program));
    assert!(goes_on("opencode run -c") && goes_on("opencode --continue"));
    assert!(!goes_on("opencode run hello") && !goes_on("opencode -c --fork"));
    assert!(!goes_on("opencode --fork"));
}

/// 1.18.33 goes on with the newest of the project, wherever in it that works.
#[test]
fn directories_above_and_below_share_sessions() {
    let shares = |own: &str, cwd: &str| opencode().shares(Path::new(own), Path::new(cwd));
    assert!(shares("/w/a", "/w") && shares("/w", "/w/a") && shares("/w", "/w"));
    assert!(!shares("/w/a", "/w/b"));
}

#[test]
fn a_run_believes_its_variable_unless_it_is_told_a_directory() {
    let directory = |line: &str, pwd: Option<&str>| {
        let env: Env = pwd.map(|pwd| ("PWD".to_owned(), pwd.into())).into_iter().collect();
        of(line, |program| opencode().directory(program, &env, "/cwd".into()))
    };
    assert_eq!(directory("opencode run", Some("/pwd")), PathBuf::from("/pwd"));
    assert_eq!(directory("opencode run", None), PathBuf::from("/cwd"));
    assert_eq!(directory("opencode run", Some("here")), PathBuf::from("/cwd"));
    assert_eq!(directory("opencode run --dir /d", Some("/pwd")), PathBuf::from("/cwd"));
    assert_eq!(directory("opencode serve", Some("/pwd")), PathBuf::from("/cwd"));
    assert_eq!(directory("opencode serve", Some("here")), PathBuf::from("/cwd"));
}

/// 1.18.33: only a `run` forbids its session to ask questions, and it makes that as it starts.
#[test]
fn a_session_is_that_of_a_process_of_its_own_kind() {
    let joins = |role, made_by, started: Option<i64>| {
        let record = Record { made_by, started: started.map(at), ..Record::of(Turn::None) };
        opencode().may_join(&record, at(100), role)
    };
    let (run, terminal) = (Some(Role::Headless), Some(Role::Interactive));
    assert!(joins(run, run, Some(130)) && joins(run, run, Some(50)) && joins(run, run, None));
    assert!(!joins(run, run, Some(131)));
    assert!(!joins(run, None, Some(110)));
    assert!(joins(terminal, None, Some(900)) && joins(None, None, Some(900)));
    assert!(!joins(terminal, run, Some(110)));
}

#[test]
fn a_store_is_where_its_variables_say() {
    let stores = |pairs: &[(&str, &str)]| {
        let env: Env = pairs.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        opencode().stores(&env)
    };
    let usual = PathBuf::from("/h/.local/share/opencode");
    assert_eq!(stores(&[("HOME", "/h"), ("XDG_DATA_HOME", "")]), [usual]);
    assert!(stores(&[]).is_empty());
}

/// Every process has the one database open; of several, nobody knows which.
#[test]
fn a_database_is_open_wherever_it_is_the_only_one() {
    let mut machine = machine(Vec::new());
    let open = |machine: &Machine| opencode().always_open(machine, Path::new(STORE));
    machine.folder(STORE, 50);
    assert_eq!(open(&machine), None);
    for name in ["opencode.txt", "other-x.db", "opencode-x", "opencode.db"] {
        machine.file(&format!("{STORE}/{name}"), b"");
    }
    machine.links.insert(DB.into(), "/disk/opencode.db".into());
    assert_eq!(open(&machine), Some("/disk/opencode.db".into()));
    machine.file("/store/opencode-dev.db", b"");
    assert_eq!(open(&machine), None);
    assert_eq!(opencode().holds(&machine, Path::new(STORE), Path::new(DB)), None);
    let claims = opencode().claims(&machine, Path::new(STORE)).expect("nothing is written down");
    assert_eq!((claims.claims.len(), claims.problems.len()), (0, 0));
}

#[test]
fn what_grows_and_what_tells_is_the_log_of_a_database_and_no_one_file_else() {
    let (machine, file) = (machine(Vec::new()), stub("/store/storage/session/global/x.json"));
    assert_eq!(opencode().grows(&stub(DB)), Some("/store/opencode.db-wal".into()));
    assert_eq!(opencode().grows(&file), None);
    assert_eq!(opencode().told_by(&machine, &file, Depth::Whole), None);
    assert_eq!(opencode().messages(b"{}"), []);
    assert_eq!(opencode().shape(b"{}"), None);
}

#[test]
fn an_absence_can_be_checked_by_a_shell() {
    let check = opencode().absence(Path::new(STORE), "ses_a.b'c");
    assert!(check.starts_with("! grep -ls '^opencode' /proc/[0-9]*/comm"), "{check}");
    assert!(check.ends_with("grep -xE -- '(--session=|-s=)?ses_a.b.c'"), "{check}");
    assert_eq!(
        opencode().attaches(&machine(Vec::new()), &server::target(&key(7, 100)), None),
        None
    );
}
