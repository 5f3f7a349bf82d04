//! The figures of a soak, and what was wrong.

use super::{Plan, collect::Log, record::Record};
use serde::Serialize;
use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{Write as _, stderr},
    time::Duration,
};

/// So much of what is wrong is shown.
const SHOWN: usize = 40;

/// What came of a soak.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) seed: u64,
    /// In words, and the number.
    pub(super) rows: Vec<(String, String)>,
    pub(super) wrong: Vec<String>,
}

impl Figures {
    pub(super) fn new(plan: &Plan, length: Duration) -> Self {
        let rows = vec![("seconds".to_owned(), length.as_secs().to_string())];
        Self { seed: plan.seed, rows, wrong: Vec::new() }
    }

    fn row(&mut self, what: impl Into<String>, number: impl ToString) {
        self.rows.push((what.into(), number.to_string()));
    }

    /// What happened.
    pub(super) fn counted(&mut self, record: &Record) {
        let (lives, fuses, reigns) = (record.lives(), record.fuses(), record.reigns());
        let agents: BTreeSet<&str> = lives.iter().map(|life| life.agent).collect();
        for agent in agents {
            let own = lives.iter().filter(|life| life.agent == agent);
            let launched = own.clone().filter(|life| life.launched).count();
            let (all, hand) = (own.clone().count(), own.count() - launched);
            self.row(
                format!("sessions of {agent}: all, launched, by hand"),
                format!("{all}, {launched}, {hand}"),
            );
        }
        self.row("launches whose agent did not start", record.refusals());
        let seen = lives.iter().filter(|life| life.gone.is_some()).count();
        self.row("exits that the kernel told the driver", seen);
        for way in ["Done", "Stop", "Kill", "Term"] {
            let ways = lives.iter().filter(|life| format!("{:?}", life.way) == way);
            self.row(format!("ended by: {}", way.to_lowercase()), ways.count());
        }
        let questions: usize = lives.iter().map(|life| life.asked.len()).sum();
        self.row("questions asked", questions);
        let cancelled = fuses.iter().filter(|fuse| fuse.cancelled).count();
        self.row("fuses: set, cancelled", format!("{}, {cancelled}", fuses.len()));
        let killed = reigns.iter().filter(|reign| reign.killed).count();
        let early = reigns.iter().filter(|reign| !reign.listened).count();
        self.row(
            "daemons: killed by -9, of these before they listened, told to end",
            format!("{killed}, {early}, {}", reigns.len() - killed),
        );
    }

    /// What one heard.
    pub(super) fn heard(&mut self, who: &str, log: &Log) {
        let told = log.told();
        let gaps = told.iter().filter(|told| told.event["type"] == "gap").count();
        let ids: BTreeSet<String> = told.iter().map(|told| told.event["id"].to_string()).collect();
        let unknown = told.iter().filter(|told| told.event["after"] == "unknown").count();
        self.row(
            format!("{who}: events, gaps, ids told again, `unknown`"),
            format!("{}, {gaps}, {}, {unknown}", told.len(), told.len() - ids.len()),
        );
        let longest =
            told.iter().filter_map(|told| told.event["cursor"].as_str()).map(str::len).max();
        self.row(format!("{who}: longest cursor, bytes"), longest.unwrap_or_default());
    }

    /// How soon.
    pub(super) fn delays(&mut self, who: &str, sorted: &[i128], (asked, told): (usize, usize)) {
        let at = |percent: usize| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(last * percent / 100).map_or_else(|| "–".to_owned(), ToString::to_string)
        };
        self.row(
            format!("{who}: from an exit to its event, ms: of, median, 95 %, longest"),
            format!("{}, {}, {}, {}", sorted.len(), at(50), at(95), at(100)),
        );
        self.row(
            format!("{who}: questions asked while it listened, and told before the answer"),
            format!("{asked}, {told}"),
        );
    }

    /// Shows them, and fails if anything is wrong.
    pub(super) fn are_good(&self) {
        let mut text = format!("seed {}\n", self.seed);
        for (what, number) in &self.rows {
            let _ = writeln!(text, "{what}: {number}");
        }
        let _ = stderr().write_all(text.as_bytes()); // whoever runs it may not look
        let shown = &self.wrong[..self.wrong.len().min(SHOWN)];
        assert!(
            self.wrong.is_empty(),
            "{} are wrong, among them {shown:#?}\n{text}",
            self.wrong.len()
        );
    }
}
