//! Tokens of messages that may stand on several lines, under one id: the last line counts.

use super::{Reader, Writer};
use crate::evidence::Tokens;
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher, Hasher},
    mem,
    ops::Range,
};

/// How many of the newest messages are kept with what they count, since their next line may be still to come.
const RECENT: usize = 16;

/// How many of the newest are known by name, or twice as many: the lines of a message stand near each other, and a transcript
/// may have a million of them.
const KNOWN: usize = 512;

/// One more for each so many of the others: to put more to those takes as long as there are.
const MANY: usize = 32;

/// Most transcripts have as many, or fewer: room that grows is copied each time.
const SOME: usize = 32;

/// How long their ids are.
const ID: usize = 32;

/// So much of an id is looked at, whoever wrote it: of a line that is not held its beginning is all there is.
const LONGEST: usize = 1 << 10;

/// Messages, each counted once.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Tokens of messages that were counted before, of which nothing else is kept but the sums of their ids, in order.
    settled: Tokens,
    ids: Vec<u64>,
    /// The others, and their ids, one behind the other.
    named: Vec<Named>,
    texts: String,
    /// Of each sum the message that was met last.
    places: HashMap<u64, usize, BuildHasherDefault<AsItIs>>,
    next: u64,
    /// All of them are known by name.
    roomy: bool,
}

/// A message of which the id is known.
#[derive(Debug)]
struct Named {
    text: Range<usize>,
    sum: u64,
    order: u64,
    tokens: Tokens,
    /// Another one of the same sum.
    twin: Option<usize>,
}

impl Messages {
    /// None yet, with room for the names of all that come.
    pub(crate) fn roomy() -> Self {
        Self { roomy: true, ..Self::default() }
    }

    /// One more line of a message. False where an earlier one was counted already and cannot be taken back.
    pub(crate) fn add(&mut self, id: &str, tokens: Tokens) -> bool {
        let id = &id[..id.floor_char_boundary(LONGEST)];
        let sum = sum(id);
        if !self.renew(id, sum, tokens) {
            if self.ids.binary_search(&sum).is_ok() {
                return false;
            }
            self.put(id, sum, tokens);
        }
        if !self.roomy && self.named.len() > self.most() {
            self.keep_newest(KNOWN);
        }
        true
    }

    /// How many may be known by name.
    fn most(&self) -> usize {
        2 * KNOWN + self.ids.len() / MANY
    }

    /// One more line of a message that is known by name, or of a new one.
    fn take(&mut self, id: &str, sum: u64, tokens: Tokens) {
        if !self.renew(id, sum, tokens) {
            self.put(id, sum, tokens);
        }
    }

    /// The newest line of a message that is known by name.
    fn renew(&mut self, id: &str, sum: u64, tokens: Tokens) -> bool {
        let mut place = self.places.get(&sum).copied();
        while let Some(message) = place.and_then(|at| self.named.get_mut(at)) {
            if self.texts.get(message.text.clone()) == Some(id) {
                (message.order, message.tokens) = (self.next, tokens);
                self.next += 1;
                return true;
            }
            place = message.twin;
        }
        false
    }

    /// One more that is.
    fn put(&mut self, id: &str, sum: u64, tokens: Tokens) {
        if self.named.is_empty() {
            self.named.reserve(SOME);
            self.texts.reserve(SOME * ID);
            self.places.reserve(SOME);
        }
        let from = self.texts.len();
        self.texts.push_str(id);
        let (twin, order) = (self.places.insert(sum, self.named.len()), self.next);
        self.named.push(Named { text: from..self.texts.len(), sum, order, tokens, twin });
        self.next += 1;
    }

    /// Of all messages together.
    pub(crate) fn tokens(&self) -> Tokens {
        self.named.iter().map(|message| message.tokens).fold(self.settled, Tokens::plus)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len() + self.named.len()
    }

    /// Sums of all ids, in order: what has none in common with another has no message in common with it.
    pub(crate) fn sums(&self) -> Vec<u64> {
        sorted(self.ids.clone(), self.named.iter())
    }

    /// Of each only its sum is kept.
    pub(crate) fn settle(&mut self) {
        self.keep_newest(0);
    }

    /// Of all but so many only the sums are kept.
    fn keep_newest(&mut self, count: usize) {
        let (mut named, texts) = (mem::take(&mut self.named), mem::take(&mut self.texts));
        self.places.clear();
        named.sort_unstable_by_key(|message| message.order);
        let newest = named.split_off(named.len().saturating_sub(count));
        self.settled = named.iter().map(|message| message.tokens).fold(self.settled, Tokens::plus);
        self.ids = sorted(mem::take(&mut self.ids), named.iter());
        for message in newest {
            self.put(&texts[message.text], message.sum, message.tokens);
        }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let mut named: Vec<_> = self.named.iter().collect();
        named.sort_unstable_by_key(|message| message.order);
        let (old, recent) = named.split_at(named.len().saturating_sub(RECENT));
        to.tokens(old.iter().map(|message| message.tokens).fold(self.settled, Tokens::plus));
        to.number((self.ids.len() + old.len()) as u64);
        let ids = self.ids.iter().copied().chain(old.iter().map(|message| message.sum));
        ids.for_each(|id| to.number(id));
        to.number(recent.len() as u64);
        for message in recent {
            to.text(&self.texts[message.text.clone()]);
            to.tokens(message.tokens);
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let settled = from.tokens()?;
        let mut ids = (0..from.count(8)?).map(|_| from.number()).collect::<Option<Vec<u64>>>()?;
        ids.sort();
        let mut all = Self { settled, ids, ..Self::default() };
        for _ in 0..from.count(40)? {
            let (id, tokens) = (from.text()?, from.tokens()?);
            all.take(id, sum(id), tokens);
        }
        Some(all)
    }
}

/// Sums that are kept, which are in order, and those of messages: a sort that sees such runs only puts them together.
fn sorted<'m>(mut sums: Vec<u64>, messages: impl Iterator<Item = &'m Named>) -> Vec<u64> {
    sums.extend(messages.map(|one| one.sum));
    sums.sort();
    sums
}

/// Two ids of one sum are taken for one only to count anew. Whoever writes a transcript chooses its ids: of a quicker hash many could
/// be made of one sum, and each would be compared with each.
fn sum(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// Places what is a sum already by that sum.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, sum: u64) {
        self.0 = sum;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(output: u64) -> Tokens {
        Tokens { output, ..Tokens::default() }
    }

    /// One more than are known by name at once, each met twice in a row, and then some of them again.
    #[test]
    fn a_message_that_is_met_again_long_after_is_known_where_there_is_room() {
        let count = 2 * KNOWN as u64 + 1;
        let mut known = [Messages::default(), Messages::roomy()];
        for messages in &mut known {
            for (number, output) in (0..count).flat_map(|number| [(number, 7), (number, 1)]) {
                assert!(messages.add(&number.to_string(), used(output)));
            }
            assert_eq!((messages.len() as u64, messages.tokens()), (count, used(count)));
        }
        let [few, all] = &mut known;
        assert!(few.named.len() <= 2 * KNOWN && all.named.len() as u64 == count);
        assert_eq!(few.sums(), all.sums());
        let newest = (count - KNOWN as u64).to_string();
        for messages in [&mut *few, &mut *all] {
            assert!(messages.add(&newest, used(2)));
            assert_eq!(messages.tokens(), used(count + 1));
        }
        assert!(!few.add("0", used(2)), "it is not known any more what that counted");
        assert!(all.add("0", used(2)));
        assert_eq!(all.tokens(), used(count + 2));
    }

    #[test]
    fn of_a_long_id_its_beginning_is_known() {
        let mut all = Messages::default();
        let [long, other] = ["\u{e9}", "e"].map(|letter| letter.repeat(LONGEST));
        for (id, output) in [(&long, 1), (&format!("{long}2"), 2), (&other, 3)] {
            assert!(all.add(id, used(output)));
        }
        assert_eq!((all.tokens(), all.texts.len()), (used(2 + 3), 2 * LONGEST));
    }

    /// `quick::sum` is the same of all of these.
    #[test]
    fn ids_that_were_chosen_to_be_alike_have_sums_of_their_own() {
        let ids = (0..1000).map(|number| format!("VmzDZfzxasnLwxOa~ִܟræ{number:08}"));
        let sums: std::collections::HashSet<u64> = ids.map(|id| sum(&id)).collect();
        assert_eq!(sums.len(), 1000);
    }

    /// No two ids are known that have one sum: here they are said to.
    #[test]
    fn messages_of_one_sum_are_told_apart_by_their_ids() {
        let mut messages = Messages::default();
        for (id, output) in [("a", 1), ("b", 20), ("c", 300), ("a", 4000), ("b", 50_000)] {
            messages.take(id, 7, used(output));
        }
        assert_eq!((messages.len(), messages.tokens()), (3, used(54_300)));
        let mut to = Writer::default();
        messages.write(&mut to);
        let bytes = to.bytes();
        let again = Messages::read(&mut Reader::new(&bytes)).expect("it was written");
        assert_eq!((again.len(), again.tokens()), (3, used(54_300)));
    }

    #[test]
    fn the_newest_line_of_a_message_counts_wherever_it_stands() {
        let mut messages = Messages::default();
        for (id, output) in [("a", 1), ("a", 2), ("b", 10), ("a", 3), ("", 100), ("", 200)] {
            assert!(messages.add(id, used(output)));
        }
        assert_eq!((messages.len(), messages.tokens()), (3, used(213)));
        let mut sums = ["a", "b", ""].map(sum);
        sums.sort_unstable();
        assert_eq!(messages.sums(), sums);
    }
}
