//! `counts [FIXTURES]`, run under callgrind by `cargo xtask counts`: every captured case of every agent
//! is read as the program's questions do, and [`measured`] is all that is counted.
//!
//! Each question is asked twice. What a case is made of is read and kept the first time, uncounted; what
//! the readers of `core` make of it is counted the second time.

use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    observe::{History, Survey},
    wire::Session,
};
use agentctl_testkit::fixture::{FixtureHost, Held};
use std::{
    fs, hint,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// A question as the program asks it: which sessions, and how much of each.
#[derive(Clone, Copy)]
struct Question {
    name: &'static str,
    history: History,
    depth: Depth,
}

/// `list`, `list -a --since all`, and the same with tokens.
const QUESTIONS: [Question; 3] = [
    Question { name: "list", history: History::Skip, depth: Depth::Glance },
    Question { name: "all", history: History::All, depth: Depth::Glance },
    Question { name: "tokens", history: History::All, depth: Depth::Whole },
];

fn main() -> io::Result<()> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let root = given.unwrap_or_else(|| PathBuf::from("crates/core/fixtures"));
    for agent in agents::ALL {
        let cases = cases(&root.join(agent.card().name))?;
        for question in QUESTIONS {
            let bytes = ask(*agent, &cases, question);
            let again = measured(*agent, &cases, question);
            if hint::black_box(bytes) != again {
                return Err(io::Error::other("the same was asked, and another answer given"));
            }
            writeln!(io::stdout(), "{} {} {again}", agent.card().name, question.name)?;
        }
    }
    Ok(())
}

/// What callgrind counts: it is told this name, and that one dump is made after each call.
#[inline(never)]
fn measured(agent: &dyn Agent, cases: &[Held], question: Question) -> usize {
    ask(agent, cases, question)
}

/// Asks it of every case; returns the size of all answers.
#[inline(never)]
fn ask(agent: &dyn Agent, cases: &[Held], question: Question) -> usize {
    let bytes = |host: &Held| {
        let survey = Survey::new(agent, host, &host.env(), question.history);
        let look = |candidate| survey.session(candidate, question.depth).0;
        let sessions: Vec<Session> = survey.candidates.iter().map(look).collect();
        serde_json::to_vec(&sessions).map_or(0, |text| text.len())
    };
    cases.iter().map(bytes).sum()
}

/// All cases of an agent: versions and cases in the order of their names.
fn cases(agent: &Path) -> io::Result<Vec<Held>> {
    let mut cases = Vec::new();
    for version in folders(agent)? {
        for case in folders(&version)? {
            cases.push(Held::new(FixtureHost::new(&case)?));
        }
    }
    Ok(cases)
}

fn folders(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}
