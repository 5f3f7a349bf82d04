//! How each agent is started, and ended: the whole command line for what was asked.

use crate::world::machine;
use agentctl_core::{
    agent::Agent,
    agents,
    evidence::Role,
    launch::{Ask, Earlier, Id, Input, Mark, Permission, Plan, Signal},
};
use serde_json::json;
use std::{path::Path, time::Duration};

const ID: &str = "11111111-1111-4111-8111-111111111111";
const OLD: &str = "22222222-2222-4222-8222-222222222222";

fn agent(name: &str) -> &'static dyn Agent {
    agents::named(name).expect("an agent")
}

fn ask() -> Ask<'static> {
    Ask {
        prompt: "do it",
        cwd: Path::new("/work"),
        id: ID,
        launch: "one",
        model: None,
        permission: Permission::Default,
        system: None,
        name: None,
        earlier: None,
        steerable: false,
        timeout: None,
    }
}

/// To go on with another session, or with a copy of it.
fn after(fork: bool) -> Ask<'static> {
    let earlier = Earlier { id: OLD, record: Path::new("/store/old"), fork };
    Ask { earlier: Some(earlier), ..ask() }
}

fn plan(name: &str, ask: &Ask<'_>) -> Plan {
    agent(name).plan(ask).expect("it can be asked for")
}

fn words(name: &str, ask: &Ask<'_>) -> String {
    plan(name, ask).args.join(" ")
}

fn refusal(name: &str, ask: &Ask<'_>) -> String {
    agent(name).plan(ask).expect_err("it cannot be asked for")
}

fn told(after: &str, also: &str) -> Id {
    Id::Told(Mark { after: after.into(), also: also.into() })
}

/// What is added for each mode of permission: to look, to do as usual, to edit, to do all.
fn modes(name: &str) -> [String; 4] {
    let all = [Permission::Read, Permission::Default, Permission::Edit, Permission::Full];
    let plain = plan(name, &ask()).args;
    all.map(|permission| {
        let args = plan(name, &Ask { permission, ..ask() }).args;
        let new: Vec<String> = args.into_iter().filter(|word| !plain.contains(word)).collect();
        new.join(" ")
    })
}

#[test]
fn a_plain_prompt_is_read_from_the_input_and_never_stands_among_the_words() {
    for name in ["claude", "codex", "opencode", "pi", "gemini", "copilot"] {
        let plan = plan(name, &ask());
        assert_eq!(plan.input, Input::Text("do it".into()), "{name}");
        assert!(!plan.args.iter().any(|word| word.contains("do it")), "{name}");
    }
}

#[test]
fn claude_code_is_given_its_id_or_goes_on_with_a_record() {
    let start = "-p --output-format stream-json --verbose";
    let new = plan("claude", &ask());
    assert_eq!(new.args.join(" "), format!("{start} --session-id {ID}"));
    assert_eq!(new.id, Id::Chosen(ID.into()));
    let on = plan("claude", &after(false));
    assert_eq!(on.args.join(" "), format!("{start} --resume /store/old"));
    assert_eq!(on.id, Id::Chosen(OLD.into()));
    let copy = plan("claude", &after(true));
    let words = format!("{start} --resume /store/old --fork-session --session-id {ID}");
    assert_eq!((copy.args.join(" "), copy.id), (words, Id::Chosen(ID.into())));
    let all = Ask { model: Some("m"), name: Some("n"), system: Some("s"), ..ask() };
    let words = format!("{start} --session-id {ID} --model m --name n --append-system-prompt s");
    assert_eq!(self::words("claude", &all), words);
    let modes = self::modes("claude");
    assert_eq!(modes[..2], ["--permission-mode plan", ""]);
    assert_eq!(modes[2..], ["--permission-mode acceptEdits", "--dangerously-skip-permissions"]);
}

#[test]
fn claude_code_can_be_steered_and_takes_prompts_up_to_a_size() {
    let steered = plan("claude", &Ask { steerable: true, ..ask() });
    let line = r#"{"message":{"content":"do it","role":"user"},"type":"user"}"#;
    assert_eq!(steered.input, Input::Open(format!("{line}\n")));
    assert!(steered.args.ends_with(&["--input-format".into(), "stream-json".into()]));
    assert_eq!(agent("claude").line("do it"), Some(format!("{line}\n")));
    let long = "x".repeat(10 << 20);
    assert!(agent("claude").plan(&Ask { prompt: &long, ..ask() }).is_ok());
    let longer = format!("{long}x");
    let why = refusal("claude", &Ask { prompt: &longer, ..ask() });
    assert_eq!(why, "Claude Code takes prompts of at most 10 MB");
}

#[test]
fn codex_tells_the_id_of_what_it_begins() {
    let start = "exec --json --skip-git-repo-check -C /work";
    let source = "--thread-source agentctl:one";
    let told = || told("\"thread_id\":\"", "-");
    let new = plan("codex", &ask());
    assert_eq!((new.args.join(" "), new.id), (format!("{start} {source} -"), told()));
    let on = plan("codex", &after(false));
    let words = format!("{start} {source} resume {OLD} -");
    assert_eq!((on.args.join(" "), on.id), (words, Id::Chosen(OLD.into())));
    let copy = plan("codex", &after(true));
    assert_eq!((copy.args.join(" "), copy.id), (format!("{start} {source} fork {OLD} -"), told()));
    let modes = self::modes("codex");
    assert_eq!(modes[..2], ["-s read-only", ""]);
    assert_eq!(modes[2..], ["-s workspace-write", "--dangerously-bypass-approvals-and-sandbox"]);
    // Characters count, not bytes.
    let long = "é".repeat(1 << 20);
    assert!(agent("codex").plan(&Ask { prompt: &long, ..ask() }).is_ok());
    let longer = format!("{long}x");
    let why = refusal("codex", &Ask { prompt: &longer, ..ask() });
    assert_eq!(why, "Codex takes prompts of at most 1,048,576 characters");
}

#[test]
fn pi_asks_nobody_so_what_it_may_not_do_it_does_not_have() {
    let new = plan("pi", &ask());
    assert_eq!((new.args.join(" "), new.id), ("--mode json".into(), told("\"id\":\"", "-._")));
    let on = plan("pi", &after(false));
    let words = "--mode json --session /store/old";
    assert_eq!((on.args.join(" ").as_str(), on.id), (words, Id::Chosen(OLD.into())));
    let copy = plan("pi", &after(true));
    let words = "--mode json --fork /store/old";
    assert_eq!((copy.args.join(" ").as_str(), copy.id), (words, told("\"id\":\"", "-._")));
    let [read, usual, edit, full] = modes("pi");
    assert_eq!((read.as_str(), usual.as_str()), ("--tools read,grep,find,ls", ""));
    assert_eq!((edit.as_str(), full.as_str()), ("--tools read,grep,find,ls,edit,write", ""));
    let steered = plan("pi", &Ask { steerable: true, ..ask() });
    let line = r#"{"message":"do it","streamingBehavior":"followUp","type":"prompt"}"#;
    let input = format!("{}\n{line}\n", r#"{"id":"0","type":"get_state"}"#);
    assert_eq!((steered.input, steered.id), (Input::Open(input), told("\"sessionId\":\"", "-._")));
    assert_eq!(steered.args.join(" "), "--mode rpc");
    assert_eq!(agent("pi").line("do it"), Some(format!("{line}\n")));
}

#[test]
fn gemini_copilot_and_opencode_are_told_where_and_as_whom_to_work() {
    let new = plan("gemini", &ask());
    assert_eq!(new.args.join(" "), format!("--output-format stream-json --session-id {ID}"));
    assert_eq!(new.env, [("GEMINI_CLI_NO_RELAUNCH", "true".to_owned())]);
    let on = plan("gemini", &after(false));
    assert_eq!(on.args.join(" "), format!("--output-format stream-json --resume {OLD}"));
    assert_eq!(on.id, Id::Chosen(OLD.into()));
    let modes = self::modes("gemini");
    assert_eq!(modes[1], "");
    assert_eq!(
        [&modes[0], &modes[2], &modes[3]],
        ["--approval-mode plan", "--approval-mode auto_edit", "--approval-mode yolo"]
    );

    let new = plan("copilot", &Ask { model: Some("m"), name: Some("n"), ..ask() });
    let words = format!("--session-id {ID} --output-format json --model m --name n");
    assert_eq!((new.args.join(" "), new.id), (words, Id::Chosen(ID.into())));
    let on = plan("copilot", &after(false));
    assert_eq!(on.args.join(" "), format!("--session-id {OLD} --output-format json"));
    let modes = self::modes("copilot");
    assert_eq!(modes[..2], ["--deny-tool shell --deny-tool write", ""]);
    assert_eq!(modes[2..], ["--allow-tool write", "--allow-all-tools --allow-all-paths"]);

    let new = plan("opencode", &ask());
    let start = "run --print-logs --format json --dir /work";
    let mark = || told("message=created id=", "_");
    assert_eq!((new.args.join(" ").as_str(), new.id), (start, mark()));
    assert_eq!(new.env, [("PWD", "/work".to_owned())]);
    let on = plan("opencode", &after(false));
    let words = format!("{start} --session {OLD}");
    assert_eq!((on.args.join(" "), on.id), (words.clone(), Id::Chosen(OLD.into())));
    let copy = plan("opencode", &after(true));
    assert_eq!((copy.args.join(" "), copy.id), (format!("{words} --fork"), mark()));
    assert_eq!(modes_of_opencode(), ["--agent plan", "", "", "--auto"]);
}

fn modes_of_opencode() -> [String; 4] {
    let rules = |permission| plan("opencode", &Ask { permission, ..ask() }).env.pop();
    let deny = r#"{"edit":"deny","bash":"deny"}"#;
    let allow = r#"{"edit":"allow"}"#;
    assert_eq!(rules(Permission::Read), Some(("OPENCODE_PERMISSION", deny.into())));
    assert_eq!(rules(Permission::Edit), Some(("OPENCODE_PERMISSION", allow.into())));
    modes("opencode")
}

#[test]
fn what_an_agent_cannot_do_is_refused_with_what_to_do_instead() {
    let steered = Ask { steerable: true, ..ask() };
    let told = Ask { system: Some("be brief"), ..ask() };
    for name in ["codex", "opencode", "gemini", "copilot"] {
        assert!(agent(name).plan(&steered).is_err(), "{name}");
        assert!(refusal(name, &told).ends_with("put them into the prompt"), "{name}");
    }
    assert_eq!(refusal("gemini", &after(true)), "Gemini cannot copy a conversation");
    assert_eq!(refusal("copilot", &after(true)), "Copilot cannot copy a conversation");
    let why = refusal("opencode", &Ask { model: Some("m"), ..ask() });
    assert_eq!(why, "OpenCode wants a model as PROVIDER/MODEL");
    assert!(words("opencode", &Ask { model: Some("p/m"), ..ask() }).ends_with("--model p/m"));
    assert_eq!(refusal("openclaw", &ask()), "its server runs its sessions");
}

#[test]
fn openclaw_s_gateway_is_asked_for_a_session() {
    let hosted = agent("openclaw").hosted().expect("its server runs its sessions");
    let host = machine(Vec::new());
    let calls = |ask: &Ask<'_>| {
        hosted.calls(&host, ask).map(|calls| {
            calls.into_iter().map(|call| (call.method, call.params)).collect::<Vec<_>>()
        })
    };
    let create = |params| Ok(vec![("sessions.create".to_owned(), params)]);
    let plain = json!({"key": "agentctl-one", "cwd": "/work", "message": "do it"});
    assert_eq!(calls(&ask()), create(plain.clone()));
    let mut all = plain.clone();
    all["model"] = "m".into();
    all["displayName"] = "n".into();
    all["timeoutMs"] = 1500.into();
    let timeout = Some(Duration::from_millis(1500));
    assert_eq!(calls(&Ask { model: Some("m"), name: Some("n"), timeout, ..ask() }), create(all));
    for (permission, mode) in
        [(Permission::Read, "read-only"), (Permission::Edit, "guarded"), (Permission::Full, "full")]
    {
        let mut params = plain.clone();
        params["permissionMode"] = mode.into();
        assert_eq!(calls(&Ask { permission, ..ask() }), create(params));
    }
    let why = calls(&Ask { system: Some("be brief"), ..ask() }).expect_err("it has its own");
    assert_eq!(why, "its gateway keeps its own instructions (--append-system-prompt)");
    let why = calls(&after(false)).expect_err("no such session");
    assert_eq!(why, "its key has another transcript since");
    assert_eq!(hosted.command(), "openclaw gateway run");
    assert!(agent("codex").hosted().is_none());
}

#[test]
fn each_agent_is_ended_by_the_signal_that_it_likes_best_and_then_by_others() {
    use Signal::{Interrupt, Kill, Terminate};
    let ends = |name: &str, role| agent(name).ends_by(role).to_vec();
    for role in [Some(Role::Headless), Some(Role::Piped)] {
        assert_eq!(ends("claude", role), [Interrupt, Terminate, Kill]);
    }
    for role in [Some(Role::Interactive), Some(Role::Background), Some(Role::Server), None] {
        assert_eq!(ends("claude", role), [Terminate, Kill]);
    }
    assert_eq!(ends("codex", None), [Interrupt, Terminate, Kill]);
    for name in ["opencode", "pi", "gemini", "copilot"] {
        assert_eq!(ends(name, None), [Terminate, Kill], "{name}");
    }
    assert_eq!(ends("openclaw", None), []);
    let names = [Interrupt, Terminate, Kill].map(Signal::name);
    assert_eq!(names, ["SIGINT", "SIGTERM", "SIGKILL"]);
}

#[test]
fn a_worker_of_claude_code_s_fleet_is_stopped_by_its_own_command() {
    let stops = |role| agent("claude").stops(ID, role).map(|words| words.join(" "));
    assert_eq!(stops(Some(Role::Background)), Some("stop 11111111".into()));
    assert_eq!(stops(Some(Role::Headless)), None);
    assert_eq!(stops(None), None);
    assert_eq!(agent("codex").stops(ID, Some(Role::Background)), None);
    assert_eq!(agent("codex").line("do it"), None);
}
