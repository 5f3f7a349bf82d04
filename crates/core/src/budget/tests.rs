//! What is crossed, what is spent, and what is told once.

use super::*;
use proptest::{prelude::*, test_runner::RngSeed};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn order(limits: Limits) -> Order {
    Order { limits, action: None }
}

fn budget(limits: Limits, action: OnBudget, crossed: &[Crossing]) -> Budget {
    let seen =
        |crossing: &Crossing| Crossed { crossing: *crossing, at: at(10), action, problem: None };
    Budget {
        schema: SCHEMA,
        id: "b-1".to_owned(),
        agent: "pi".to_owned(),
        session: "s".to_owned(),
        set_at: at(1),
        limits,
        action,
        since: BTreeMap::from([(Limit::Tokens, at(1))]),
        released_at: None,
        crossed: crossed.iter().map(seen).collect(),
        cancelled_at: None,
    }
}

#[test]
fn all_that_is_allowed_may_be_used() {
    let limits = Limits { cost: Some(100), tokens: Some(10), turns: Some(3), idle: Some(50) };
    let crossed = |used: Used| -> Vec<&'static str> {
        limits.crossed(&used).iter().map(|one| one.limit.name()).collect()
    };
    let kept = Used { cost: Some(100), tokens: Some(10), turns: Some(3), idle: Some((50, at(0))) };
    assert_eq!(crossed(kept), [""; 0]);
    assert_eq!(crossed(Used { tokens: Some(11), ..kept }), ["tokens"]);
    assert_eq!(crossed(Used { cost: Some(101), turns: Some(9), ..kept }), ["cost", "turns"]);
    assert_eq!(crossed(Used { idle: Some((51, at(0))), ..kept }), ["idle"]);
    assert_eq!(crossed(Used::default()), [""; 0], "what nobody can tell crosses nothing");
}

#[test]
fn a_crossing_is_the_same_until_more_is_allowed_or_another_silence_begins() {
    let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: None };
    assert!(one.is(&Crossing { used: 900, ..one }));
    assert!(!one.is(&Crossing { allowed: 20, ..one }));
    let idle = Crossing { limit: Limit::Idle, since: Some(at(5)), ..one };
    assert!(idle.is(&Crossing { used: 99, ..idle }));
    assert!(!idle.is(&Crossing { since: Some(at(6)), ..idle }));
}

#[test]
fn only_what_binds_is_spent() {
    let limits = Limits { tokens: Some(10), idle: Some(10), ..Limits::default() };
    let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: Some(at(1)) };
    let with = |action, crossing| budget(limits, action, &[crossing]);
    let spent = |action, crossing| with(action, crossing).spent().is_some();
    assert!(spent(OnBudget::Stop, one) && spent(OnBudget::Hold, one));
    assert!(!spent(OnBudget::Warn, one));
    assert!(!spent(OnBudget::Stop, Crossing { limit: Limit::Idle, ..one }));
    let more = Limits { tokens: Some(20), ..Limits::default() };
    let raised = with(OnBudget::Stop, one).with(&order(more), at(15));
    assert!(raised.spent().is_none(), "a person has given it more");
    assert_eq!(raised.limits, more.over(limits));
    let cancelled = Budget { cancelled_at: Some(at(20)), ..budget(limits, OnBudget::Stop, &[one]) };
    assert!(cancelled.spent().is_none() && !cancelled.is_set());
    let week = 7 * 24 * 3600;
    assert_eq!([20 + week, 21 + week].map(|now| cancelled.is_stale(at(now))), [false, true]);
}

#[test]
fn however_often_it_is_silent_its_file_stays_short() {
    let mut one = budget(Limits::default(), OnBudget::Warn, &[]);
    let crossed = |limit, second| Crossed {
        crossing: Crossing { limit, allowed: 1, used: 2, since: Some(at(second)) },
        at: at(second),
        action: OnBudget::Warn,
        problem: None,
    };
    one.saw(crossed(Limit::Tokens, 1));
    (0..100).for_each(|second| one.saw(crossed(Limit::Idle, second)));
    let times: Vec<Timestamp> = one.crossed.iter().map(|one| one.at).collect();
    let idle = (84..100).map(at);
    assert_eq!(times, [at(1)].into_iter().chain(idle).collect::<Vec<_>>());
}

#[test]
fn only_what_it_halted_itself_is_held_by_it() {
    let limits = Limits { tokens: Some(10), ..Limits::default() };
    let one = Crossing { limit: Limit::Tokens, allowed: 10, used: 11, since: Some(at(1)) };
    let held = budget(limits, OnBudget::Hold, &[one]); // at 10
    assert!(held.holds());
    assert!(!budget(limits, OnBudget::Hold, &[]).holds());
    assert!(!budget(limits, OnBudget::Warn, &[one]).holds());
    let released = |second| Budget { released_at: Some(at(second)), ..held.clone() };
    assert_eq!([9, 10, 11].map(|second| released(second).holds()), [true, false, false]);
    let mut failed = held;
    failed.crossed[0].problem = Some("no".to_owned());
    assert!(!failed.holds());
}

#[test]
fn a_limit_that_is_set_again_may_be_crossed_again() {
    let limits = Limits { tokens: Some(10), ..Limits::default() };
    let used = Used { tokens: Some(11), idle: Some((9, at(3))), ..Used::default() };
    let mut first = budget(limits, OnBudget::Warn, &[]);
    let [crossing] = first.overrun(&used)[..] else { panic!("one limit is crossed") };
    let crossed = Crossed { crossing, at: at(2), action: OnBudget::Warn, problem: None };
    first.crossed.push(crossed);
    assert!(first.known(&first.overrun(&used)[0]).is_some());
    let turns = Limits { turns: Some(1), ..Limits::default() };
    let other = first.clone().with(&order(turns), at(5));
    assert!(other.known(&other.overrun(&used)[0]).is_some(), "nobody spoke of tokens");
    let again = first.clone().with(&order(limits), at(5));
    assert!(again.known(&again.overrun(&used)[0]).is_none());
    let cancelled = Budget { cancelled_at: Some(at(4)), ..first.clone() };
    assert_eq!(cancelled.with(&order(turns), at(5)).limits, turns);
    let idle = first.with(&order(Limits { idle: Some(1), ..limits }), at(7));
    assert_eq!([3, 9].map(|written| idle.silent_since(at(written))), [at(7), at(9)]);
}

#[test]
fn what_a_cache_had_is_not_counted_and_costs_are_amounts() {
    let counts = Tokens { input: 1, output: 2, cache_read: 1000, cache_write: 4 };
    assert_eq!(tokens(&counts), 7);
    assert_eq!(tokens(&Tokens { input: u64::MAX, ..counts }), u64::MAX);
    assert_eq!([2.5, 0.0].map(parts), [Some(2_500_000), Some(0)]);
    assert_eq!([-1.0, f64::NAN, f64::INFINITY, 1e30].map(parts), [None; 4]);
    assert_eq!([2_500_000, 0].map(dollars), [2.5, 0.0]);
}

#[test]
fn names_are_read_back_and_one_limit_is_some() {
    for (action, name) in
        [(OnBudget::Warn, "warn"), (OnBudget::Stop, "stop"), (OnBudget::Hold, "hold")]
    {
        assert_eq!((action.name(), OnBudget::named(name)), (name, Some(action)));
    }
    assert_eq!(OnBudget::named("halt"), None);
    let none = Limits::default();
    let [cost, tokens, turns, idle] = [Some(0); 4];
    let each = [
        Limits { cost, ..none },
        Limits { tokens, ..none },
        Limits { turns, ..none },
        Limits { idle, ..none },
    ];
    assert!(none.is_none() && !each.iter().any(Limits::is_none));
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2026), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was used, a limit is crossed if and only if more was used than it allows, and using more
    /// never takes a crossing back.
    #[test]
    fn using_more_never_takes_a_crossing_back(
        limits in any::<[Option<u32>; 4]>(), used in any::<[Option<u32>; 4]>(), more in any::<[u32; 4]>()
    ) {
        let [cost, tokens, turns, idle] = limits.map(|one| one.map(u64::from));
        let limits = Limits { cost, tokens, turns, idle };
        let of = |[cost, tokens, turns, idle]: [Option<u64>; 4]| {
            Used { cost, tokens, turns, idle: idle.map(|time| (time, at(0))) }
        };
        let first = of(used.map(|one| one.map(u64::from)));
        let mut later = used.map(|one| one.map(u64::from));
        for (one, more) in later.iter_mut().zip(more) {
            *one = one.map(|one| one + u64::from(more));
        }
        let (before, after) = (limits.crossed(&first), limits.crossed(&of(later)));
        for limit in Limit::ALL {
            let crossed = before.iter().any(|one| one.limit == limit);
            let (allowed, used) = (limits.of(limit), first.of(limit).map(|(used, _)| used));
            prop_assert_eq!(crossed, allowed.zip(used).is_some_and(|(a, u)| u > a));
        }
        prop_assert!(before.iter().all(|one| after.iter().any(|other| one.is(other))));
    }
}
