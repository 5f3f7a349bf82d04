//! `agentctl worktree list` and `agentctl worktree clean`

use super::{
    args::{Clean, Trees, Worktree},
    run::Outcome,
};
use crate::{
    error::{Error, Kind},
    ops::{
        Here,
        worktree::{self, Ask, Leave},
    },
    view,
};
use agentctl_core::wire::{Cleaned, Cleaning};
use std::{
    io::{self, IsTerminal},
    path::Path,
};

/// Lists worktrees, or removes some.
pub(super) fn run(here: &Here, args: &Worktree) -> Outcome {
    let args = match &args.what {
        Trees::Clean(args) => return clean(here, args),
        Trees::List(args) => args,
    };
    let found = worktree::list(here, args.repo.as_deref().unwrap_or(Path::new(".")))?;
    match args.json {
        true => view::json(&found)?,
        false => {
            view::worktree::table(&found)?;
            view::problems(&found.problems);
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

fn clean(here: &Here, args: &Clean) -> Outcome {
    let asks = |cleaned: &Cleaned| insists(args, cleaned);
    let ask = Ask {
        targets: &args.targets,
        repo: args.repo.as_deref(),
        delete_branch: args.delete_branch,
        dry_run: args.dry_run,
        leave: if args.force { Leave::IfTold(&asks) } else { Leave::OnlySafe },
    };
    let answer = worktree::clean(here, &ask)?;
    match args.json {
        true => view::json(&answer)?,
        false => view::worktree::cleaning(&answer)?,
    }
    Ok(code(&answer))
}

/// Nothing is lost unasked.
fn insists(args: &Clean, cleaned: &Cleaned) -> Result<bool, Error> {
    if args.yes {
        return Ok(true);
    }
    if args.json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Error::new(Kind::Refused, "--force would lose work, and nobody can be asked")
            .hint("--dry-run shows what is lost; add --yes to lose it"));
    }
    view::worktree::losses(cleaned);
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|why| Error::new(Kind::Io, format!("cannot read the answer: {why}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// All are gone, none is, or some are.
fn code(answer: &Cleaning) -> u8 {
    let gone = answer.worktrees.iter().filter(|one| one.removed && one.message.is_none()).count();
    let all = answer.worktrees.len() + answer.refused.len();
    match gone {
        gone if gone == all => 0,
        0 => Kind::Refused.code(),
        _ => Kind::Problems.code(),
    }
}
