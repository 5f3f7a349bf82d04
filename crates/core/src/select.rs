//! Which sessions are meant: filters, prefixes of ids, order.

use crate::{
    ident::ProcKey,
    proof::{Fact, Rule, Source},
    wire::{Session, StateName, Status},
};
use std::{borrow::Borrow, cmp::Reverse, path::PathBuf};

/// What a person or a script asked for by a state or a status word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One state.
    State(StateName),
    /// Every state of this summary.
    Status(Status),
}

impl Wanted {
    /// A word of the states, else of the summaries.
    pub fn state(word: &str) -> Option<Self> {
        state(word).map(Self::State).or_else(|| status(word).map(Self::Status))
    }

    /// A word of the summaries, else of the states.
    pub fn status(word: &str) -> Option<Self> {
        status(word).map(Self::Status).or_else(|| state(word).map(Self::State))
    }

    /// Every word there is.
    pub fn words() -> Vec<&'static str> {
        let mut words: Vec<&str> = StateName::ALL.map(StateName::name).into();
        words.extend(Status::ALL.map(Status::name).iter().filter(|word| state(word).is_none()));
        words
    }

    /// Ended sessions may be among those meant.
    pub fn is_of_the_past(self) -> bool {
        StateName::ALL.into_iter().any(|state| {
            let meant = match self {
                Self::State(wanted) => wanted == state,
                Self::Status(wanted) => wanted == state.status(),
            };
            meant && !matches!(state.status(), Status::Running | Status::Idle)
        })
    }

    fn is(self, session: &Session) -> bool {
        match self {
            Self::State(state) => session.state == state,
            Self::Status(status) => session.status == status,
        }
    }
}

fn state(word: &str) -> Option<StateName> {
    StateName::ALL.into_iter().find(|state| state.name() == word)
}

fn status(word: &str) -> Option<Status> {
    Status::ALL.into_iter().find(|status| status.name() == word)
}

/// Which sessions to keep; an empty list keeps all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// By state.
    pub wanted: Vec<Wanted>,
    /// Those that work in one of these directories, or below.
    pub dirs: Vec<PathBuf>,
    /// By group.
    pub groups: Vec<String>,
    /// Only those that make no progress.
    pub stalled: bool,
}

impl Filter {
    /// Whether to keep a session.
    pub fn keeps(&self, session: &Session) -> bool {
        let by_state =
            self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted.is(session));
        let within = |dir: &PathBuf| session.cwd.as_ref().is_some_and(|cwd| cwd.starts_with(dir));
        let by_dir = self.dirs.is_empty() || self.dirs.iter().any(within);
        let by_group = self.groups.is_empty()
            || session.group.as_ref().is_some_and(|group| self.groups.contains(group));
        let by_stall = !self.stalled || session.stall.is_some();
        by_state && by_dir && by_group && by_stall
    }
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Live ones first, those that need a person at the top, then by last change.
    Attention,
    /// Newest change first.
    Updated,
    /// Youngest first.
    Started,
    /// By state.
    State,
    /// By agent.
    Agent,
    /// By directory.
    Cwd,
}

/// Sorts sessions; what names one settles ties, so that the same sessions always stand in the same order.
pub fn sort<S: Borrow<Session>>(sessions: &mut [S], order: Order) {
    sessions.sort_by(|a, b| {
        let (a, b): (&Session, &Session) = (a.borrow(), b.borrow());
        let newest = || Reverse(a.updated_at).cmp(&Reverse(b.updated_at));
        let by = match order {
            Order::Attention => {
                (!a.live).cmp(&!b.live).then_with(|| attention(a).cmp(&attention(b)))
            }
            Order::Updated => newest(),
            Order::Started => Reverse(a.started_at).cmp(&Reverse(b.started_at)),
            Order::State => a.state.cmp(&b.state),
            Order::Agent => a.agent.cmp(&b.agent),
            Order::Cwd => a.cwd.cmp(&b.cwd),
        };
        by.then_with(newest).then_with(|| name(a).cmp(&name(b)))
    });
}

fn name(session: &Session) -> (&Option<String>, Option<u32>, &str, &Option<PathBuf>) {
    (&session.id, session.pid, &session.agent, &session.cwd)
}

/// Ended sessions are told apart by their age only, and stand behind those that may be alive.
fn attention(session: &Session) -> Reverse<Option<Reverse<StateName>>> {
    let open = session.live || session.state == StateName::Unknown;
    Reverse(open.then_some(Reverse(session.state)))
}

/// Leaves out a process that has named no session yet where one session is known to be all it may
/// hold: that row says so already. Where `stays` says that such processes never name one, they stay.
pub fn join_unnamed<S: Borrow<Session>>(sessions: &mut Vec<S>, stays: impl Fn(&Session) -> bool) {
    let held: Vec<Vec<ProcKey>> = sessions.iter().map(|one| suspects(one.borrow())).collect();
    sessions.retain(|session| {
        let session: &Session = session.borrow();
        let unnamed = session.id.is_none() && !stays(session);
        let Some(process) = session.process.as_ref().filter(|_| unnamed) else {
            return true;
        };
        let mut may = held.iter().filter(|suspects| suspects.contains(process));
        !matches!((may.next(), may.next()), (Some(only), None) if only.len() == 1)
    });
}

/// Live processes that may have it loaded, where nobody can say.
pub fn suspects(session: &Session) -> Vec<ProcKey> {
    let facts = session.because.iter().filter(|because| because.rule == Rule::MayBeHeld);
    let process = |because: &Fact| match &because.source {
        Source::Alive { process } => Some(process.clone()),
        _ => None,
    };
    facts.filter_map(process).collect()
}

/// How a person names a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// An id, or a prefix of one, and perhaps the directory it works in.
    Id {
        /// The prefix.
        prefix: String,
        /// The directory, where ids are unique only per directory; or the file that records it, where two stores
        /// have one id of one directory.
        dir: Option<PathBuf>,
    },
    /// A process that has named no session.
    Pid(u32),
}

impl Name {
    /// Reads `7f3a`, `7f3a@/some/dir` or `pid:4121`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(pid) = text.strip_prefix("pid:") {
            return pid.parse().ok().map(Self::Pid);
        }
        let (prefix, dir) = match text.split_once('@') {
            Some((prefix, dir)) => (prefix, Some(PathBuf::from(dir))),
            None => (text, None),
        };
        let fits = !prefix.is_empty() && !prefix.contains(|c: char| c.is_whitespace() || c == '/');
        fits.then(|| Self::Id { prefix: prefix.to_owned(), dir })
    }

    /// Whether an id may be the one meant.
    pub fn fits(&self, id: &str) -> bool {
        match self {
            Self::Id { prefix, .. } => {
                id.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
            }
            Self::Pid(_) => false,
        }
    }

    /// Whether this session may be the one meant.
    pub fn means(&self, session: &Session) -> bool {
        match self {
            Self::Pid(pid) => {
                let also = session.processes.iter().any(|process| process.pid == *pid);
                session.pid == Some(*pid) || also
            }
            Self::Id { dir, .. } => {
                let here = dir.is_none() || session.cwd == *dir || session.source == *dir;
                session.id.as_deref().is_some_and(|id| self.fits(id)) && here
            }
        }
    }
}

/// What a name led to.
#[derive(Debug, PartialEq)]
pub enum Choice {
    /// One session.
    One(Box<Session>),
    /// None.
    Nothing,
    /// Several: these.
    Several(Vec<Session>),
}

/// The session that is meant: an exact id before a prefix.
pub fn choose(name: &Name, sessions: Vec<Session>) -> Choice {
    let mut meant: Vec<Session> = sessions.into_iter().filter(|s| name.means(s)).collect();
    if let Name::Id { prefix, .. } = name {
        let exact = |session: &Session| session.id.as_ref() == Some(prefix);
        if meant.iter().any(exact) {
            meant.retain(exact);
        }
    }
    match (meant.pop(), meant.is_empty()) {
        (None, _) => Choice::Nothing,
        (Some(one), true) => Choice::One(Box::new(one)),
        (Some(last), false) => {
            meant.push(last);
            Choice::Several(meant)
        }
    }
}

/// How much of each id must be shown to tell it from the others, at least `short` characters. Names are
/// read without regard to case, and so are they told apart here.
pub fn shortest(ids: &[&str], short: impl Fn(usize) -> usize) -> Vec<usize> {
    // By its beginning first, as a number: most differ there.
    let mut order: Vec<(u64, usize)> =
        ids.iter().enumerate().map(|(at, id)| (beginning(id), at)).collect();
    order.sort_unstable_by(|a, b| {
        let by_letters = || lower(ids[a.1]).cmp(lower(ids[b.1]));
        a.0.cmp(&b.0).then_with(by_letters).then_with(|| ids[a.1].cmp(ids[b.1]))
    });
    let mut lengths = vec![0; ids.len()];
    // The same id twice is one: nothing tells them apart but the directory.
    let mut groups = order.chunk_by(|a, b| ids[a.1] == ids[b.1]).peekable();
    let mut before = 0;
    while let Some(group) = groups.next() {
        let after = groups.peek().map_or(0, |next| told_apart(ids[group[0].1], ids[next[0].1]));
        for (_, at) in group {
            let (length, id) = (before.max(after).max(short(*at)), ids[*at]);
            lengths[*at] =
                (length..id.len()).find(|at| id.is_char_boundary(*at)).unwrap_or(id.len());
        }
        before = after;
    }
    lengths
}

fn lower(id: &str) -> impl Iterator<Item = u8> {
    id.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// As many as this of their characters tell two ids apart.
fn told_apart(a: &str, b: &str) -> usize {
    lower(a).zip(lower(b)).take_while(|(a, b)| a == b).count() + 1
}

/// Its first eight characters in the order of ids; what is shorter comes first.
fn beginning(id: &str) -> u64 {
    lower(id).chain(std::iter::repeat(0)).take(8).fold(0, |all, byte| all << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_vocabularies_are_understood() {
        assert_eq!(Wanted::state("stopped"), Some(Wanted::State(StateName::Stopped)));
        assert_eq!(Wanted::status("stopped"), Some(Wanted::Status(Status::Stopped)));
        assert_eq!(Wanted::state("running"), Some(Wanted::Status(Status::Running)));
        assert_eq!(Wanted::status("died"), Some(Wanted::State(StateName::Died)));
        assert_eq!(Wanted::state("gone"), None);
        let past = |word| Wanted::state(word).is_some_and(Wanted::is_of_the_past);
        assert_eq!(["died", "error", "running", "unknown"].map(past), [true, true, false, true]);
    }

    #[test]
    fn names_are_read() {
        assert_eq!(Name::parse("pid:12"), Some(Name::Pid(12)));
        assert_eq!(Name::parse("pid:x"), None);
        assert_eq!(Name::parse(""), None);
        assert_eq!(Name::parse("../x"), None);
        let dir = Some(PathBuf::from("/a b"));
        assert_eq!(Name::parse("7f@/a b"), Some(Name::Id { prefix: "7f".into(), dir }));
    }
}
