//! Captured records read while one question after the other fails, as when no descriptor is left.

use super::cases;
use agentctl_core::{
    agent::Depth,
    agents,
    observe::{Candidate, History, Recall, Survey},
};
use agentctl_testkit::fixture::FixtureHost;
use std::collections::BTreeMap;

/// How many cases of an agent are read: each is read once for every question.
const CASES: usize = 12;

/// Calls with a session of each of these cases that has a record.
fn each(mut call: impl FnMut(&FixtureHost, &Survey<'_>, &Candidate)) {
    let mut read: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases().expect("the fixtures are readable") {
        let Some(agent) = agents::named(&case.agent) else { continue };
        let read = read.entry(case.agent.clone()).or_default();
        let host = FixtureHost::new(&case.path).expect("case.json is readable");
        let mut survey = Survey::new(agent, &host, &host.env(), History::All);
        survey.recalls = Recall::Records;
        let recorded = survey.candidates.iter().find(|one| one.stub.is_some());
        if let Some(one) = recorded.filter(|_| *read < CASES) {
            *read += 1;
            call(&host, &survey, one);
        }
    }
}

/// An answer that was not given is no answer: what came of it must not come back once all can be read.
#[test]
fn what_could_not_be_read_is_not_kept() {
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    each(|host, survey, candidate| {
        let look = |depth| move || survey.session(candidate, depth);
        let sound = [Depth::Glance, Depth::Whole].map(|depth| {
            let read = host.failing(None, look(depth));
            (depth, read.asked, read.kept)
        });
        let known: Vec<_> = sound.iter().flat_map(|(_, _, kept)| kept).collect();
        *kept.entry(survey.agent.card().name).or_default() += known.len();
        for (depth, asked, _) in &sound {
            for number in 0..*asked {
                for one in host.failing(Some(number), look(*depth)).kept {
                    assert!(known.contains(&&one), "question {number}: {one:#?}\n{known:#?}");
                }
            }
        }
    });
    for agent in agents::ALL {
        let name = agent.card().name;
        assert!(kept[name] > 8, "{name}: {kept:?}");
    }
}

/// What a session used is one thing, how it stands another.
#[test]
fn a_count_that_fails_leaves_the_state_as_it_is() {
    let mut gaps: BTreeMap<&str, usize> = BTreeMap::new();
    each(|host, survey, candidate| {
        let whole = || survey.session(candidate, Depth::Whole);
        let glance = host.failing(None, || survey.session(candidate, Depth::Glance));
        let all = host.failing(None, whole);
        if glance.answer.1.is_some() {
            return; // it cannot be read anyway
        }
        for number in glance.asked..all.asked {
            let (session, problem) = host.failing(Some(number), whole).answer;
            let sound = &glance.answer.0;
            assert_eq!(
                (session.state, &session.because),
                (sound.state, &sound.because),
                "{} {:?}: question {number} of {}: {problem:?}",
                survey.agent.card().name,
                session.id,
                all.asked,
            );
            if session.tokens.is_none() && all.answer.0.tokens.is_some() {
                let problem = problem.expect("what is missing is told");
                assert!(problem.why.starts_with("tokens cannot be counted: "), "{problem:?}");
                *gaps.entry(survey.agent.card().name).or_default() += 1;
            }
        }
    });
    for agent in agents::ALL.iter().filter(|agent| agent.counts_apart()) {
        let name = agent.card().name;
        assert!(gaps.get(name) > Some(&3), "{name}: {gaps:?}");
    }
}
