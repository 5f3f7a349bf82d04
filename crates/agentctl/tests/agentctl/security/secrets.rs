//! What was told in confidence stays in the file it was told in.

use crate::home::{Agents, Home, until};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    sync::mpsc,
    thread,
};

const USER: &str = ".config/agentctl/config.toml";
/// In a variable of the agent, in the address of a webhook, and for its signature.
const SECRETS: [&str; 3] = ["v4riable-s3cret", "addr3ss-s3cret", "s1gning-s3cret"];

/// A server that keeps what it hears.
fn server() -> (String, mpsc::Receiver<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = socket.local_addr().expect("it is bound");
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in socket.incoming().flatten() {
            let mut bytes = [0; 1 << 16];
            let read = stream.read(&mut bytes).unwrap_or(0);
            let _ = tell.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (format!("http://{address}/{}", SECRETS[1]), heard)
}

/// Every text below a folder, with its path.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => found.extend(texts(&path)),
            kind if kind.is_file() => {
                let text = fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).into_owned();
                found.push((path.display().to_string(), text));
            }
            _ => {}
        }
    }
    found
}

fn arguments(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

#[test]
fn no_secret_is_in_files_arguments_messages_or_answers() {
    let agents = Agents::new();
    let home = &agents.home;
    let (url, heard) = server();
    let text = format!(
        "[launch.env]\nTOKEN = '{}'\n[webhook]\nurl = '{url}'\nsecret = '{}'\n",
        SECRETS[0], SECRETS[2],
    );
    home.write(USER, text);
    agents.own();
    let prompt = "pr0mpt-words";
    let mut said = Vec::new();
    let mut run = |words: &[&str]| {
        let answer = home.run(words);
        said.push(format!("{answer:?}"));
        answer
    };
    assert_eq!(run(&["daemon", "start"]).code, Some(0));
    let launch = ["launch", "claude-code", "-p", prompt, "--json", "--steerable"];
    assert_eq!(run(&launch).code, Some(0));
    let agent = until("an agent", || {
        agents.alive().into_iter().find(|pid| arguments(*pid).contains("1000"))
    });
    let env = fs::read(format!("/proc/{agent}/environ")).expect("it is alive");
    let env = String::from_utf8_lossy(&env).into_owned();
    assert!(env.contains(SECRETS[0]), "the agent itself is told");
    for pid in agents.alive() {
        let words = arguments(pid);
        let told = SECRETS.iter().find(|secret| words.contains(**secret));
        assert_eq!(told, None, "`ps` shows {words}");
        assert!(!words.contains(prompt) || pid == agent, "`ps` shows {words}");
    }
    for words in [
        &["list", "--json"][..],
        &["config", "show"],
        &["config", "show", "--json"],
        &["webhook", "list", "--json"],
        &["webhook", "test"],
        &["daemon", "status", "--json"],
        &["doctor"],
        &["launch", "claude-code", "-p", "x", "--dry-run", "--force"],
        &["stop", "--all", "--force"],
    ] {
        run(words);
    }
    let message = heard.recv_timeout(std::time::Duration::from_secs(20)).expect("a message");
    let (_, body) = message.split_once("\r\n\r\n").unwrap_or_default();
    for secret in [SECRETS[0], SECRETS[2]] {
        assert!(!message.contains(secret), "{message}");
    }
    assert!(!body.contains(SECRETS[1]), "{body}");
    assert_eq!(run(&["daemon", "stop"]).code, Some(0));
    nothing_is_kept(home, prompt);
    nothing_is_said(&said);
}

fn nothing_is_kept(home: &Home, prompt: &str) {
    let kept = texts(&home.path(".local"));
    assert!(kept.iter().any(|(path, _)| path.contains("launches")), "{kept:?}");
    for (path, text) in kept {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{path} holds {secret}: {text}");
        }
        let is_ours = path.ends_with(".json");
        assert!(!is_ours || !text.contains(prompt), "{path} holds the prompt: {text}");
    }
}

fn nothing_is_said(said: &[String]) {
    for answer in said {
        let words = answer.split_once("stdout").map_or("", |(_, words)| words);
        // Who asks what is set, or how an agent would be started, is shown the variables that he set.
        let asked = answer.contains("config") || answer.contains("--dry-run");
        let hidden = if asked { &SECRETS[1..] } else { &SECRETS[..] };
        let told = hidden.iter().find(|secret| words.contains(**secret));
        assert_eq!(told, None, "{answer}");
    }
}
