//! How a person looks at what a state follows from: a shell command for each source, and each rule in words.

use crate::world::key;
use agentctl_core::{
    host::CannotTell,
    proof::{Rule, Source},
};
use std::collections::BTreeSet;

fn check(source: Source) -> String {
    source.check().expect("a person can look at it")
}

#[test]
fn a_line_is_looked_at_where_it_begins() {
    let line = |without: &[&str]| {
        check(Source::Line {
            path: "/it's".into(),
            offset: 41,
            shows: "\"end\"".into(),
            without: without.iter().map(|&word| word.to_owned()).collect(),
        })
    };
    let shows = r#"tail -c +42 '/it'\''s' | head -n 1 | grep -F -- '"end"'"#;
    assert_eq!(line(&[]), shows);
    let newest = format!(r"{shows} && ! tail -c +42 '/it'\''s' | grep -F -e a -e 'b c'");
    assert_eq!(line(&["a", "b c"]), newest);
}

#[test]
fn a_process_is_looked_at_by_its_pid_and_its_start() {
    let process = || key(7, 123);
    let alive = "sed 's/.*) //' /proc/7/stat | cut -d ' ' -f 1,18,20 \
                 | grep -v '^[ZX] [01] ' | grep ' 123$'";
    assert_eq!(check(Source::Alive { process: process() }), alive);
    assert_eq!(check(Source::Inference { process: process() }), alive);
    assert_eq!(check(Source::Gone { process: process() }), format!("! {{ {alive}; }}"));
    let halted = format!("{alive} && grep '^State:.T ' /proc/7/status");
    assert_eq!(check(Source::Halted { process: process() }), halted);
}

#[test]
fn a_server_is_asked_again_if_a_shell_can_ask_it() {
    let answer = |url: &str| Source::Answer { url: url.into(), shows: "busy".into() }.check();
    let asked = "curl -s -m 2 http://127.0.0.1:1/x | grep -F -- busy";
    assert_eq!(answer("http://127.0.0.1:1/x").as_deref(), Some(asked));
    assert_eq!(answer("ws://127.0.0.1:1/"), None);
    assert_eq!(Source::Blind.check(), None);
}

#[test]
fn every_rule_has_words_of_its_own() {
    let rules = [
        Rule::HolderAlive,
        Rule::AgentSays,
        Rule::TurnOpen,
        Rule::TurnLeftOpen,
        Rule::StoppedByUs,
        Rule::TurnOlderThanHolder,
        Rule::TurnEnded,
        Rule::OneShotWorks,
        Rule::PromptGiven,
        Rule::NeverPrompted,
        Rule::ToolNotRunning,
        Rule::ToolRunning,
        Rule::ToolUnseen,
        Rule::ProcessGone,
        Rule::NobodyHolds,
        Rule::MayBeHeld,
        Rule::Unreadable,
        Rule::Unnamed,
        Rule::Inferred,
        Rule::SeveralHolders,
        Rule::SharedHolder,
        Rule::Halted,
    ];
    let words: BTreeSet<&str> = rules.iter().map(|rule| rule.text()).collect();
    assert_eq!(words.len(), rules.len());
    assert_eq!(String::from(CannotTell("not allowed".into())), "not allowed");
}
