//! One call of the `git` command, and what it says when it fails.

use super::names::place;
use crate::{
    bounded::{self, Unrun},
    error::{Error, Kind},
};
use agentctl_core::{launch::OF_A_REPOSITORY, text::one_line};
use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Seek, Write},
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// No call takes longer: a large repository is checked out in less, and a file system that hangs, or a
/// program of a filter, keeps nobody for ever.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Variables that would make git answer another question than ours.
const OF_A_CALL: &[&str] = &[
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
];
/// Programs that a repository would have run, and what people set for their own eyes.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "advice.detachedHead=false",
    "submodule.recurse=false",
    "log.showSignature=false",
];
/// Nothing is locked for a look, fetched behind our back (git 2.44), or asked of a person: `ssh` would ask
/// on the terminal though git does not, and a command of ours for it would replace the user's.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
];

/// A call of git in a directory.
pub(super) struct Git {
    command: Command,
    dir: PathBuf,
    what: String,
}

/// A call that was made: whether git said yes, and its words.
pub(super) struct Said {
    pub(super) yes: bool,
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    err: Vec<u8>,
    dir: PathBuf,
    what: String,
}

/// A call of git in that directory.
pub(super) fn git(dir: &Path) -> Git {
    let mut command = Command::new("git");
    for name in OF_A_REPOSITORY.iter().chain(OF_A_CALL) {
        command.env_remove(name);
    }
    command.envs(VARIABLES.iter().copied());
    command.stdin(Stdio::null()).arg("-C").arg(dir).arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    Git { command, dir: dir.to_owned(), what: String::new() }
}

impl Git {
    /// Sees every change of the files in a worktree, by whose top it was called, whatever settings let
    /// git pass over: only what the file system cannot tell apart is left to them.
    pub(super) fn strict(mut self) -> Self {
        let stat = |name: &str| fs::symlink_metadata(self.dir.join(name));
        let tells_case = stat(".git").is_ok() && stat(".GIT").is_err();
        // Git makes this file, and nobody runs it: where it may be run, every file may.
        let file = stat(".git").and_then(|git| match git.is_dir() {
            true => stat(".git/HEAD"),
            false => Ok(git),
        });
        let tells_modes = file.is_ok_and(|file| file.mode() & 0o111 == 0);
        let settings = [
            (true, "core.checkStat=default"),
            (true, "core.trustctime=true"),
            (true, "core.untrackedCache=false"),
            (tells_case, "core.ignoreCase=false"),
            (tells_modes, "core.fileMode=true"),
        ];
        for (_, setting) in settings.iter().filter(|(holds, _)| *holds) {
            self.command.args(["-c", setting]);
        }
        self
    }

    /// With these words; the first one that is no option names the call in errors.
    pub(super) fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        for word in words {
            if self.what.is_empty() {
                self.what = word.as_ref().to_string_lossy().into_owned();
            }
            self.command.arg(word);
        }
        self
    }

    /// With this on its standard input: a file without a name, so that nobody waits for anybody.
    pub(super) fn input(mut self, text: &[u8]) -> Result<Self, Error> {
        let unnamed = || -> io::Result<_> {
            let mut file = tempfile::tempfile()?;
            file.write_all(text)?;
            file.rewind()?;
            Ok(file)
        };
        let file =
            unnamed().map_err(|why| Error::new(Kind::Io, format!("no room to ask git: {why}")))?;
        self.command.stdin(file);
        Ok(self)
    }

    /// With an index of ours instead of the worktree's.
    pub(super) fn index(mut self, path: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", path);
        self
    }

    /// Makes the call, whatever git says to it.
    pub(super) fn ask(mut self) -> Result<Said, Error> {
        let ran = bounded::run(&mut self.command, LONGEST).map_err(|why| self.unrun(&why))?;
        let (yes, code) = (ran.status.success(), ran.status.code());
        let heard =
            |bytes: io::Result<Vec<u8>>| bytes.map_err(|why| self.unrun(&Unrun::Unheard(why)));
        let (out, err) = (heard(ran.out(u64::MAX))?, heard(ran.err(u64::MAX))?);
        Ok(Said { yes, code, out, err, dir: self.dir, what: self.what })
    }

    fn unrun(&self, why: &Unrun) -> Error {
        match why {
            Unrun::NotStarted(why) if why.kind() == io::ErrorKind::NotFound => {
                Error::new(Kind::Io, "git is not installed: no `git` on PATH")
                    .hint("worktrees and differences are git's: install it")
            }
            Unrun::NotStarted(_) | Unrun::Unheard(_) | Unrun::Lost(_) | Unrun::Late(_) => {
                let dir = one_line(&self.dir.to_string_lossy());
                Error::new(Kind::Io, format!("git {} in {dir} {why}", self.what))
            }
        }
    }

    /// Makes a call that must succeed.
    pub(super) fn out(self) -> Result<Vec<u8>, Error> {
        let said = self.ask()?;
        if said.yes { Ok(said.out) } else { Err(said.error()) }
    }

    /// The one line that a call must print.
    pub(super) fn line(self) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(without_newline(&self.out()?)).into_owned())
    }

    /// The one path that a call must print.
    pub(super) fn path(self) -> Result<PathBuf, Error> {
        Ok(path(without_newline(&self.out()?)))
    }

    /// The one line that a call prints if the answer is yes.
    pub(super) fn line_if_any(self) -> Result<Option<String>, Error> {
        let said = self.ask()?;
        let line = || String::from_utf8_lossy(without_newline(&said.out)).into_owned();
        Ok(said.yes.then(line).filter(|line| !line.is_empty()))
    }
}

impl Said {
    /// Git's own complaint, in one line.
    pub(super) fn complaint(&self) -> String {
        let said = String::from_utf8_lossy(&self.err);
        let fatal = said.lines().rev().find_map(|line| line.strip_prefix("fatal: "));
        let error = || said.lines().find_map(|line| line.strip_prefix("error: "));
        let any = || said.lines().rev().find(|line| !line.trim().is_empty());
        one_line(fatal.or_else(error).or_else(any).unwrap_or("git gave no reason"))
    }

    /// What a failed call means to the person.
    pub(super) fn error(&self) -> Error {
        let (dir, said) = (one_line(&self.dir.to_string_lossy()), self.complaint());
        let is = |words: &str| said.contains(words);
        if is("not a git repository") {
            return Error::new(Kind::Usage, format!("{dir} is in no git repository"))
                .hint("name a directory of a repository, or make one with `git init`");
        }
        if is("dubious ownership") {
            let what = format!("git does not trust {dir}: it belongs to another user");
            return Error::new(Kind::Refused, what).hint(format!(
                "if you do, run `git config --global --add safe.directory {}`",
                place(&self.dir)
            ));
        }
        if is("cannot change to") {
            return Error::new(Kind::Usage, format!("cannot work in {dir}: it is not there"));
        }
        let what = &self.what;
        Error::new(Kind::Io, format!("git {what} failed in {dir}: {said}"))
    }
}

/// A path as git prints it: bytes.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

/// What stands between the NULs of an answer.
pub(super) fn parts(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

fn without_newline(out: &[u8]) -> &[u8] {
    out.strip_suffix(b"\n").unwrap_or(out)
}
