//! Tokens of messages that may stand on several lines, under one id: the last line counts.

use super::{Reader, Writer};
use crate::evidence::Tokens;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

/// How many of the newest messages are kept with what they count, since their next line may be still to come.
const RECENT: usize = 16;

/// Messages, each counted once.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Tokens of messages that were counted before, of which nothing else is kept but the sums of their ids.
    settled: Tokens,
    ids: Vec<u64>,
    /// The others, with their order.
    named: HashMap<String, (u64, Tokens)>,
    next: u64,
}

impl Messages {
    /// One more line of a message. False where an earlier one was counted already and cannot be taken back.
    pub(crate) fn add(&mut self, id: String, tokens: Tokens) -> bool {
        if !self.ids.is_empty() && self.ids.binary_search(&sum(&id)).is_ok() {
            return false;
        }
        self.named.insert(id, (self.next, tokens));
        self.next += 1;
        true
    }

    /// Of all messages together.
    pub(crate) fn tokens(&self) -> Tokens {
        self.named.values().map(|(_, tokens)| *tokens).fold(self.settled, Tokens::plus)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len() + self.named.len()
    }

    /// Sums of all ids, in order: what has none in common with another has no message in common with it.
    pub(crate) fn sums(&self) -> Vec<u64> {
        let mut sums = self.ids.clone();
        sums.extend(self.named.keys().map(|id| sum(id)));
        sums.sort_unstable();
        sums
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let mut named: Vec<_> = self.named.iter().collect();
        named.sort_unstable_by_key(|(_, (order, _))| *order);
        let (old, recent) = named.split_at(named.len().saturating_sub(RECENT));
        let mut ids = self.ids.clone();
        ids.extend(old.iter().map(|(id, _)| sum(id)));
        ids.sort_unstable();
        to.tokens(old.iter().map(|(_, (_, tokens))| *tokens).fold(self.settled, Tokens::plus));
        to.number(ids.len() as u64);
        ids.iter().for_each(|id| to.number(*id));
        to.number(recent.len() as u64);
        for (id, (_, tokens)) in recent {
            to.text(id);
            to.tokens(*tokens);
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let settled = from.tokens()?;
        let ids = (0..from.count(8)?).map(|_| from.number()).collect::<Option<Vec<u64>>>()?;
        let mut all = Self { settled, ids, ..Self::default() };
        for _ in 0..from.count(40)? {
            let (id, tokens) = (from.text()?, from.tokens()?);
            all.named.insert(id, (all.next, tokens));
            all.next += 1;
        }
        Some(all)
    }
}

/// Two ids of one sum are taken for one only to count anew.
fn sum(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}
