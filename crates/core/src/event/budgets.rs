//! Limits that were crossed.
//!
//! A crossing stays on disk as long as its budget, so that it is told whoever missed it. Its id holds the
//! session, the limit, what that allows and since when: whoever sees it again tells it under the same id.

use super::{Cursor, Look, event, hash};
use crate::{
    budget::{Budget, Crossed},
    wire::{self, Event, EventKind},
};

impl Cursor {
    /// Takes all that was crossed as told.
    pub(super) fn overran(&mut self, look: &Look) {
        self.budgets = crossings(look).map(|(budget, seen)| id(budget, seen)).collect();
    }

    /// What was crossed since.
    pub(super) fn spent(&mut self, look: &Look) -> Vec<Event> {
        let mut new: Vec<(&Budget, &Crossed)> = crossings(look).collect();
        let known = std::mem::take(&mut self.budgets);
        // One whose file is broken for a moment is told again under its id; others are swept one day.
        self.overran(look);
        new.retain(|(budget, seen)| {
            !known.contains(&id(budget, seen)) && (self.whole || seen.at > self.news)
        });
        new.sort_by_key(|(budget, seen)| (seen.at, &budget.id, seen.crossing.limit));
        let untold: Vec<String> = new.iter().map(|(budget, seen)| id(budget, seen)).collect();
        let all = std::mem::take(&mut self.budgets);
        self.budgets = all.into_iter().filter(|one| !untold.contains(one)).collect();
        let told = new.into_iter().zip(untold).map(|((budget, seen), id)| {
            self.budgets.push(id.clone());
            Event { cursor: self.to_text(), ..overrun(budget, seen, (id, look)) }
        });
        told.collect()
    }
}

fn crossings(look: &Look) -> impl Iterator<Item = (&Budget, &Crossed)> {
    look.budgets.iter().flat_map(|one| one.crossed.iter().map(move |seen| (one, seen)))
}

fn id(budget: &Budget, seen: &Crossed) -> String {
    let crossing = &seen.crossing;
    let since = crossing.since.map(|since| since.to_string()).unwrap_or_default();
    let (kind, limit) = (EventKind::BudgetCrossed.name(), crossing.limit.name());
    let allowed = crossing.allowed.to_string();
    hash::name(&[kind, &budget.agent, &budget.session, limit, &allowed, &since])
}

fn overrun(budget: &Budget, seen: &Crossed, (id, look): (String, &Look)) -> Event {
    let own = look.sessions.iter().map(|one| &one.session).find(|session| {
        session.agent == budget.agent && session.id.as_ref() == Some(&budget.session)
    });
    let told = wire::Overrun {
        id: budget.id.clone(),
        agent: budget.agent.clone(),
        session_id: budget.session.clone(),
        crossed: wire::Crossed::new(seen),
    };
    let session = own.cloned().map(Box::new);
    Event { budget: Some(told), session, ..event(EventKind::BudgetCrossed, id, seen.at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::{Crossing, Limit, Limits, OnBudget, SCHEMA},
        derive::derive,
        event::{Key, Seen, Story},
        evidence::Evidence,
        wire::{Around, Session},
    };
    use jiff::Timestamp;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn budget(crossed: &[(Limit, u64, i64)]) -> Budget {
        let seen = |(limit, allowed, second): &(Limit, u64, i64)| {
            let since = Some(at(*second - 5));
            let crossing = Crossing { limit: *limit, allowed: *allowed, used: allowed + 1, since };
            Crossed { crossing, at: at(*second), action: OnBudget::Warn, problem: None }
        };
        Budget {
            schema: SCHEMA,
            id: "b-1".to_owned(),
            agent: "pi".to_owned(),
            session: "s".to_owned(),
            set_at: at(1),
            limits: Limits::default(),
            action: OnBudget::Warn,
            since: Default::default(),
            released_at: None,
            crossed: crossed.iter().map(seen).collect(),
            cancelled_at: None,
        }
    }

    fn look(second: i64, budgets: &[Budget]) -> Look {
        Look { full: true, budgets: budgets.to_vec(), ..Look::nothing(at(second)) }
    }

    fn told(events: &[Event]) -> Vec<(Limit, String)> {
        let of = |event: &Event| {
            let overrun = event.budget.as_ref().expect("it is about a budget");
            (overrun.crossed.limit, event.id.clone())
        };
        events.iter().map(of).collect()
    }

    const STEPS: &[(Limit, u64, i64)] = &[
        (Limit::Tokens, 10, 20),
        (Limit::Turns, 3, 30),
        (Limit::Tokens, 99, 40),
        (Limit::Idle, 5, 50),
        (Limit::Idle, 5, 60),
    ];

    /// Whoever looks at every step, and whoever looks once at the end from any line on, tell the same.
    #[test]
    fn each_crossing_is_told_once_whoever_looks_and_when() {
        let begin = Cursor::now(&look(5, &[budget(&[])]));
        let (mut cursor, mut all) = (begin.clone(), Vec::new());
        for count in 1..=STEPS.len() {
            let look = look(100 + count as i64, &[budget(&STEPS[..count])]);
            all.extend(cursor.tell(&look));
            assert_eq!(cursor.tell(&look), [], "nothing is told twice");
        }
        let limits: Vec<Limit> = told(&all).into_iter().map(|(limit, _)| limit).collect();
        assert_eq!(limits, STEPS.iter().map(|(limit, ..)| *limit).collect::<Vec<_>>());
        let last = look(300, &[budget(STEPS)]);
        assert_eq!(told(&begin.clone().tell(&last)), told(&all));
        for (line, event) in all.iter().enumerate() {
            let rest = Cursor::from_text(&event.cursor).unwrap().tell(&last);
            assert_eq!(told(&rest), told(&all[line + 1..]));
        }
    }

    /// The session goes with it, and neither another of its agent nor one of its id elsewhere.
    #[test]
    fn a_crossing_is_told_with_its_own_session() {
        let seen = |agent: &str, id: &str| {
            let seen = Evidence::none(agent, Some(id.to_owned()));
            let verdict = derive(&seen);
            let session = Session::new(seen, verdict, Around::default());
            let (key, story) = (Key::of(&session, false), Story::default());
            Seen { key, session, story, settled: false }
        };
        let sessions = vec![seen("pi", "t"), seen("codex", "s"), seen("pi", "s")];
        let told = |sessions: &[Seen]| {
            let look = Look { sessions: sessions.to_vec(), ..look(100, &[budget(&STEPS[..1])]) };
            let events = Cursor::since(at(5)).tell(&look);
            let [event] = &events[..] else { panic!("one limit is crossed") };
            event.session.as_ref().map(|own| (own.agent.clone(), own.id.clone()))
        };
        assert_eq!(told(&sessions), Some(("pi".to_owned(), Some("s".to_owned()))));
        assert_eq!(told(&sessions[..2]), None);
    }

    #[test]
    fn only_what_came_since_is_told_and_what_is_swept_is_forgotten() {
        let last = look(300, &[budget(STEPS)]);
        assert_eq!(Cursor::since(at(40)).tell(&last).len(), 2);
        let mut cursor = Cursor::now(&last);
        assert_eq!(cursor.budgets.len(), STEPS.len());
        assert_eq!(cursor.tell(&look(301, &[])), []);
        assert!(cursor.budgets.is_empty());
    }
}
