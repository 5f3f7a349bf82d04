//! Worktrees, and what was proved before they went, as people read it.

use super::{
    columns::{Table, screen},
    paint::Paint,
    words,
};
use crate::error::{Error, Kind};
use agentctl_core::{
    text::one_line,
    wire::{CleanProof, Cleaned, Cleaning, Verdict, Worktree, Worktrees},
};
use std::{
    cmp::Reverse,
    io::{self, BufWriter, Write},
};

const HEADS: [&str; 8] =
    ["DIRECTORY", "BRANCH", "SESSION", "CHANGED", "UNTRACKED", "UNPUSHED", "ONLY HERE", "MARKS"];

/// One line for each worktree.
pub(crate) fn table(found: &Worktrees) -> io::Result<()> {
    let all = found.worktrees.iter().flat_map(|tree| &tree.sessions);
    let called = all.map(|one| (one.agent.as_str(), one.id.as_deref(), one.pid));
    let mut names = words::calls(&called.collect::<Vec<_>>()).into_iter();
    let rows = found.worktrees.iter().map(|tree| {
        let names: Vec<String> = names.by_ref().take(tree.sessions.len()).collect();
        row(tree, &names).to_vec()
    });
    let table = Table {
        heads: HEADS.to_vec(),
        rows: rows.collect(),
        elastic: &["DIRECTORY", "BRANCH", "SESSION", "MARKS"],
        spare: &["MARKS", "UNTRACKED", "UNPUSHED"],
    };
    table.print(screen(), |_, _, cell| cell)
}

fn row(tree: &Worktree, names: &[String]) -> [String; 8] {
    let number = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    let head = || tree.head.as_ref().map(|head| format!("at {}", head.get(..12).unwrap_or(head)));
    let branch =
        tree.branch.as_deref().map(one_line).or_else(head).unwrap_or_else(|| "-".to_owned());
    [
        words::directory(Some(&tree.path)),
        branch,
        session(tree, names),
        number(tree.changed),
        number(tree.untracked),
        number(tree.unpushed),
        number(tree.only_here),
        marks(tree),
    ]
}

/// Who is there, the live ones first; else who was there last.
fn session(tree: &Worktree, names: &[String]) -> String {
    let mut all: Vec<_> = tree.sessions.iter().zip(names).collect();
    all.sort_by_key(|(one, _)| (!one.live, Reverse(one.updated_at)));
    let Some((first, name)) = all.first() else { return "-".to_owned() };
    let told = format!("{} {name} {}", first.agent, first.state.name());
    match all.len() {
        1 => told,
        more => format!("{told}, {} more", more - 1),
    }
}

fn marks(tree: &Worktree) -> String {
    let because = |what: &str, why: &Option<String>| {
        why.as_ref().map(|why| match why.is_empty() {
            true => what.to_owned(),
            false => format!("{what} ({})", one_line(why)),
        })
    };
    let marks = [
        tree.main.then(|| "main".to_owned()),
        because("locked", &tree.locked),
        because("gone", &tree.prunable),
        tree.operation.as_ref().map(|what| format!("in a {}", one_line(what))),
    ];
    marks.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What became of each worktree, with every proof.
pub(crate) fn cleaning(answer: &Cleaning) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    for one in &answer.worktrees {
        writeln!(out, "{}", paint.bold(&words::directory(Some(&one.path))))?;
        for proof in &one.proofs {
            writeln!(out, "{}", proved(proof, paint))?;
            for detail in listed(proof) {
                writeln!(out, "                 {detail}")?;
            }
        }
        writeln!(out, "  {}", outcome(one, answer.dry_run))?;
        if let Some(hint) = &one.hint {
            writeln!(out, "  {} {}", paint.name("hint:"), one_line(hint))?;
        }
    }
    out.flush()?;
    for one in &answer.refused {
        let what = format!("{}: {}", one.name, one.message);
        let error = Error::new(Kind::Refused, one_line(&what));
        super::report(&Error { hint: one.hint.clone(), ..error }, false);
    }
    Ok(())
}

/// Its details, as many as people read; JSON has them all.
fn listed(proof: &CleanProof) -> Vec<String> {
    const MANY: usize = 20;
    let mut lines: Vec<String> = proof.details.iter().take(MANY).map(|one| one_line(one)).collect();
    if let Some(more) = proof.details.len().checked_sub(MANY).filter(|more| *more > 0) {
        lines.push(format!("and {more} more; --json lists them all"));
    }
    lines
}

fn proved(proof: &CleanProof, paint: Paint) -> String {
    let mark = match proof.verdict {
        Verdict::Safe => paint.good("ok "),
        Verdict::Lost | Verdict::Never => paint.bad("not"),
    };
    format!("  {mark} {:<10} {}", proof.check.name(), one_line(&proof.fact))
}

fn outcome(one: &Cleaned, dry_run: bool) -> String {
    let what = match (one.removed, dry_run) {
        (true, true) => "would be removed",
        (true, false) => "removed",
        (false, _) => "left as it is",
    };
    let branch = one.branch.as_deref().filter(|_| one.branch_deleted).map(one_line);
    let branch = branch.map(|branch| format!(", with the branch {branch}")).unwrap_or_default();
    let lost = if one.forced { ", with what only it had" } else { "" };
    let why = one.message.as_ref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    format!("{what}{branch}{lost}{why}")
}

/// What would be lost, and the question.
pub(crate) fn losses(cleaned: &Cleaned) {
    let mut text =
        format!("{}: this would be lost for good:\n", words::directory(Some(&cleaned.path)));
    for proof in cleaned.proofs.iter().filter(|proof| proof.verdict != Verdict::Safe) {
        text.push_str(&format!("  {}\n", one_line(&proof.fact)));
        for detail in listed(proof) {
            text.push_str(&format!("    {detail}\n"));
        }
    }
    let mut out = io::stderr().lock();
    let _ = write!(out, "{text}remove it all the same? [y/N] ").and_then(|()| out.flush());
}
