//! What programs and people are shown of a session beside its state: stalls, hooks, and words.

use crate::{
    play::{play, record},
    world::{at, key, launch, machine, runs},
};
use agentctl_core::{
    agent::Depth,
    budget::{self, Crossing, Limit, OnBudget},
    evidence::{Pending, Record, Turn},
    observe::History,
    proof::Source,
    receipt::{Callback, HookEnd, HookName, HookVariable, Hooks, Launched, Ran, Run},
    wire::{Check, Crossed, Doing, FileState, Hook, HookOutcome, Layer, Session, Stall, StateName},
};
use std::time::Duration;

/// A session that pid 7 has, whose turn is open and was written to then; it is 1000 now.
fn working(pending: Pending, updated: i64, halted: bool) -> Session {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Open { alive: at(updated), pending, line };
    let play = play().has("a", updated, Record { turn, updated: Some(at(updated)), ..record() });
    let mut proc = runs(7, 100, &["run", "--session", "a"]);
    proc.of.halted = halted;
    let machine = machine(vec![proc]);
    let survey = play.survey(&machine, History::Skip);
    survey.session(&survey.candidates[0], Depth::Glance).0
}

#[test]
fn a_session_that_says_nothing_for_five_minutes_is_stalled() {
    let stalled = working(Pending::Nothing, 700, false);
    let quiet = Stall { since: at(700), doing: Doing::Quiet, after: None };
    assert_eq!((stalled.state, stalled.stall.clone()), (StateName::Working, Some(quiet)));
    assert_eq!(stalled.stuck().as_deref(), Some("stalled: quiet since 1970-01-12 13:58:20Z"));
    assert_eq!(stalled.stalls_at(), None);
    let soon = working(Pending::Nothing, 701, false);
    assert_eq!((soon.stall.clone(), soon.stuck()), (None, None));
    assert_eq!(soon.stalls_at(), Some(at(1001)));
}

#[test]
fn a_session_that_tries_again_says_what_failed() {
    let retry = working(Pending::Retry("overloaded".into()), 700, false);
    let after = Some("overloaded".to_owned());
    assert_eq!(retry.stall, Some(Stall { since: at(700), doing: Doing::Retrying, after }));
    assert_eq!(Doing::Tool.words(), "in a tool");
}

#[test]
fn a_session_that_was_halted_or_has_ended_does_not_stall() {
    let halted = working(Pending::Nothing, 700, true);
    assert_eq!((halted.stall.clone(), halted.stalls_at()), (None, None));
    assert_eq!(halted.stuck().as_deref(), Some("halted"));
    let ended = Session { live: false, stall: None, ..working(Pending::Nothing, 700, false) };
    assert_eq!(ended.stalls_at(), None);
    let idle = Session { state: StateName::Idle, ..working(Pending::Nothing, 701, false) };
    assert_eq!(idle.stalls_at(), None);
}

/// What is shown of the first hook of a launch that had this run.
fn hook(run: Run) -> Hook {
    let (cwd, limit) = ("/work".into(), Duration::from_secs(1));
    let hooks =
        Hooks { on_create: Some("secret".into()), on_complete: None, cwd, model: None, limit };
    let mut launched = Launched { hooks: Some(hooks), ..launch("one", Some("a"), None) };
    launched.runs.on_create = run;
    let play = play().has("a", 200, record());
    let mut machine = machine(Vec::new());
    machine.launches = vec![launched];
    let survey = play.survey(&machine, History::All);
    let mut session = survey.session(&survey.candidates[0], Depth::Glance).0;
    assert_eq!(session.hooks.len(), 1);
    session.hooks.remove(0)
}

#[test]
fn a_hook_is_shown_with_what_became_of_it_and_without_what_it_runs() {
    let ran = || Ran::new(at(210), key(9, 100));
    let plain = |outcome| Hook {
        name: HookName::OnCreate,
        command: "***".into(),
        outcome,
        code: None,
        signal: None,
        message: None,
        at: Some(at(210)),
        ended_at: None,
    };
    let unseen = |outcome| Hook { at: None, ..plain(outcome) };
    assert_eq!(hook(Run::NotRun), unseen(HookOutcome::NotRun));
    assert_eq!(hook(Run::Waiting), unseen(HookOutcome::Waiting));
    assert_eq!(hook(Run::Running(ran())), plain(HookOutcome::Running));
    assert_eq!(hook(Run::Lost(ran())), plain(HookOutcome::Unknown));
    let damaged = Hook {
        message: Some("/receipt cannot be read: torn".into()),
        ..unseen(HookOutcome::Unknown)
    };
    assert_eq!(hook(Run::Damaged("/receipt".into(), "torn".into())), damaged);
    let end = |code: Option<i32>, signal, timed_out, failure: Option<&str>| {
        let failure = failure.map(str::to_owned);
        hook(Run::Ended(ran(), HookEnd { at: at(220), code, signal, timed_out, failure }))
    };
    let ended = |outcome| Hook { ended_at: Some(at(220)), ..plain(outcome) };
    let well = Hook { code: Some(0), ..ended(HookOutcome::Succeeded) };
    assert_eq!(end(Some(0), None, false, None), well);
    let badly = Hook { code: Some(2), ..ended(HookOutcome::Failed) };
    assert_eq!(end(Some(2), None, false, None), badly);
    let late = Hook { signal: Some(9), ..ended(HookOutcome::TimedOut) };
    assert_eq!(end(None, Some(9), true, None), late);
    let never = Hook { message: Some("no shell".into()), ..ended(HookOutcome::Failed) };
    assert_eq!(end(None, None, false, Some("no shell")), never);
}

#[test]
fn a_person_should_know_of_what_went_wrong_and_not_of_what_goes_on() {
    use HookOutcome::{Failed, NotRun, Running, Succeeded, TimedOut, Unknown, Waiting};
    let all = [Waiting, Running, Succeeded, NotRun, Failed, TimedOut, Unknown];
    let bad = all.map(|outcome| (outcome.is_open(), outcome.is_bad()));
    let (open, well, wrong) = ((true, false), (false, false), (false, true));
    assert_eq!(bad, [open, open, well, wrong, wrong, wrong, wrong]);
}

#[test]
fn a_hook_has_a_command_and_a_run_of_its_own() {
    let (cwd, limit) = ("/work".into(), Duration::from_secs(1));
    let hooks = Hooks {
        on_create: Some("a".into()),
        on_complete: Some("b".into()),
        cwd,
        model: None,
        limit,
    };
    assert_eq!(
        HookName::ALL.iter().map(|name| hooks.command(*name)).collect::<Vec<_>>(),
        [Some("a"), Some("b")]
    );
    let mut launched = launch("one", None, None);
    launched.runs.on_complete = Run::Waiting;
    let runs: Vec<&Run> = HookName::ALL.iter().map(|name| launched.runs.of(*name)).collect();
    assert_eq!(runs, [&Run::NotRun, &Run::Waiting]);
    let names: Vec<&str> = HookName::ALL.iter().map(|name| name.name()).collect();
    assert_eq!(names, ["on-create", "on-complete"]);
    let variables: Vec<&str> = HookVariable::ALL.iter().map(|one| one.name()).collect();
    assert!(variables.iter().all(|name| name.starts_with("AGENTCTL_")) && variables.len() == 10);
    let distinct: std::collections::BTreeSet<&str> = variables.into_iter().collect();
    assert_eq!(distinct.len(), 10);
}

#[test]
fn whom_to_tell_is_filled_up_with_another_s_words() {
    let whom = |session: Option<&str>, agent: Option<&str>| Callback {
        session: session.map(str::to_owned),
        agent: agent.map(str::to_owned),
    };
    let both = whom(Some("s"), None).or(whom(Some("t"), Some("a")));
    assert_eq!(both, whom(Some("s"), Some("a")));
    assert!(whom(None, None).is_none() && !both.is_none());
}

/// Millionths of a dollar and milliseconds are for us alone.
#[test]
fn what_was_crossed_is_shown_in_units_that_people_use() {
    let shown = |limit, allowed, used| {
        let crossing = Crossing { limit, allowed, used, since: None };
        let (at, action, problem) = (at(1), OnBudget::Warn, None);
        let seen = Crossed::new(&budget::Crossed { crossing, at, action, problem });
        let json = serde_json::to_value(seen).expect("it is shown");
        (json["allowed"].to_string(), json["used"].to_string())
    };
    let is = |allowed: &str, used: &str| (allowed.to_owned(), used.to_owned());
    assert_eq!(shown(Limit::Cost, 2_000_000, 2_500_000), is("2", "2.5"));
    assert_eq!(shown(Limit::Tokens, 1000, 1234), is("1000", "1234"));
    assert_eq!(shown(Limit::Turns, 7, 8), is("7", "8"));
    assert_eq!(shown(Limit::Idle, 60_000, 90_500), is("60", "90.5"));
}

fn json(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a word");
    value.as_str().expect("a word").to_owned()
}

/// A screen and JSON have one word for one thing.
#[test]
fn words_on_a_screen_are_those_of_json() {
    use Layer::{Default, Environment, Project, System, User};
    for layer in [Default, System, User, Project, Environment] {
        assert_eq!(json(&layer), layer.name());
    }
    for state in [FileState::Absent, FileState::Read, FileState::Ignored, FileState::Wrong] {
        assert_eq!(json(&state), state.name());
    }
    for check in [Check::Main, Check::Locked, Check::Processes, Check::Sessions, Check::Stash] {
        assert_eq!(json(&check), check.name());
    }
    for name in HookName::ALL {
        assert_eq!(json(name), name.name());
    }
}
