//! The checkup on a page.

use super::{paint::Paint, words};
use agentctl_core::{
    text::one_line,
    wire::{Checkup, Doctor, Problem},
};
use std::io::{self, BufWriter, Write};

/// Prints what was found.
pub(crate) fn report(found: &Doctor) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", paint.bold("this host"))?;
    for ability in &found.host {
        match &ability.cannot_tell {
            None => writeln!(out, "  {} {}", paint.good("ok"), ability.what)?,
            Some(why) => {
                writeln!(out, "  {} {}: {why}", paint.asking("cannot tell"), ability.what)?;
            }
        }
    }
    for agent in &found.agents {
        checkup(&mut out, paint, agent)?;
    }
    if !found.problems.is_empty() {
        writeln!(out, "\n{}", paint.bold("agentctl"))?;
        problems(&mut out, paint, &found.problems)?;
    }
    if !found.left_behind.is_empty() {
        writeln!(out, "\n{}", paint.bold("left behind by agentctl 1.x"))?;
        for one in &found.left_behind {
            writeln!(out, "  {}", words::directory(Some(&one.path)))?;
        }
        writeln!(
            out,
            "  it changes no answer; `agentctl prune --legacy` shows it, and --yes removes it"
        )?;
    }
    out.flush()
}

fn checkup(out: &mut impl Write, paint: Paint, agent: &Checkup) -> io::Result<()> {
    writeln!(out, "\n{} {}", paint.bold(&agent.title), paint.faint(&agent.agent))?;
    match &agent.program {
        Some(program) => {
            let version = one_line(agent.version.as_deref().unwrap_or("version not told"));
            writeln!(out, "  program   {} ({version})", words::directory(Some(program)))?;
        }
        None => writeln!(out, "  program   not on the search path")?,
    }
    writeln!(out, "  proved    {}", agent.proved.join(", "))?;
    for store in &agent.stores {
        let sessions = match store.sessions {
            Some(count) => format!("{count} sessions, {} alive", store.live),
            None => "not there".to_owned(),
        };
        writeln!(out, "  store     {} ({sessions})", words::directory(Some(&store.path)))?;
    }
    for drift in &agent.drift {
        let place = format!("{} at byte {}", words::directory(Some(&drift.path)), drift.offset);
        let (new, what) = (paint.asking("new"), one_line(&drift.what));
        writeln!(out, "  {new}       {what}, {} times, first in {place}", drift.times)?;
    }
    problems(out, paint, &agent.problems)
}

fn problems(out: &mut impl Write, paint: Paint, all: &[Problem]) -> io::Result<()> {
    for problem in all {
        let place = problem
            .path
            .as_deref()
            .map_or(String::new(), |path| format!("{}: ", one_line(&path.to_string_lossy())));
        writeln!(out, "  {} {place}{}", paint.bad("problem  "), one_line(&problem.message))?;
    }
    Ok(())
}
