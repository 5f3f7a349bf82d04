//! The directories that are watched, and whose they are.

use crate::{
    host::{LAUNCHES, Reach, STOPS, Watch},
    intents, places,
};
use agentctl_core::{
    agent::{Agent, Watched},
    agents,
    host::Env,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// A directory, as it was when it was last asked for.
#[derive(Debug, PartialEq, Eq)]
struct Armed {
    reach: Reach,
    /// Device and number: one that was made anew is another.
    identity: Option<(u64, u64)>,
}

/// All that is watched.
#[derive(Debug, Default)]
pub(super) struct Places {
    wanted: BTreeMap<PathBuf, (bool, BTreeSet<&'static str>)>,
    armed: BTreeMap<PathBuf, Armed>,
    doubted: bool,
}

impl Places {
    /// Whose sessions change with this directory.
    pub(super) fn agents(&self, dir: &Path) -> BTreeSet<&'static str> {
        self.wanted.get(dir).map(|(_, agents)| agents.clone()).unwrap_or_default()
    }

    /// This directory is no longer the one that was watched, if it is there.
    pub(super) fn forget(&mut self, dir: &Path) {
        self.armed.remove(dir);
        self.doubted = true;
    }

    /// What is watched may be another directory by now.
    pub(super) fn doubt(&mut self) {
        self.doubted = true;
    }

    /// Watches what these stores have, and says whose is new, and, if that was tried, what could not be
    /// watched.
    pub(super) fn arm(
        &mut self,
        watch: &mut Watch,
        env: &Env,
        stores: &[(&'static str, PathBuf)],
    ) -> (BTreeSet<&'static str>, Option<Vec<notify::Error>>) {
        let known = self.wanted.len();
        if known == 0 {
            self.ours();
            for agent in agents::ALL {
                for store in agent.stores(env) {
                    self.want(*agent, &fs::canonicalize(&store).unwrap_or(store));
                }
            }
        }
        for (name, store) in stores {
            if let Some(agent) = agents::named(name) {
                self.want(agent, store);
            }
        }
        let (mut new, mut refused) = (BTreeSet::new(), Vec::new());
        if self.wanted.len() == known && !std::mem::take(&mut self.doubted) {
            return (new, None);
        }
        self.doubted = false;
        for (dir, (deep, agents)) in &self.wanted {
            let identity = identity(dir);
            let same = |armed: &&Armed| armed.identity == identity && identity.is_some();
            if self.armed.get(dir).filter(same).is_some() {
                continue;
            }
            match watch.below(dir, *deep) {
                Ok(reach) => {
                    let armed = Armed { reach, identity };
                    if self.armed.get(dir) != Some(&armed) {
                        new.extend(agents);
                    }
                    self.armed.insert(dir.clone(), armed);
                }
                Err(why) => refused.push(notify::Error { paths: Vec::new(), ..why }),
            }
        }
        (new, Some(refused))
    }

    fn want(&mut self, agent: &'static dyn Agent, store: &Path) {
        for part in agent.watched() {
            let (part, deep) = match part {
                Watched::Tree(part) => (part, true),
                Watched::Flat(part) => (part, false),
            };
            let within = if part.is_empty() { store.to_owned() } else { store.join(part) };
            // A store that is a file has others beside it.
            let beside = store.parent().filter(|_| store.is_file());
            let dir = beside.map_or(within, Path::to_owned);
            let deep = deep && beside.is_none();
            let (known, agents) = self.wanted.entry(dir.clone()).or_insert((deep, BTreeSet::new()));
            agents.insert(agent.card().name);
            if deep && !std::mem::replace(known, true) {
                self.forget(&dir);
            }
        }
    }

    /// Receipts and locks: they may be about any agent.
    fn ours(&mut self) {
        let Some(state) = places::state() else { return };
        let all: BTreeSet<&'static str> =
            agents::ALL.iter().map(|agent| agent.card().name).collect();
        for dir in [
            state.join(LAUNCHES),
            state.join(STOPS),
            intents::locks::folder(&state),
            intents::fuses::folder(&state),
            intents::budgets::folder(&state),
        ] {
            self.wanted.insert(dir, (false, all.clone()));
        }
    }
}

fn identity(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir).ok().map(|stat| (stat.dev(), stat.ino()))
}
