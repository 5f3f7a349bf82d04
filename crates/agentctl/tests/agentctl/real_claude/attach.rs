//! Where a session of Claude Code is shown: panes of tmux, windows of screen, its own background.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::Value;

use super::EXE;
use crate::support::{LIMIT, Stage, alive, ended, is_real};

/// What a Claude Code that is ready shows.
const READY: &str = "? for shortcuts";

impl Stage {
    /// The only session that is alive, once it has a name.
    fn lone(&self) -> String {
        let live = self.sandbox.wait_for("live session", LIMIT, || {
            self.list(&[]).into_iter().find(|one| one["id"].is_string() && one["live"] == true)
        });
        is_real(&live, EXE);
        live["id"].as_str().expect("it has an id").to_owned()
    }

    fn tmux(&self, words: &[&str]) {
        let mut tmux = self.sandbox.command("tmux");
        let done = tmux.args(["-L", "inner", "-f", "/dev/null"]).args(words).status();
        assert!(done.is_ok_and(|status| status.success()), "tmux {words:?}");
    }

    /// What `attach` types for a person, and JSON says the same.
    fn leads(&self, id: &str) -> String {
        let shown = self.sandbox.agentctl(&["attach", id]); // no terminal: it is printed
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let told = self.sandbox.agentctl(&["attach", id, "--json"]).json();
        assert_eq!((&told["session_id"], &told["agent"]), (&id.into(), &"claude-code".into()));
        let words = told["argv"].as_array().expect("words").iter().filter_map(Value::as_str);
        let words: Vec<&str> = words.collect();
        assert_eq!(words.join(" "), shown.stdout.trim_end().replace('\'', ""));
        shown.stdout
    }
}

/// The session is in a pane of a window that nobody looks at, of a server of its own.
#[test]
fn attach_leads_to_a_pane_of_tmux() {
    let stage = Stage::new();
    let agentctl = stage.sandbox.program().to_string_lossy().into_owned();
    let client = ["env", "-u", "TMUX", "tmux", "-L", "inner", "-f", "/dev/null"];
    let client = [&client[..], &["new-session", "-s", "one", "sh"]].concat();
    let client = stage.sandbox.run(&client).on_terminal();
    client.send("echo here");
    let size = ["-x", "140", "-y", "60"];
    stage.tmux(&[&["new-session", "-d", "-s", "two"], &size[..], &["sh"]].concat());
    stage.tmux(&["new-window", "-t", "two:1", "env", "claude"]);
    let id = stage.lone();
    stage.tmux(&["split-window", "-v", "-l", "10", "-t", "two:1", "sh"]);
    stage.tmux(&["select-window", "-t", "two:0"]);
    let typed = stage.leads(&id);
    let socket = stage.sandbox.root().join("run");
    assert!(typed.starts_with(&format!("tmux -S {}", socket.display())), "{typed}");
    assert!(typed.contains("inner attach-session -t '%"), "{typed}");
    let portable = [("AGENTCTL_PORTABLE", "true")];
    assert_eq!(stage.sandbox.agentctl_with(&portable, &["attach", &id]).stdout, typed);

    // Inside of that server its client is led on.
    client.send(&format!("{agentctl} attach {id}"));
    client.shows(READY);
    assert_eq!(active(&stage), "two 1 1\n");
    // Inside of another server, and outside of any.
    stage.tmux(&["select-window", "-t", "two:0"]);
    let other = stage.sandbox.run(&[&agentctl, "attach", &id]).on_terminal();
    other.shows(READY);
    let bare = stage.sandbox.run(&["env", "-u", "TMUX", &agentctl, "attach", &id]).on_terminal();
    bare.shows(READY);
    assert_eq!(active(&stage), "two 1 3\n", "all three look at it");
    stage.becomes(&id, &[], &alive("idle", "interactive"));
}

/// The session, window and number of clients of the pane that Claude Code is in, if it is active.
fn active(stage: &Stage) -> String {
    let format = "#{session_name} #{window_index} #{session_attached}";
    let is_it = "#{&&:#{&&:#{window_active},#{pane_active}},#{==:#{pane_current_command},claude}}";
    let mut tmux = stage.sandbox.command("tmux");
    let tmux = tmux.args(["-L", "inner", "list-panes", "-a", "-f", is_it, "-F", format]);
    String::from_utf8(tmux.output().expect("tmux answers").stdout).expect("text")
}

#[test]
fn attach_leads_to_a_window_of_screen() {
    let stage = Stage::new();
    let dir = stage.sandbox.root().join("run/screen");
    DirBuilder::new().mode(0o700).create(&dir).expect("a folder");
    std::fs::set_permissions(&dir, Permissions::from_mode(0o700)).expect("our folder");
    let dir = dir.to_string_lossy().into_owned();
    let words = ["screen", "-D", "-m", "-S", "inner", "claude"];
    let screen = stage.sandbox.run(&words).env("SCREENDIR", &dir).spawn();
    let id = stage.lone();
    let typed = format!("env SCREENDIR={dir} screen -x {} -p 0\n", screen.pid());
    assert_eq!(stage.leads(&id).replace('\'', ""), typed);
    let agentctl = stage.sandbox.program().to_string_lossy().into_owned();
    let person = stage.sandbox.run(&[&agentctl, "attach", &id]).on_terminal();
    person.shows(READY);
    stage.becomes(&id, &[], &alive("idle", "interactive"));
}

#[test]
fn attach_leads_to_its_own_background() {
    let mut sockets = Sockets(PathBuf::new());
    let stage = Stage::new();
    sockets.0 = Sockets::of(&stage);
    let gate = stage.sandbox.gate("answer");
    stage.sandbox.run(&["claude", "--bg", &gate.until()]).finish(LIMIT);
    let id = stage.lone();
    stage.asked("until");
    stage.becomes(&id, &["working", "idle"], &alive("working", "background"));
    assert_eq!(stage.leads(&id), format!("claude attach {}\n", &id[..8]));
    let agentctl = stage.sandbox.program().to_string_lossy().into_owned();
    let person = stage.sandbox.run(&[&agentctl, "attach", &id]).on_terminal();
    person.shows("MOCK:until");
    let stopped = stage.sandbox.agentctl(&["stop", &id, "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let certificate = &stopped.json()["stopped"][0];
    assert_eq!(
        certificate["asked"]["call"],
        format!("claude stop {}", &id[..8]),
        "{certificate:#}"
    );
    assert_eq!(certificate["session"]["state"], "stopped", "{certificate:#}");
    let deaths = certificate["deaths"].as_array().expect("a list");
    assert!(deaths.iter().all(|death| death["survived"].is_null()), "{certificate:#}");
    stage.becomes(&id, &[], &ended("stopped", "interrupted"));
}

/// Claude Code 2.1.197 keeps the sockets of its fleet in `/tmp`, whatever `TMPDIR` says.
struct Sockets(PathBuf);

impl Sockets {
    /// By the first digits of a hash of its directory.
    fn of(stage: &Stage) -> PathBuf {
        let mut sum = stage.sandbox.command("sh");
        sum.args(["-c", r#"printf %s "$HOME/.claude" | sha256sum | cut -c -8"#]);
        let sum = String::from_utf8(sum.output().expect("a sum").stdout).expect("digits");
        let user = rustix::process::getuid().as_raw();
        PathBuf::from(format!("/tmp/cc-daemon-{user}")).join(sum.trim())
    }
}

impl Drop for Sockets {
    /// After the sandbox, which ends who uses them.
    fn drop(&mut self) {
        let gone = std::fs::remove_dir_all(&self.0);
        assert!(gone.is_ok() || std::thread::panicking(), "{}: {gone:?}", self.0.display());
    }
}
