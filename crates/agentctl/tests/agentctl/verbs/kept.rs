//! Records that were kept from an earlier command: whatever becomes of them, answers stay the same.

use super::corpus::{Corpus, KEPT, append, many, may_keep, reword, same, sessions};
use crate::home::{
    ALL, Home,
    lines::{id, prompt, reply},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// Where a session is a file.
const STORES: &[&str] = &[".claude/projects", ".codex/sessions"];

/// One transcript of the corpus that has a prompt, and that prompt.
fn spoken(home: &Home) -> (PathBuf, String) {
    let answer = home.run(ALL).json();
    let sessions = answer["sessions"].as_array().expect("sessions").iter();
    let of = |one: &&Value| {
        let text = |key: &str| one[key].as_str().map(str::to_owned);
        let (path, prompt) = (PathBuf::from(text("source")?), text("prompt")?);
        let plain = prompt.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ');
        let is_claude = path.starts_with(home.path(".claude/projects/"));
        (plain && is_claude && prompt.len() > 3).then_some((path, prompt))
    };
    sessions.into_iter().find_map(|one| of(&one)).expect("somebody said something")
}

/// What is asked in many ways is told from the same records.
const WAYS: [&[&str]; 3] =
    [ALL, &["list", "-a", "--json"], &["list", "-a", "--since", "all", "--usage", "--json"]];

/// Files may not grow, or few can be open: what is kept must not cost the answer.
#[test]
fn under_tight_limits_an_answer_is_the_same() {
    let corpus = Corpus::of(STORES); // a database with a log cannot be read then
    let home = &corpus.home;
    corpus.warm(ALL); // by now there is much to keep
    let wanted = corpus.cold(ALL);
    for limit in ["-f 0", "-n 64"] {
        let _ = fs::remove_dir_all(home.path(KEPT)); // as it is the first time
        let script = format!("(ulimit {limit}; exec \"$@\") | /bin/cat");
        let mut shell = home.command("/bin/sh");
        shell.args(["-c", &script, "sh"]).arg(home.program("agentctl")).args(ALL);
        assert_eq!(home.ask(&mut shell).stdout, wanted.stdout, "ulimit {limit}");
    }
}

#[test]
fn cold_and_warm_answers_are_the_same_bytes() {
    let corpus = Corpus::new();
    let home = &corpus.home;
    let first = home.run(ALL);
    many(&first);
    corpus.warm(ALL);
    corpus.warm(WAYS[2]);
    WAYS.iter().for_each(|words| drop(corpus.agree(words)));
    for table in [&["list", "-a", "--since", "all"][..], &["list", "-a", "--since", "all", "-w"]] {
        corpus.agree_now(table);
    }
    for (agent, all) in sessions(&first) {
        let ids: Vec<_> = all.values().filter_map(|one| one["id"].as_str()).collect();
        let id = ids.iter().find(|id| ids.iter().filter(|other| other == id).count() == 1);
        let id = id.unwrap_or_else(|| panic!("no id of {agent} is one session's"));
        let words = ["status", id, "--json"];
        same(&home.run(&words), &corpus.cold(&words));
    }
    for (path, _) in corpus.kept() {
        let stat = fs::symlink_metadata(&path).expect("a file");
        assert_eq!((stat.is_file(), stat.mode() & 0o777), (true, 0o600), "{}", path.display());
    }
    let folder = fs::metadata(home.path(KEPT)).expect("a folder");
    assert_eq!(folder.mode() & 0o777, 0o700);
    fs::remove_dir_all(home.path(".cache/agentctl")).expect("our folder");
    same(&first, &home.run(ALL));
}

#[test]
fn a_file_that_changed_is_read_again_however_it_looks() {
    let corpus = Corpus::of(STORES);
    let home = &corpus.home;
    let before = corpus.warm(ALL);
    let (path, prompt) = spoken(home);
    let text = fs::read_to_string(&path).expect("a transcript");
    let other = prompt.chars().rev().collect::<String>().replace(' ', "_");
    reword(&path, (&prompt, &other));
    let changed = corpus.agree(ALL);
    assert_ne!(before.stdout, changed.stdout);
    assert!(changed.stdout.contains(&other), "{}", changed.stdout);
    // Cut short, and then grown again.
    fs::write(&path, &text[..text.len() / 2]).expect("room");
    corpus.agree(ALL);
    fs::write(&path, &text).expect("room");
    assert!(!corpus.agree(ALL).stdout.contains(&other));
    // Gone, and another file under its name.
    fs::remove_file(&path).expect("our file");
    let without = corpus.agree(ALL);
    assert_ne!(before.stdout, without.stdout);
}

/// Neither its beginning nor its end tells that it is another.
#[test]
fn tokens_of_a_file_that_was_changed_in_its_middle_and_grew_are_counted_anew() {
    let corpus = Corpus::of(STORES);
    let (path, _) = spoken(&corpus.home);
    let says = |id: &str, output: u64| {
        let usage = json!({"output_tokens": output});
        let message = json!({"id": id, "model": "m", "stop_reason": "end_turn", "content": [], "usage": usage});
        let line =
            json!({"type": "assistant", "timestamp": "2026-01-02T03:04:05Z", "message": message});
        format!("{line}\n")
    };
    let around: String = (0..200).map(|number| says(&format!("around-{number}"), 1)).collect();
    let text = fs::read_to_string(&path).expect("a transcript");
    let middle = says("middle", 5000);
    fs::write(&path, format!("{text}{around}{middle}{around}")).expect("room");
    let before = corpus.warm(WAYS[2]);
    reword(&path, (&middle, &says("middle", 7000)));
    let changed = fs::read_to_string(&path).expect("a transcript");
    fs::write(&path, changed + &says("last", 20)).expect("room");
    assert_ne!(corpus.agree(WAYS[2]).stdout, before.stdout);
}

#[test]
fn what_is_no_whole_file_of_ours_is_as_good_as_none() {
    let corpus = Corpus::of(STORES);
    let before = corpus.warm(ALL);
    let spoil: [fn(&Path); 6] = [
        |path| {
            let mut bytes = fs::read(path).expect("a file");
            let middle = bytes.len() * 3 / 4;
            bytes[middle] ^= 1;
            fs::write(path, bytes).expect("room");
        },
        |path| {
            let bytes = fs::read(path).expect("a file");
            fs::write(path, &bytes[..bytes.len() - 1]).expect("room");
        },
        |path| fs::write(path, "").expect("room"),
        |path| fs::write(path, "agentctl records 1 0000000000000000\n").expect("room"),
        |path| {
            let (other, kept) = (path.with_extension("elsewhere"), fs::read(path).expect("a file"));
            fs::write(&other, kept).expect("room");
            fs::remove_file(path).expect("our file");
            symlink(other, path).expect("a link");
        },
        |path| fs::set_permissions(path, fs::Permissions::from_mode(0o666)).expect("our file"),
    ];
    for spoil in spoil {
        let files = corpus.kept();
        files.iter().for_each(|(path, _)| spoil(path));
        same(&before, &corpus.agree(ALL));
        // It is written anew.
        let new = corpus.warm(ALL);
        same(&before, &new);
        let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file());
        assert!(corpus.kept().iter().all(|(path, _)| is_file(path)));
    }
}

#[test]
fn where_nothing_can_be_kept_the_answer_is_the_same() {
    let corpus = Corpus::of(STORES);
    let home = &corpus.home;
    let before = corpus.warm(ALL);
    let folder = home.path(KEPT);
    fs::remove_dir_all(&folder).expect("our folder");
    fs::write(&folder, "no folder").expect("room");
    same(&before, &corpus.agree(ALL));
    fs::remove_file(&folder).expect("our file");
    symlink(home.path(".ssh"), &folder).expect("a link that leads nowhere");
    same(&before, &corpus.agree(ALL));
    assert!(!home.path(".ssh").exists());
    fs::remove_file(&folder).expect("a link");
}

#[test]
fn a_plain_list_needs_nothing_that_was_kept() {
    let corpus = Corpus::of(STORES);
    let home = &corpus.home;
    home.run(&["list", "--json"]);
    assert!(!home.path(".cache/agentctl").exists());
}

/// A process of which nobody can say what it holds may hold all sessions of its directory.
#[test]
fn of_what_may_be_alive_a_plain_list_keeps_one_short_file() {
    const LIST: &[&str] = &["list", "--json"];
    let corpus = Corpus { home: Home::new() };
    let home = &corpus.home;
    may_keep(home);
    let process = home.stand_in();
    for number in 0..24 {
        let mut lines = [prompt("Begin"), reply("Done")];
        for line in &mut lines {
            line["cwd"] = home.work().display().to_string().into();
        }
        home.claude(&id(number), &lines);
    }
    home.register(&process, &id(1), json!({"status": "busy"}));
    let registration = home.path(format!(".claude/sessions/{}.json", process.pid()));
    fs::set_permissions(&registration, fs::Permissions::from_mode(0o000)).expect("our file");
    let before = corpus.warm(LIST);
    let answer = before.json();
    let sessions = answer["sessions"].as_array().expect("sessions");
    let named: Vec<_> = sessions.iter().filter(|one| one["id"].is_string()).collect();
    assert_eq!(named.len(), 24, "{answer:#}");
    let names: Vec<_> = corpus.kept().into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, [home.path(KEPT).join("live")]);
    same(&before, &corpus.agree(LIST));
    // One that changed is read again, though its length and date are the same.
    let source = named[0]["source"].as_str().expect("a file");
    reword(Path::new(source), ("Begin", "Later"));
    let changed = corpus.agree(LIST);
    assert!(changed.stdout.contains("Later"), "{}", changed.stdout);
    // Spoiled, it is as good as none.
    fs::write(&names[0], "").expect("room");
    same(&changed, &corpus.agree(LIST));
}

/// The sum over an index and over each entry (`host/kept/shard.rs`): of every fourth word for itself, and then of what is left
/// with these.
fn sum(bytes: &[u8]) -> u64 {
    let add =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let (rows, rest) = bytes.as_chunks::<32>();
    let column =
        |at: usize| rows.iter().map(|row| number(&row[at..at + 8])).fold(bytes.len() as u64, add);
    let (words, rest) = rest.as_chunks::<8>();
    let left =
        words.iter().map(|word| number(word)).chain(rest.iter().map(|byte| u64::from(*byte)));
    let sum = left.chain([8, 16, 24].map(column)).fold(column(0), add);
    sum ^ sum >> 32
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// Has every kept record say another prompt, in a file whose sums are right: at its end stand the index, a line that says whose it is,
/// and the sum and the length of the index; in that of each entry the sum of its name, its own sum, its place, its length,
/// and the sum and the length of what is behind it. In an entry the prompt stands behind the lengths of name and stamp, these two, the title
/// with its length, and its own length.
fn plant(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    let frame = bytes.len() - 16;
    let mark = b"agentctl records ";
    let mark = bytes.windows(mark.len()).rposition(|part| part == mark).expect("a mark");
    let index = mark - number(&bytes[frame + 8..]) as usize..mark;
    for place in index.clone().step_by(48) {
        let [at, length] =
            [16, 24].map(|from| number(&bytes[place + from..place + from + 8]) as usize);
        let entry = &mut bytes[at..at + length];
        if let Some(first) = first_of_prompt(entry).filter(|first| first.is_ascii_alphanumeric()) {
            *first = b'#';
        }
        let sum = sum(entry).to_le_bytes();
        bytes[place + 8..place + 16].copy_from_slice(&sum);
    }
    let sum = sum(&bytes[index]).to_le_bytes();
    bytes[frame..frame + 8].copy_from_slice(&sum);
    fs::write(path, bytes).expect("our file");
}

fn first_of_prompt(entry: &mut [u8]) -> Option<&mut u8> {
    let length = |at: usize| Some(u32::from_le_bytes(*entry.get(at..)?.first_chunk()?));
    let title = 8 + length(0)? as usize + length(4)? as usize;
    let title_length = Some(length(title)?).filter(|length| *length != u32::MAX).unwrap_or(0);
    let prompt = title + 4 + title_length as usize;
    entry.get_mut(prompt + 4)
}

/// Else all that is said here of what was kept would be said of nothing.
#[test]
fn what_was_kept_is_what_is_told() {
    let corpus = Corpus::new();
    let before = corpus.warm(ALL);
    corpus.kept().iter().for_each(|(path, _)| plant(path));
    let planted = corpus.home.run(ALL);
    same(&before, &corpus.cold(ALL));
    for (agent, all) in sessions(&planted) {
        let is_planted =
            |one: &&Value| one["prompt"].as_str().is_some_and(|prompt| prompt.starts_with('#'));
        let count = all.values().filter(is_planted).count();
        assert!(count >= 20, "{agent}: {count} of {}", all.len());
    }
}

/// What another build has read is not taken for what this one would read.
#[test]
fn readers_are_named_by_all_that_reads() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &Path| fs::read_to_string(path).expect("a source");
    let named = text(&program.join("build.rs"));
    let is_named = |path: &str| named.contains(&format!("\"{path}\""));
    for entry in fs::read_dir(program.join("src/host")).expect("a folder").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|kind| kind != "rs") {
            continue;
        }
        let source = text(&path);
        if ["Files for ", "Tables for ", "fn keep_count("].iter().any(|word| source.contains(word))
        {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            assert!(is_named(&format!("src/host/{name}.rs")), "{name}");
            let folder = format!("src/host/{name}");
            assert!(!program.join(&folder).is_dir() || is_named(&folder), "{folder}");
        }
    }
    for settings in ["Cargo.toml", "../core/Cargo.toml", "../../Cargo.toml", "../../Cargo.lock"] {
        assert!(is_named(settings), "{settings}");
    }
}

#[test]
fn a_turn_that_is_too_far_back_is_unknown_and_told() {
    let stores = [
        ".claude/projects",
        ".codex/sessions",
        ".pi/agent/sessions",
        ".gemini/tmp",
        ".copilot/session-state",
    ];
    let corpus = Corpus::of(&stores);
    let before = sources(&corpus);
    let ended = |path: &PathBuf| before.get(path).is_some_and(|one| one["state"] != "unknown");
    let first = |store: &&str| corpus.transcripts(store).into_iter().find(ended);
    let all: Vec<PathBuf> = stores.iter().filter_map(first).collect();
    assert_eq!(all.len(), stores.len());
    all.iter().for_each(|path| append(path, &"{}\n".repeat((1 << 18) + 1)));
    let after = sources(&corpus);
    for path in all {
        let why =
            "cannot read its record: its last 262144 lines, or 256 MiB, tell nothing of a turn";
        assert_eq!(after[&path]["reason"], why, "{}", path.display());
    }
}

/// All sessions by their files.
fn sources(corpus: &Corpus) -> HashMap<PathBuf, Value> {
    let answer = corpus.home.run(&["list", "--since", "all", "--json"]).json();
    let all = answer["sessions"].as_array().expect("sessions").iter();
    let path = |one: &Value| one["source"].as_str().map(PathBuf::from);
    all.filter_map(|one| Some((path(one)?, one.clone()))).collect()
}
