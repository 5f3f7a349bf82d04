//! What was told in confidence stays in the file it was told in.

use crate::home::{Agents, Answer, Home, receipts::LAUNCHES, until};
use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

const USER: &str = ".config/agentctl/config.toml";
/// In a variable of the agent, in the address of a webhook, and for its signature.
const SECRETS: [&str; 3] = ["v4riable-s3cret", "addr3ss-s3cret", "s1gning-s3cret"];

/// A server that keeps what it hears: a message is its head and its whole body.
fn server() -> (String, mpsc::Receiver<(String, String)>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = socket.local_addr().expect("it is bound");
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in socket.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            if let Some(message) = message(&mut stream) {
                let _ = tell.send(message);
            }
            let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    (format!("http://{address}/{}", SECRETS[1]), heard)
}

fn message(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (stream.read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.trim().parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

/// Every text below a folder, with its path.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => found.extend(texts(&path)),
            kind if kind.is_file() => {
                let text = fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).into_owned();
                found.push((path, text));
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
    let mut run = |words: &[&'static str]| {
        let answer = home.run(words);
        said.push((words.to_vec(), answer.clone()));
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
        &["launch", "claude-code", "-p", "x", "--dry-run", "--force", "--json"],
        &["stop", "--all", "--force"],
    ] {
        run(words);
    }
    let mut messages = Vec::new();
    until("what the daemon tells", || {
        messages.extend(heard.try_iter());
        messages
            .iter()
            .any(|(_, body): &(String, String)| !body.contains("webhook.test"))
            .then_some(())
    });
    assert_eq!(run(&["daemon", "stop"]).code, Some(0));
    messages.extend(heard.try_iter());
    nothing_is_told(&messages);
    nothing_is_kept(home, prompt);
    nothing_is_said(&said);
}

/// The test of a webhook, and what the daemon told of the session.
fn nothing_is_told(messages: &[(String, String)]) {
    assert!(messages.len() > 1, "{messages:#?}");
    for (head, body) in messages {
        assert!(body.starts_with('{') && body.ends_with('}'), "{body}");
        // Where it goes to is in the first line, and only there.
        let (_, headers) = head.split_once("\r\n").expect("a line");
        let told =
            SECRETS.iter().find(|secret| headers.contains(**secret) || body.contains(**secret));
        assert_eq!(told, None, "{head}{body}");
    }
}

/// In the whole home, but where the user himself wrote it and where the agent keeps its own.
fn nothing_is_kept(home: &Home, prompt: &str) {
    let (set, own) = (home.path(USER), home.path(".claude"));
    let mut kept = texts(&home.path(""));
    kept.retain(|(path, _)| *path != set && !path.starts_with(&own));
    for place in ["launches", "outbox", ".cache", "daemon.log"] {
        let is_there = kept.iter().any(|(path, _)| path.display().to_string().contains(place));
        assert!(is_there, "nothing is in {place}: {kept:?}");
    }
    for (path, text) in kept {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{} holds {secret}: {text}", path.display());
        }
        let is_ours = path.extension().is_some_and(|kind| kind == "json");
        assert!(!is_ours || !text.contains(prompt), "{} holds the prompt", path.display());
    }
}

fn nothing_is_said(said: &[(Vec<&str>, Answer)]) {
    for (words, answer) in said {
        let shown = format!("{}{}", answer.stdout, answer.stderr);
        // That a variable is set is shown, and not to what.
        let asked = words.starts_with(&["config"]) || words.contains(&"--dry-run");
        assert!(!asked || shown.contains("TOKEN"), "{answer:#?}");
        let told = SECRETS.iter().find(|secret| shown.contains(**secret));
        assert_eq!(told, None, "{words:?}: {answer:#?}");
    }
}

/// Who is killed between writing the orders of a shim and their removal leaves the variables in a file: of
/// its owner alone, and no longer than a day.
#[test]
fn orders_of_a_killed_launch_are_swept() {
    let agents = Agents::new();
    let home = &agents.home;
    let left = |name: &str, hours: u64| {
        let path = home.write(format!("{LAUNCHES}/{name}.orders"), SECRETS[0]);
        let then = SystemTime::now() - Duration::from_secs(hours * 3600);
        File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(then))
            .expect("ours");
        path
    };
    let (old, new) = (left("l-old", 25), left("l-new", 1));
    agents.own();
    let pruned = home.run(&["prune"]);
    assert_eq!(pruned.code, Some(0), "{pruned:#?}");
    assert!(!old.exists() && new.exists(), "{pruned:#?}");
}
