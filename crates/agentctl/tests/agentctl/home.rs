//! Throw-away homes with made-up sessions, and runs of the program in them.
//!
//! Each home has a user of its own where the tests run as root: the program then sees no process but
//! those of this home, and permissions mean something. Every home holds one good session of each
//! agent, and every look at it ([`Home::seen`]) checks that these two are listed as they should be.

mod agents;
mod answer;
mod daemon;
mod good;
pub(crate) mod kinds;
pub(crate) mod lines;
pub(crate) mod receipts;
mod repo;
mod seen;
mod stand_in;
mod stream;

pub(crate) use agents::Agents;
pub(crate) use answer::Answer;
pub(crate) use daemon::{Caller, Daemon, until};
pub(crate) use good::{GOOD_CLAUDE, GOOD_CODEX};
pub(crate) use seen::Seen;
pub(crate) use stand_in::StandIn;
pub(crate) use stream::{Stream, of, short};

use serde_json::Value;
use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};
use tempfile::TempDir;

/// The folder of the project that made-up Claude sessions are in.
pub(crate) const PROJECT: &str = ".claude/projects/-home-dev-good";
/// The folder of the day that made-up Codex sessions are in.
pub(crate) const DAY: &str = ".codex/sessions/2026/11/01";
/// All that is recorded, whatever the clock says.
pub(crate) const ALL: &[&str] = &["list", "--since", "all", "--json"];

/// A home, and the user it belongs to.
pub(crate) struct Home {
    folder: TempDir,
    user: Option<u32>,
}

impl Home {
    /// A home with two good sessions in it.
    pub(crate) fn new() -> Self {
        Self::of(unused_user())
    }

    /// The same for a user whose earlier homes are gone, and all that ran there.
    pub(crate) fn of(user: Option<u32>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("actl-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .expect("a folder");
        for dir in ["home", "work", "programs", "out"] {
            fs::create_dir(folder.path().join(dir)).expect("the folder is new");
        }
        let home = Self { folder, user };
        place(Path::new(env!("CARGO_BIN_EXE_agentctl")), &home.program("agentctl"));
        good::plant(&home);
        home
    }

    /// The folder that holds everything, without links.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there")
    }

    /// A path below the home directory.
    pub(crate) fn path(&self, below: impl AsRef<OsStr>) -> PathBuf {
        self.root().join("home").join(Path::new(below.as_ref()))
    }

    /// The directory in which programs are started.
    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Where a program of this name is, or will be.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.root().join("programs").join(name)
    }

    /// The user's id, where the home has a user of its own.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// Writes a file below the home directory, and the folders it lies in.
    pub(crate) fn write(&self, below: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path
    }

    /// Writes a transcript of Claude Code.
    pub(crate) fn claude(&self, id: &str, lines: &[Value]) -> PathBuf {
        self.write(format!("{PROJECT}/{id}.jsonl"), text(lines))
    }

    /// Writes a rollout of Codex.
    pub(crate) fn codex(&self, id: &str, lines: &[Value]) -> PathBuf {
        self.write(format!("{DAY}/rollout-2026-11-01T10-00-00-{id}.jsonl"), text(lines))
    }

    /// A command with this home's environment and no other, as its user.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.work());
        command.env("HOME", self.path("")).env("PATH", self.path("bin"));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// A call of `agentctl`.
    pub(crate) fn agentctl(&self, args: &[&str]) -> Command {
        let mut command = self.command(self.program("agentctl"));
        command.args(args);
        command
    }

    /// Runs `agentctl`; what it says must be safe to show, and it must end in time.
    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        self.ask(&mut self.agentctl(args))
    }

    /// The same for a command that was made before.
    pub(crate) fn ask(&self, command: &mut Command) -> Answer {
        Answer::of(command, &self.root().join("out")).checked()
    }

    /// Everything that is listed, good sessions checked.
    pub(crate) fn seen(&self) -> Seen {
        self.seen_by(&mut self.agentctl(ALL))
    }

    /// The same for any `list … --json`.
    pub(crate) fn seen_by(&self, command: &mut Command) -> Seen {
        self.seen_in(&self.ask(command))
    }

    /// The same for an answer that was given before.
    pub(crate) fn seen_in(&self, answer: &Answer) -> Seen {
        let seen = Seen::of(answer, self);
        good::check(&answer.json(), self);
        seen
    }

    /// Fails unless a plain read of a path fails for want of permission.
    pub(crate) fn is_closed(&self, path: &Path) {
        let mut cat = self.command("/bin/sh");
        cat.args(["-c", r#"if test -d "$0"; then ls "$0"; else cat "$0"; fi"#]).arg(path);
        cat.env("PATH", "/usr/bin:/bin");
        let answer = Answer::of(&mut cat, &self.root().join("out"));
        let denied = answer.stderr.contains("Permission denied");
        assert!(denied && answer.code != Some(0), "{} can be read: {answer:?}", path.display());
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let strangers = kinds::strangers(&self.folder.path().join("home"));
        // On its way out of a test that failed anyway it is silent.
        assert!(
            thread::panicking() || strangers.is_empty(),
            "files of ours of a kind that `home::kinds` does not know: {strangers:#?}"
        );
    }
}

/// Lines as a transcript has them.
pub(crate) fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Puts a program where everybody may start it.
pub(crate) fn place(program: &Path, at: &Path) {
    if fs::hard_link(program, at).is_err() {
        fs::copy(program, at).expect("a program");
    }
}

/// A user besides that of the home.
pub(crate) fn other_user() -> u32 {
    unused_user().expect("only root can start processes of another user")
}

/// A user that no other test uses at the same time; only root can be somebody else.
pub(crate) fn unused_user() -> Option<u32> {
    static USED: AtomicU32 = AtomicU32::new(0);
    let number = process::id().wrapping_mul(4) + USED.fetch_add(1, Ordering::Relaxed);
    // Root of a user namespace of one user can be nobody else either.
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let all = users.split_whitespace().nth(2) == Some("4294967295");
    (all && rustix::process::geteuid().is_root()).then(|| 20_000 + number % 40_000)
}
