//! A home of its own for one test, with a scripted model, and nothing left behind.
//!
//! A [`Sandbox`] is a short directory that everybody may enter, a cleared environment that points
//! into it, a started [`Model`], and settings with which the real agents talk to that model and ask
//! a person nothing. Programs run in sessions of their own with their output in files
//! ([`Run::spawn`]), or on a terminal of a private tmux server ([`Run::on_terminal`]).
//!
//! Everything started here carries `AGENTCTL_SANDBOX=<mark>` in its environment. When the sandbox is
//! dropped, whoever carries the mark is killed, with all descendants of what was started. Should the
//! test itself be killed, a guard process does the same.
//!
//! Only tests use this: what goes wrong is a failed test, so functions panic and say what they saw.

mod agents;
mod answer;
mod gate;
mod guard;
mod program;
mod seeds;
mod sweep;
mod terminal;
#[cfg(test)]
mod tests;
mod wait;

pub use answer::Answer;
pub use gate::Gate;
pub use program::{Run, Started};
pub use terminal::Terminal;

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

use crate::model::Model;
use guard::Guard;
use program::Shared;
use terminal::Tmux;

/// The variable that marks everything a sandbox started.
pub const MARK: &str = "AGENTCTL_SANDBOX";

/// A home, a model and the processes of one test; see the module.
pub struct Sandbox {
    root: PathBuf,
    mark: String,
    agentctl: PathBuf,
    model: Model,
    started: Mutex<Vec<Arc<Shared>>>,
    tmux: Tmux,
    guard: Option<Guard>,
    folder: Option<TempDir>,
}

impl Sandbox {
    /// A fresh sandbox in which `agentctl` is the program at this path.
    pub fn new(agentctl: impl Into<PathBuf>) -> Sandbox {
        let short = Path::new("/tmp");
        let place = if short.is_dir() { short.to_owned() } else { env::temp_dir() };
        let folder = tempfile::Builder::new()
            .prefix("actl-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&place)
            .unwrap_or_else(|why| panic!("cannot make a sandbox in {}: {why}", place.display()));
        let root = folder.path().canonicalize().expect("the folder was just made");
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let mark = format!("{name}-{}", std::process::id());
        for dir in ["home", "work", "tmp", "run", "out", "gates"] {
            fs::create_dir(root.join(dir)).unwrap_or_else(|why| panic!("cannot make {dir}: {why}"));
        }
        fs::set_permissions(root.join("run"), Permissions::from_mode(0o700))
            .expect("the folder is ours");
        let model = Model::start().unwrap_or_else(|why| panic!("cannot start the model: {why}"));
        seeds::plant(&root, &model);
        let guard = Guard::set(&mark, &root);
        let sandbox = Sandbox {
            tmux: Tmux::new(&mark),
            agentctl: agentctl.into(),
            started: Mutex::default(),
            guard: Some(guard),
            folder: Some(folder),
            root,
            mark,
            model,
        };
        seeds::trust(&sandbox.root, &sandbox.work());
        sandbox
    }

    /// The directory that holds everything of this sandbox.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The directory in which programs start unless told otherwise.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Another directory to work in, made on first use; agents trust it like [`Sandbox::work`].
    pub fn dir(&self, name: &str) -> PathBuf {
        let dir = self.root.join(name);
        if !dir.is_dir() {
            fs::create_dir_all(&dir).unwrap_or_else(|why| panic!("cannot make {name}: {why}"));
            seeds::trust(&self.root, &dir);
        }
        dir
    }

    /// The scripted model that the agents of this sandbox talk to.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// A file that does not exist yet, for a script's `until`.
    pub fn gate(&self, name: &str) -> Gate {
        Gate::new(self.root.join("gates").join(name))
    }

    /// A command with the environment of this sandbox and no other, in [`Sandbox::work`].
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.work());
        command
    }

    /// A program to run here: its name, or its path, and its arguments.
    pub fn run<S: AsRef<str>>(&self, words: &[S]) -> Run<'_> {
        Run::new(self, words.iter().map(|word| word.as_ref().to_owned()).collect())
    }

    /// Runs `agentctl` and waits for it.
    pub fn agentctl(&self, args: &[&str]) -> Answer {
        self.agentctl_with(&[], args)
    }

    /// Runs `agentctl` with some more variables and waits for it.
    pub fn agentctl_with(&self, more: &[(&str, &str)], args: &[&str]) -> Answer {
        let mut command = self.command(&self.agentctl);
        command.envs(more.iter().copied()).args(args);
        Answer::of(&mut command)
    }

    /// The command of Codex 0.140, the newest one installed that keeps no locks.
    pub fn codex_0_140(&self) -> PathBuf {
        agents::codex_0_140()
    }

    /// The path of the `agentctl` under test.
    pub fn program(&self) -> &Path {
        &self.agentctl
    }

    fn environment(&self) -> Vec<(String, OsString)> {
        let home = self.home();
        let mut path = agents::folder().map(OsString::from).unwrap_or_default();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
        let mut all: Vec<(String, OsString)> = [
            ("PATH", path),
            ("HOME", home.clone().into()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("XDG_DATA_HOME", home.join(".local/share").into()),
            ("XDG_STATE_HOME", home.join(".local/state").into()),
            ("XDG_CACHE_HOME", home.join(".cache").into()),
            ("XDG_RUNTIME_DIR", self.root.join("run").into()),
            ("TMPDIR", self.root.join("tmp").into()),
            ("TMUX_TMPDIR", self.root.join("run").into()),
            ("SHELL", "/bin/sh".into()),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            (MARK, self.mark.clone().into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let agents = seeds::variables(&self.model);
        all.extend(agents.into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        all
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let started = std::mem::take(&mut *program::locked(&self.started));
        if self.tmux.is_started() {
            let _ = self.tmux.call(self, &["kill-server"]);
        }
        let left = sweep::end(&self.mark, &started);
        drop(self.guard.take());
        // What was killed may have had a file open in a folder that is being removed.
        let gone = self.folder.take().map_or(Ok(()), TempDir::close);
        if thread::panicking() {
            return;
        }
        assert!(left.is_empty(), "these processes cannot be ended: {left:?}");
        assert!(gone.is_ok(), "cannot remove {}: {gone:?}", self.root.display());
    }
}
