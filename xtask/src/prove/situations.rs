//! Runs the situations, and makes a page of what came of each with each agent.

use super::{
    kills::{head, page_at, written},
    table::Head,
};
use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::{fmt::Write, path::Path};

/// The variable that names the file in which tests write down what came of a situation.
const PROOF: &str = "AGENTCTL_PROOF_SITUATIONS";
/// The agents, in the order of the columns.
const AGENTS: [&str; 7] =
    ["claude-code", "codex", "opencode", "pi", "gemini", "copilot", "openclaw"];
/// How much of a failure's words is shown.
const WORDS: usize = 300;

/// What a person would call a group of situations, the tests of it here, and those elsewhere.
type Line = (&'static str, &'static [&'static str], &'static str);

const LINES: &[Line] = &[
    ("nothing is wrong", &["all_is_well"], ""),
    ("wrapper killed", &[], "each signal at each step, with real agents: [kills.md](kills.md)"),
    (
        "agent killed in each phase",
        &[],
        "[kills.md](kills.md); idle: `a_conversation_is_followed_from_state_to_state` of each real one on a terminal, and of \
         OpenClaw, whose sessions idle in a gateway alone, `runs_are_seen_from_the_first_word_to_the_death_of_the_gateway`",
    ),
    (
        "store unreadable",
        &["an_unreadable_record", "an_unreadable_store"],
        "`a_closed_registry_is_a_problem`, `a_closed_home_is_a_problem`",
    ),
    (
        "store corrupt",
        &["a_corrupt_record", "a_record_whose_last_line_is_not_whole"],
        "`what_an_unreadable_database_may_hold_is_unknown_and_never_absent`",
    ),
    (
        "store locked",
        &["a_locked_record"],
        "a database keeps all readers out (beside a real agent all writers); files of lines have nothing to lock",
    ),
    (
        "store slow",
        &["a_slow_store"],
        "`a_gateway_that_never_answers_is_a_problem_and_delays_nobody`",
    ),
    (
        "store vanishing and coming back",
        &["a_store_that_vanishes_and_comes_back"],
        "`a_store_that_goes_for_a_while_ends_nothing`",
    ),
    ("process without a record", &["a_process_without_a_record"], ""),
    ("record without a process", &["a_record_without_a_process"], ""),
    (
        "pid recycled",
        &["a_pid_that_goes_to_an_innocent", "a_pid_that_goes_to_another_agent"],
        "`an_innocent_process_does_not_inherit_a_session`",
    ),
    (
        "pid recycled across a restart, and after a day",
        &["a_restart_of_the_machine", "a_day_later"],
        "`a_recycled_pid_and_another_boot_are_not_its_process`",
    ),
    (
        "`stop` of a recycled pid",
        &["a_stop_of_a_recycled_pid", "a_stop_of_an_agent_that_got_the_pid"],
        "between look and grip: `a_process_with_another_s_pid_is_refused`",
    ),
    (
        "launch that dies before its id",
        &[],
        "`a_program_that_fails_is_quoted`, `a_program_that_dies_and_leaves_another`, [kills.md](kills.md)",
    ),
    (
        "several agents in one directory",
        &["two_of_a_kind_in_one_directory", "twins_in_one_directory", "all_kinds_in_one_directory"],
        "",
    ),
    (
        "daemon killed and raced",
        &["daemons_that_race"],
        "`nothing_is_lost_whenever_it_is_killed`, [soak.md](soak.md)",
    ),
    (
        "months-old files of ours",
        &["hundreds_of_old_files_of_ours"],
        "`hundreds_of_old_receipts_go_at_once`, `of_very_many_receipts_the_oldest_go_whole`",
    ),
    (
        "every file of ours damaged",
        &[
            "a_file_of_ours_that_is_cut_or_empty",
            "a_file_of_ours_full_of_garbage",
            "a_file_of_ours_that_nobody_may_read_or_that_is_none",
            "a_file_of_ours_of_a_session_that_has_ended",
            "our_files_on_a_full_disk",
            "our_files_on_a_disk_that_is_read_only",
        ],
        "`a_full_disk`, `a_home_that_cannot_be_written`",
    ),
    (
        "odd clocks, zones, locales",
        &[
            "a_machine_that_is_up_for_ten_years",
            "a_record_that_a_wrong_clock_dated",
            "a_clock_that_was_set_forward",
            "a_clock_that_was_set_back",
            "zones_and_locales",
        ],
        "`any_moment_is_borne`, `zones_and_locales_change_no_byte`",
    ),
    (
        "odd directories",
        &[
            "a_directory_with_spaces",
            "a_directory_in_unicode",
            "a_directory_with_newlines_and_quotes",
            "a_directory_behind_a_link",
            "a_directory_that_is_removed",
        ],
        "",
    ),
    (
        "zombies, and agents that are halted",
        &["a_zombie_that_nobody_collects", "an_agent_that_is_halted"],
        "",
    ),
    (
        "containers",
        &[
            "a_machine_that_shows_no_locks",
            "a_machine_that_hides_the_processes_of_others",
            "an_agent_that_the_machine_hides",
            "a_lock_that_an_innocent_took",
            "an_agent_in_a_container",
            "an_agent_that_sees_its_store_elsewhere",
            "twins_in_two_containers",
            "an_agent_with_a_clock_of_its_own",
            "an_agent_outside_of_the_container",
            "a_proc_of_another_namespace",
        ],
        "",
    ),
    ("another user's agents", &["another_user_s_agent"], "`another_user_s_process_is_refused`"),
];

/// Those that real agents play too.
const REAL: &[&str] = &[
    "all_is_well",
    "an_unreadable_record",
    "an_unreadable_store",
    "a_corrupt_record",
    "a_locked_record",
    "a_store_that_vanishes_and_comes_back",
    "a_process_without_a_record",
    "a_record_without_a_process",
    "a_pid_that_goes_to_an_innocent",
    "a_pid_that_goes_to_another_agent",
    "a_stop_of_a_recycled_pid",
];

/// With whom a situation is played.
fn played(test: &str) -> &'static [&'static str] {
    match test {
        "a_record_whose_last_line_is_not_whole" => {
            &["claude-code", "codex", "pi", "gemini", "copilot"]
        }
        // The others do not name their session, or share one process.
        "twins_in_one_directory" => &["claude-code", "codex", "gemini", "copilot"],
        "a_lock_that_an_innocent_took" => &["codex", "copilot"],
        "an_agent_that_sees_its_store_elsewhere" | "a_clock_that_was_set_forward" => &["pi"],
        "an_agent_that_the_machine_hides" => &["claude-code", "openclaw"],
        // Of Pi, our receipt alone says who has a session; beside others, files of ours are the same.
        "a_file_of_ours_that_is_cut_or_empty"
        | "a_file_of_ours_full_of_garbage"
        | "a_file_of_ours_that_nobody_may_read_or_that_is_none"
        | "a_file_of_ours_of_a_session_that_has_ended" => &["claude-code", "pi"],
        "all_kinds_in_one_directory"
        | "an_agent_in_a_container"
        | "twins_in_two_containers"
        | "an_agent_with_a_clock_of_its_own"
        | "an_agent_outside_of_the_container"
        | "a_proc_of_another_namespace"
        | "daemons_that_race"
        | "hundreds_of_old_files_of_ours"
        | "our_files_on_a_full_disk"
        | "our_files_on_a_disk_that_is_read_only" => &["claude-code"],
        _ => &AGENTS,
    }
}

/// With which real agents, where all is proved.
fn real(test: &str) -> &'static [&'static str] {
    if REAL.contains(&test) { &AGENTS } else { &[] }
}

/// What came of one situation with one agent.
#[derive(Debug, Deserialize)]
struct Came {
    situation: String,
    agent: String,
    failure: Option<String>,
}

/// All, with real agents and a page in `docs/proof` if `full`; else what CI runs, and the page on
/// standard output.
pub(super) fn run(root: &Path, full: bool) -> Outcome<()> {
    let (passed, lines) = written(root, "test(situations::)", PROOF, full)?;
    let all: Vec<Came> = lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|why| Failure::new(format!("a test wrote down what is no outcome: {why}")))?;
    let page = page(&head(root)?, &all);
    match full {
        true => page_at(root, "situations.md", &page)?,
        false => print!("{page}"),
    }
    match (passed, unproved(&all, full)) {
        (true, missing) if missing.is_empty() => Ok(()),
        (true, missing) => Err(Failure::new(format!("nobody ran {}", missing.join(", ")))),
        (false, _) => Err(Failure::new("some situations fail")),
    }
}

fn page(head: &Head, all: &[Came]) -> String {
    let failed = all.iter().filter(|one| one.failure.is_some()).count();
    let mut page = format!(
        "# What is said in every situation\n\n\
         Made by `cargo xtask prove --full --part situations` on {}, {}, after commit {}: {} worlds, {failed} failed.\n\n\
         Each is a world of its own: pids, mounts, `/proc` and a home that nothing else shares. A process that plays the agent, \
         or the real program, has a session loaded; then something happens. What is said must be what the kernel of that world \
         says: nothing is ended whose process lives, nothing is live without that very process, no id is told twice, `list`, \
         `status` and `explain` agree, the exit code tells of problems, and no innocent process was ended or signalled. A cell \
         is played / real; the real OpenClaw is `openclaw agent --local`, as its gateway is one process of many sessions. How: \
         `crates/agentctl/tests/agentctl/situations`.\n\n",
        head.date,
        head.kernel,
        head.commit,
        all.len(),
    );
    let name = |agent: &&str| {
        let known = head.versions.iter().find(|(name, _)| name == agent);
        known.map_or((*agent).to_owned(), |(name, version)| format!("{name} {version}"))
    };
    let names: Vec<String> = AGENTS.iter().map(name).collect();
    let _ = writeln!(page, "| what | situation | {} | elsewhere |", names.join(" | "));
    let _ = writeln!(page, "| --- | --- |{} --- |", " --- |".repeat(names.len()));
    for (what, tests, elsewhere) in LINES {
        let none: &[&str] = &[""];
        for (at, test) in if tests.is_empty() { none } else { tests }.iter().enumerate() {
            let row: Vec<String> = AGENTS.iter().map(|agent| cell(all, test, agent)).collect();
            let (what, more) = if at == 0 { (*what, *elsewhere) } else { ("", "") };
            let test = test.replace('_', " ");
            let _ = writeln!(page, "| {what} | {test} | {} | {more} |", row.join(" | "));
        }
    }
    page.push_str(&failures(all));
    page
}

/// What came of it: played / real.
fn cell(all: &[Came], test: &str, agent: &str) -> String {
    let of = |real: bool| {
        let is_it = |one: &&Came| {
            let (name, is_real) = one.names();
            name == plain(test) && is_real == real && one.agent == agent
        };
        match all.iter().find(is_it) {
            Some(one) if one.failure.is_none() => "ok",
            Some(_) => "**failed**",
            None => "–",
        }
    };
    match (of(false), of(true)) {
        ("–", "–") => String::new(),
        (played, real) => format!("{played} / {real}"),
    }
}

fn failures(all: &[Came]) -> String {
    let mut text = String::new();
    for one in all {
        let Some(why) = &one.failure else { continue };
        let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
        let why: String = why.chars().take(WORDS).collect();
        let _ = write!(text, "\n- {}, {}: {}", one.situation, one.agent, why.replace('|', "\\|"));
    }
    if text.is_empty() { text } else { format!("\n## What failed\n{text}\n") }
}

/// What of the page nobody ran: each situation with each agent, and with real ones if `full`.
fn unproved(all: &[Came], full: bool) -> Vec<String> {
    let mut missing = Vec::new();
    for test in LINES.iter().flat_map(|(_, tests, _)| tests.iter().copied()) {
        let reals = if full { real(test) } else { &[] };
        let both = played(test).iter().map(|agent| (agent, false));
        for (agent, real) in both.chain(reals.iter().map(|agent| (agent, true))) {
            let is_it = |one: &Came| one.names() == (plain(test), real) && one.agent == *agent;
            if !all.iter().any(is_it) {
                let who = if real { "the real " } else { "" };
                missing.push(format!("{test} with {who}{agent}"));
            }
        }
    }
    missing
}

/// The name of a situation without its article: that of its real twin has none.
fn plain(test: &str) -> &str {
    test.strip_prefix("a_").or_else(|| test.strip_prefix("an_")).unwrap_or(test)
}

impl Came {
    /// Which situation, and whether a real agent was in it.
    fn names(&self) -> (&str, bool) {
        match self.situation.strip_prefix("real_") {
            Some(name) => (name, true),
            None => (plain(&self.situation), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn came(situation: &str, failure: Option<&str>) -> Came {
        let (situation, agent) = (situation.to_owned(), "pi".to_owned());
        Came { situation, agent, failure: failure.map(str::to_owned) }
    }

    #[test]
    fn played_and_real_are_one_row() {
        let head = Head {
            date: "2026-01-02".to_owned(),
            kernel: "Linux 1".to_owned(),
            commit: "abc".to_owned(),
            versions: vec![("pi".to_owned(), "1.0".to_owned())],
        };
        let all = [came("a_locked_record", None), came("real_locked_record", Some("one\n | two"))];
        let page = page(&head, &all);
        assert!(page.contains("2 worlds, 1 failed"), "{page}");
        assert!(page.contains("| pi 1.0 |"), "{page}");
        let row =
            "| store locked | a locked record |  |  |  | ok / **failed** |  |  |  | a database";
        assert!(page.contains(row), "{page}");
        assert!(page.ends_with("\n- real_locked_record, pi: one \\| two\n"), "{page}");
    }

    #[test]
    fn each_agent_has_to_play_and_the_real_ones_too() {
        let all_played: Vec<Came> = LINES
            .iter()
            .flat_map(|(_, tests, _)| tests.iter())
            .flat_map(|test| played(test).iter().map(|agent| (*test, *agent)))
            .map(|(test, agent)| Came { agent: agent.to_owned(), ..came(test, None) })
            .collect();
        assert_eq!(unproved(&all_played, false), [""; 0]);
        assert_eq!(unproved(&all_played[1..], false), ["all_is_well with claude-code"]);
        let missing = unproved(&all_played, true);
        assert_eq!(missing.len(), REAL.len() * AGENTS.len());
        assert_eq!(missing[0], "all_is_well with the real claude-code");
    }

    #[test]
    fn every_situation_is_a_test() {
        let files = ["stores", "pids", "places", "clocks", "ours"];
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../crates/agentctl/tests/agentctl/situations");
        let text: String = files
            .iter()
            .map(|file| fs::read_to_string(dir.join(format!("{file}.rs"))).expect("a file"))
            .collect();
        let named: Vec<&str> =
            LINES.iter().flat_map(|(_, tests, _)| tests.iter().copied()).collect();
        for test in &named {
            let there = [format!("fn {test}()"), format!("{test},")];
            assert!(there.iter().any(|words| text.contains(words)), "{test} is no test");
        }
        let played = text.matches("#[test]").count() + text.matches("situation!(").count();
        assert_eq!(named.len(), played, "a situation is not on the page");
        for test in REAL {
            assert!(text.contains(&format!("real_{},", plain(test))), "no real {test}");
        }
        assert_eq!(REAL.len(), text.matches("situation!(").count(), "a real one is not asked for");
    }
}
