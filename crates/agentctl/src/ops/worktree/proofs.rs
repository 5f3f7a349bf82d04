//! Everything that must hold before a worktree is removed, each looked at and told by itself.

use super::{Here, Role, processes};
use crate::{
    error::Error,
    git::{self, Files, Inside, Keep, Listed, Look, Only, Repo},
    ops::{list, locks},
};
use agentctl_core::{
    observe::History,
    text::one_line,
    wire::{Check, CleanProof, Problem, StateName, Verdict},
};
use std::path::{Path, PathBuf};

/// A worktree that is to go.
pub(super) struct Subject<'a> {
    pub(super) here: &'a Here,
    /// The directory of our state.
    pub(super) state: &'a Path,
    pub(super) repo: &'a Repo,
    pub(super) tree: &'a Listed,
    pub(super) role: Role,
    /// Its branch is to go too.
    pub(super) delete_branch: bool,
}

/// What was seen.
pub(super) struct Seen {
    pub(super) proofs: Vec<CleanProof>,
    /// Git refuses to remove a worktree with submodules, checked out or put away, whatever is in them.
    pub(super) has_submodules: bool,
}

impl Subject<'_> {
    /// Looks at everything, now.
    pub(super) fn look(&self) -> Result<Seen, Error> {
        if self.role == Role::Main {
            let fact = "it is the main worktree, which holds the repository";
            let proofs = vec![proof(Check::Main, Verdict::Never, fact, Vec::new())];
            return Ok(Seen { proofs, has_submodules: false });
        }
        let (path, seen) = (&self.tree.path, self.here.again());
        let gone = !path.is_dir();
        let (own, files, fact) = match gone {
            false => {
                let fact = "it is not the main worktree";
                (git::own_dir(path)?, git::files(path, Look::All)?, fact)
            }
            true => {
                let own = git::own_dir_of(self.repo, path)?;
                let files = git::staged(&own)?;
                (own, files, "it is not the main worktree, and its directory is gone already")
            }
        };
        let inside = git::inside(path, &own);
        // Git goes by that folder, though nothing is left in it.
        let has_submodules = has_submodules(&inside) || own.join("modules").is_dir();
        let mut proofs = vec![
            proof(Check::Main, Verdict::Safe, fact, Vec::new()),
            self.locked()?,
            self.sessions(&seen),
            processes::no_process(&seen, path),
            operation(&own),
            changes(&files),
            untracked(&files, &inside),
            self.ignored(&files),
            nested(&inside),
        ];
        proofs.extend(submodules(&inside)?);
        proofs.extend([self.commits(if gone { &own } else { path })?, self.stash()?]);
        Ok(Seen { proofs, has_submodules })
    }

    /// Looks at the commits alone, once more.
    pub(super) fn commits_again(&self) -> Result<CleanProof, Error> {
        let path = &self.tree.path;
        match path.is_dir() {
            true => self.commits(path),
            false => self.commits(&git::own_dir_of(self.repo, path)?),
        }
    }

    fn locked(&self) -> Result<CleanProof, Error> {
        let by_git = self.tree.locked.as_ref().map(|why| match why.is_empty() {
            true => "`git worktree lock` holds it".to_owned(),
            false => format!("`git worktree lock` holds it: {}", one_line(why)),
        });
        let by_person = locks::by_a_person(self.state, &self.tree.path)?;
        let by_person = by_person.map(|lock| locks::refusal(&lock).message);
        let all: Vec<String> = by_git.into_iter().chain(by_person).collect();
        Ok(match all.is_empty() {
            true => proof(Check::Locked, Verdict::Safe, "nobody locked it", all),
            false => proof(Check::Locked, Verdict::Never, "it is locked", all),
        })
    }

    fn sessions(&self, seen: &Here) -> CleanProof {
        let found = list::list(seen, &list::Ask::every(History::Held));
        let there = found.sessions.iter().filter(|one| {
            one.cwd.as_ref().is_some_and(|cwd| {
                cwd.starts_with(&self.tree.path)
                    || seen.host().resolve(cwd).starts_with(&self.tree.path)
            })
        });
        let there: Vec<_> =
            there.filter(|one| one.live || one.state == StateName::Unknown).collect();
        let live = there.iter().any(|one| one.live);
        let unread = !found.problems.is_empty();
        let told = there.iter().map(|one| {
            let pid = one.pid.map(|pid| format!("pid:{pid}"));
            let id = one.id.clone().or(pid).unwrap_or_default();
            format!("{} {} is {}", one.agent, one_line(&id), one.state.name())
        });
        let details = told.chain(found.problems.iter().map(problem)).collect();
        let (verdict, fact) = match (live, there.is_empty(), unread) {
            (true, _, _) => (Verdict::Never, "a live session is in it"),
            (false, false, _) => {
                (Verdict::Lost, "nobody can tell whether a session in it has ended")
            }
            (false, true, true) => {
                (Verdict::Lost, "nobody can tell whether a session is in it: some cannot be read")
            }
            (false, true, false) => (Verdict::Safe, "no live session is in it"),
        };
        proof(Check::Sessions, verdict, fact, details)
    }

    /// Ignored files stand in the way, unless they are made again or are in the main worktree too.
    fn ignored(&self, files: &Files) -> CleanProof {
        let path = &self.tree.path;
        let stays = |one: &&PathBuf| {
            git::is_made_again(path, one)
                || git::is_link(path, one)
                || git::is_also_in(&self.repo.main, path, one)
        };
        let (fine, lost): (Vec<_>, Vec<_>) = files.ignored.iter().partition(stays);
        let names = |all: Vec<&PathBuf>| all.iter().map(|one| sized(path, one)).collect();
        match (lost.len(), fine.len()) {
            (0, 0) => proof(Check::Ignored, Verdict::Safe, "no ignored files", Vec::new()),
            (0, count) => {
                let fact = format!(
                    "{count} ignored, all made again by tools or kept in the main worktree"
                );
                proof(Check::Ignored, Verdict::Safe, &fact, names(fine))
            }
            (count, _) => {
                let fact = format!("{count} ignored that nobody else has");
                proof(Check::Ignored, Verdict::Lost, &fact, names(lost))
            }
        }
    }

    /// Commits that nothing leads to any more once the worktree, and maybe its branch, is gone; git is
    /// asked in `path`.
    fn commits(&self, path: &Path) -> Result<CleanProof, Error> {
        let branch = self.tree.branch.as_deref();
        let mut from = git::reflog(path, "HEAD")?;
        let own = git::own_refs(path)?;
        from.extend(own.commits);
        let of_branch = match branch {
            Some(branch) => git::reflog(path, &format!("refs/heads/{branch}"))?,
            None => Vec::new(),
        };
        let gone = branch.filter(|_| self.delete_branch);
        let (mut not, mut tips) = (of_branch, Vec::new());
        if gone.is_some() || branch.is_none() {
            tips.extend(self.tree.head.clone());
            from.append(&mut not);
        }
        from.extend(tips.iter().cloned());
        let ask = |from: &[String]| {
            git::commits(path, &Only { from, not: &not, without: gone, keep: Keep::Refs })
        };
        let (mut lost, at_tip) = (ask(&from)?, ask(&tips)?.len());
        let unpushed = self.unpushed(path, lost.is_empty())?;
        let fact = match (lost.len(), at_tip, branch) {
            (0, _, _) if !own.others.is_empty() => "what is in no commit goes with it".to_owned(),
            (0, _, Some(branch)) if gone.is_none() => {
                format!("its commits stay on the branch {}{unpushed}", one_line(branch))
            }
            (0, _, _) => format!("its commits are on a remote, another branch or a tag{unpushed}"),
            (count, 0, _) => {
                format!("{count} commits are only in its reflog or refs, which go with it")
            }
            (count, _, _) => format!("{count} commits are nowhere else"),
        };
        lost.extend(own.others.iter().map(|one| one_line(one)));
        let verdict = if lost.is_empty() { Verdict::Safe } else { Verdict::Lost };
        Ok(proof(Check::Commits, verdict, &fact, lost))
    }

    /// How many of its commits no remote has, in words; where they are lost, that is said instead.
    fn unpushed(&self, path: &Path, kept: bool) -> Result<String, Error> {
        let Some(head) = self.tree.head.as_ref().filter(|_| kept) else {
            return Ok(String::new());
        };
        let (keep, without, what) = match git::has_remotes(path)? {
            true => (Keep::Remotes, None, "not pushed"),
            false => (Keep::Refs, self.tree.branch.as_deref(), "on no other branch"),
        };
        let only = Only { from: std::slice::from_ref(head), not: &[], without, keep };
        Ok(match git::commits(path, &only)?.len() {
            0 => String::new(),
            count => format!(" ({count} of them {what})"),
        })
    }

    fn stash(&self) -> Result<CleanProof, Error> {
        let fact = match git::stashed(&self.repo.main, self.tree.branch.as_deref())? {
            0 => "nothing was stashed on its branch".to_owned(),
            count => format!("{count} stashed on its branch stay: the stash is the repository's"),
        };
        Ok(proof(Check::Stash, Verdict::Safe, &fact, Vec::new()))
    }
}

fn problem(problem: &Problem) -> String {
    let path = problem.path.as_ref().map(|path| format!(" {}:", shown(path)));
    format!("{}:{} {}", problem.agent, path.unwrap_or_default(), one_line(&problem.message))
}

fn operation(own: &Path) -> CleanProof {
    match git::operation(own) {
        None => {
            proof(Check::Operation, Verdict::Safe, "git is in the middle of nothing", Vec::new())
        }
        Some(what) => {
            let fact = format!("git is in the middle of a {what}");
            proof(Check::Operation, Verdict::Lost, &fact, Vec::new())
        }
    }
}

fn changes(files: &Files) -> CleanProof {
    let details: Vec<String> = files.changed.iter().map(|one| one_line(one)).collect();
    match details.len() {
        0 => proof(Check::Changes, Verdict::Safe, "nothing is uncommitted", details),
        count => {
            let fact = format!("{count} uncommitted");
            proof(Check::Changes, Verdict::Lost, &fact, details)
        }
    }
}

fn untracked(files: &Files, inside: &Inside) -> CleanProof {
    let mut details: Vec<String> = files.untracked.iter().map(|one| shown(one)).collect();
    details.extend(inside.odd.iter().map(|one| shown(one)));
    match details.len() {
        0 => proof(Check::Untracked, Verdict::Safe, "no untracked files", details),
        count => {
            let fact = format!("{count} untracked");
            proof(Check::Untracked, Verdict::Lost, &fact, details)
        }
    }
}

/// Other repositories are not ours to remove; what cannot be read cannot be judged.
fn nested(inside: &Inside) -> CleanProof {
    let kinds = [
        (&inside.nested, "is a repository or worktree of its own"),
        (&inside.mounts, "is another file system"),
        (&inside.unreadable, "cannot be read"),
    ];
    let told = |(list, what): (&Vec<PathBuf>, &str)| {
        list.iter().map(|one| format!("{} {what}", shown(one))).collect::<Vec<_>>()
    };
    let details: Vec<String> = kinds.into_iter().flat_map(told).collect();
    match details.is_empty() {
        true => proof(Check::Nested, Verdict::Safe, "no other repository is inside", details),
        false => proof(Check::Nested, Verdict::Never, "what is inside is not part of it", details),
    }
}

fn has_submodules(inside: &Inside) -> bool {
    !inside.submodules.is_empty() || !inside.put_away.is_empty()
}

fn submodules(inside: &Inside) -> Result<Option<CleanProof>, Error> {
    if !has_submodules(inside) {
        return Ok(None);
    }
    let mut details = Vec::new();
    for dir in &inside.submodules {
        let work = git::submodule_work(dir)?;
        if !work.is_empty() {
            details.push(format!("{}: {}", shown(dir), work.join(", ")));
        }
    }
    for repository in &inside.put_away {
        let work = git::put_away_work(repository)?;
        details.extend(work.map(|work| format!("{}: {work}", shown(repository))));
    }
    Ok(Some(match details.is_empty() {
        true => {
            let fact = "all that is in its submodules is on their remotes";
            proof(Check::Submodules, Verdict::Safe, fact, details)
        }
        false => proof(Check::Submodules, Verdict::Lost, "work is only in its submodules", details),
    }))
}

pub(super) fn proof(
    check: Check,
    verdict: Verdict,
    fact: &str,
    details: Vec<String>,
) -> CleanProof {
    CleanProof { check, verdict, fact: fact.to_owned(), details }
}

/// A directory with how much is in it.
fn sized(tree: &Path, path: &Path) -> String {
    let whole = tree.join(path);
    match whole.symlink_metadata().is_ok_and(|stat| stat.is_dir()) {
        true => {
            let (files, bytes) = git::weight(&whole);
            format!("{} (files: {files}, bytes: {bytes})", shown(path))
        }
        false => shown(path),
    }
}

fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
