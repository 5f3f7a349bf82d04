//! Which sessions a home holds: how large, how old, whose, and how each one ended.

use super::{
    chance::{Chance, normal_quantile},
    time::Moment,
};
use std::path::{Path, PathBuf};

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
    /// How many of them are live.
    pub(super) live: usize,
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
    OpenCode,
    Pi,
    Gemini,
    Copilot,
    OpenClaw,
}

impl Agent {
    /// Every agent.
    pub(super) const ALL: [Self; 7] = [
        Self::Claude,
        Self::Codex,
        Self::OpenCode,
        Self::Pi,
        Self::Gemini,
        Self::Copilot,
        Self::OpenClaw,
    ];

    /// An id for a session that began then.
    pub(super) fn id(self, chance: &mut Chance, start: Moment) -> String {
        match self {
            Self::Claude | Self::Gemini | Self::Copilot | Self::OpenClaw => chance.uuid4(),
            Self::Codex | Self::Pi => chance.uuid7(start.0),
            Self::OpenCode => chance.id_since("ses_", !((start.0 << 12) + 1)),
        }
    }
}

/// Whose sessions come one after the other: the agents that no live session stands for come first, so
/// that a home of ten has all of them; the rest is as people use them.
#[rustfmt::skip]
const MIX: [Agent; 20] = {
    use Agent::{Claude, Codex, Copilot, Gemini, OpenClaw, OpenCode, Pi};
    [
        Claude, OpenCode, Gemini, OpenClaw, Codex, Copilot, Pi, Claude, Codex, Claude,
        Claude, Codex, OpenCode, Claude, Pi, Codex, Claude, Claude, Codex, Claude,
    ]
};

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
    /// By the limit on turns; where there is none, interrupted.
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
    /// Claude: has helpers of its own. Codex: written by 0.140. Others: nothing.
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
    let count = scale.sessions.saturating_sub(scale.live);
    let recent = scale.window().saturating_sub(scale.live);
    let mut chance = Chance::new(0x61_6765_6e74);
    let cwds = projects(home);
    let mut all: Vec<Session> = Vec::with_capacity(count);
    for (at, size) in sizes(scale, &mut chance).into_iter().enumerate() {
        let agent = MIX[at % MIX.len()];
        let end = now.before(age(&mut chance, at < recent));
        let start = end.before(chance.between(60_000, 5 * 3_600_000) as u64);
        let is_helper = agent == Agent::Codex && chance.percent(4);
        let before = || all.iter().rev().find(|session| session.agent == agent);
        let parent = if is_helper { before().map(|session| session.id.clone()) } else { None };
        let id = agent.id(&mut chance, start);
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
fn sizes(scale: Scale, chance: &mut Chance) -> Vec<u64> {
    let count = scale.sessions.saturating_sub(scale.live);
    let share = |at: usize| (at as f64 + 0.5) / count as f64;
    let size = |at: usize| MEDIAN * (SPREAD * normal_quantile(share(at))).exp();
    let mut sizes: Vec<f64> = (0..count).map(size).collect();
    let last = count.saturating_sub(1);
    if scale.sessions >= GIANT_FROM {
        sizes[last] = LARGEST;
    }
    let factor = scale.bytes.map_or(1.0, |bytes| bytes / sizes.iter().sum::<f64>());
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
        let scale = Scale { sessions: 10_000, live: 5, bytes: None };
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
        let scale = Scale { sessions: 10, live: 5, bytes: Some(1e6) };
        let all = sessions(Path::new("/h"), scale, Moment(1_794_766_444_017));
        use Agent::{Claude, Codex, Gemini, OpenClaw, OpenCode};
        let agents: Vec<Agent> = all.iter().map(|session| session.agent).collect();
        assert_eq!(agents, [Claude, OpenCode, Gemini, OpenClaw, Codex]);
        let whole: u64 = all.iter().map(|session| session.size).sum();
        assert!((990_000..=1_000_000).contains(&whole), "{whole}");
        assert!(
            sessions(Path::new("/h"), Scale { sessions: 0, live: 0, bytes: None }, Moment(0))
                .is_empty()
        );
    }
}
