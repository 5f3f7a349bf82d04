//! Events, a line each.

use super::{budgets, fuses, json::json_line, paint::Paint, words};
use agentctl_core::{
    text::one_line,
    wire::{Event, EventKind, Session, StateName},
};
use std::io::{self, IsTerminal, Write};

/// How to show events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As JSON Lines.
    Json,
    /// For people.
    Lines,
}

impl Style {
    /// Scripts for agentctl 1.x read JSON without asking for it; only a terminal shows lines.
    pub(crate) fn new(json: bool) -> Self {
        if json || !io::stdout().is_terminal() { Self::Json } else { Self::Lines }
    }
}

/// Prints events.
pub(crate) fn stream(events: &[Event], style: Style) -> io::Result<()> {
    if style == Style::Json {
        return events.iter().try_for_each(json_line);
    }
    let paint = Paint::stdout();
    let mut out = io::stdout().lock();
    for event in events {
        let when = paint.faint(&words::moment(event.at));
        writeln!(out, "{when}  {:<16} {}", event.kind.name(), told(paint, event))?;
    }
    out.flush()
}

fn told(paint: Paint, event: &Event) -> String {
    match event.kind {
        EventKind::Gap => {
            let times = [event.from, event.to].map(|at| at.map(words::moment).unwrap_or_default());
            format!("nobody watched from {} to {}", times[0], times[1])
        }
        EventKind::BudgetCrossed => event.budget.as_ref().map(budgets::told).unwrap_or_default(),
        EventKind::Cursor => paint.faint(&format!("--since {}", event.cursor)),
        EventKind::Started
        | EventKind::Working
        | EventKind::Waiting
        | EventKind::Idle
        | EventKind::Ended
        | EventKind::Changed
        | EventKind::LockTaken
        | EventKind::LockReleased
        | EventKind::FuseSet
        | EventKind::FuseExtended
        | EventKind::FuseCancelled
        | EventKind::FuseFired => about(paint, event),
    }
}

fn about(paint: Paint, event: &Event) -> String {
    match (&event.session, &event.lock) {
        (Some(session), _) => of_session(paint, event, session),
        (None, Some(lock)) => {
            let whose = lock.session_id.as_deref().or(lock.by.as_deref()).map(one_line);
            let dir = words::directory(Some(&lock.directory));
            whose.map_or(dir.clone(), |whose| format!("{dir}  {}", paint.name(&whose)))
        }
        (None, None) => {
            event.fuse.as_ref().map_or_else(String::new, |fuse| fuses::told(fuse, event.at))
        }
    }
}

fn of_session(paint: Paint, event: &Event, session: &Session) -> String {
    let name = words::names(&[session]).concat();
    let state = |state: Option<StateName>| state.map_or("?", StateName::name);
    let change = format!("{} → {}", state(event.before), state(event.after));
    let exit = session.exit_code.filter(|_| event.kind == EventKind::Ended);
    let exit = exit.map_or_else(String::new, |code| format!(" (exit {code})"));
    let stuck = session.stuck().filter(|_| event.kind != EventKind::Ended);
    let stuck = stuck.map_or_else(String::new, |why| format!(", {why}"));
    let dir = words::directory(session.cwd.as_deref());
    format!("{}  {}  {change}{stuck}{exit}  {dir}", paint.name(&name), one_line(&session.agent))
}
