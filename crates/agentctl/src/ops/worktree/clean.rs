//! Removes worktrees that can be proved safe, and others only where somebody insists.

use super::{
    Here, Role,
    proofs::{Seen, Subject},
    targets::{meant, repos},
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

/// What we call ourselves to whoever comes second.
const CLEAN: &str = "`agentctl worktree clean`";

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
    // All are looked up before the first one goes: the same by another name is still found.
    let words = ask.targets.iter().map(|target| (target, meant(here, target, only.as_ref())));
    for (target, meant) in words.collect::<Vec<_>>() {
        let mut refuse = |why: Error| {
            let (name, message, hint) = (target.clone(), why.message, why.hint);
            refused.push(Unstopped { name, message, hint });
        };
        let meant = match meant {
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
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            if done.contains(&real) {
                continue;
            }
            match cleaner.one(&place) {
                Ok(cleaned) => worktrees.push(cleaned),
                Err(why) => refuse(why),
            }
            done.push(real);
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
        let who = format!("{CLEAN}, pid {}", std::process::id());
        // While this is held, nobody launches there.
        let claim =
            Claim { state: self.state, dir: &tree.path, sharing: Sharing::Alone, who: &who };
        let busy = |why: Error| match why.message.contains(CLEAN) {
            true => {
                let path = one_line(&tree.path.to_string_lossy());
                let what = format!("another {CLEAN} is at work in {path}");
                Error::new(Kind::Refused, what).hint("wait until it is done, and look again")
            }
            false => why.hint("wait until it has its session, and look again"),
        };
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
    match asks(&cleaned) {
        Ok(true) => {}
        Ok(false) => return Ok(left("it was left as it is", None, cleaned)),
        // What would be lost is told all the same.
        Err(why) => return Ok(left(&why.message, why.hint.as_deref(), cleaned)),
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
    if repo.default_branch()?.as_deref() == Some(branch) {
        let what = format!("its branch {} is the repository's default branch", one_line(branch));
        return Err(Error::new(Kind::Refused, what).hint("leave --delete-branch out"));
    }
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
    let turn = subject.repo.turn();
    let gone =
        still_so(subject, seen).and_then(|()| subject.repo.remove(&subject.tree.path, how, &turn));
    if let Err(why) = gone {
        (cleaned.message, cleaned.hint) = (Some(why.message), why.hint);
        return Cleaned { forced: false, ..cleaned };
    }
    cleaned.removed = true;
    let branch = subject.tree.branch.as_ref().filter(|_| subject.delete_branch);
    if let Some((branch, head)) = branch.zip(subject.tree.head.as_ref()) {
        match subject.repo.drop_branch(branch, head, &turn) {
            Ok(()) => cleaned.branch_deleted = true,
            Err(why) => cleaned.message = Some(why.message),
        }
    }
    cleaned
}

/// The branch that was seen to keep its commits may be gone by now: somebody else cleans too.
fn still_so(subject: &Subject<'_>, seen: &Seen) -> Result<(), Error> {
    let again = subject.commits_again()?;
    let same = |one: &CleanProof| {
        one.check == again.check && one.verdict == again.verdict && one.details == again.details
    };
    match seen.proofs.iter().any(same) {
        true => Ok(()),
        false => Err(Error::new(Kind::Refused, format!("meanwhile {}", again.fact))
            .hint("look again, and decide again")),
    }
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
        if path.is_file() {
            let what = format!("{shown} is a file, not a worktree");
            let root = path.parent().and_then(|folder| Repo::find(folder).ok());
            let hint = root.map(|repo| format!("name the whole worktree: {}", place(&repo.root)));
            return Err(Error { hint, ..Error::new(Kind::Refused, what) });
        }
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
        for repo in repos(self.here, self.only) {
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
