//! What our receipts add to what a record shows of a session, in the order in which it happened.

use crate::{
    play::{Play, play, record, stub},
    world::{at, launch, machine},
};
use agentctl_core::{
    agent::Stub,
    agents,
    event::{Mark, Story, What},
    evidence::{Ending, Record, Turn},
    proof::Source,
    receipt::{Exit, Launched},
    story::{From, story},
};
use jiff::Timestamp;

mod lines;
mod newest;

/// A launch of `a` that began and exited then.
fn launched(began: i64, exited: Option<i64>) -> Launched {
    let exit =
        |second| Exit { schema: 1, code: Some(0), signal: None, at: at(second), overdue: false };
    Launched { at: at(began), exit: exited.map(exit), ..launch("one", Some("a"), None) }
}

/// An agent whose session `a` has a turn that ended then, in a file that is no list of lines.
fn ended(second: i64) -> Play {
    let line = Source::File { path: "/a".into(), shows: "a".into() };
    let turn = Turn::Ended { at: at(second), how: Ending::Completed, line };
    play().has("a", second, Record { turn, ..record() })
}

fn told(play: &Play, stub: Option<&Stub>, from: From<'_>, launches: &[Launched]) -> Story {
    story(play, &machine(Vec::new()), stub, (from, launches.iter())).expect("it can be read")
}

fn steps(story: &Story) -> Vec<(i64, What)> {
    let since = |step: &agentctl_core::event::Step| step.at.as_second() - at(0).as_second();
    story.steps.iter().map(|step| (since(step), step.what)).collect()
}

/// Of second 100: the last turn ended then, and so much was read.
fn mark(turn: Option<Timestamp>, upto: u64) -> Mark {
    let counts = Default::default();
    let (state, need, live, again) = (None, None, None, None);
    Mark { state, need, live, process: 0, turn, again, counts, upto, at: at(100), shown: 0 }
}

#[test]
fn a_launch_begins_before_its_turn_and_exits_after_it() {
    let play = ended(200);
    let stub = &play.sessions[0].0;
    let steps = |launches: &[Launched], floor| {
        steps(&told(&play, Some(stub), From::Time(at(floor)), launches))
    };
    let turn = [(200, What::Opened), (200, What::Closed)];
    assert_eq!(steps(&[], 100), turn);
    let whole = [(200, What::Began), turn[0], turn[1], (200, What::Exited)];
    assert_eq!(steps(&[launched(200, Some(200))], 100), whole);
    assert_eq!(steps(&[launched(250, None)], 100), [turn[0], turn[1], (250, What::Began)]);
    let apart = [(150, What::Began), turn[0], turn[1], (250, What::Exited)];
    assert_eq!(steps(&[launched(150, Some(250))], 100), apart);
    // Only what came after that moment is told.
    assert_eq!(steps(&[launched(150, Some(250))], 150), apart[1..]);
    assert_eq!(steps(&[launched(150, Some(250))], 149), apart);
    assert_eq!(steps(&[launched(150, None)], 100), apart[..3]);
}

#[test]
fn launches_are_told_oldest_first_in_whichever_order_they_are_given() {
    let launches = [launched(300, Some(300)), launched(150, Some(160))];
    let story = told(&play(), None, From::Time(at(100)), &launches);
    let first = [(150, What::Began), (160, What::Exited)];
    let second = [(300, What::Began), (300, What::Exited)];
    assert_eq!(steps(&story), [first, second].concat());
}

#[test]
fn nothing_is_told_of_now_but_where_it_stands() {
    let play = ended(200);
    let story = told(&play, Some(&play.sessions[0].0), From::Now, &[launched(150, Some(250))]);
    assert_eq!((steps(&story), story.open), (Vec::new(), Some(false)));
}

#[test]
fn without_a_record_what_was_read_before_stays_read() {
    let mark = mark(Some(at(90)), 77);
    let story = told(&play(), None, From::Mark(&mark), &[launched(100, Some(101))]);
    assert_eq!((story.turn, story.start, story.upto), (Some(at(90)), 77, 77));
    assert_eq!(steps(&story), [(101, What::Exited)]);
    let fresh = told(&play(), None, From::Now, &[]);
    assert_eq!(fresh, Story::default());
}

/// A line of Claude Code's, at that second: what a person asks, or an answer.
fn line(speaker: &str, second: i64) -> String {
    let content = serde_json::json!([{"type": "text", "text": format!("at {second}")}]);
    let mut message = serde_json::json!({"role": speaker, "content": content});
    if speaker == "assistant" {
        message["id"] = format!("m{second}").into();
        message["model"] = "m".into();
        message["stop_reason"] = "end_turn".into();
    }
    let line = serde_json::json!({"type": speaker, "uuid": format!("u{second}"),
        "sessionId": "a", "cwd": "/work", "timestamp": at(second), "message": message});
    format!("{line}\n")
}

/// What is told of these lines, from then on.
fn of_lines(lines: &[String], from: From<'_>) -> Story {
    let mut machine = machine(Vec::new());
    machine.file("/store/a.jsonl", lines.concat().as_bytes());
    let claude = agents::named("claude").expect("an agent");
    let stub = Stub { path: "/store/a.jsonl".into(), ..stub("a", 300) };
    let none: [Launched; 0] = [];
    story(claude, &machine, Some(&stub), (from, none.iter())).expect("it can be read")
}

fn three_turns() -> Vec<String> {
    [("user", 10), ("assistant", 20), ("user", 30), ("assistant", 40), ("user", 50)]
        .map(|(speaker, second)| line(speaker, second))
        .to_vec()
}

const TOLD: [(i64, What); 5] = [
    (10, What::Opened),
    (20, What::Closed),
    (30, What::Opened),
    (40, What::Closed),
    (50, What::Opened),
];

fn size(lines: &[String]) -> u64 {
    lines.concat().len() as u64
}

#[test]
fn a_record_of_lines_tells_each_turn_as_it_was_written() {
    let lines = three_turns();
    let story = of_lines(&lines, From::Time(at(0)));
    assert_eq!(steps(&story), TOLD);
    assert_eq!((story.turn, story.began, story.open), (None, false, Some(true)));
    assert_eq!((story.start, story.upto), (0, size(&lines)));
    let places: Vec<u64> = story.steps.iter().map(|step| step.upto).collect();
    let ends: Vec<u64> = (1..=5).map(|count| size(&lines[..count])).collect();
    assert_eq!(places, ends);
}

#[test]
fn a_story_begins_after_the_moment_that_is_asked_for() {
    let lines = three_turns();
    let since = |floor| {
        let story = of_lines(&lines, From::Time(at(floor)));
        (steps(&story), story.turn, story.began, story.start)
    };
    let expected = |count: usize, turn, began| {
        (TOLD[count..].to_vec(), Some(at(turn)), began, size(&lines[..count]))
    };
    assert_eq!(since(20), expected(2, 20, false));
    assert_eq!(since(30), expected(3, 20, true));
    assert_eq!(since(35), expected(3, 20, true));
    assert_eq!(since(50), expected(5, 40, true));
    // Whoever goes on later need not read again what told nothing new.
    let twice = [line("user", 10), line("user", 12), line("assistant", 20)];
    assert_eq!(of_lines(&twice, From::Time(at(15))).start, size(&twice[..2]));
}

#[test]
fn a_story_goes_on_where_it_was_read_to() {
    let lines = three_turns();
    let from = |upto| {
        let mark = mark(Some(at(20)), upto);
        let story = of_lines(&lines, From::Mark(&mark));
        assert_eq!(story.turn, Some(at(20)));
        (steps(&story), story.start, story.began)
    };
    let second = size(&lines[..2]);
    assert_eq!(from(second), (TOLD[2..].to_vec(), second, false));
    let third = size(&lines[..3]);
    assert_eq!(from(third), (TOLD[3..].to_vec(), third, true));
    let all = size(&lines);
    assert_eq!(from(all), (Vec::new(), all, true));
    // It was cut since, or is another: what it was is not what it is.
    assert_eq!(from(all + 1), (Vec::new(), all, true));
}

#[test]
fn now_is_where_the_last_whole_line_ends() {
    let lines = three_turns();
    let now = |lines: &[String]| {
        let story = of_lines(lines, From::Now);
        assert_eq!(story.steps, []);
        (story.turn, story.open)
    };
    assert_eq!(now(&lines), (Some(at(40)), Some(true)));
    assert_eq!(now(&lines[..4]), (Some(at(40)), Some(false)));
    assert_eq!(now(&[]), (None, None));
    // A line that is being written is read once it is whole.
    let torn = [lines.clone(), vec!["{\"type\":".to_owned()]].concat();
    assert_eq!(now(&torn), (Some(at(40)), Some(true)));
    assert_eq!(of_lines(&torn, From::Now).upto, size(&lines));
    assert_eq!(of_lines(&lines, From::Now).upto, size(&lines));
}

/// The end of what was written then says it all, however much stands before it.
#[test]
fn a_long_record_tells_the_same() {
    let pair = |turn: i64| [line("user", 100 + 2 * turn), line("assistant", 101 + 2 * turn)];
    let lines: Vec<String> = (0..200).flat_map(pair).collect();
    let story = of_lines(&lines, From::Time(at(0)));
    let all: Vec<(i64, What)> = (0..200)
        .flat_map(|turn| [(100 + 2 * turn, What::Opened), (101 + 2 * turn, What::Closed)])
        .collect();
    assert_eq!(steps(&story), all);
    let late = of_lines(&lines, From::Time(at(100 + 2 * 190)));
    assert_eq!((steps(&late), late.turn), (all[2 * 190 + 1..].to_vec(), Some(at(101 + 2 * 189))));
}
