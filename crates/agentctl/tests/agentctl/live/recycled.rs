//! Pids that are used again. A namespace of its own lets a test choose the next pid.

use crate::home::{
    Answer, Home, Seen,
    lines::{id, prompt},
};
use std::{fs, path::Path, process::Command};

/// Starts and kills an agent, has its pid used again by `$3`, and lists; the pid goes to stderr.
/// A process that began in the same clock tick could not be told apart: then it is tried again.
const SCRIPT: &str = r#"
set -e
ticks() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }
"$2" 1000 & old=$!
until test "$(cat /proc/$old/comm)" = claude; do :; done
began=$(ticks $old)
printf '{"pid":%s,"sessionId":"%s","procStart":"%s","startedAt":%s000,"status":"busy"}' \
    $old "$4" $began $(date +%s) >"$HOME/.claude/sessions/$old.json"
kill -KILL $old
wait $old || true
for _ in 1 2 3 4 5 6 7 8 9; do
    echo $((old - 1)) >/proc/sys/kernel/ns_last_pid
    "$3" 1000 & new=$!
    test $new = $old
    test "$(ticks $new)" = $began || break
    kill -KILL $new
    wait $new || true
done
until test "$(cat /proc/$new/comm)" = "${3##*/}"; do :; done
test "$(ticks $new)" != $began
echo $new >&2
"$1" list --since all --json
kill -KILL $new
"#;

/// Runs the script in a home with one open session; what is listed, and the pid.
fn recycled(home: &Home, by: &Path) -> (Answer, Seen) {
    home.claude(&id(1), &[prompt("Begin")]);
    fs::create_dir_all(home.path(".claude/sessions")).expect("a folder");
    let _ = home.stand_in_command(); // puts the program there
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "script"]);
    unshare.args([&home.program("agentctl"), &home.program("claude"), by]).arg(id(1));
    unshare.env_clear().env("HOME", home.path("")).env("PATH", "/usr/bin:/bin");
    let answer = home.ask(unshare.current_dir(home.work()));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let seen = home.seen_in(&answer);
    (answer, seen)
}

#[test]
fn an_innocent_process_does_not_inherit_a_session() {
    let home = Home::new();
    let (_, seen) = recycled(&home, Path::new("/bin/sleep"));
    assert_eq!(seen, Seen::good().and(id(1), "died"));
}

#[test]
fn another_agent_does_not_inherit_a_session() {
    let home = Home::new();
    let (answer, seen) = recycled(&home, &home.program("claude"));
    // The shell may have told of the kill before.
    let unnamed = format!("pid:{}", answer.stderr.lines().last().unwrap_or_default());
    assert_eq!(seen, Seen::good().and(id(1), "died").and(unnamed, "unknown"));
}
