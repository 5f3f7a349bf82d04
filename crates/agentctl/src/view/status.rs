//! One session on a page.

use super::{paint::Paint, words};
use agentctl_core::{
    text::{many_lines, one_line},
    wire::Session,
};
use jiff::Timestamp;
use std::io::{self, BufWriter, Write};

/// Prints everything known of a session.
pub(crate) fn session(session: &Session, now: Timestamp) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    for (name, value) in fields(session, now) {
        let value = match name {
            "state" => paint.state(session.state, &value),
            _ => value,
        };
        writeln!(out, "{} {value}", paint.faint(&format!("{name:>10}")))?;
    }
    for hook in &session.hooks {
        let value = super::hooks::line(session, hook);
        writeln!(out, "{} {value}", paint.faint(&format!("{:>10}", "hook")))?;
    }
    for (name, text) in [("prompt", &session.prompt), ("last", &session.last)] {
        if let Some(text) = text {
            let text = many_lines(text).replace('\n', "\n           ");
            writeln!(out, "{} {text}", paint.faint(&format!("{name:>10}")))?;
        }
    }
    out.flush()
}

fn fields(session: &Session, now: Timestamp) -> Vec<(&'static str, String)> {
    let line = |text: &Option<String>| text.as_deref().map(one_line);
    let when = |at: Option<Timestamp>| {
        at.map(|at| format!("{} ({})", words::moment(at), words::ago(at, now)))
    };
    let path = |path: &Option<std::path::PathBuf>| {
        path.as_ref().map(|path| one_line(&path.to_string_lossy()))
    };
    let all = [
        ("id", Some(session.id.as_deref().map_or("(none named yet)".to_owned(), one_line))),
        ("agent", Some(agent(session))),
        ("state", Some(state(session))),
        ("process", process(session)),
        ("directory", path(&session.cwd)),
        ("branch", line(&session.branch)),
        ("model", line(&session.model)),
        ("title", line(&session.title)),
        ("started", when(session.started_at)),
        ("updated", when(session.updated_at)),
        ("ended", when(session.ended_at)),
        ("tokens", session.tokens.as_ref().map(tokens)),
        ("cost", session.cost_usd.map(|cost| format!("${cost:.4}"))),
        ("parent", line(&session.parent)),
        ("fork of", line(&session.forked_from)),
        ("archived", session.archived.then(|| "yes".to_owned())),
        ("group", line(&session.group)),
        ("labels", labels(session)),
        ("callback", callback(session)),
        ("exit code", session.exit_code.map(|code| code.to_string())),
        ("stalled", stall(session, now)),
        ("budget", budget(session)),
        ("deadline", deadline(session, now)),
        ("transcript", path(&session.source)),
        ("log", path(&session.log)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn labels(session: &Session) -> Option<String> {
    let pair = |(name, value): (&String, &String)| one_line(&format!("{name}={value}"));
    let all: Vec<String> = session.labels.iter().map(pair).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn callback(session: &Session) -> Option<String> {
    let callback = session.callback.as_ref()?;
    let named = |what: &str, name: &Option<String>| {
        name.as_deref().map(|name| format!("{what} {}", one_line(name)))
    };
    let both = [named("session", &callback.session), named("agent", &callback.agent)];
    Some(both.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn stall(session: &Session, now: Timestamp) -> Option<String> {
    let stall = session.stall.as_ref()?;
    let doing = stall.doing.words();
    let after = stall.after.as_ref().map(|why| format!(", after: {}", one_line(why)));
    let since = words::age(Some(stall.since), now);
    Some(format!("{doing} for {since}{}", after.unwrap_or_default()))
}

fn budget(session: &Session) -> Option<String> {
    let budget = session.budget.as_ref()?;
    let then = budget.on_budget.name();
    let last = budget.crossed.last();
    let last = last.map(|last| format!("; crossed {}", super::budgets::crossed(last)));
    Some(format!("{}, then {then}{}", super::budgets::used(budget), last.unwrap_or_default()))
}

fn deadline(session: &Session, now: Timestamp) -> Option<String> {
    let at = session.deadline?;
    Some(match session.overdue {
        true => format!("{} (overdue: nobody was there to end it)", words::moment(at)),
        false if session.live && at > now => format!("{} (to be ended then)", words::moment(at)),
        false => words::moment(at),
    })
}

fn agent(session: &Session) -> String {
    let version = session.version.as_deref().map(one_line);
    version.map_or(session.agent.clone(), |version| format!("{} {version}", session.agent))
}

fn state(session: &Session) -> String {
    let why = session.reason.as_ref().or(session.outcome.as_ref()).map(|why| one_line(why));
    match why {
        Some(why) => format!("{} ({why})", words::state(session)),
        None => words::state(session).into_owned(),
    }
}

fn process(session: &Session) -> Option<String> {
    let key = session.process.as_ref()?;
    let mut text = format!("pid {}", key.pid);
    if let Some(kind) = session.kind {
        text = format!("{text}, {}", words::kind(kind));
    }
    if session.halted {
        text.push_str(", halted by a signal");
    }
    if session.shared {
        text.push_str(", serves other sessions too");
    }
    for other in session.processes.iter().skip(1) {
        text = format!("{text}; also pid {}", other.pid);
    }
    Some(text)
}

fn tokens(tokens: &agentctl_core::evidence::Tokens) -> String {
    format!(
        "{} in, {} out, {} read from cache, {} written to cache",
        tokens.input, tokens.output, tokens.cache_read, tokens.cache_write
    )
}
