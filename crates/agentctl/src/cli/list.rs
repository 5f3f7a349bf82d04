//! `agentctl list`

use super::{
    args::{List, Sort},
    run::Outcome,
};
use crate::{
    error::{Error, Kind},
    ops::{self, Here, list::Ask},
    view::{self, table::Columns},
};
use agentctl_core::{
    agent::Depth,
    observe::History,
    select::{Filter, Order, Wanted},
};
use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};

const WINDOW: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Lists sessions.
pub(super) fn run(here: &Here, args: List) -> Outcome {
    let wanted: Vec<Wanted> = args
        .state
        .iter()
        .filter_map(|word| Wanted::state(word))
        .chain(args.status.iter().filter_map(|word| Wanted::status(word)))
        .collect();
    let past = args.all || wanted.iter().any(|wanted| wanted.is_of_the_past());
    let history = history(args.since.as_deref(), past, here.now())?;
    let ask = Ask {
        agents: args.agent,
        history,
        depth: if args.usage { Depth::Whole } else { Depth::Glance },
        filter: Filter {
            wanted,
            dirs: args.cwd.iter().map(|dir| ops::absolute(here, dir)).collect(),
            groups: args.group,
            stalled: args.stalled,
        },
        order: order(args.sort),
        limit: args.limit,
    };
    let found = ops::list::list(here, &ask);
    let code = if found.problems.is_empty() { 0 } else { Kind::Problems.code() };
    match args.json {
        true => view::json(&found)?,
        false => {
            let columns = Columns { wide: args.wide, usage: args.usage };
            view::table::sessions(&found, &columns, here.now())?;
            view::orphans(&found.orphans);
            view::problems(&found.problems);
            if found.sessions.is_empty() && found.problems.is_empty() && history == History::Skip {
                match ask.is_plain() {
                    true => view::nothing_alive(&ops::list::places(here)),
                    false => view::nothing_matches(),
                }
            }
        }
    }
    Ok(code)
}

fn order(sort: Sort) -> Order {
    match sort {
        Sort::Attention => Order::Attention,
        Sort::Updated => Order::Updated,
        Sort::Started => Order::Started,
        Sort::State => Order::State,
        Sort::Agent => Order::Agent,
        Sort::Cwd => Order::Cwd,
    }
}

/// How far back to look. Asking for a state of ended sessions, or for a time, is asking for them too.
fn history(since: Option<&str>, past: bool, now: Timestamp) -> Result<History, Error> {
    match since {
        None if past => Ok(History::Since(now.saturating_sub(WINDOW).unwrap_or(now))),
        None => Ok(History::Skip),
        Some("all") => Ok(History::All),
        Some(text) => moment(text, now).map(History::Since).ok_or_else(|| {
            Error::new(Kind::Usage, format!("cannot read --since {text:?}")).hint(
                "use a duration such as 30m, 12h, 7d or 2w, a date such as 2026-11-15, or `all`",
            )
        }),
    }
}

/// A time, a date, or a duration before now.
pub(super) fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(day) = text.parse::<civil::Date>() {
        return day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: i64 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return None,
    };
    now.saturating_sub(SignedDuration::from_secs(count.checked_mul(unit)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let at = |text| moment(text, now).map(|at| at.to_string());
        assert_eq!(at("90m").as_deref(), Some("2026-11-15T10:30:00Z"));
        assert_eq!(at("2w").as_deref(), Some("2026-11-01T12:00:00Z"));
        assert_eq!(at("2026-11-14").as_deref(), Some("2026-11-14T00:00:00Z"));
        assert_eq!(at("99999999999999999999d"), None);
        assert_eq!(at("soon"), None);
        assert_eq!(at(""), None);
    }
}
