//! Sessions that left no record: what our marks and our receipts still know of them.

use super::{
    Key, Look, Mark, Seen,
    telling::{Telling, Told, left},
};
use crate::{
    derive::{State, Verdict, derive},
    evidence::Evidence,
    proof::Source,
    receipt::{Launched, Stopped},
    wire::{Around, Session, StateName},
};
use std::path::PathBuf;

/// Nothing is left of it but its mark: its record was removed, or never written.
pub(super) fn gone(key: &Key, mark: &Mark, look: &Look) -> (Vec<Told>, Mark) {
    let over = Mark { live: Some(false), at: look.at, ..mark.clone() };
    let named = |seen: &Seen| {
        let own = seen.session.process.iter().chain(&seen.session.processes);
        own.into_iter().any(|process| key.is_process(process))
    };
    if mark.live != Some(true) || key.is_unnamed() && look.sessions.iter().any(named) {
        return (
            Vec::new(),
            Mark { state: mark.state.filter(|s| *s != StateName::Unknown), ..over },
        );
    }
    let known = look.missed.iter().find(|(missed, _)| missed == key).map(|(_, session)| session);
    let around = Around {
        host: look.machine.clone(),
        cwd: known.and_then(|known| known.cwd.clone()),
        title: known.and_then(|known| known.title.clone()),
        started: known.and_then(|known| known.started_at),
        ..Around::default()
    };
    let id = (!key.is_unnamed()).then(|| key.id.clone());
    let ended = look.shows_gone(mark) || look.shows_left(mark);
    let after = if ended { left(mark.state) } else { StateName::Unknown };
    let verdict = Verdict { state: vanished(after), live: !ended, because: Vec::new() };
    let session = Session::new(Evidence::none(&key.agent, id), verdict, around);
    let mut telling = Telling::new(key, &session, mark.clone());
    match ended {
        true => telling.end(look.at, after),
        false => telling.lose(look.at),
    }
    (telling.told, telling.mark)
}

/// The state of a session of which only its mark is left.
fn vanished(state: StateName) -> State {
    match state {
        StateName::Working | StateName::Waiting | StateName::Unknown => {
            State::Unknown("nothing of it is found any more".to_owned())
        }
        StateName::Idle | StateName::Done => State::Done,
        StateName::Failed => State::Failed("failed".to_owned()),
        StateName::Stopped => State::Stopped,
        StateName::Died => State::Died,
    }
}

/// A session of which our receipts alone know that it was there, and how it exited.
pub fn witnessed(
    launch: &Launched,
    stops: &[(PathBuf, Stopped)],
    machine: &str,
) -> Option<Session> {
    let (exit, id) = (launch.exit?, launch.session.clone());
    let own = |(_, stop): &&(PathBuf, Stopped)| {
        stop.agent == launch.agent && Some(&stop.session) == id.as_ref() && stop.at >= launch.at
    };
    let stop = stops.iter().filter(own).max_by_key(|(_, stop)| stop.at);
    let stop = stop.map(|(path, stop)| {
        (stop.at, Source::File { path: path.clone(), shows: stop.session.clone() })
    });
    // At its deadline its parent stops it, which is written down with its exit alone.
    let stop = stop.or(exit.overdue.then_some((exit.at, Source::Blind)));
    let seen = Evidence { stop, ..Evidence::none(&launch.agent, id) };
    let verdict = derive(&seen);
    // Without a record, how it exited is all that is known.
    let state = match (&verdict.state, exit.code) {
        (State::Unknown(_), Some(0)) => State::Done,
        (State::Unknown(_), Some(code)) => State::Failed(format!("exit code {code}")),
        (State::Unknown(_), None) => State::Died,
        (known, _) => known.clone(),
    };
    let around = Around {
        host: machine.to_owned(),
        started: Some(launch.at),
        written: Some(launch.at),
        launch: Some(launch.clone()),
        ..Around::default()
    };
    Some(Session::new(seen, Verdict { state, ..verdict }, around))
}
