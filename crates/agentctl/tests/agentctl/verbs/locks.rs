//! Directories that are locked by sessions or by people.

use crate::home::{Agents, Answer, Home};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

fn lock_file(agents: &Agents) -> PathBuf {
    let dir = agents.home.path(".local/state/agentctl/intents/locks");
    let mut files = fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("a file").path());
    let file = files.next().expect("a lock");
    assert_eq!(files.next(), None);
    file
}

/// What `locks` says, without when.
fn locks(agents: &Agents) -> Vec<Value> {
    let answer = agents.home.run(&["locks", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let mut locks = answer.json()["locks"].as_array().cloned().expect("a list");
    for lock in &mut locks {
        let since = lock.as_object_mut().and_then(|lock| lock.remove("since"));
        assert!(since.is_some_and(|since| since.as_str().is_some()), "{lock}");
    }
    locks
}

fn refused(answer: &Answer, by: &[&str]) {
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    for word in by {
        assert!(answer.stderr.contains(word), "no {word}: {answer:#?}");
    }
}

#[test]
fn a_person_s_lock_holds_until_a_person_opens_it() {
    let agents = Agents::new();
    let home = &agents.home;
    let work = home.work().display().to_string();
    assert_eq!(locks(&agents), Vec::<Value>::new());
    let locked = home.run(&["lock", ".", "--by", "ada", "--reason", "measuring"]);
    assert_eq!((locked.code, locked.stdout), (Some(0), format!("locked {work}\n")));
    let row = json!({"directory": work, "kind": "manual", "by": "ada", "reason": "measuring"});
    assert_eq!(locks(&agents), [row]);
    let told = ["by ada", "measuring", "agentctl unlock"];
    for force in [&[][..], &["--force"]] {
        let launch = [&["launch", "claude-code", "-p", "hi"], force].concat();
        refused(&home.run(&launch), &told);
    }
    refused(&home.run(&["lock", &work]), &told);
    assert_eq!(agents.started(), 0);
    assert_eq!(home.run(&["unlock", &work]).code, Some(0));
    assert_eq!(home.run(&["unlock", &work]).code, Some(1));
    assert_eq!((locks(&agents), agents.files()), (Vec::new(), Vec::new()));
}

#[test]
fn a_person_s_lock_covers_what_is_below() {
    let agents = Agents::new();
    let (home, work) = (&agents.home, agents.home.work());
    fs::create_dir_all(work.join("plain/sub")).expect("a folder");
    fs::create_dir_all(work.join("plainer")).expect("a folder");
    agents.own();
    let launch = |dir: &str| home.run(&["launch", "claude-code", "-p", "hi", "--cwd", dir]);
    for (locked, word) in [("plain", "plain is locked by ada"), ("/", "/ is locked by ada")] {
        assert_eq!(home.run(&["lock", locked, "--by", "ada"]).code, Some(0));
        refused(&launch("plain/sub"), &[word]);
        let answer = home.run(&["unlock", "plain/sub"]);
        assert_eq!(answer.code, Some(1), "{answer:#?}");
        for word in ["plain/sub is not locked by itself", word, "agentctl unlock /"] {
            assert!(answer.stderr.contains(word), "no {word}: {answer:#?}");
        }
        assert_eq!((locks(&agents).len(), agents.started()), (1, 0));
        if locked == "/" {
            refused(&launch("plainer"), &[word]);
        }
        assert_eq!(home.run(&["unlock", locked]).code, Some(0));
    }
    assert_eq!(home.run(&["lock", "plain"]).code, Some(0));
    assert_eq!(launch("plainer").code, Some(0));
    // A session has no more than its own directory.
    assert_eq!(launch(".").code, Some(0));
    assert_eq!(agents.started(), 2);
}

#[test]
fn a_session_locks_where_it_works_and_for_as_long() {
    let agents = Agents::new();
    let home = &agents.home;
    let launched = home.run(&["launch", "claude-code", "-p", "hi", "--json"]);
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    let session = launched.json()["session"].clone();
    let id = session["id"].as_str().expect("an id");
    let row = json!({
        "directory": home.work(), "kind": "session", "session_id": id, "agent": "claude-code",
        "pid": session["pid"],
    });
    assert_eq!(locks(&agents), [row]);
    refused(&home.run(&["launch", "claude-code", "-p", "hi"]), &[id]);
    refused(&home.run(&["lock", "."]), &[id]);
    refused(&home.run(&["unlock", "."]), &[id]);
    assert_eq!(home.run(&["launch", "claude-code", "-p", "hi", "--force"]).code, Some(0));
    assert_eq!((locks(&agents).len(), agents.started()), (2, 2));
    assert_eq!(home.run(&["stop", "--all"]).code, Some(0));
    assert_eq!(locks(&agents), Vec::<Value>::new());
}

#[test]
fn a_worktree_is_one_directory_by_whatever_name() {
    let agents = Agents::new();
    let (home, work) = (&agents.home, agents.home.work());
    fs::create_dir_all(work.join("repo/.git")).expect("a folder");
    fs::create_dir_all(work.join("repo/src/deep")).expect("a folder");
    fs::write(work.join("repo/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    symlink(work.join("repo/src"), work.join("link")).expect("a link");
    agents.own();
    assert_eq!(home.run(&["lock", "link/deep", "--by", "ada"]).code, Some(0));
    let row = json!({"directory": work.join("repo"), "kind": "manual", "by": "ada"});
    assert_eq!(locks(&agents), [row]);
    for dir in ["repo", "repo/src", "link", "link/deep", "./repo/../link"] {
        let launch = ["launch", "claude-code", "-p", "hi", "--cwd", dir];
        refused(&home.run(&launch), &["by ada"]);
    }
    assert_eq!(home.run(&["launch", "claude-code", "-p", "hi"]).code, Some(0));
    // What was locked and is gone since can still be opened.
    fs::remove_dir_all(work.join("repo")).expect("a folder");
    assert_eq!(home.run(&["unlock", "repo"]).code, Some(0));
}

#[test]
fn locks_are_their_owner_s_only() {
    let agents = Agents::new();
    assert_eq!(agents.home.run(&["lock", ".", "--reason", "secret"]).code, Some(0));
    let file = lock_file(&agents);
    let mode = |path: &Path| path.metadata().expect("a file").mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));
}

#[test]
fn of_many_who_lock_at_once_one_does() {
    let agents = Agents::new();
    let codes = thread::scope(|scope| {
        let lock = |_| scope.spawn(|| agents.home.run(&["lock", "."]));
        let all: Vec<_> = (0..10).map(lock).collect();
        let codes = all.into_iter().map(|one| one.join().expect("an answer").code);
        let mut codes: Vec<_> = codes.collect();
        codes.sort_unstable();
        codes
    });
    assert_eq!(codes, [&[Some(0)][..], &[Some(5); 9]].concat());
    assert_eq!(agents.files().len(), 1);
}

/// Somebody's lock that cannot be read is a lock, and a problem with a way out.
#[test]
fn a_broken_lock_file_locks() {
    let good = |file: &Path| fs::read_to_string(file).expect("a lock");
    type Break<'a> = (&'a str, &'a dyn Fn(&Path));
    let breaks: [Break<'_>; 10] = [
        ("empty", &|file| fs::write(file, "").expect("a file")),
        ("truncated", &|file| {
            fs::write(file, &good(file)[..20]).expect("a file");
        }),
        ("binary", &|file| fs::write(file, [0, 255, 27, b'[']).expect("a file")),
        ("other schema", &|file| {
            fs::write(file, good(file).replace(":1,", ":7,")).expect("a file");
        }),
        ("other directory", &|file| {
            fs::write(file, good(file).replace("/work", "/elsewhere")).expect("a file");
        }),
        ("huge", &|file| fs::write(file, " ".repeat(1 << 20)).expect("a file")),
        ("closed", &|file| fs::set_permissions(file, Permissions::from_mode(0o0)).expect("ours")),
        ("a link", &|file| {
            fs::remove_file(file).expect("a file");
            symlink("/dev/zero", file).expect("a link");
        }),
        ("dangling", &|file| {
            fs::remove_file(file).expect("a file");
            symlink("gone", file).expect("a link");
        }),
        ("a pipe", &|file| {
            use rustix::fs::{CWD, FileType, Mode, mknodat};
            fs::remove_file(file).expect("a file");
            mknodat(CWD, file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        }),
    ];
    for (name, harm) in breaks {
        let agents = Agents::new();
        let home = &agents.home;
        assert_eq!(home.run(&["lock", "."]).code, Some(0));
        let file = lock_file(&agents);
        harm(&file);
        agents.own();
        let found = home.run(&["locks", "--json"]);
        let value = found.json();
        let shown = (found.code, value["locks"][0]["directory"].as_str());
        assert_eq!(shown, (Some(8), home.work().to_str()), "{name}: {found:#?}");
        assert_eq!(value["problems"][0]["path"], json!(file), "{name}: {found:#?}");
        let said = home.run(&["locks"]).stderr;
        assert!(said.contains("agentctl unlock"), "{name}: {said}");
        refused(&home.run(&["launch", "claude-code", "-p", "hi", "--force"]), &["unlock"]);
        assert_eq!(home.run(&["unlock", "."]).code, Some(0), "{name}");
        assert_eq!((home.run(&["locks"]).code, agents.started()), (Some(0), 0), "{name}");
    }
}

/// What is no lock file is named, and locks nothing that anybody could know of.
#[test]
fn strange_files_among_locks_are_named() {
    let agents = Agents::new();
    let home = &agents.home;
    let strange = home.write(".local/state/agentctl/intents/locks/README", "hello");
    home.write(".local/state/agentctl/intents/locks/\u{1b}[31m%2fx.json", "{}");
    agents.own();
    let found = home.run(&["locks", "--json"]);
    let problems = found.json()["problems"].as_array().map(Vec::len);
    assert_eq!((found.code, problems, &found.json()["locks"]), (Some(8), Some(2), &json!([])));
    assert_eq!(home.run(&["launch", "claude-code", "-p", "hi"]).code, Some(0));
    fs::remove_file(strange).expect("a file"); // it is of no kind that we write
}

#[test]
fn locks_that_cannot_be_listed_keep_everything_locked() {
    let agents = Agents::new();
    let home = &agents.home;
    assert_eq!(home.run(&["lock", "/elsewhere"]).code, Some(0));
    let folder = home.path(".local/state/agentctl/intents/locks");
    fs::set_permissions(&folder, Permissions::from_mode(0o0)).expect("our folder");
    let launch = &["launch", "claude-code", "-p", "hi"];
    for (args, code) in [(&["locks"][..], 1), (launch, 6), (&["unlock", "."], 1)] {
        let answer = home.run(args);
        assert_eq!(answer.code, Some(code), "{answer:#?}");
        assert!(answer.stderr.contains("intents/locks"), "{answer:#?}");
    }
    assert_eq!(agents.started(), 0);
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("our folder");
}

/// A link that leads nowhere is not an empty folder: what was behind it may lock anything.
#[test]
fn a_link_in_the_place_of_locks_that_leads_nowhere_keeps_everything_locked() {
    for name in ["intents", "intents/locks"] {
        let agents = Agents::new();
        let home = &agents.home;
        assert_eq!(home.run(&["lock", "."]).code, Some(0));
        let place = home.path(".local/state/agentctl").join(name);
        fs::rename(&place, home.path("away")).expect("our folder");
        symlink("/nowhere", &place).expect("a link");
        let launch = &["launch", "claude-code", "-p", "hi", "--force"];
        let dry = &["launch", "claude-code", "-p", "hi", "--dry-run"];
        let calls = [(&["locks"][..], 1), (launch, 6), (dry, 6), (&["unlock", "."], 1)];
        for (args, code) in calls {
            let answer = home.run(args);
            assert_eq!(answer.code, Some(code), "{answer:#?}");
            let told = format!("{} is a link that leads nowhere", place.display());
            assert!(answer.stderr.contains(&told), "{answer:#?}");
        }
        assert_eq!(agents.started(), 0);
        fs::remove_file(&place).expect("our link");
        fs::rename(home.path("away"), &place).expect("our folder");
        refused(&home.run(launch), &["agentctl unlock"]);
    }
}

/// `$1` is our program; the second directory is the first under another name.
const MOUNTED: &str = r#"
mkdir -p locked/sub alias
"$1" lock locked >/dev/null || echo 'not locked'
mount --bind locked alias || echo 'not mounted'
for dir in alias alias/sub; do
    "$1" launch claude-code -p hi --force --cwd "$dir"
    echo "$dir $?"
done
"$1" lock alias
echo "lock $?"
"$1" unlock alias
echo "unlock $?"
"$1" unlock locked >/dev/null
"$1" launch claude-code -p hi --cwd alias --dry-run >/dev/null
echo "opened $?"
"#;

/// One directory that is mounted in two places is one.
#[test]
fn a_locked_directory_is_locked_by_whatever_name_it_is_mounted() {
    let home = Home::new();
    let _ = home.stand_in_command(); // puts the program there
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--mount", "sh", "-c", MOUNTED, "script"]).arg(home.program("agentctl"));
    let programs = home.program("claude").parent().expect("a folder").display().to_string();
    let path = format!("{programs}:/usr/bin:/bin:/usr/sbin:/sbin");
    unshare.env_clear().env("HOME", home.path("")).env("PATH", path);
    let answer = home.ask(unshare.current_dir(home.work()));
    assert_eq!(answer.stdout, "alias 5\nalias/sub 5\nlock 5\nunlock 1\nopened 0\n", "{answer:#?}");
    let locked = home.work().join("locked").display().to_string();
    let told = format!("agentctl unlock {locked}` opens it");
    assert_eq!(answer.stderr.matches(&told).count(), 4, "{answer:#?}");
}

/// A dry run says what a launch would say.
#[test]
fn a_dry_run_is_refused_where_a_launch_would_be() {
    let agents = Agents::new();
    let home = &agents.home;
    let call = |more: &[&str]| home.run(&[&["launch", "claude-code", "-p", "hi"], more].concat());
    let same = |more: &[&str]| {
        let (dry, real) = (call(&[&["--dry-run"], more].concat()), call(more));
        assert_eq!((dry.code, &dry.stderr, &*dry.stdout), (Some(5), &real.stderr, ""), "{dry:#?}");
    };
    assert_eq!(home.run(&["lock", ".", "--by", "ada"]).code, Some(0));
    same(&[]);
    same(&["--force"]);
    assert_eq!(home.run(&["unlock", "."]).code, Some(0));
    assert_eq!(call(&["--dry-run"]).code, Some(0));
    let files = agents.files();
    assert_eq!(files, [""; 0], "it leaves nothing");
    assert_eq!(call(&["--key", "k"]).code, Some(0));
    same(&[]);
    assert_eq!(call(&["--dry-run", "--force"]).code, Some(0), "it may be shared");
    assert_eq!(call(&["--dry-run", "--key", "k"]).code, Some(0), "nothing would be started");
}

/// What people write is shown, and steers no terminal.
#[test]
fn hostile_words_are_shown_harmlessly() {
    let agents = Agents::new();
    let (home, words) = (&agents.home, "\u{1b}[31mred\u{202e}\n\u{7}");
    assert_eq!(home.run(&["lock", ".", "--by", words, "--reason", words]).code, Some(0));
    assert!(home.run(&["locks"]).stdout.contains("red"));
    assert_eq!(locks(&agents)[0]["reason"], words);
    refused(&home.run(&["launch", "claude-code", "-p", "hi"]), &["red"]);
}

/// Who locked it is always told, on one line, and since when to the second.
#[test]
fn who_locked_it_is_told_on_one_line() {
    let agents = Agents::new();
    let home = &agents.home;
    assert_eq!(home.run(&["lock", ".", "--by", ""]).code, Some(2));
    let mut nobody = home.agentctl(&["lock", "."]);
    assert_eq!(home.ask(nobody.env_remove("USER").env_remove("LOGNAME")).code, Some(0));
    let by = locks(&agents)[0]["by"].as_str().expect("somebody").to_owned();
    assert!(by.strip_prefix("uid ").is_some_and(|uid| uid.parse::<u32>().is_ok()), "{by}");
    assert_eq!(home.run(&["unlock", "."]).code, Some(0));
    assert_eq!(home.run(&["lock", ".", "--by", "a\nda", "--reason", "one\ntwo"]).code, Some(0));
    let answer = home.run(&["launch", "claude-code", "-p", "hi"]);
    refused(&answer, &["is locked by a da since 20", "Z: one two\n"]);
}
