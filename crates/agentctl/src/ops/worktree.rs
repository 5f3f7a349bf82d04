//! Worktrees of a repository: who works in them, and what would be lost with them.

mod clean;
mod processes;
mod proofs;
mod targets;

pub(crate) use clean::{Ask, Leave, clean};

use super::{Here, list, observe::absolute};
use crate::{
    error::{Error, Kind},
    git::{self, Keep, Listed, Look, Only, Repo, Tree},
};
use agentctl_core::{
    observe::History,
    text::one_line,
    wire::{AtWork, Problem, SCHEMA, Session, Sessions, Verdict, Worktree, Worktrees},
};
use std::{path::Path, thread};

/// Every worktree of a directory's repository.
pub(crate) fn list(here: &Here, dir: &Path) -> Result<Worktrees, Error> {
    let repo = Repo::find(&absolute(here, dir))?;
    let trees = repo.trees()?;
    let mut found = list::list(here, &list::Ask::every(History::All));
    let mut problems = std::mem::take(&mut found.problems);
    let mut worktrees: Vec<Worktree> =
        trees.iter().enumerate().map(|(at, tree)| row(tree, Role::of(at))).collect();
    problems.extend(count_all(&mut worktrees, &trees));
    for (row, tree) in worktrees.iter_mut().zip(&trees) {
        row.sessions = at_work(&found, &trees, tree);
    }
    Ok(Worktrees { schema: SCHEMA, repo: repo.main, worktrees, problems })
}

/// Removes a worktree that was made for a launch that failed, and its branch, if nobody has used it.
pub(crate) fn undo(here: &Here, repo: &Repo, tree: &Tree) -> Result<(), Error> {
    let seen = processes::no_process(&here.again(), &tree.path);
    match seen.verdict {
        Verdict::Safe => repo.remove_new(tree),
        Verdict::Lost | Verdict::Never => {
            let path = one_line(&tree.path.to_string_lossy());
            let who = seen.details.first().map_or(String::new(), |one| format!(": {one}"));
            let what = format!("{path} is left as it is: {}{who}", seen.fact);
            Err(Error::new(Kind::Refused, what))
        }
    }
}

/// What a worktree is to its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It holds the repository.
    Main,
    /// It was added to it.
    Added,
}

impl Role {
    /// By its place in git's list, where the main one is first.
    fn of(place: usize) -> Self {
        if place == 0 { Self::Main } else { Self::Added }
    }
}

fn row(tree: &Listed, role: Role) -> Worktree {
    Worktree {
        path: tree.path.clone(),
        branch: tree.branch.clone(),
        head: tree.head.clone(),
        main: role == Role::Main,
        locked: tree.locked.clone(),
        prunable: tree.prunable.clone(),
        operation: None,
        changed: None,
        untracked: None,
        unpushed: None,
        only_here: None,
        sessions: Vec::new(),
    }
}

/// Counts what lies in each worktree, over the cores: git takes its time.
fn count_all(rows: &mut [Worktree], trees: &[Listed]) -> Vec<Problem> {
    let mut there: Vec<&mut Worktree> = rows
        .iter_mut()
        .zip(trees)
        .filter(|(_, tree)| tree.prunable.is_none() && !tree.bare)
        .map(|(row, _)| row)
        .collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let part = there.len().div_ceil(cores).max(1);
    let count = |part: &mut [&mut Worktree]| {
        let one = |row: &mut &mut Worktree| Some(unread(&row.path.clone(), &count(row).err()?));
        part.iter_mut().filter_map(one).collect::<Vec<Problem>>()
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            there.chunks_mut(part).map(|part| scope.spawn(move || count(part))).collect();
        let end =
            |one: thread::ScopedJoinHandle<'_, _>| one.join().expect("a bug ends the program");
        workers.into_iter().flat_map(end).collect()
    })
}

fn count(row: &mut Worktree) -> Result<(), Error> {
    let path = &row.path;
    row.operation = git::operation(&git::own_dir(path)?).map(str::to_owned);
    let files = git::files(path, Look::Work)?;
    let number = |count: usize| u64::try_from(count).ok();
    (row.changed, row.untracked) = (number(files.changed.len()), number(files.untracked.len()));
    let Some(head) = row.head.clone() else { return Ok(()) };
    let of = |keep, without| {
        let only = Only { from: std::slice::from_ref(&head), not: &[], without, keep };
        git::commits(path, &only).map(|commits| number(commits.len()))
    };
    row.only_here = of(Keep::Refs, row.branch.as_deref())?;
    if git::has_remotes(path)? {
        row.unpushed = of(Keep::Remotes, None)?;
    }
    Ok(())
}

/// Sessions whose directory is in this worktree, and in none that lies deeper.
fn at_work(found: &Sessions, trees: &[Listed], tree: &Listed) -> Vec<AtWork> {
    let is_in = |session: &&Session| {
        let Some(cwd) = &session.cwd else { return false };
        let holding = trees.iter().filter(|other| cwd.starts_with(&other.path));
        holding.max_by_key(|other| other.path.as_os_str().len()).is_some_and(|one| one == tree)
    };
    let told = |session: &Session| AtWork {
        id: session.id.clone(),
        agent: session.agent.clone(),
        state: session.state,
        live: session.live,
        pid: session.pid,
        updated_at: session.updated_at,
    };
    found.each().filter(is_in).map(told).collect()
}

fn unread(path: &Path, why: &Error) -> Problem {
    Problem { agent: "git".to_owned(), path: Some(path.to_owned()), message: why.message.clone() }
}
