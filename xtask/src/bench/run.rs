//! The order of a bench: build, generate, start, measure, tell.

use super::{
    ask::Ask,
    events,
    home::{self, Home},
    live::{self, Live},
    measure::Subject,
    plan::{Agent, LIVE, Scale},
    programs::{self, Programs},
    report::{self, Bars, Row, Yard, Yardstick},
    rounds::{self, Patience, Times},
};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The home that `list` must be as quick on as on the large one.
const SMALL: Scale = Scale { sessions: 10, bytes: None };
/// How often the two homes take turns.
const TURNS: usize = 6;

/// What stays the same during a bench.
struct Bench {
    agentctl: PathBuf,
    programs: Programs,
    scratch: PathBuf,
    patience: Patience,
}

/// Measures and prints; only what cannot be measured at all is a failure.
pub(crate) fn run(root: &Path, words: &[&str]) -> Outcome<()> {
    let ask = Ask::parse(words)?;
    let cache = match &ask.keep {
        Some(dir) => std::path::absolute(dir).map_err(|why| Failure::io("resolve", dir, &why))?,
        None => setup::cache_dir()?.join("bench"),
    };
    let agentctl = release(root)?;
    let programs = programs::compile(&cache.join("programs"))?;
    let now = live::now();
    let home = home::ensure(&cache, ask.scale(), now)?;
    let small = home::ensure(&cache, SMALL, now)?;
    let bench = Bench { agentctl, programs, scratch: cache, patience: ask.patience() };
    let size = fs::metadata(&bench.agentctl).map_or(0, |found| found.len());
    println!("agentctl: {:.2} MB, release profile", size as f64 / 1e6);
    bench.table(&home, ask.scale())?;
    bench.independence(&home, &small)?;
    let mut live = Live::idle(&home, &bench.programs, events::IDLE)?;
    let watch = bench.subject(&home, &["events", "--json", "--since", "1s"]);
    events::run(watch, &home, &mut live, ask.quiet())
}

/// Builds the program and says where cargo put it.
fn release(root: &Path) -> Outcome<PathBuf> {
    let mut build = tool::cargo();
    build.args(["build", "--release", "--package", "agentctl", "--message-format=json"]);
    let said = tool::captured(build.current_dir(root))?;
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut built =
        messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    built.next_back().ok_or_else(|| Failure::new("cargo named no executable"))
}

impl Bench {
    fn subject(&self, home: &Home, words: &[&str]) -> Subject {
        Subject::new(&self.agentctl, home).words(words.iter().copied())
    }

    /// All commands on the large home, in turns with the yardsticks.
    fn table(&self, home: &Home, scale: Scale) -> Outcome<()> {
        let _live = Live::start(home, &self.programs)?;
        self.census(home, scale)?;
        let walk = Subject::new(&self.programs.walk, home);
        let find = Subject::new("find", home).words(home.folders());
        let yardsticks = [
            Subject::new(&self.programs.hello, home),
            walk.clone(),
            walk.words(["read"]),
            find.words(["-type", "f", "-printf", "%s\n"]),
        ];
        let commands = commands(home)?;
        let subjects: Vec<Subject> = commands
            .iter()
            .map(|(words, _)| self.subject(home, &words.split(' ').collect::<Vec<_>>()))
            .collect();
        let all: Vec<&Subject> = yardsticks.iter().chain(&subjects).collect();
        let mut times = rounds::interleaved(&all, self.patience)?;
        let measured = times.split_off(yardsticks.len());
        let yard = Yard { hello: times[0].min(), walk: times[1].min(), find: times[3].min() };
        for (name, times) in ["hello", "hello+walk", "(reading stat)", "find"].iter().zip(&times) {
            println!("{name:<16} {:>8.2} ms, median {:.2} ms", times.min(), times.median());
        }
        println!("\n{}", report::head());
        for (((words, bars), subject), times) in commands.iter().zip(&subjects).zip(measured) {
            let (peak, syscalls) = (subject.peak(&self.scratch), subject.syscalls(&self.scratch));
            let row = Row { name: shown(words), times, bars: *bars, peak, syscalls };
            println!("{}", row.line(&yard));
        }
        self.totals(home, &yard)
    }

    /// What is there, and what agentctl finds of it.
    fn census(&self, home: &Home, scale: Scale) -> Outcome<()> {
        println!(
            "home: {} sessions, {} of them in the last 7 days, {} live",
            scale.sessions,
            scale.window(),
            LIVE
        );
        let found = |words: &[&str]| self.subject(home, words).output();
        let (live, week) = (found(&["list", "--json"])?, found(&["list", "-a", "--json"])?);
        let all = found(&["list", "-a", "--since", "all", "--json"])?;
        let expected = [LIVE, scale.window(), scale.sessions];
        let ran = [("list", live), ("list -a", week), ("list -a --since all", all)];
        let mut is_as_made = true;
        for ((name, ran), expected) in ran.into_iter().zip(expected) {
            let json: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
            let sessions = json["sessions"].as_array().map_or(0, Vec::len);
            let problems = json["problems"].as_array().map_or(0, Vec::len);
            println!("  {name}: {sessions} sessions, {problems} problems, {}", ran.status);
            is_as_made &= sessions == expected;
        }
        if !is_as_made {
            println!("  not what was made: are other agents at work on this machine?");
        }
        println!();
        Ok(())
    }

    /// Tokens of everything, once: it reads every transcript.
    fn totals(&self, home: &Home, yard: &Yard) -> Outcome<()> {
        let subject = self.subject(home, &["list", "-a", "--since", "all", "--usage"]);
        let mut times = Times::default();
        times.add(subject.time()?);
        let peak = subject.peak(&self.scratch);
        let bars = Bars { yardstick: Yardstick::Find, ratio: None, memory: None };
        let claude = home.sessions.iter().filter(|session| session.agent == Agent::Claude);
        let megabytes = claude.map(|session| session.size).sum::<u64>() as f64 / 1e6;
        let speed = megabytes / times.min() * 1e3;
        let name = "list -a --since all --usage".to_owned();
        println!("{}", Row { name, times, bars, peak, syscalls: None }.line(yard));
        println!("  once; {speed:.0} MB/s over {megabytes:.0} MB of Claude Code's transcripts\n");
        Ok(())
    }

    /// `list` on both homes by turns, each with live sessions of its own.
    fn independence(&self, large: &Home, small: &Home) -> Outcome<()> {
        let mut times = [Times::default(), Times::default()];
        for _ in 0..TURNS {
            for (home, times) in [large, small].into_iter().zip(&mut times) {
                let _live = Live::start(home, &self.programs)?;
                let subject = self.subject(home, &["list"]);
                subject.time()?;
                for _ in 0..self.patience.rounds / TURNS + 1 {
                    times.add(subject.time()?);
                }
            }
        }
        let [large_times, small_times] = times;
        let change = (large_times.min() / small_times.min() - 1.0) * 100.0;
        println!(
            "list, {} -> {} sessions: {:.2} -> {:.2} ms, {change:+.0} % (bar: below 10 %): {}",
            SMALL.sessions,
            large.sessions.len() + LIVE,
            small_times.min(),
            large_times.min(),
            if change < 10.0 { "ok" } else { "OVER" }
        );
        Ok(())
    }
}

/// Commands and their bars.
fn commands(home: &Home) -> Outcome<Vec<(String, Bars)>> {
    let claude = middling(home, Agent::Claude)?;
    let codex = middling(home, Agent::Codex)?;
    // Ids of Codex begin with their time: a short prefix of them fits many.
    let prefix = &claude[..10.min(claude.len())];
    let bars = |yardstick, ratio, memory| Bars { yardstick, ratio: Some(ratio), memory };
    let quick = bars(Yardstick::Walk, 2.0, Some(12.0));
    let by_id = bars(Yardstick::Find, 1.5, None);
    let version = bars(Yardstick::Hello, 1.3, None);
    Ok(vec![
        ("--version".to_owned(), version),
        ("list".to_owned(), quick),
        ("list --json".to_owned(), quick),
        ("list -a --json".to_owned(), bars(Yardstick::Find, 1.5, None)),
        ("list -a --since all --json".to_owned(), bars(Yardstick::Find, 15.0, Some(60.0))),
        (format!("status {claude}"), by_id),
        (format!("status {codex}"), bars(Yardstick::Hello, 2.0, None)),
        (format!("status {prefix}"), by_id),
        (format!("explain {claude}"), by_id),
        (format!("peek {claude}"), by_id),
    ])
}

/// The id of a session of about the median size.
fn middling(home: &Home, agent: Agent) -> Outcome<String> {
    let mut all: Vec<_> = home.sessions.iter().filter(|session| session.agent == agent).collect();
    all.sort_by_key(|session| session.size);
    let found = all.get(all.len() / 2).map(|session| session.id.clone());
    found.ok_or_else(|| Failure::usage("bench: too few sessions to measure"))
}

/// A command with its ids cut short.
fn shown(words: &str) -> String {
    let word = |word: &str| match (word.len(), word.as_bytes().get(14)) {
        (36, Some(b'7')) => "CODEX_ID".to_owned(),
        (36, _) => "CLAUDE_ID".to_owned(),
        (10, _) if word.as_bytes().get(8) == Some(&b'-') => "CLAUDE_PREFIX".to_owned(),
        _ => word.to_owned(),
    };
    words.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
