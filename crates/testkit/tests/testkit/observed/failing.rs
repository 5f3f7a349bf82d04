//! What a single question that fails may change on a captured machine.

use super::{Answer, Found, asked, each, twisted::Twisted};
use agentctl_core::{
    agent::Depth,
    host::Kernel,
    observe::History,
    proof::{Rule, Source},
    wire::{Session, StateName},
};
use agentctl_testkit::fixture::FixtureHost;
use std::{collections::BTreeSet, io};

/// Failures that hide a process, or end what it has, and are not mended: the case, how the question begins, and how many there are.
const KNOWN: [(&str, &str, usize); 8] = [
    // Its claims alone show that a program under another name is the agent; it is between two turns.
    ("claude-code/2.1.197/registry-torn-renamed", "entries /home/dev/.claude/sessions`", 1),
    // A worker of it tells by its claim alone that it has a session.
    ("claude-code/2.1.197/background-from-spare", "stat /home/dev/.claude`", 1),
    // The process of an agent that runs without its gateway is told by its lock and its row: its session is unknown without
    // either, and the process not named.
    ("openclaw/2026.9.6/local-working", "rows /home/dev/.openclaw/agents/main", 1),
    ("openclaw/2026.9.6/local-working", "entries /home/dev/.openclaw/agents`", 1),
    ("openclaw/2026.9.6/local-working", "entries /home/dev/.openclaw/tmp`", 1),
    ("openclaw/2026.9.6/local-working", "open /home/dev/.openclaw/tmp", 1),
    ("openclaw/2026.9.6/local-working", "stat /home/dev/.openclaw`", 1),
    // Root sees what another user runs by the store that it looks at.
    ("pi/1.5.0/of-another-user", "stat /home/dev/.pi/agent/sessions`", 1),
];

/// Each question of each machine fails once. What has ended then had ended before, in the same way; and where a file or
/// a server does not answer, whoever held a session is listed with another, or without one.
#[test]
fn a_question_that_fails_ends_nothing_and_hides_nobody() {
    let (mut wrong, mut failed) = (Vec::new(), 0);
    each(|case, agent, fixture| {
        let host = Twisted::new(fixture);
        let before = asked(agent, &host, fixture, (History::All, Depth::Glance));
        for (number, question) in host.asked().iter().enumerate() {
            let how = [io::ErrorKind::PermissionDenied, io::ErrorKind::Other][number % 2];
            let host = Twisted::new(fixture).failing(question, how);
            let after = asked(agent, &host, fixture, (History::All, Depth::Glance));
            failed += 1;
            let words: Vec<&str> = question.split_whitespace().collect();
            let found = [
                ended(&before, &after, |was| may_end(was, question, fixture)),
                hidden(&before, &after).filter(|_| is_of_files(question)).unwrap_or_default(),
            ];
            let what = found.into_iter().flatten();
            wrong.extend(what.map(|what| format!("{case}: without `{}` {what}", words.join(" "))));
        }
    });
    println!("{failed} questions failed");
    assert!(failed > 2_000, "only {failed} questions failed");
    for (case, question, count) in KNOWN {
        let start = format!("{case}: without `{question}");
        let found = wrong.iter().filter(|one| one.starts_with(&start)).count();
        assert_eq!(found, count, "{start}: {wrong:#?}");
        wrong.retain(|one| !one.starts_with(&start));
    }
    assert!(wrong.is_empty(), "{} of {failed}\n{}", wrong.len(), wrong.join("\n"));
}

/// Sessions that have ended, and had not, or not so.
fn ended(before: &Answer, after: &Answer, may: impl Fn(&Session) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, session) in after.found.iter().filter(|(_, session)| has_ended(session)) {
        let same = |(other, _): &&Found| (&other.0, &other.1) == (&place.0, &place.1);
        let was: Vec<&Session> =
            before.found.iter().filter(same).map(|(_, session)| session).collect();
        if !was.iter().any(|was| was.state == session.state || may(was)) {
            let was: Vec<_> = was.iter().map(|was| (was.state, &was.reason)).collect();
            wrong.push(format!("{:?} is {:?}, and was {was:?}", place.1, session.state));
        }
    }
    wrong
}

/// Processes that held a session, and are nowhere. Servers hold only what they tell.
fn hidden(before: &Answer, after: &Answer) -> Option<Vec<String>> {
    let own = |(_, session): &&Found| session.live && !session.shared;
    let held: BTreeSet<u32> =
        before.found.iter().filter(own).filter_map(|(_, session)| session.pid).collect();
    let hidden = &held - &processes(after);
    (!hidden.is_empty()).then(|| hidden.iter().map(|pid| format!("{pid} is hidden")).collect())
}

fn is_of_files(question: &str) -> bool {
    ["entries", "stat", "open", "rows", "get", "dial"].iter().any(|word| question.starts_with(word))
}

/// What is known not to hold anything that was not written since it began (of a process that tells nothing of itself),
/// and what only a trail leads to: whoever is no such agent, or not in the table, and others' processes, which tell
/// nothing to anybody but root.
fn may_end(was: &Session, question: &str, fixture: &FixtureHost) -> bool {
    let unseen = ["is not known to be such an agent", "is not in the process table"];
    let reason = was.reason.as_deref().unwrap_or_default();
    let Some((word, of)) = question.split_once(" pid ") else {
        return unseen.iter().any(|part| reason.ends_with(part));
    };
    let table = fixture.table().expect("a process was asked for");
    let pid = of.split(' ').next().and_then(|pid| pid.parse().ok());
    let process = pid.and_then(|pid| table.process(pid)).expect("a process that is there");
    let before = was.updated_at.is_some_and(|at| at < table.since(process.start));
    let of_others = fixture.is_mine(&table.key(process)) == Ok(false);
    of_others || before && ["argv", "mine", "cwd"].contains(&word)
}

fn has_ended(session: &Session) -> bool {
    match session.state {
        StateName::Done | StateName::Failed | StateName::Stopped | StateName::Died => true,
        StateName::Working | StateName::Waiting | StateName::Idle | StateName::Unknown => false,
    }
}

/// Processes that hold a session, or are said to be able to.
fn processes(answer: &Answer) -> BTreeSet<u32> {
    let of = |(_, session): &Found| {
        let may = session.because.iter().filter(|fact| fact.rule == Rule::MayBeHeld);
        let may: Vec<u32> = may
            .filter_map(|fact| match &fact.source {
                Source::Alive { process } => Some(process.pid),
                _ => None,
            })
            .collect();
        session
            .processes
            .iter()
            .map(|key| key.pid)
            .chain(session.pid)
            .chain(may)
            .collect::<Vec<_>>()
    };
    answer.found.iter().flat_map(of).collect()
}
