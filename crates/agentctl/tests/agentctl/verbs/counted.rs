//! Tokens that were counted by an earlier command: whatever becomes of a transcript, answers stay those of a
//! machine that never kept anything.

use super::corpus::{Corpus, append, may_keep, reword, same};
use crate::home::{
    Home,
    lines::{id, prompt, reply},
    text,
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::chown,
    path::{Path, PathBuf},
};

const USAGE: &[&str] = &["list", "--since", "all", "--usage", "--json"];
/// Folders of transcripts whose tokens are counted apart.
const STORES: &[&str] =
    &[".claude/projects", ".pi/agent/sessions", ".gemini/tmp", ".copilot/session-state"];

/// The transcripts of the home that count tokens, and the first line of each that does.
fn counting(corpus: &Corpus) -> Vec<(PathBuf, String)> {
    let found = STORES.iter().flat_map(|store| corpus.transcripts(store));
    let counts = |line: &&str| {
        ["\"usage\"", "\"tokens\"", "usage_record"].iter().any(|word| line.contains(word))
    };
    let of = |path: PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a transcript")).into_owned();
        let line = text.lines().find(counts)?.to_owned();
        text.ends_with('\n').then_some((path, line))
    };
    found.filter_map(of).collect()
}

/// Makes one transcript of each store long enough for its count to be gone on from.
fn lengthen(corpus: &Corpus) {
    let filler = format!("{{\"type\":\"filler\",\"text\":\"{}\"}}\n", "word ".repeat(4000));
    let long = filler.repeat((1 << 20) / filler.len() + 1);
    let all = counting(corpus);
    for store in STORES.iter().map(|store| corpus.home.path(store)) {
        let (path, _) = all.iter().find(|(path, _)| path.starts_with(&store)).expect("one counts");
        let text = String::from_utf8_lossy(&fs::read(path).expect("a transcript")).into_owned();
        let (first, rest) = text.split_once('\n').expect("a line");
        fs::write(path, format!("{first}\n{long}{rest}")).expect("room");
    }
}

/// The same message under another id.
fn another(line: &str, id: &str) -> String {
    let mut value: Value = serde_json::from_str(line).expect("a line");
    let is_inside = value["message"]["id"].is_string();
    let message = if is_inside { &mut value["message"] } else { &mut value };
    message["id"] = json!(id);
    value.to_string()
}

#[test]
fn cold_and_warm_counts_are_the_same_bytes() {
    let corpus = Corpus::of(STORES);
    let first = corpus.home.run(USAGE);
    let sessions = first.json()["sessions"].as_array().expect("sessions").clone();
    for agent in ["claude-code", "pi", "gemini", "copilot"] {
        let own = sessions.iter().filter(|one| one["agent"] == agent);
        let used = own.filter(|one| one["tokens"]["output"].as_u64() > Some(0)).count();
        assert!(used > 8, "{agent}: {used}");
    }
    same(&first, &corpus.warm(USAGE));
    same(&first, &corpus.agree(USAGE));
    fs::remove_dir_all(corpus.home.path(".cache/agentctl")).expect("our folder");
    same(&first, &corpus.home.run(USAGE));
}

#[test]
fn transcripts_that_grew_are_counted_as_if_read_whole() {
    let corpus = Corpus::of(STORES);
    lengthen(&corpus);
    let before = corpus.settled(USAGE);
    let all = counting(&corpus);
    let every = |text: &dyn Fn(&str) -> String| {
        all.iter().for_each(|(path, line)| append(path, &text(line)));
    };
    // A message that is new, half a line, the rest of it, and one that was counted long ago.
    every(&|line| another(line, "new") + "\n");
    let grown = corpus.agree(USAGE);
    assert_ne!(before.stdout, grown.stdout);
    every(&|line| another(line, "newer")[..9].to_owned());
    corpus.agree(USAGE);
    every(&|line| another(line, "newer")[9..].to_owned() + "\n");
    let whole = corpus.agree(USAGE);
    assert_ne!(grown.stdout, whole.stdout);
    corpus.settled(USAGE);
    every(&|line| line.replace("output", "other") + "\n");
    assert_ne!(whole.stdout, corpus.agree(USAGE).stdout);
}

#[test]
fn transcripts_that_were_written_anew_are_counted_anew() {
    let corpus = Corpus::of(STORES);
    lengthen(&corpus);
    let before = corpus.settled(USAGE);
    let all = counting(&corpus);
    let texts: Vec<Vec<u8>> =
        all.iter().map(|(path, _)| fs::read(path).expect("a transcript")).collect();
    let other = |line: &str| line.replace(['1', '2', '3', '4'], "5");
    let every = |change: &dyn Fn(&Path, &str, &str)| {
        for ((path, line), text) in all.iter().zip(&texts) {
            change(path, &String::from_utf8_lossy(text), line);
        }
    };
    // In place, as long as it was, and dated back.
    every(&|path, _, line| reword(path, (line, &other(line))));
    assert_ne!(before.stdout, corpus.agree(USAGE).stdout);
    corpus.settled(USAGE);
    // In place, and longer; then cut short; then grown again to what it was.
    every(&|path, text, line| fs::write(path, format!("{}\n{text}", other(line))).expect("room"));
    corpus.agree(USAGE);
    every(&|path, text, _| fs::write(path, &text[..text.len() / 2]).expect("room"));
    corpus.agree(USAGE);
    every(&|path, text, _| fs::write(path, text).expect("room"));
    corpus.settled(USAGE);
    // Another file under its name, which begins as the old one did.
    every(&|path, text, line| {
        let draft = path.with_extension("draft");
        fs::write(&draft, format!("{text}{}\n", another(line, "new"))).expect("room");
        chown(&draft, corpus.home.user(), corpus.home.user()).expect("our file");
        fs::rename(&draft, path).expect("our file");
    });
    assert_ne!(before.stdout, corpus.agree(USAGE).stdout);
}

/// A session of more than a megabyte, whose every answer used 20 tokens, and where its middle is.
fn long(home: &Home) -> (PathBuf, usize) {
    let filler = "word ".repeat(100);
    let mut lines = vec![prompt("Begin")];
    for number in 0..2000 {
        let mut answer = reply(&filler);
        answer["message"]["id"] = format!("msg-{number}").into();
        lines.push(answer);
    }
    let whole = text(&lines);
    assert!(whole.len() > 1 << 20);
    let middle = whole.len() / 2;
    (home.claude(&id(1), &lines), middle)
}

/// Where more is said and what stands in the middle is another number of the same length, whoever goes on where an
/// earlier count ended is still told the old one: nothing else shows that all of it was not read again. No agent
/// does both at once (decision 0011).
fn goes_on(home: &Home, path: &Path, middle: usize, ask: impl Fn(&Home) -> Option<u64>) {
    let before = ask(home).expect("tokens");
    let whole = fs::read_to_string(path).expect("a transcript");
    let (head, tail) = whole.split_at(middle);
    let tail = tail.replacen("\"output_tokens\":20", "\"output_tokens\":90", 1);
    fs::write(path, format!("{head}{tail}")).expect("room");
    append(path, &format!("{}\n", another(&reply("Done").to_string(), "new")));
    let used = before / 2000; // each answer's
    assert_eq!(ask(home), Some(before + used), "all of it was read again");
    fs::remove_dir_all(home.path(".cache/agentctl")).expect("our folder");
    assert_eq!(ask(home), Some(before + used + 70));
}

#[test]
fn a_long_transcript_is_counted_on_for_its_status() {
    let home = Home::new();
    may_keep(&home);
    let (path, middle) = long(&home);
    goes_on(&home, &path, middle, |home| {
        home.run(&["status", &id(1), "--json"]).json()["session"]["tokens"]["output"].as_u64()
    });
}

#[test]
fn a_long_transcript_is_counted_on_for_its_budget() {
    let home = Home::new();
    let (path, middle) = long(&home);
    let set = ["budget", "set", &id(1), "--max-tokens", "1000000000"];
    assert_eq!(home.ask(&mut home.as_us(&set)).code, Some(0));
    goes_on(&home, &path, middle, |home| {
        let all = home.ask(&mut home.as_us(&["budget", "list", "-a", "--json"])).json();
        all["budgets"][0]["used"]["tokens"].as_u64()
    });
}

/// Few live, and no history is asked for.
#[test]
fn a_long_transcript_is_counted_on_for_figures() {
    let home = Home::new();
    may_keep(&home);
    let (path, middle) = long(&home);
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "busy"}));
    goes_on(&home, &path, middle, |home| {
        let page = home.run(&["metrics"]).stdout;
        let line = page
            .lines()
            .find(|line| line.starts_with("agentctl_session_tokens") && line.contains("output"))?;
        line.split_whitespace().last()?.strip_suffix(".0")?.parse().ok()
    });
}
