//! The work that lies in a worktree: what is changed, unknown, ignored, under way, stashed.

use super::{
    command::{git, parts, path},
    repo::Repo,
};
use crate::error::{Error, Kind};
use agentctl_core::text::one_line;
use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// Files of a worktree that git would not bring back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// Git knows them, and they differ from what is committed; with how, in two letters.
    pub(crate) changed: Vec<String>,
    /// Git does not know them.
    pub(crate) untracked: Vec<PathBuf>,
    /// Git is told to ignore them; of a directory that is ignored as a whole, only its name, with a `/`.
    pub(crate) ignored: Vec<PathBuf>,
}

/// How closely to look at files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// What is changed and unknown.
    Work,
    /// What is ignored, and what is marked so that git does not look, too.
    All,
}

/// What is not committed in a worktree. Settings by which people hide such files do not count.
pub(crate) fn files(tree: &Path, look: Look) -> Result<Files, Error> {
    let status = |more: &[&'static str]| {
        let words = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=none"];
        git(tree).strict().words(words).words(more).out()
    };
    let mut files = Files::default();
    for entry in parts(&status(&["--untracked-files=all"])?) {
        let Some((how, name)) = entry.split_at_checked(3) else { continue };
        match how.starts_with(b"??") {
            true => files.untracked.push(path(name)),
            false => files.changed.push(String::from_utf8_lossy(entry).into_owned()),
        }
    }
    if look == Look::All {
        let all = status(&["--untracked-files=normal", "--ignored=matching"])?;
        let ignored = parts(&all).filter_map(|entry| entry.strip_prefix(b"!! "));
        files.ignored = ignored.map(path).collect();
        files.changed.extend(hidden(tree)?.into_iter().map(|name| format!("h  {name}")));
    }
    Ok(files)
}

/// Changed files that git was told not to look at (`update-index --assume-unchanged`, `--skip-worktree`).
fn hidden(tree: &Path) -> Result<Vec<String>, Error> {
    let out = git(tree).words(["ls-files", "-v", "-s", "-z"]).out()?;
    let mut changed = Vec::new();
    for entry in parts(&out) {
        // Its mark, its mode, its hash, its stage, and behind a tab its name.
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let (head, name) = (String::from_utf8_lossy(&entry[..tab]), path(&entry[tab + 1..]));
        let mut words = head.split(' ');
        let mark = words.next().and_then(|mark| mark.chars().next());
        let marked = mark.is_some_and(|mark| mark == 'S' || mark.is_lowercase());
        let file = tree.join(&name);
        if !marked || fs::symlink_metadata(&file).is_err() {
            continue;
        }
        let committed = words.nth(1).unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let same = hash(tree, &name)?.as_deref() == Some(committed);
        changed.extend((!same).then_some(name));
    }
    Ok(changed)
}

/// What git would call the content of a file, as it would commit it.
fn hash(tree: &Path, name: &str) -> Result<Option<String>, Error> {
    git(tree).words(["hash-object", "--", name]).line_if_any()
}

/// Where git keeps what belongs to this worktree alone.
pub(crate) fn own_dir(tree: &Path) -> Result<PathBuf, Error> {
    git(tree).words(["rev-parse", "--path-format=absolute", "--git-dir"]).path()
}

/// The same of a worktree whose directory may be gone; git can be asked there instead.
pub(crate) fn own_dir_of(repo: &Repo, tree: &Path) -> Result<PathBuf, Error> {
    // The folder that it lay in is still there, and may be a link.
    let real = |tree: &Path| {
        let folder = tree.parent()?.canonicalize().ok()?;
        Some(folder.join(tree.file_name()?))
    };
    let is_own = |own: &Path| {
        let told = fs::read(own.join("gitdir")).ok();
        let file = told.map(|told| own.join(path(told.strip_suffix(b"\n").unwrap_or(&told))));
        let there = file.as_deref().and_then(Path::parent).map(|there| (there, real(there)));
        there.is_some_and(|(there, found)| there == tree || found.is_some() && found == real(tree))
    };
    let all = fs::read_dir(repo.common.join("worktrees")).into_iter().flatten().flatten();
    all.map(|entry| entry.path()).find(|own| is_own(own)).ok_or_else(|| {
        let what = format!("git keeps nothing of {}", one_line(&tree.to_string_lossy()));
        Error::new(Kind::Refused, what)
    })
}

/// What is staged in a worktree whose files are gone.
pub(crate) fn staged(own: &Path) -> Result<Files, Error> {
    let words = ["diff", "--cached", "--no-ext-diff", "--no-renames", "--name-status", "-z"];
    let out = git(own).words(words).out()?;
    let mut files = Files::default();
    let mut rest = parts(&out);
    while let Some((how, name)) = rest.next().zip(rest.next()) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        files.changed.push(format!("{}  {}", text(how), text(name)));
    }
    Ok(files)
}

/// What git is in the middle of there, in a word.
pub(crate) fn operation(own: &Path) -> Option<&'static str> {
    const MARKS: &[(&str, &str)] = &[
        ("rebase-merge", "rebase"),
        ("rebase-apply/applying", "am"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("sequencer", "cherry-pick or revert"),
        ("BISECT_LOG", "bisect"),
        ("index.lock", "git command that holds the index, or was killed"),
    ];
    MARKS.iter().find(|(mark, _)| own.join(mark).exists()).map(|(_, word)| *word)
}

/// How many stashed changes were made on a branch. They belong to the repository, and stay.
pub(crate) fn stashed(tree: &Path, branch: Option<&str>) -> Result<usize, Error> {
    let on = branch.unwrap_or("(no branch)");
    if git(tree).words(["rev-parse", "--verify", "--quiet", "refs/stash"]).line_if_any()?.is_none()
    {
        return Ok(0);
    }
    // As `git stash list` does, which will not do so in a bare repository.
    let out =
        git(tree).words(["reflog", "show", "-z", "--format=%gs", "refs/stash", "--"]).out()?;
    let made = |one: &[u8]| {
        let one = String::from_utf8_lossy(one);
        let rest = one.strip_prefix("WIP on ").or_else(|| one.strip_prefix("On "));
        rest.and_then(|rest| rest.strip_prefix(on)).is_some_and(|rest| rest.starts_with(':'))
    };
    Ok(parts(&out).filter(|one| made(one)).count())
}

/// Commits that are found from some places and not from others.
pub(crate) struct Only<'a> {
    /// Found from here: names or hashes.
    pub(crate) from: &'a [String],
    /// And not from here.
    pub(crate) not: &'a [String],
    /// This branch, by its short name, does not count among those that keep commits.
    pub(crate) without: Option<&'a str>,
    /// Who keeps commits: all branches, tags and remotes, or remotes alone.
    pub(crate) keep: Keep,
}

/// Who keeps commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Branches, tags, remotes and the stash.
    Refs,
    /// Remotes.
    Remotes,
}

/// The commits that are meant, the newest first, as a short hash and a subject.
pub(crate) fn commits(tree: &Path, only: &Only<'_>) -> Result<Vec<String>, Error> {
    if only.from.is_empty() {
        return Ok(Vec::new());
    }
    let from = only.from.iter().map(|name| format!("{name}\n"));
    let not = only.not.iter().map(|name| format!("^{name}\n"));
    let list: String = from.chain(not).collect();
    let words = ["rev-list", "--no-commit-header", "--format=%h %s%x00", "--ignore-missing"];
    let kept: &[&str] = match only.keep {
        // Not `--all`: what is checked out here, and refs of this worktree alone, go with it.
        Keep::Refs => &["heads/*", "tags/*", "remotes/*", "stash*", "notes/*"],
        Keep::Remotes => &["remotes/*"],
    };
    // It holds for the next one alone.
    let without = only.without.map(|branch| format!("--exclude=refs/heads/{branch}"));
    let kept = kept.iter().map(|glob| format!("--glob=refs/{glob}"));
    let call = git(tree).words(words).words(["--stdin", "--not"]).words(without).words(kept);
    let out = call.input(list.as_bytes())?.out()?;
    let lines = parts(&out).map(|one| String::from_utf8_lossy(one).trim().to_owned());
    Ok(lines.filter(|line| !line.is_empty()).collect())
}

/// Every commit that a name has stood for, as far as git remembers. Git takes what it cannot read for
/// empty, or answers for another name: what lies there must open.
pub(crate) fn reflog(tree: &Path, name: &str) -> Result<Vec<String>, Error> {
    const NO: i32 = 1;
    let log = format!("logs/{name}");
    let file =
        git(tree).words(["rev-parse", "--path-format=absolute", "--git-path", &log]).path()?;
    match File::open(&file).and_then(|file| file.metadata()) {
        Err(why) if why.kind() == ErrorKind::NotFound => {} // never written, or kept in another format
        Err(why) => return Err(unreadable(&file, &why.to_string())),
        Ok(stat) if stat.is_file() => {}
        Ok(_) => return Err(unreadable(&file, "it is no file")),
    }
    let exists = git(tree).words(["reflog", "exists", name]).ask()?;
    match (exists.yes, exists.code) {
        (true, _) => {}
        (false, Some(NO)) => return Ok(Vec::new()),
        (false, _) => return Err(exists.error()),
    }
    let out = git(tree).words(["reflog", "show", "--format=%H", name, "--"]).out()?;
    let mut all: Vec<String> = String::from_utf8_lossy(&out).lines().map(str::to_owned).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

fn unreadable(log: &Path, why: &str) -> Error {
    let log = one_line(&log.to_string_lossy());
    Error::new(Kind::Io, format!("what was checked out before cannot be told: {log}: {why}"))
}

/// What only names of this worktree lead to, which go with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Commits.
    pub(crate) commits: Vec<String>,
    /// Names of files and folders that are in no commit.
    pub(crate) others: Vec<String>,
}

/// What refs of this worktree alone, and its `ORIG_HEAD`, lead to.
pub(crate) fn own_refs(tree: &Path) -> Result<Own, Error> {
    const FORMAT: &str = "--format=%(objecttype)%(*objecttype) %(objectname) %(refname)";
    let out = git(tree).words(["for-each-ref", FORMAT, "refs/worktree", "refs/rewritten"]).out()?;
    let mut own = Own::default();
    for line in String::from_utf8_lossy(&out).lines() {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (kind, hash, name) = (word(), word(), word());
        match kind {
            "commit" | "tagcommit" => own.commits.push(hash.to_owned()),
            _ => own.others.push(format!("{name}, a {kind}")),
        }
    }
    let words = ["rev-parse", "--verify", "--quiet", "ORIG_HEAD^{commit}"];
    own.commits.extend(git(tree).words(words).line_if_any()?);
    Ok(own)
}

/// The repository has a remote that was fetched from.
pub(crate) fn has_remotes(tree: &Path) -> Result<bool, Error> {
    let out = git(tree).words(["for-each-ref", "--count=1", "refs/remotes"]).out()?;
    Ok(!out.is_empty())
}
