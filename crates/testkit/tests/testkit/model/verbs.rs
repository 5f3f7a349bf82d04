//! What each verb of a script does, in every dialect.

use std::time::{Duration, Instant};

use agentctl_testkit::model::{Dialect, Model};
use serde_json::{Value, json};

use super::client::{ALL, Agent, Heard, Mode, calling, words};
use super::dialects::{first, hear};

fn shell_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "Bash",
        Dialect::Responses => "shell",
        Dialect::Chat => "bash",
        Dialect::Gemini => "run_shell_command",
    }
}

#[test]
fn words_are_said() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let cases = [
            ("hello", "ok"),
            ("first\nMOCK:text one two", "one two"),
            ("MOCK:slow 0.02 a b c", "a b c"),
            ("MOCK:hang 0.02", "late"),
            ("MOCK:stall 0.02", "first half, second half"),
            ("MOCK:stall 0.02 äé", "äé"),
        ];
        for (prompt, said) in cases {
            assert_eq!(first(&model, dialect, prompt), words(said), "{dialect:?} {prompt}");
        }
        assert_eq!(first(&model, dialect, "MOCK:big 5").text.len(), 5 * 1024);
    }
}

#[test]
fn tools_are_called_as_the_client_wants_them() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let shell = shell_of(dialect);
        let cases = [
            ("MOCK:tool echo hi", calling(shell, json!({"command": "echo hi"}))),
            (
                "MOCK:escalate ls",
                calling(
                    shell,
                    json!({"command": "ls", "sandbox_permissions": "require_escalated"}),
                ),
            ),
            ("MOCK:call other {\"a\": [1]}", calling("other", json!({"a": [1]}))),
            (
                "MOCK:multi ls | pwd",
                Heard {
                    thought: "one thing at a time".into(),
                    text: "running several commands".into(),
                    calls: vec![
                        (shell.into(), json!({"command": "ls"})),
                        (shell.into(), json!({"command": "pwd"})),
                    ],
                },
            ),
            ("MOCK:ask Shall we?", question(dialect)),
        ];
        for (prompt, expected) in cases {
            assert_eq!(first(&model, dialect, prompt), expected, "{dialect:?} {prompt}");
        }
    }
}

fn question(dialect: Dialect) -> Heard {
    let (name, extra): (&str, Option<(&str, Value)>) = match dialect {
        Dialect::Anthropic => ("AskUserQuestion", Some(("multiSelect", json!(false)))),
        Dialect::Responses => ("request_user_input", Some(("id", json!("scripted")))),
        Dialect::Chat => ("question", None),
        Dialect::Gemini => ("ask_user", Some(("type", json!("choice")))),
    };
    let mut question = json!({
        "question": "Shall we?", "header": "Scripted",
        "options": [{"label": "Yes", "description": "Go on"},
                    {"label": "No", "description": "Leave it"}],
    });
    if let Some((key, value)) = extra {
        question[key] = value;
    }
    calling(name, json!({"questions": [question]}))
}

#[test]
fn a_script_goes_line_by_line_and_side_calls_do_not_use_it_up() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let mut agent = Agent::new(&model, dialect, "go\nMOCK:multi a | b\nMOCK:text two");
        let said = |agent: &Agent<'_>| hear(dialect, Mode::Stream, &agent.ask()).text;
        assert_eq!(said(&agent), "running several commands");
        assert_eq!(hear(dialect, Mode::Stream, &agent.ask_aside()), words("ok"));
        agent.used_tools(2);
        assert_eq!(said(&agent), "two");
        agent.used_tools(1);
        assert_eq!(said(&agent), "done");
    }
    let of = |dialect| {
        let requests = model.requests();
        let mine = requests.into_iter().filter(move |request| request.dialect == Some(dialect));
        mine.map(|request| request.directive).collect::<Vec<_>>()
    };
    for dialect in ALL {
        let lines = [Some("multi a | b"), None, Some("text two"), None];
        assert_eq!(of(dialect), lines.map(|line| line.map(str::to_owned)), "{dialect:?}");
    }
}

#[test]
fn an_error_can_pass_after_some_tries() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let agent = Agent::new(&model, dialect, "MOCK:err 503 2");
        let tries = [agent.ask().status, agent.ask().status];
        assert_eq!(tries, [503, 503]);
        assert_eq!(hear(dialect, Mode::Stream, &agent.ask()), words("recovered"));
    }
}

#[test]
fn a_cut_answer_is_never_whole() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let agent = Agent::new(&model, dialect, "MOCK:cut");
        let streamed = agent.ask();
        assert!(streamed.body.contains("this answer will"), "{streamed:?}");
        assert!(!streamed.body.contains("cut off here"), "{streamed:?}");
        assert!(!streamed.is_whole && !agent.whole().ask().is_whole, "{dialect:?}");
    }
}

#[test]
fn an_answer_is_held_until_the_file_is_there() {
    let model = Model::start().unwrap();
    let room = tempfile::tempdir().unwrap();
    for dialect in ALL {
        let gate = room.path().join(format!("{dialect:?}"));
        let prompt = format!("MOCK:until {}", gate.display());
        std::thread::scope(|scope| {
            let agent = Agent::new(&model, dialect, &prompt);
            let held = scope.spawn(move || hear(dialect, Mode::Stream, &agent.ask()));
            let asked = |requests: &[agentctl_testkit::model::Request]| {
                requests.iter().any(|request| request.dialect == Some(dialect))
            };
            assert!(model.wait_for(asked, Duration::from_secs(10)));
            assert!(!held.is_finished());
            std::fs::write(&gate, "").unwrap();
            assert_eq!(held.join().unwrap(), words("released"));
        });
    }
}

#[test]
fn times_are_kept() {
    let model = Model::start().unwrap();
    for prompt in ["MOCK:slow 0.3", "MOCK:hang 0.3", "MOCK:stall 0.3"] {
        let start = Instant::now();
        Agent::new(&model, Dialect::Chat, prompt).ask();
        assert!(start.elapsed() >= Duration::from_millis(300), "{prompt}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let model = Model::start().unwrap();
    for dialect in ALL {
        let reply = Agent::new(&model, dialect, "MOCK:sing").ask();
        let message = reply.json()["error"]["message"].clone();
        assert_eq!(reply.status, 400);
        assert_eq!(message, "cannot do `MOCK:sing`: no verb `sing`");
    }
}
