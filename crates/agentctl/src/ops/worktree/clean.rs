//! Removes worktrees that can be proved safe, and others only where somebody insists.

use super::{
    Here, Role,
    proofs::{Seen, Subject},
    targets::meant,
};
use crate::{
    error::{Error, Kind},
    git::{Listed, Removal, Repo, place},
    ops::dirs::{Claim, Claimed},
    places,
};
use agentctl_core::{
    policy::Sharing,
    text::one_line,
    wire::{Check, CleanProof, Cleaned, Cleaning, SCHEMA, Unstopped, Verdict},
};
use std::path::{Path, PathBuf};

/// What is asked for.
pub(crate) struct Ask<'a> {
    /// Paths, ids and groups.
    pub(crate) targets: &'a [String],
    /// The repository that they must be of.
    pub(crate) repo: Option<&'a Path>,
    pub(crate) delete_branch: bool,
    pub(crate) dry_run: bool,
    pub(crate) leave: Leave<'a>,
}

/// Whether work may be lost.
#[derive(Clone, Copy)]
pub(crate) enum Leave<'a> {
    /// No.
    OnlySafe,
    /// If this says yes to what would be lost.
    IfTold(&'a dyn Fn(&Cleaned) -> Result<bool, Error>),
}

/// Looks at each worktree that is meant, and removes it if it can go. One that cannot keeps no other.
pub(crate) fn clean(here: &Here, ask: &Ask<'_>) -> Result<Cleaning, Error> {
    let state = places::known_state()?;
    let only = ask.repo.map(Repo::find).transpose()?;
    let cleaner = Cleaner { here, ask, state: &state, only: only.as_ref() };
    let (mut worktrees, mut refused) = (Vec::new(), Vec::new());
    let mut done: Vec<PathBuf> = Vec::new();
    for target in ask.targets {
        let mut refuse = |why: Error| {
            let (name, message, hint) = (target.clone(), why.message, why.hint);
            refused.push(Unstopped { name, message, hint });
        };
        let meant = match meant(here, target) {
            Ok(meant) => meant,
            // A single word that means nothing is the answer.
            Err(why) if ask.targets.len() == 1 => return Err(why),
            Err(why) => {
                refuse(why);
                continue;
            }
        };
        meant.unknown.into_iter().for_each(&mut refuse);
        for place in meant.places {
            if done.contains(&place) {
                continue;
            }
            match cleaner.one(&place) {
                Ok(cleaned) => worktrees.push(cleaned),
                Err(why) => refuse(why),
            }
            done.push(place);
        }
    }
    Ok(Cleaning { schema: SCHEMA, dry_run: ask.dry_run, worktrees, refused })
}

/// What is the same for all of them.
struct Cleaner<'a> {
    here: &'a Here,
    ask: &'a Ask<'a>,
    /// The directory of our state.
    state: &'a Path,
    /// The repository that they must be of.
    only: Option<&'a Repo>,
}

impl Cleaner<'_> {
    fn one(&self, path: &Path) -> Result<Cleaned, Error> {
        let Found { repo, tree, role } = self.found(path)?;
        let who = format!("`agentctl worktree clean`, pid {}", std::process::id());
        // While this is held, nobody launches there.
        let claim =
            Claim { state: self.state, dir: &tree.path, sharing: Sharing::Alone, who: &who };
        let busy = |why: Error| why.hint("wait until it has its session, and look again");
        let claimed = match role {
            Role::Main => None,
            Role::Added => Some(Claimed::alone(&tree.path, &claim).map_err(busy)?),
        };
        let delete_branch = self.ask.delete_branch && tree.branch.is_some();
        if delete_branch {
            unshared(&repo, &tree)?;
        }
        let (here, state) = (self.here, self.state);
        let subject = Subject { here, state, repo: &repo, tree: &tree, role, delete_branch };
        let answer = self.decide(&subject);
        drop(claimed);
        answer
    }

    fn decide(&self, subject: &Subject<'_>) -> Result<Cleaned, Error> {
        let seen = subject.look()?;
        let cleaned = untouched(subject.tree, &seen);
        let is = |verdict| seen.proofs.iter().any(|proof| proof.verdict == verdict);
        if is(Verdict::Never) || is(Verdict::Lost) && matches!(self.ask.leave, Leave::OnlySafe) {
            let hint = hint(&cleaned, self.ask.delete_branch);
            return Ok(Cleaned { hint, ..cleaned });
        }
        let cleaned = Cleaned { forced: is(Verdict::Lost), ..cleaned };
        if self.ask.dry_run {
            let branch_deleted = subject.delete_branch;
            return Ok(Cleaned { removed: true, branch_deleted, ..cleaned });
        }
        match (cleaned.forced, self.ask.leave) {
            (true, Leave::IfTold(asks)) => asked(subject, &seen, cleaned, asks),
            (true | false, Leave::OnlySafe) | (false, Leave::IfTold(_)) => {
                Ok(remove(subject, &seen, cleaned))
            }
        }
    }
}

fn untouched(tree: &Listed, seen: &Seen) -> Cleaned {
    Cleaned {
        path: tree.path.clone(),
        branch: tree.branch.clone(),
        removed: false,
        branch_deleted: false,
        forced: false,
        proofs: seen.proofs.clone(),
        message: None,
        hint: None,
    }
}

/// Removes what is not safe, if whoever is asked says yes to just that.
fn asked(
    subject: &Subject<'_>,
    seen: &Seen,
    cleaned: Cleaned,
    asks: &dyn Fn(&Cleaned) -> Result<bool, Error>,
) -> Result<Cleaned, Error> {
    let left = |message: &str, hint: Option<&str>, cleaned: Cleaned| Cleaned {
        forced: false,
        message: Some(message.to_owned()),
        hint: hint.map(str::to_owned),
        ..cleaned
    };
    if !asks(&cleaned)? {
        return Ok(left("it was left as it is", None, cleaned));
    }
    // Who was asked took their time.
    let again = subject.look()?;
    if losses(&again) != losses(seen) {
        let cleaned = Cleaned { proofs: again.proofs, ..cleaned };
        let hint = Some("look again, and decide again");
        return Ok(left("it has changed since you were asked", hint, cleaned));
    }
    Ok(remove(subject, seen, cleaned))
}

/// Refuses a branch that another worktree needs: `git worktree add --force` checks one out twice.
fn unshared(repo: &Repo, tree: &Listed) -> Result<(), Error> {
    let branch = tree.branch.as_deref().unwrap_or_default();
    match repo.holder(branch, Some(&tree.path))? {
        None => Ok(()),
        Some(other) => {
            let path = one_line(&other.path.to_string_lossy());
            Err(Error::new(Kind::Refused, format!("its branch is checked out in {path} too"))
                .hint("leave --delete-branch out"))
        }
    }
}

/// What does not hold.
fn losses(seen: &Seen) -> Vec<&CleanProof> {
    seen.proofs.iter().filter(|proof| proof.verdict != Verdict::Safe).collect()
}

fn remove(subject: &Subject<'_>, seen: &Seen, mut cleaned: Cleaned) -> Cleaned {
    let how = match cleaned.forced || seen.has_submodules {
        true => Removal::Forced,
        false => Removal::Careful,
    };
    if let Err(why) = subject.repo.remove(&subject.tree.path, how) {
        (cleaned.message, cleaned.hint) = (Some(why.message), why.hint);
        return Cleaned { forced: false, ..cleaned };
    }
    cleaned.removed = true;
    let branch = subject.tree.branch.as_ref().filter(|_| subject.delete_branch);
    if let Some((branch, head)) = branch.zip(subject.tree.head.as_ref()) {
        match subject.repo.drop_branch(branch, head) {
            Ok(()) => cleaned.branch_deleted = true,
            Err(why) => cleaned.message = Some(why.message),
        }
    }
    cleaned
}

/// A worktree that is meant.
struct Found {
    repo: Repo,
    tree: Listed,
    role: Role,
}

impl Cleaner<'_> {
    /// The worktree whose top this directory is.
    fn found(&self, path: &Path) -> Result<Found, Error> {
        let shown = one_line(&path.to_string_lossy());
        if !path.is_dir() {
            return self.gone(path);
        }
        let repo = Repo::find(path)?;
        if self.only.is_some_and(|only| only.common != repo.common) {
            let of = one_line(&repo.main.to_string_lossy());
            return Err(Error::new(
                Kind::Refused,
                format!("{shown} is a worktree of {of}, not of --repo"),
            ));
        }
        if repo.root != *path {
            let root = one_line(&repo.root.to_string_lossy());
            return Err(Error::new(
                Kind::Refused,
                format!("{shown} is only a directory of {root}"),
            )
            .hint(format!("name the whole worktree: {}", place(&repo.root))));
        }
        let mut trees = repo.trees()?;
        let at = trees.iter().position(|tree| tree.path == *path).ok_or_else(|| {
            Error::new(Kind::Refused, format!("git does not list {shown} among its worktrees"))
                .hint("`git worktree repair` may know it again")
        })?;
        let mut tree = trees.swap_remove(at);
        tree.path = path.to_owned();
        Ok(Found { repo, tree, role: Role::of(at) })
    }

    /// A worktree whose directory is gone: git has still written it down, in a repository that was named,
    /// that launches tell of, or that we are in.
    fn gone(&self, path: &Path) -> Result<Found, Error> {
        let real = path.parent().and_then(|folder| folder.canonicalize().ok());
        let real = real.zip(path.file_name()).map(|(folder, name)| folder.join(name));
        let mut told: Vec<&Path> =
            self.here.host().launches().iter().filter_map(|one| one.repo.as_deref()).collect();
        told.push(Path::new("."));
        told.sort();
        told.dedup();
        let repos: Vec<Repo> = match self.only {
            Some(only) => vec![only.clone()],
            None => told.into_iter().filter_map(|dir| Repo::without_files(dir).ok()).collect(),
        };
        for repo in repos {
            let same = |tree: &Listed| tree.path == path || Some(&tree.path) == real.as_ref();
            let Ok(trees) = repo.trees() else { continue };
            if let Some(tree) = trees.into_iter().skip(1).find(same) {
                return Ok(Found { repo, tree, role: Role::Added });
            }
        }
        let what = format!("{} is gone", one_line(&path.to_string_lossy()));
        Err(Error::new(Kind::Refused, what)
            .hint("if git still lists it, name its repository with --repo"))
    }
}

/// The way out of what stands in the way first.
fn hint(cleaned: &Cleaned, delete_branch: bool) -> Option<String> {
    let stands = |verdict| move |proof: &&CleanProof| proof.verdict == verdict;
    let never = cleaned.proofs.iter().find(stands(Verdict::Never));
    let first = never.or_else(|| cleaned.proofs.iter().find(stands(Verdict::Lost)))?;
    let path = place(&cleaned.path);
    Some(match (first.check, first.verdict) {
        (Check::Main, _) => "only worktrees that were added to a repository are removed".to_owned(),
        (Check::Locked, _) => {
            format!("`git worktree unlock {path}` or `agentctl unlock {path}` opens it")
        }
        (Check::Sessions, Verdict::Never) => "`agentctl stop ID` ends it".to_owned(),
        (Check::Processes, Verdict::Never) => {
            "end them (`agentctl stop` ends agents) or have them work elsewhere; --force does not pass them by"
                .to_owned()
        }
        (Check::Processes | Check::Sessions, _) => {
            "if you know that nobody works there, --force goes on".to_owned()
        }
        (Check::Nested, _) => "move it elsewhere or remove it yourself first".to_owned(),
        (Check::Commits, _) if delete_branch => {
            "push them, or leave --delete-branch out: then they stay on the branch".to_owned()
        }
        (
            Check::Operation
            | Check::Changes
            | Check::Untracked
            | Check::Ignored
            | Check::Submodules
            | Check::Commits
            | Check::Stash,
            _,
        ) => {
            "commit and push what you need; --force removes it all the same, and says what is lost"
                .to_owned()
        }
    })
}
