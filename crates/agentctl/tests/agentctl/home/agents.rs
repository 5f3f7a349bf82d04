//! Stand-ins for an agent that is launched: a `claude` on the search path that does as it is told.

use super::{Home, stand_in::copied};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt, lchown},
    path::Path,
};

/// A home in which agents can be launched; what runs there is ended with this value.
pub(crate) struct Agents {
    pub(crate) home: Home,
}

impl Agents {
    /// Says which session it has, as Claude Code 2.1.197 does, and stays; without links, it is its own child.
    pub(crate) const GOOD: &str = r#"#!/bin/sh
PATH=/usr/bin:/bin
while [ $# -gt 0 ]; do
    case $1 in --session-id) id=$2 ;; esac
    shift
done
echo "$id" >>"$HOME/started"
began=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)
mkdir -p "$HOME/.claude/sessions"
printf '{"pid":%s,"sessionId":"%s","cwd":"%s","procStart":"%s","startedAt":%s000,"status":"busy"}' \
    $$ "$id" "$(pwd -P)" "$began" "$(date +%s)" >"$HOME/.claude/sessions/$$.draft"
mv "$HOME/.claude/sessions/$$.draft" "$HOME/.claude/sessions/$$.json"
exec "$HOME/../programs/claude" 1000
"#;

    /// With an agent that gets a session and then stays.
    pub(crate) fn new() -> Self {
        Self::with(Self::GOOD)
    }

    /// With one that heeds no signal that can be left unheeded.
    pub(crate) fn stubborn() -> Self {
        Self::with(&Self::GOOD.replace("exec ", "trap '' INT TERM HUP\nexec "))
    }

    /// With an agent that is this script.
    pub(crate) fn with(script: &str) -> Self {
        let home = Home::new();
        let _ = home.stand_in_command(); // puts the program there
        let text = home.write("bin/text", script);
        let program = home.path("bin/claude");
        copied(&text, &program);
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("our file");
        let agents = Self { home };
        agents.own();
        agents
    }

    /// All below the home belongs to its user, who may write there.
    pub(crate) fn own(&self) {
        if let Some(user) = self.home.user() {
            give(&self.home.path(""), user);
            give(&self.home.work(), user);
        }
    }

    /// How often an agent was started.
    pub(crate) fn started(&self) -> usize {
        let lines = fs::read_to_string(self.home.path("started")).unwrap_or_default();
        lines.lines().count()
    }

    /// Pids of all that runs with this home.
    pub(crate) fn alive(&self) -> Vec<i32> {
        let mark = format!("HOME={}", self.home.path("").display());
        let own = |pid: &i32| {
            let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            env.split(|byte| *byte == 0).any(|one| one == mark.as_bytes())
        };
        let names = fs::read_dir("/proc").expect("processes").flatten();
        let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(own).collect()
    }

    /// Files of ours below the directory of our state, without the folders, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let state = self.home.path(".local/state/agentctl");
        let mut found = Vec::new();
        let mut todo = vec![state.clone()];
        while let Some(dir) = todo.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                match entry.file_type().expect("a kind").is_dir() {
                    true => todo.push(entry.path()),
                    false => found.push(entry.path()),
                }
            }
        }
        let below = |path: &std::path::PathBuf| {
            path.strip_prefix(&state).expect("below").display().to_string()
        };
        let mut found: Vec<String> = found.iter().map(below).collect();
        found.sort();
        found
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        for _ in 0..3 {
            for pid in self.alive() {
                let pid = Pid::from_raw(pid).expect("a pid");
                let _ = kill_process(pid, Signal::KILL); // it carries our mark; it may be gone
            }
        }
    }
}

/// Gives all that is there to a user. What a daemon removes meanwhile needs no owner.
pub(super) fn give(path: &Path, user: u32) {
    match lchown(path, Some(user), Some(user)) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return,
        given => given.expect("our file"),
    }
    if path.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            give(&entry.path(), user);
        }
    }
}
