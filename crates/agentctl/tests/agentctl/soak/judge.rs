//! Compares what was told with what happened.

mod fuses;
mod session;
mod times;

use super::{
    Soak,
    collect::{Log, Told},
    figures::Figures,
    record::{Life, Record, Way},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Who listened, in the order of the logs.
const LISTENERS: [&str; 3] = ["daemon's socket", "`events`", "webhook"];

/// What must be told before anything is judged: the ends of sessions and of fuses.
pub(super) fn due(record: &Record) -> BTreeSet<(&'static str, String)> {
    let ends = record.lives().into_iter().map(|life| ("session.ended", life.id));
    let fuses = record.fuses().into_iter().map(|fuse| match fuse.cancelled {
        true => ("fuse.cancelled", fuse.id),
        false => ("fuse.fired", fuse.id),
    });
    ends.chain(fuses).collect()
}

/// Whether all of that was heard.
pub(super) fn has_all(log: &Log, due: &BTreeSet<(&'static str, String)>) -> bool {
    let told = log.told();
    let names = |told: &Told| {
        let kind = told.event["type"].as_str().unwrap_or_default().to_owned();
        (kind, about(&told.event).to_owned())
    };
    let told: BTreeSet<(String, String)> = told.iter().map(names).collect();
    due.iter().all(|(kind, id)| told.contains(&((*kind).to_owned(), id.clone())))
}

/// The session or the fuse that an event is about.
fn about(event: &Value) -> &str {
    event["session"]["id"].as_str().or(event["fuse"]["id"].as_str()).unwrap_or_default()
}

/// Judges all.
pub(super) fn judge(
    soak: &Soak<'_>,
    logs: [&Log; 3],
    later: &[Value],
    length: Duration,
) -> Figures {
    let mut figures = Figures::new(soak.plan, length);
    figures.counted(&soak.record);
    let lives = soak.record.lives();
    let mut all: Vec<(&str, Vec<Told>)> =
        logs.iter().zip(LISTENERS).map(|(log, who)| (who, log.told())).collect();
    let now = jiff::Timestamp::now();
    let read = |event: &Value| Told { event: event.clone(), heard: now, taken: true };
    let ended = later.iter().filter(|event| event["type"] != "cursor");
    let history = ("`events --once` at the end", ended.map(read).collect::<Vec<_>>());
    for (log, who) in logs.iter().zip(LISTENERS) {
        figures.heard(who, log);
        figures.wrong.extend(log.faults().into_iter().map(|fault| format!("{who}: {fault}")));
    }
    // Others run on the machine, and their stores go at any moment.
    let own: BTreeSet<&str> = lives.iter().map(|life| life.id.as_str()).collect();
    for (who, told) in all[..2].iter().chain([&history]) {
        let mut wrong = twice(told, &own);
        for life in &lives {
            wrong.extend(session::judge(life, told));
        }
        wrong.extend(fuses::judge(soak, told));
        figures.wrong.extend(wrong.into_iter().map(|what| format!("{who}: {what}")));
    }
    let hooked = hooked(&all[2].1, &due(&soak.record));
    figures.wrong.extend(hooked.into_iter().map(|what| format!("webhook: {what}")));
    for (log, who) in logs[..2].iter().zip(LISTENERS) {
        times::judge(&mut figures, who, log, &lives);
    }
    all.push(history);
    all.iter_mut().for_each(|(_, told)| told.retain(|told| own.contains(about(&told.event))));
    figures.wrong.extend(different(&all));
    figures.wrong.extend(listed(soak, &lives, &all[1].1));
    figures
}

/// Ids that one who goes on from his cursor was told twice.
fn twice(told: &[Told], own: &BTreeSet<&str>) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut wrong = Vec::new();
    let is_other = |event: &Value| {
        let of = [&event["session"]["id"], &event["lock"]["session_id"]];
        of.into_iter().filter_map(Value::as_str).any(|id| !own.contains(id))
    };
    let told = told.iter().filter(|told| told.event["type"] != "gap" && !is_other(&told.event));
    for Told { event, heard, .. } in told {
        if let Some(first) = seen.insert(event["id"].to_string(), heard) {
            let whose = event["lock"]["session_id"].as_str().unwrap_or(about(event));
            let what = format!("{} of {whose} at {}", event["type"], event["at"]);
            wrong.push(format!("told twice: {what}, heard at {first} and {heard}"));
        }
    }
    wrong
}

/// Ids under which different things were told.
fn different(all: &[(&str, Vec<Told>)]) -> Vec<String> {
    let mut seen: BTreeMap<String, ([Value; 2], String, &str)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (who, told) in all {
        for Told { event, .. } in told.iter().filter(|told| told.event["type"] != "gap") {
            let what = ["type", "after"].map(|field| event[field].clone());
            let own = (what, about(event).to_owned(), *who);
            let known = seen.entry(event["id"].to_string()).or_insert_with(|| own.clone());
            if (&known.0, &known.1) != (&own.0, &own.1) {
                wrong.push(format!("one id, two stories: {known:?} and {own:?}"));
            }
        }
    }
    wrong
}

/// What a webhook was never told, or in the wrong order. What it did not take must come again.
pub(super) fn hooked(told: &[Told], due: &BTreeSet<(&'static str, String)>) -> Vec<String> {
    let taken: Vec<&Told> = told.iter().filter(|told| told.taken).collect();
    let mut wrong = Vec::new();
    for (kind, id) in due.iter().filter(|(kind, _)| *kind != "fuse.cancelled") {
        let of = |kind: &str| {
            let is_it = |told: &&Told| told.event["type"] == *kind && about(&told.event) == *id;
            taken.iter().position(is_it)
        };
        match (of(kind), of("session.started")) {
            (None, _) => wrong.push(format!("never told: {kind} of {id}")),
            (Some(_), None) if *kind == "session.ended" => {
                wrong.push(format!("the start of {id} was never told"));
            }
            (Some(end), Some(start)) if end < start => {
                wrong.push(format!("the end of {id} was told before its start"));
            }
            (Some(_), _) => {}
        }
    }
    wrong
}

/// The list says the same as the last event.
fn listed(soak: &Soak<'_>, lives: &[Life], told: &[Told]) -> Vec<String> {
    let rows = soak.stage.list(&["--since", "all"]);
    let last = |life: &Life| {
        let mut own = told.iter().rev().filter(|told| about(&told.event) == life.id);
        own.find_map(|told| told.event["after"].as_str()).map(str::to_owned)
    };
    let state = |life: &Life| {
        let states = rows.iter().filter(|row| row["id"] == *life.id);
        states.map(|row| row["state"].as_str().unwrap_or_default()).collect::<Vec<_>>()
    };
    let differs =
        |life: &&Life| state(life) != last(life).as_deref().into_iter().collect::<Vec<_>>();
    let say =
        |life: &Life| format!("{life:?} is listed as {:?}, told {:?}", state(life), last(life));
    lives.iter().filter(differs).map(say).collect()
}

/// The states in which a session of this kind may have ended.
fn ends(life: &Life, open: Option<bool>) -> &'static [&'static str] {
    match (life.way, open) {
        (_, Some(false)) => &["done"],
        (Way::Stop, _) => &["stopped"],
        (Way::Kill, _) | (Way::Term, Some(true)) => &["died"],
        // What a real agent does when it is asked to end is its own affair.
        (Way::Term, None) => &["died", "stopped", "failed"],
        (Way::Done, Some(true)) => &["died"],
        (Way::Done, None) => &["done"],
    }
}
