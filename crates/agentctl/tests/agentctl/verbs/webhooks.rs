//! Webhooks by the command line: who is told, what came back, and that no secret is shown.

mod told;

use crate::home::{Agents, Answer};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use std::{
    fs::{self, Permissions},
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

const USER: &str = ".config/agentctl/config.toml";
const SECRET: &str = "s3cret-word";

/// A server that answers with this status, and tells what it heard: head and body.
fn server(status: u16) -> (String, mpsc::Receiver<(String, String)>) {
    changing(&Arc::new(AtomicU16::new(status)))
}

/// The same with a status that may change.
fn changing(status: &Arc<AtomicU16>) -> (String, mpsc::Receiver<(String, String)>) {
    let status = Arc::clone(status);
    let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = socket.local_addr().expect("it is bound");
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in socket.incoming().flatten() {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.extend(byte);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or_default()];
            let _ = stream.read_exact(&mut body);
            let _ = tell.send((head, String::from_utf8_lossy(&body).into_owned()));
            let status = status.load(Ordering::Relaxed);
            let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (format!("http://{address}/hook/t0ken"), heard)
}

fn signature(body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any key will do");
    mac.update(body.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is said holds no secret.
fn discreet(answer: Answer) -> Answer {
    let said = format!("{}{}", answer.stdout, answer.stderr);
    assert!(!said.contains(SECRET) && !said.contains("t0ken"), "{answer:#?}");
    answer
}

fn ask(agents: &Agents, args: &[&str]) -> Answer {
    discreet(agents.home.run(args))
}

#[test]
fn those_of_1_x_are_heard_in_their_words_and_signed() {
    let agents = Agents::new();
    let (url, heard) = server(202);
    let mut call = agents.home.agentctl(&["webhook", "test", "--json"]);
    call.env("AGENTCTL_WEBHOOK_URL", &url).env("AGENTCTL_WEBHOOK_SECRET", SECRET);
    let answer = discreet(agents.home.ask(&mut call));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let test = &answer.json()["tests"][0];
    assert_eq!((&test["name"], &test["status"]), (&json!("default"), &json!(202)));
    let (head, body) = heard.recv_timeout(Duration::from_secs(5)).expect("a request");
    let told: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(told["hook_type"], "webhook.test");
    assert!(
        head.contains(&format!("x-hub-signature-256: sha256={}\r\n", signature(&body))),
        "{head}"
    );
    assert!(head.contains("x-agentctl-event: webhook.test\r\n"), "{head}");
}

#[test]
fn what_came_back_is_told_and_decides_the_exit_code() {
    let agents = Agents::new();
    let (good, _heard) = server(200);
    let (bad, _also) = server(403);
    let text = format!(
        "[webhook.good]\nurl = '{good}'\nsecret = '{SECRET}'\n[webhook.bad]\nurl = '{bad}'\n\
         format = 'slack'\nfilter = 'type=session.waiting'\n[webhook.gone]\nsecret = 'x'\n"
    );
    agents.home.write(USER, text);
    agents.own();
    assert_eq!(ask(&agents, &["webhook", "test", "good"]).code, Some(0));
    let answer = ask(&agents, &["webhook", "test"]);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    assert!(answer.stdout.contains("not heard: it answers 403"), "{answer:#?}");
    assert!(answer.stderr.contains("webhook.gone has no url"), "{answer:#?}");
    let unknown = ask(&agents, &["webhook", "test", "other"]);
    assert_eq!(unknown.code, Some(1), "{unknown:#?}");

    let listed = ask(&agents, &["webhook", "list", "--json"]);
    assert_eq!(listed.code, Some(8), "{listed:#?}");
    let row = |name: &str, url: &str, signed, format: &str, filter: &str| {
        let host = url.trim_end_matches("/hook/t0ken");
        json!({
            "name": name, "url": format!("{host}/…"), "format": format, "filter": filter,
            "signed": signed, "waiting": 0, "given_up": 0, "dropped": 0,
        })
    };
    let expected = json!([
        row("bad", &bad, false, "slack", "type=session.waiting"),
        row("good", &good, true, "agentctl", "type=session.ended"),
    ]);
    assert_eq!(listed.json()["webhooks"], expected);
    assert_eq!(
        ask(&agents, &["webhook", "retry"]).stdout,
        "0 messages wait again; the daemon sends them\n"
    );
    let shown = ask(&agents, &["config", "show"]);
    assert!(shown.stdout.contains("webhook.good.secret = \"***\"\n"), "{shown:#?}");
}

#[test]
fn no_project_sets_whom_we_tell() {
    let agents = Agents::new();
    let project = agents.home.work().join(".agentctl.toml");
    fs::write(&project, "[webhook]\nurl = 'http://127.0.0.1:9/'\n[notify]\ndesktop = true\n")
        .expect("a file");
    agents.home.write(USER, format!("trust = [{:?}]\n", agents.home.work()));
    agents.own();
    let answer = ask(&agents, &["webhook", "list"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{answer:#?}");
    let told = "webhook.default.url is ignored: it would tell of the sessions of other projects";
    assert!(answer.stderr.contains(told), "{answer:#?}");
    assert_eq!(ask(&agents, &["webhook", "test"]).code, Some(1));
}

#[test]
fn an_address_can_be_tried_before_it_is_set() {
    let agents = Agents::new();
    let (url, heard) = server(200);
    let answer = ask(&agents, &["webhook", "test", "--url", &url, "--format", "slack"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let (head, body) = heard.recv_timeout(Duration::from_secs(5)).expect("a request");
    assert_eq!(body, "{\"text\":\"this is a test of agentctl\"}");
    assert!(!head.contains("x-agentctl-signature:"), "{head}");
    for wrong in ["example.org", "ftp://example.org/", "http:///x", "http://a b/"] {
        assert_eq!(ask(&agents, &["webhook", "test", "--url", wrong]).code, Some(2), "{wrong}");
    }
}

/// A stand-in for `notify-send` writes down what it was given.
#[test]
fn the_desktop_is_told_by_arguments() {
    let agents = Agents::new();
    agents.home.write(USER, "notify.desktop = true\n");
    let script = "#!/bin/sh\nfor word; do echo \"$word\" >>\"$HOME/said\"; done\n";
    let program = agents.home.write("bin/notify-send", script);
    fs::set_permissions(program, Permissions::from_mode(0o755)).expect("our file");
    agents.own();
    let answer = ask(&agents, &["webhook", "test"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let said = fs::read_to_string(agents.home.path("said")).expect("it was started");
    let expected =
        "--app-name=agentctl\n--urgency=normal\n--\nagentctl test\nthis is a test of agentctl\n";
    assert_eq!(said, expected);
    fs::remove_file(agents.home.path("bin/notify-send")).expect("our file");
    let answer = ask(&agents, &["webhook", "test"]);
    assert!(
        answer.code == Some(1) && answer.stdout.contains("cannot start notify-send"),
        "{answer:#?}"
    );
}
