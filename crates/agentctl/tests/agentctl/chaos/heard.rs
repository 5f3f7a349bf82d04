//! What is told as it happens: no end of what lives, and at last of each session what is listed of it.

use super::{truth::is_end, world::World};
use crate::home::Stream;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    thread,
    time::{Duration, Instant},
};

/// Nothing takes longer to be told.
const LIMIT: Duration = Duration::from_secs(15);

/// Somebody who listens.
pub(super) struct Heard {
    pub(super) stream: Stream,
    /// The state that each session was told to be in last.
    last: BTreeMap<String, Value>,
    /// Sessions that had ended before: nothing need be told of them.
    before: BTreeSet<String>,
}

impl World {
    /// Somebody listens from now on.
    pub(super) fn listen(&mut self) {
        if self.heard.is_some() || self.state.is_some() || !self.stores.is_empty() {
            return self.skip();
        }
        let ended = self.lives.iter().filter(|life| !life.lives());
        let before = ended.map(|life| life.id.clone()).collect();
        self.lives.iter_mut().for_each(|life| life.untold = false);
        let since = self.home().cursor();
        let mut command = self.home().agentctl(&["events", "--json", "--since", &since]);
        let log = File::create(self.home().root().join("out/events")).expect("our folder");
        let mut stream = Stream::of(command.stderr(log));
        assert_eq!(stream.next()["type"], "gap", "it listens");
        self.heard = Some(Heard { stream, last: BTreeMap::new(), before });
    }

    /// Takes in what was told since: an end is one of a process that is gone.
    pub(super) fn hear(&mut self) {
        let Some(heard) = &mut self.heard else { return };
        for event in heard.stream.heard() {
            let Some(id) = event["session"]["id"].as_str() else { continue };
            heard.last.insert(id.to_owned(), event["after"].clone());
            let life = self.lives.iter_mut().find(|life| life.id == id);
            let Some(life) = life.filter(|_| event["type"] == "session.ended") else { continue };
            self.checks.set(self.checks.get() + 1);
            // It may be that of the process before.
            let gone = life.untold || !life.lives();
            assert!(gone, "it lives, and its end is told: {event:#}");
            life.untold = false;
        }
    }

    /// What was told last is what is listed, sooner or later.
    pub(super) fn is_heard(&mut self) {
        if self.heard.is_none() {
            return;
        }
        let began = Instant::now();
        loop {
            // Each time anew: somebody may have grown old enough to be suspected.
            let list = self.ask(&["list", "--since", "all", "--json", "--timeout", "none"]).json();
            let Some(wrong) = self.unheard(list["sessions"].as_array().expect("a list")) else {
                return;
            };
            assert!(began.elapsed() < LIMIT, "{wrong}");
            thread::sleep(Duration::from_millis(10));
            self.hear();
        }
    }

    /// A session of which something else was told, or nothing.
    fn unheard(&self, rows: &[Value]) -> Option<String> {
        let heard = self.heard.as_ref()?;
        self.lives.iter().find_map(|life| {
            self.checks.set(self.checks.get() + 1);
            let row = rows.iter().find(|row| row["id"] == *life.id)?;
            let last = heard.last.get(&life.id);
            // An end that was told stands, though what proved it is spoiled since, or somebody is suspected.
            let stands = |last: &Value| is_end(last) && (life.spoiled || row["state"] == "unknown");
            let fits = |last: &Value| *last == row["state"] || stands(last);
            let known = last.map_or(heard.before.contains(&life.id), fits);
            let story = heard.stream.of_session(&life.id);
            (!known).then(|| format!("it is told as {last:?}: {story:#?}, and listed as {row:#}"))
        })
    }
}
