//! A disk that is full when an agent ends: how it ended is written down all the same, and its hook is run.

use super::Hall;
use serde_json::json;
use std::{fs, process::Command};

/// Launches an agent, fills the disk that our state is on, and lets the agent end.
const SCRIPT: &str = r#"
set -e
state=$HOME/.local/state/agentctl
mkdir -p "$state"
mount -t tmpfs -o size=256k,mode=700 none "$state"
id=$("$1" launch claude-code -p hi --on-complete 'echo "$AGENTCTL_EXIT_CODE" >>"$HOME/ran"' 2>/dev/null)
dd if=/dev/zero of="$state/full" bs=1k 2>/dev/null || true
if head -c 8192 /dev/zero 2>/dev/null >"$state/more"; then exit 70; fi
echo 7 >"$HOME/draft"
mv "$HOME/draft" "$HOME/end"
"$1" wait "$id" >"$HOME/waited"
for _ in $(seq 3000); do
    "$1" status "$id" --json >"$HOME/status"
    if grep -q '"outcome": *"succeeded"' "$HOME/status"; then break; fi
    sleep 0.01
done
cat "$HOME/status"
"#;

#[test]
fn a_full_disk_takes_neither_the_exit_nor_its_hook() {
    let hall = Hall::new();
    let home = &hall.agents.home;
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    unshare.args(["sh", "-c", SCRIPT, "script"]).arg(home.program("agentctl"));
    unshare.env_clear().env("HOME", home.path(""));
    unshare.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
    let answer = home.ask(unshare.current_dir(home.work()));
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let session = &answer.json()["session"];
    let told = (&session["state"], &session["exit_code"], &session["hooks"][0]["outcome"]);
    assert_eq!(told, (&json!("done"), &json!(7), &json!("succeeded")), "{session:#}");
    assert_eq!(fs::read_to_string(hall.path("ran")).ok().as_deref(), Some("7\n"));
}
