//! Which sessions a home holds: how large, how old, whose, and how each one ended.

use super::{
    chance::{Chance, normal_quantile},
    time::Moment,
};
use std::path::{Path, PathBuf};

/// How many live sessions are added to every home.
pub(super) const LIVE: usize = 5;
/// How many sessions, live ones included, were active in the last seven days.
const WINDOW: usize = 500;
/// Ages of those: none is so old that a day or two later it would fall out of the window.
const RECENT: (u64, u64) = (10 * 60_000, 60 * HOUR);
/// Ages of the others.
const OLD: (u64, u64) = (8 * 24 * HOUR, 400 * 24 * HOUR);
const HOUR: u64 = 3_600_000;

/// Half of the transcripts are smaller.
const MEDIAN: f64 = 30e3;
/// So that 95 of 100 are below 800 KB.
const SPREAD: f64 = 1.996;
const LARGEST: f64 = 100e6;
/// Homes of fewer sessions have no such giant.
const GIANT_FROM: usize = 1000;

#[rustfmt::skip]
const PROJECTS: &[&str] = &[
    "api", "web", "mobile", "infra", "docs", "parser", "billing", "search", "auth.service",
    "data-pipeline", "design system", "playground",
];

/// What makes one home another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// How many sessions, live ones included.
    pub(super) sessions: usize,
    /// All transcripts together; `None` leaves the sizes as they come.
    pub(super) bytes: Option<f64>,
}

impl Scale {
    /// How many of the sessions were active in the last seven days.
    pub(super) fn window(self) -> usize {
        self.sessions.min(WINDOW)
    }
}

/// Whose session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    Claude,
    Codex,
}

/// How a transcript ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With an answer.
    Done,
    /// With the model's refusal.
    Failed,
    /// By a person.
    Interrupted,
    /// Killed while a tool ran, or still running.
    InTool,
    /// Killed before an answer, or still waiting for it.
    Generating,
    /// By the limit on turns; Codex has none and is interrupted.
    TurnLimit,
    /// Killed in mid-write.
    Torn,
}

/// One session to be written.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) agent: Agent,
    pub(super) id: String,
    /// Of a Codex sub-agent.
    pub(super) parent: Option<String>,
    pub(super) cwd: String,
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) size: u64,
    pub(super) ending: Ending,
    /// Of everything that chance decides in it.
    pub(super) seed: u64,
    /// In a terminal, not by a script.
    pub(super) typed: bool,
    /// Claude: has helpers of its own. Codex: written by 0.140.
    pub(super) special: bool,
    /// Codex: in the archive.
    pub(super) archived: bool,
}

/// The directories sessions work in.
pub(super) fn projects(home: &Path) -> Vec<PathBuf> {
    PROJECTS.iter().map(|name| home.join("work").join(name)).collect()
}

/// All sessions of a home but the live ones.
pub(super) fn sessions(home: &Path, scale: Scale, now: Moment) -> Vec<Session> {
    let count = scale.sessions.saturating_sub(LIVE);
    let recent = scale.window().saturating_sub(LIVE);
    let mut chance = Chance::new(0x61_6765_6e74);
    let cwds = projects(home);
    let mut all: Vec<Session> = Vec::with_capacity(count);
    for (at, size) in sizes(count, scale.bytes, &mut chance).into_iter().enumerate() {
        let agent = if at % 2 == 0 { Agent::Claude } else { Agent::Codex };
        let end = now.before(age(&mut chance, at < recent));
        let start = end.before(chance.between(60_000, 5 * 3_600_000) as u64);
        let is_helper = agent == Agent::Codex && at > 2 && chance.percent(4);
        let parent = is_helper.then(|| all[at - 2].id.clone());
        let id = match agent {
            Agent::Claude => chance.uuid4(),
            Agent::Codex => chance.uuid7(start.0),
        };
        all.push(Session {
            agent,
            id,
            parent,
            cwd: chance.pick(&cwds).to_string_lossy().into_owned(),
            start,
            end,
            size,
            ending: ending(&mut chance),
            seed: chance.next(),
            typed: chance.percent(60),
            special: chance.percent(if agent == Agent::Claude { 3 } else { 10 }),
            archived: agent == Agent::Codex && at >= recent && chance.percent(5),
        });
    }
    all
}

/// Even steps through the distribution in a random order, the giant first: it is a recent one.
fn sizes(count: usize, bytes: Option<f64>, chance: &mut Chance) -> Vec<u64> {
    let share = |at: usize| (at as f64 + 0.5) / count as f64;
    let size = |at: usize| MEDIAN * (SPREAD * normal_quantile(share(at))).exp();
    let mut sizes: Vec<f64> = (0..count).map(size).collect();
    let last = count.saturating_sub(1);
    if count + LIVE >= GIANT_FROM {
        sizes[last] = LARGEST;
    }
    let factor = bytes.map_or(1.0, |bytes| bytes / sizes.iter().sum::<f64>());
    chance.shuffle(&mut sizes[..last]);
    sizes.rotate_right(1.min(count));
    sizes.into_iter().map(|size| (size * factor) as u64).collect()
}

fn age(chance: &mut Chance, is_recent: bool) -> u64 {
    let (from, to) = if is_recent { RECENT } else { OLD };
    let part = |chance: &mut Chance| chance.below(1_000_000) as f64 / 1e6;
    // More of the new than of the old, as in any home.
    let skewed = part(chance) * part(chance);
    from + ((to - from) as f64 * skewed) as u64
}

fn ending(chance: &mut Chance) -> Ending {
    match chance.below(100) {
        0..70 => Ending::Done,
        70..78 => Ending::Failed,
        78..86 => Ending::Interrupted,
        86..91 => Ending::InTool,
        91..95 => Ending::Generating,
        95..98 => Ending::TurnLimit,
        _ => Ending::Torn,
    }
}

#[cfg(test)]
mod tests {
    use super::{Agent, Moment, Scale, sessions};
    use std::path::Path;

    #[test]
    fn a_home_is_as_large_and_as_old_as_the_issue_says() {
        let now = Moment(1_794_766_444_017);
        let scale = Scale { sessions: 10_000, bytes: None };
        let all = sessions(Path::new("/h"), scale, now);
        let mut sizes: Vec<u64> = all.iter().map(|session| session.size).collect();
        sizes.sort_unstable();
        let near = |size: u64, expected: f64| (size as f64 / expected - 1.0).abs() < 0.02;
        assert!(near(sizes[all.len() / 2], 30e3) && near(sizes[all.len() * 95 / 100], 800e3));
        assert_eq!(sizes.last(), Some(&100_000_000));
        let whole = sizes.iter().sum::<u64>();
        assert!((1_900_000_000..2_500_000_000).contains(&whole), "{whole}");
        let week = now.before(7 * 24 * 3_600_000);
        assert_eq!(all.iter().filter(|session| session.end > week).count(), 495);
        assert_eq!(all.len(), 9995);
    }

    #[test]
    fn a_home_may_be_tiny_and_of_any_size() {
        let scale = Scale { sessions: 10, bytes: Some(1e6) };
        let all = sessions(Path::new("/h"), scale, Moment(1_794_766_444_017));
        assert_eq!(all.iter().filter(|session| session.agent == Agent::Claude).count(), 3);
        let whole: u64 = all.iter().map(|session| session.size).sum();
        assert!((990_000..=1_000_000).contains(&whole), "{whole}");
        assert!(
            sessions(Path::new("/h"), Scale { sessions: 0, bytes: None }, Moment(0)).is_empty()
        );
    }
}
