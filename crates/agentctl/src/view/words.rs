//! Small things said in words: ages, states, ids, directories.

use agentctl_core::{
    agents,
    evidence::{Need, Role},
    select::shortest,
    text::one_line,
    wire::{Session, StateName},
};
use jiff::Timestamp;
use std::{borrow::Cow, env, ffi::OsString, path::Path, sync::LazyLock};

const FUTURE: &str = "in the future";

/// How long ago, in one unit.
pub(super) fn age(at: Option<Timestamp>, now: Timestamp) -> String {
    let Some(at) = at else { return "-".to_owned() };
    let seconds = now.duration_since(at).as_secs();
    match seconds {
        ..-60 => FUTURE.to_owned(), // a clock was wrong: say so rather than guess
        -60..60 => format!("{}s", seconds.max(0)),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        172_800..1_209_600 => format!("{}d", seconds / 86_400),
        1_209_600..31_536_000 => format!("{}w", seconds / 604_800),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

/// How long ago, as said in a sentence.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    match age(Some(at), now).as_str() {
        FUTURE => FUTURE.to_owned(),
        age => format!("{age} ago"),
    }
}

/// How long, in its two greatest units.
pub(super) fn span(seconds: i64) -> String {
    let (hours, minutes, left) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{left}s"),
        (0, _) => format!("{minutes}m{left:02}s"),
        _ => format!("{hours}h{minutes:02}m"),
    }
}

/// A moment to the second, in UTC.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// The state, with what it waits for.
pub(super) fn state(session: &Session) -> Cow<'static, str> {
    match (session.state, session.waiting_for) {
        (StateName::Waiting, Some(Need::Approval)) => "waiting: approval".into(),
        (StateName::Waiting, Some(Need::Answer)) => "waiting: answer".into(),
        (state, _) if session.halted => format!("{}: halted", state.name()).into(),
        (state, _) => match &session.stall {
            Some(stall) => format!("{}: {}", state.name(), stall.doing.words()).into(),
            None => state.name().into(),
        },
    }
}

/// What each session is called: as much of its id as tells it apart, or its process.
pub(super) fn names<'s>(sessions: &[&'s Session]) -> Vec<String> {
    let called = |one: &&'s Session| (one.agent.as_str(), one.id.as_deref(), one.pid);
    calls(&sessions.iter().map(called).collect::<Vec<_>>())
}

/// An agent, an id and a process.
pub(super) type Called<'a> = (&'a str, Option<&'a str>, Option<u32>);

/// The same of agents, ids and processes.
pub(super) fn calls(all: &[Called<'_>]) -> Vec<String> {
    let ids: Vec<&str> = all.iter().map(|(_, id, _)| id.unwrap_or_default()).collect();
    let short = |at: usize| agents::named(all[at].0).map_or(8, |agent| agent.card().short);
    let lengths = shortest(&ids, short);
    let short = |((_, id, pid), length): (&Called<'_>, usize)| match id {
        Some(id) => one_line(id.get(..length).unwrap_or(id)),
        None => call(None, *pid),
    };
    all.iter().zip(lengths).map(short).collect()
}

/// What one session is called as a whole: its id, or its process.
pub(super) fn name(session: &Session) -> String {
    call(session.id.as_deref(), session.pid)
}

/// What an id or else a process is called.
pub(super) fn call(id: Option<&str>, pid: Option<u32>) -> String {
    match (id, pid) {
        (Some(id), _) => one_line(id),
        (None, Some(pid)) => format!("pid:{pid}"),
        (None, None) => "-".to_owned(),
    }
}

/// A directory, with the home directory as `~`.
pub(super) fn directory(path: Option<&Path>) -> String {
    let Some(path) = path else { return "-".to_owned() };
    // Asked once: an answer has ten thousand directories.
    static HOME: LazyLock<Option<OsString>> =
        LazyLock::new(|| env::var_os("HOME").filter(|home| !home.is_empty()));
    let below = HOME.as_ref().and_then(|home| path.strip_prefix(home).ok());
    one_line(&match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    })
}

/// What a session is about: the name it was given, else its first prompt.
pub(super) fn subject(session: &Session) -> &str {
    session.title.as_deref().or(session.prompt.as_deref()).unwrap_or("-")
}

/// The beginning of a text as one line of at most so many characters.
pub(super) fn headline(text: &str, most: usize) -> String {
    let end = |text: &str, at: usize| match text.as_bytes().get(..at) {
        None => text.len(), // it has no more characters than bytes
        Some(bytes) if bytes.is_ascii() => at,
        Some(_) => text.char_indices().nth(at).map_or(text.len(), |(at, _)| at),
    };
    let text = text.trim_start();
    let near = end(text, most.saturating_mul(2)); // white space and what is hostile may be left out of it
    let mut line = one_line(&text[..near]);
    if near < text.len() || end(&line, most) < line.len() {
        line.truncate(end(&line, most - 1));
        line.push('…');
    }
    line
}

/// What kind of process.
pub(super) fn kind(kind: Role) -> &'static str {
    match kind {
        Role::Headless => "headless",
        Role::Piped => "piped",
        Role::Interactive => "interactive",
        Role::Background => "background",
        Role::Server => "server",
    }
}

/// A count with a suffix for thousands.
pub(super) fn count(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..10_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentctl_core::text::is_hostile;

    #[test]
    fn a_headline_is_cut_between_characters() {
        assert_eq!(headline("é  b", 3), "é b");
        assert_eq!(headline("é  bc", 3), "é …");
        assert_eq!(headline("\n\n\n\n\n\n\na", 3), "a");
        assert_eq!(headline("abcd", usize::MAX), "abcd");
        assert_eq!(headline("", 3), "");
    }

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let ago = |seconds: i64| age(Timestamp::new(now.as_second() - seconds, 0).ok(), now);
        assert_eq!(ago(5), "5s");
        assert_eq!(ago(-5), "0s");
        assert_eq!(ago(-500), "in the future");
        assert_eq!(ago(3599), "59m");
        assert_eq!(ago(86_400), "24h");
        assert_eq!(ago(86_400 * 13), "13d");
        assert_eq!(ago(86_400 * 300), "42w");
        assert_eq!(age(None, now), "-");
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Whatever an agent calls its sessions, nothing of it steers a terminal.
        #[test]
        fn nothing_hostile_is_shown() {
            let run = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes).into_owned();
                let mut shown = calls(&[("codex", Some(&text), None), ("codex", Some("s"), None)]);
                shown.extend([call(Some(&text), None), directory(Some(Path::new(&text)))]);
                for shown in shown {
                    assert!(!shown.contains(is_hostile), "{shown:?}");
                }
            };
            Target::new("view", run).holds(3_000);
        }
    }
}
