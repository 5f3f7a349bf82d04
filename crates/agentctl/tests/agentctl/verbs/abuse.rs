//! Launches that cannot succeed: they fail within bounds, say why, and leave nothing behind.

use crate::home::{Agents, Answer, Seen};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const LAUNCH: &[&str] = &["launch", "claude-code", "-p", "hi"];

/// The error has this code and says this; nothing is left, no file and no process.
fn nothing_left(agents: &Agents, answer: &Answer, code: i32, says: &str) {
    assert_eq!(answer.code, Some(code), "{answer:#?}");
    assert!(answer.stderr.contains(says), "no `{says}`: {answer:#?}");
    let start = Instant::now();
    while !agents.alive().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(5), "{:?} live", agents.alive());
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(agents.files(), [""; 0], "{answer:#?}");
}

#[test]
fn a_missing_program() {
    let agents = Agents::new();
    fs::remove_file(agents.home.path("bin/claude")).expect("our file");
    nothing_left(&agents, &agents.home.run(LAUNCH), 6, "no `claude` on PATH");
}

#[test]
fn a_program_that_cannot_be_started() {
    let agents = Agents::with("#!/no/such/shell\n");
    nothing_left(&agents, &agents.home.run(LAUNCH), 6, "cannot start");
    let program = agents.home.path("bin/claude");
    fs::write(&program, "\u{7f}ELF").expect("our file");
    nothing_left(&agents, &agents.home.run(LAUNCH), 6, "Claude Code did not start");
    fs::set_permissions(&program, Permissions::from_mode(0o644)).expect("our file");
    nothing_left(&agents, &agents.home.run(LAUNCH), 6, "Claude Code");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let agents = Agents::with("#!/bin/sh\nprintf 'not \\033[31mtoday\\n' >&2\nexit 3\n");
    let answer = agents.home.run(LAUNCH);
    nothing_left(&agents, &answer, 6, "exit code 3");
    assert!(answer.stderr.contains("today"), "{answer:#?}");
}

/// It has children, heeds no signal, and never gets a session.
#[test]
fn a_program_that_hangs_is_ended_with_all_it_started() {
    let script = "#!/bin/sh\ntrap '' TERM INT\nPATH=/usr/bin:/bin\n\
                  (trap '' TERM INT; sleep 1000; sleep 1000) &\necho words\n\
                  sleep 1000\nsleep 1000\nsleep 1000\n";
    let agents = Agents::with(script);
    let mut launch = agents.home.agentctl(LAUNCH);
    let answer = agents.home.ask(launch.env("AGENTCTL_LAUNCH_LIMIT_MS", "700"));
    nothing_left(&agents, &answer, 6, "no session after 700ms");
    assert!(answer.stderr.contains("words"), "{answer:#?}");
    // The directory is free again.
    let again = agents.home.ask(launch.env("AGENTCTL_LAUNCH_LIMIT_MS", "1"));
    nothing_left(&agents, &again, 6, "no session after 1ms");
}

#[test]
fn a_home_that_cannot_be_written() {
    let agents = Agents::new();
    let local = agents.home.path(".local");
    fs::create_dir_all(&local).expect("a folder");
    agents.own();
    fs::set_permissions(&local, Permissions::from_mode(0o500)).expect("our folder");
    let answer = agents.home.run(LAUNCH);
    nothing_left(&agents, &answer, 6, "nothing was done");
    assert!(answer.stderr.contains(".local/state/agentctl"), "{answer:#?}");
    let locked = agents.home.run(&["lock", "."]);
    nothing_left(&agents, &locked, 1, ".local/state/agentctl");
    assert_eq!(agents.home.run(&["list"]).code, Some(0));
    assert_eq!(agents.started(), 0);
}

/// Launches with our files on a file system of this size, and tells what is left there.
const SMALL: &str = r#"
mkdir -p "$AGENTCTL_HOME"
mount -t tmpfs -o "$1" tmpfs "$AGENTCTL_HOME" || exit 99
"$2" launch claude-code -f "$3"
code=$?
find "$AGENTCTL_HOME" -type f -o -type p | sed 's/^/left: /'
exit $code
"#;

/// However little room there is: it is launched, or nothing is started and nothing left.
#[test]
fn a_full_disk() {
    let mut failed = 0;
    let inodes = (2..10).map(|count| (format!("size=1m,nr_inodes={count}"), 10));
    let sizes = [4, 8, 12, 16, 64].map(|size| (format!("size={size}k"), 10_000));
    for (room, prompt) in inodes.chain(sizes) {
        let agents = Agents::new();
        let home = &agents.home;
        let file = home.write("prompt", "x".repeat(prompt));
        let mut run = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            run.args(["--user", "--map-root-user"]);
        }
        run.args(["--mount", "sh", "-c", SMALL, "script", &room]);
        run.arg(home.program("agentctl")).arg(file).env_clear().current_dir(home.work());
        run.env("HOME", home.path("")).env("AGENTCTL_HOME", home.path("small"));
        run.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
        let answer = Answer::of(&mut run, &home.root().join("out"));
        match answer.code {
            Some(0) => assert_eq!(agents.started(), 1, "{room}: {answer:#?}"),
            Some(1 | 6) => {
                failed += 1;
                let left = answer.stdout.contains("left: ");
                assert_eq!((agents.started(), left), (0, false), "{room}: {answer:#?}");
                assert!(answer.stderr.contains("No space left"), "{room}: {answer:#?}");
            }
            _ => panic!("{room}: {answer:#?}"),
        }
    }
    assert!(failed > 4, "only {failed} were too small");
}

/// What it left running goes too.
#[test]
fn a_program_that_dies_and_leaves_another() {
    let agents = Agents::with("#!/bin/sh\nPATH=/usr/bin:/bin\nsleep 1000 &\nkill -9 $$\n");
    nothing_left(&agents, &agents.home.run(LAUNCH), 6, "signal 9");
}

/// No session is made of our own record of its end.
#[test]
fn a_deadline_before_there_is_a_session() {
    let agents = Agents::with("#!/bin/sh\nexec /bin/sleep 1000\n");
    let answer = agents.home.run(&[LAUNCH, &["--timeout", "1ms"]].concat());
    nothing_left(&agents, &answer, 6, "--timeout ended it");
    assert_eq!(agents.home.seen(), Seen::good());
}

/// Whoever reads a pipe of the caller's to its end is not kept waiting by the agent.
#[test]
fn a_pipe_that_the_caller_left_open_ends_with_the_launch() {
    let agents = Agents::new();
    let home = &agents.home;
    let mut piped = home.command("/bin/sh");
    piped.args(["-c", r#"{ "$@" 3>&1 >&2; } | /bin/cat"#, "sh"]);
    let answer = home.ask(piped.arg(home.program("agentctl")).args(LAUNCH));
    assert_eq!((answer.code, agents.alive().is_empty()), (Some(0), false), "{answer:#?}");
}

/// Whoever launches may be an agent itself, launched by us.
#[test]
fn an_agent_that_launches_hands_nothing_of_itself_on() {
    let script = "#!/bin/sh\n/usr/bin/env >\"$HOME/env\"\nexit 1\n";
    let agents = Agents::with(script);
    let mut launch = agents.home.agentctl(LAUNCH);
    launch.envs([
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDE_CODE_SESSION_ID", "outer"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("AGENTCTL_LAUNCH_ID", "outer"),
        ("KEPT", "kept"),
    ]);
    nothing_left(&agents, &agents.home.ask(&mut launch), 6, "exit code 1");
    let env = fs::read_to_string(agents.home.path("env")).expect("its environment");
    assert!(!env.contains("CLAUDE") && !env.contains("outer"), "{env}");
    assert!(env.contains("KEPT=kept") && env.contains("AGENTCTL_LAUNCH_ID="), "{env}");
}

/// Nobody could read the receipt, and so nobody could end what it speaks of.
#[test]
fn words_too_long_for_a_receipt() {
    let agents = Agents::new();
    let long = format!("a={}", "x".repeat(70 << 10));
    let answer = agents.home.run(&[LAUNCH, &["--label", &long]].concat());
    nothing_left(&agents, &answer, 6, "longer than 64 KiB");
    let hook = format!("true {}", "x".repeat(70 << 10));
    let answer = agents.home.run(&[LAUNCH, &["--on-complete", &hook]].concat());
    nothing_left(&agents, &answer, 6, "longer than 64 KiB");
}

/// The child looks like the agent itself, not like something that the agent started.
#[test]
fn a_wrapper_that_is_killed_takes_its_agent_with_it() {
    let agents = Agents::new();
    let real = agents.home.path("real");
    fs::create_dir(&real).expect("a folder");
    fs::copy("/bin/sleep", real.join("claude")).expect("a program");
    let wrapper = agents.home.path("bin/claude");
    fs::write(&wrapper, "#!/bin/sh\n$HOME/real/claude 1000 &\nkill -9 $$\n").expect("our file");
    fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).expect("our file");
    let answer = agents.home.run(LAUNCH);
    nothing_left(&agents, &answer, 6, "it ended before it had a session (signal 9)");
}
