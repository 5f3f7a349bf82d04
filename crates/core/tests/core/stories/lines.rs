//! A record that grows by lines: what each of them shows, and how much is read for it.

use super::{mark, steps};
use crate::{
    play::{Play, play, stub},
    world::{at, machine},
};
use agentctl_core::{
    agent::Stub,
    event::{Story, What},
    evidence::{Ending, Need, Pending, Turn},
    host::Host,
    lines::{self, Body, Flow},
    proof::Source,
    receipt::Launched,
    story::{From, story},
};
use std::{
    io,
    ops::RangeInclusive,
    sync::{Arc, Mutex},
};

const PATH: &str = "/store/a.jsonl";

/// First and last line of each reading, by their seconds.
type Readings = Arc<Mutex<Vec<(i64, i64)>>>;

/// An agent whose lines are a word and a second each, and say the newest turn alone: `open 10`. It cannot tell when
/// a line was written, and nothing of a record without one.
fn scribe() -> (Play, Readings) {
    let readings = Readings::default();
    let noted = Arc::clone(&readings);
    let turn = move |host: &dyn Host, stub: &Stub| {
        let mut all = Vec::new();
        lines::forward(&*host.open(&stub.path)?, 0, &mut |line| {
            let Body::Whole(bytes) = line.body else { return Flow::Continue(()) };
            let text = String::from_utf8_lossy(bytes);
            let mut words = text.split_whitespace().map(str::to_owned);
            all.extend(words.next().zip(words.next().and_then(|word| word.parse::<i64>().ok())));
            Flow::Continue(())
        })?;
        let nothing = || io::Error::other("nothing is written");
        let (_, first) = all.first().ok_or_else(nothing)?;
        let (word, last) = all.last().ok_or_else(nothing)?;
        noted.lock().expect("one thread").push((*first, *last));
        Ok(says(word, *last))
    };
    (Play { turn: Some(Box::new(turn)), ..play() }, readings)
}

fn says(word: &str, second: i64) -> Turn {
    let line = Source::File { path: PATH.into(), shows: word.into() };
    let open = |pending| Turn::Open { alive: at(second), pending, line: line.clone() };
    match word {
        "open" => open(Pending::Nothing),
        "answer" => open(Pending::Answer),
        "approve" => open(Pending::Approval),
        "ended" => Turn::Ended { at: at(second), how: Ending::Completed, line },
        _ => Turn::None,
    }
}

fn told(play: &Play, text: &str, from: From<'_>) -> Story {
    let mut machine = machine(Vec::new());
    machine.file(PATH, text.as_bytes());
    let stub = Stub { path: PATH.into(), ..stub("a", 300) };
    let none: [Launched; 0] = [];
    story(play, &machine, Some(&stub), (from, none.iter())).expect("it can be read")
}

#[test]
fn each_line_tells_what_it_changes() {
    let lines = [
        "quiet 5\n",
        "ended 8\n",
        "open 10\n",
        "answer 20\n",
        "answer 21\n",
        "approve 25\n",
        "open 30\n",
        "open 31\n",
        "ended 40\n",
        "ended 45\n",
        "ended 45\n",
        "answer 50\n",
        "quiet 60\n",
    ];
    let (play, _) = scribe();
    let story = told(&play, &lines.concat(), From::Time(at(0)));
    let ends = |count: usize| lines[..count].concat().len() as u64;
    let told = [
        // Of both steps of a line, the first is told without it: who was told no more needs the line again.
        ((8, What::Opened), ends(1)),
        ((8, What::Closed), ends(2)),
        ((10, What::Opened), ends(3)),
        ((20, What::Asked(Need::Answer)), ends(4)),
        ((25, What::Asked(Need::Approval)), ends(6)),
        ((30, What::Opened), ends(7)),
        ((40, What::Closed), ends(9)),
        ((45, What::Refined), ends(10)),
        ((50, What::Opened), ends(11)),
        ((50, What::Asked(Need::Answer)), ends(12)),
    ];
    let places = story.steps.iter().map(|step| step.upto);
    assert_eq!(steps(&story).into_iter().zip(places).collect::<Vec<_>>(), told);
    assert_eq!((story.start, story.upto, story.open), (0, ends(13), None));
}

#[test]
fn what_was_by_then_is_not_told_though_its_lines_have_no_time() {
    let lines = ["open 10\n", "open 15\n", "ended 20\n", "ended 25\n", "open 30\n", "ended 40\n"];
    let (play, _) = scribe();
    let since = |floor| {
        let story = told(&play, &lines.concat(), From::Time(at(floor)));
        let read = lines.iter().map(|line| line.len() as u64).scan(0, |all, one| {
            *all += one;
            Some(*all)
        });
        let lines = read.take_while(|end| *end <= story.start).count();
        (steps(&story), story.turn, story.began, lines)
    };
    let all = [
        (10, What::Opened),
        (20, What::Closed),
        (25, What::Refined),
        (30, What::Opened),
        (40, What::Closed),
    ];
    assert_eq!(since(9), (all.to_vec(), None, false, 0));
    assert_eq!(since(10), (all[1..].to_vec(), None, true, 1));
    assert_eq!(since(20), (all[2..].to_vec(), Some(at(20)), false, 3));
    assert_eq!(since(29), (all[3..].to_vec(), Some(at(25)), false, 4));
    assert_eq!(since(30), (all[4..].to_vec(), Some(at(25)), true, 5));
    assert_eq!(since(40), (Vec::new(), Some(at(40)), false, 6));
}

/// Lines of this word and of so many bytes each, numbered from 1 on.
fn numbered(word: &str, bytes: usize, numbers: RangeInclusive<i64>) -> String {
    let line = |number| format!("{:<1$}\n", format!("{word} {number}"), bytes - 1);
    numbers.map(line).collect()
}

/// For these lines of a record, of so many bytes each: which is the first that was read.
fn firsts(bytes: usize, lines: RangeInclusive<i64>) -> Vec<i64> {
    let (play, readings) = scribe();
    let before = numbered("open", bytes, 1..=lines.start() - 1).len() as u64;
    let text = numbered("open", bytes, 1..=*lines.end());
    let story = told(&play, &text, From::Mark(&mark(None, before)));
    assert_eq!((story.start, story.upto), (before, text.len() as u64));
    let readings = readings.lock().expect("one thread");
    // What stood there before is read once, too.
    let known = readings.iter().filter(|(_, last)| last < lines.start());
    assert_eq!(known.count(), usize::from(before > 0));
    let own: Vec<_> = readings.iter().filter(|(_, last)| lines.contains(last)).collect();
    assert!(own.iter().map(|(_, last)| *last).eq(lines));
    own.into_iter().map(|(first, _)| *first).collect()
}

/// Where a record is read anew for each of its lines, all of it would be far too much.
#[test]
fn for_each_line_the_sixteen_kibibytes_before_it_are_read_and_at_least_32_lines() {
    for lines in [1..=150, 1100..=1440] {
        let last =
            |many: i64| lines.clone().map(|line| (line - many + 1).max(1)).collect::<Vec<_>>();
        assert_eq!(firsts(1024, lines.clone()), last(32));
        assert_eq!(firsts(128, lines.clone()), last(128));
        assert_eq!(firsts(16, lines.clone()), last(1024));
    }
}

/// A turn may go on for so long that nothing is known of the one before.
#[test]
fn the_end_of_the_turn_before_is_looked_for_among_three_hundred_lines() {
    let (play, readings) = scribe();
    let before = |open: i64, torn: &str| {
        let old = numbered("ended", 1024, 1..=500);
        let text = format!("{old}{}{torn}", numbered("open", 1024, 501..=500 + open));
        told(&play, &text, From::Now).turn
    };
    assert_eq!(before(1, ""), Some(at(500)));
    assert_eq!(before(300, ""), Some(at(500)));
    // A line that is being written is none of them yet.
    assert_eq!(before(300, "op"), Some(at(500)));
    assert_eq!(before(301, ""), None);
    let most = readings.lock().expect("one thread").iter().map(|(first, last)| last - first).max();
    assert_eq!(most, Some(31), "no more is read for any of them");
    assert_eq!(told(&play, &numbered("open", 16, 1..=20), From::Now).turn, None);
}
