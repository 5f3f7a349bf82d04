//! What was told of one session.

use super::{Life, Told, about, ends};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::fs;

/// What a look sees is told with the moment at which it began.
const LOOK: SignedDuration = SignedDuration::from_millis(400);
/// Starts of processes are told in hundredths of a second, and some agents' times in whole ones.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Everything that is wrong with it.
pub(super) fn judge(life: &Life, told: &[Told]) -> Vec<String> {
    let own: Vec<&Told> = told.iter().filter(|told| about(&told.event) == life.id).collect();
    let turns =
        life.record.as_ref().map(|path| turns(&fs::read_to_string(path).unwrap_or_default()));
    let open = turns.as_ref().map(|turns| turns.last() == Some(&"working"));
    let mut wrong = Vec::new();
    wrong.extend(too_soon(life, &own));
    wrong.extend(chain(&own));
    wrong.extend(turns.and_then(|turns| steps(&turns, &own)));
    let count = |kind: &str| own.iter().filter(|told| told.event["type"] == kind).count();
    let counts = (count("session.started"), count("session.ended"));
    if counts != (1, 1) {
        wrong.push(format!("started and ended are told {counts:?} times"));
    }
    for end in own.iter().filter(|told| told.event["type"] == "session.ended") {
        let after = end.event["after"].as_str().unwrap_or_default();
        if !ends(life, open).contains(&after) {
            wrong.push(format!("ended as {after}, not {:?}", ends(life, open)));
        }
        // It came and went between two looks.
        let at_once =
            own.first().is_some_and(|first| life.gone.is_some_and(|gone| gone.lived < first.heard));
        wrong.extend(too_early(life, end, told).filter(|_| !at_once));
    }
    let story: Vec<String> = own.iter().map(|told| short(told)).collect();
    let (way, id, gone) = (life.way, &life.id, life.gone);
    let of = format!("{} {id}, {way:?}, launched {}, {gone:?}", life.agent, life.launched);
    wrong.into_iter().map(|what| format!("{what}: {of}: {}", story.join("; "))).collect()
}

/// It began before anybody had started it.
fn too_soon(life: &Life, own: &[&Told]) -> Option<String> {
    let first = own.first()?;
    let at: Timestamp = first.event["at"].as_str()?.parse().ok()?;
    (at < life.began - SECOND).then(|| format!("told to have begun at {at}"))
}

fn short(told: &Told) -> String {
    let word = |name: &str| told.event[name].as_str().unwrap_or("-");
    let [kind, before, after, at] = ["type", "before", "after", "at"].map(word);
    format!("{kind}: {before} {after} at {at}, heard at {}", told.heard)
}

/// What a stand-in's file shows: a state for each line.
fn turns(text: &str) -> Vec<&'static str> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| if line["type"] == "user" { "working" } else { "idle" }).collect()
}

/// Each event goes on from where the one before it left off.
fn chain(own: &[&Told]) -> Option<String> {
    let state = |told: &Told, field: &str| told.event[field].as_str().map(str::to_owned);
    let mut last = None;
    for told in own {
        if state(told, "before") != last {
            return Some(format!("a step is missing before {}", short(told)));
        }
        last = state(told, "after");
    }
    None
}

/// What a file proves is told, each step of it, and nothing else but questions, doubts, and what became of them.
fn steps(turns: &[&str], own: &[&Told]) -> Option<String> {
    let word = |told: &Told, field: &str| told.event[field].as_str().unwrap_or("-").to_owned();
    let told: Vec<String> = own
        .iter()
        .filter(|told| match word(told, "type").as_str() {
            "session.working" => !["waiting", "unknown"].contains(&word(told, "before").as_str()),
            "session.idle" => true,
            _ => false,
        })
        .map(|told| word(told, "after"))
        .collect();
    (told != turns).then(|| format!("these turns are written down: {turns:?}"))
}

/// It was told to have ended while the kernel said that it lived.
fn too_early(life: &Life, end: &Told, told: &[Told]) -> Option<String> {
    let gone = life.gone?;
    let at: Timestamp = end.event["at"].as_str()?.parse().ok()?;
    if end.heard < gone.lived {
        return Some(format!("its end was heard at {} and it lived at {}", end.heard, gone.lived));
    }
    // An end that nobody saw is told where its record ends.
    let time = |event: &Value, field: &str| event[field].as_str()?.parse::<Timestamp>().ok();
    let covers = |event: &Value| {
        let gap = time(event, "from").zip(time(event, "to"));
        gap.is_some_and(|(from, to)| from <= gone.gone && gone.lived <= to)
    };
    let unseen = told.iter().any(|told| told.event["type"] == "gap" && covers(&told.event));
    (at < gone.lived - LOOK && !unseen).then(|| format!("told to have ended at {at}"))
}
