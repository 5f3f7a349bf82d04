//! Webhooks, as people read them.

use super::{
    columns::{Table, screen},
    paint::Paint,
    words,
};
use agentctl_core::{
    text::one_line,
    wire::{Webhook, WebhookTests, Webhooks},
};
use std::io::{self, Write};

/// One line for each, and below them what is wrong; nothing at all where there are none.
pub(crate) fn table(found: &Webhooks) -> io::Result<()> {
    if found.webhooks.is_empty() {
        return Ok(());
    }
    let row = |hook: &Webhook| {
        let signed = if hook.signed { "signed" } else { "-" };
        [&hook.name, &hook.url, &hook.format, signed, &hook.waiting.to_string(), &hook.filter]
            .map(one_line)
            .to_vec()
    };
    let table = Table {
        heads: vec!["NAME", "WHERE", "FORMAT", "SIGNED", "WAITING", "TOLD OF"],
        rows: found.webhooks.iter().map(row).collect(),
        elastic: &["WHERE", "TOLD OF"],
        spare: &["FORMAT", "SIGNED"],
    };
    table.print(screen(), |_, _, cell| cell)?;
    let mut out = io::stdout().lock();
    found.webhooks.iter().try_for_each(|hook| wrong(&mut out, hook))
}

/// What is wrong with one, a line each.
fn wrong(out: &mut impl Write, hook: &Webhook) -> io::Result<()> {
    let (paint, name) = (Paint::stdout(), one_line(&hook.name));
    let at = hook.problem_at.map(|at| format!(" at {}", words::moment(at))).unwrap_or_default();
    if let Some(why) = &hook.problem {
        writeln!(out, "{name}: {} {}{at}", paint.asking("problem:"), one_line(why))?;
    }
    if hook.given_up > 0 {
        let way = format!("`agentctl webhook retry {name}` tries them again");
        writeln!(out, "{name}: {} {}; {way}", paint.bad("given up:"), hook.given_up)?;
    }
    if hook.dropped > 0 {
        writeln!(out, "{name}: {} {} for want of room", paint.bad("dropped:"), hook.dropped)?;
    }
    Ok(())
}

/// What came back from each.
pub(crate) fn tests(answer: &WebhookTests) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = io::stdout().lock();
    for test in &answer.tests {
        let status = test.status.map(|status| format!(" {status}")).unwrap_or_default();
        let said = match &test.message {
            None => format!("heard{status}"),
            Some(why) => paint.bad(&format!("not heard: {}", one_line(why))),
        };
        let (name, url, time) = (one_line(&test.name), one_line(&test.url), test.milliseconds);
        writeln!(out, "{}  {url}  {said}  ({time} ms)", paint.name(&name))?;
    }
    Ok(())
}

/// How much waits again.
pub(crate) fn retried(count: usize) -> io::Result<()> {
    let what = if count == 1 { "message waits" } else { "messages wait" };
    writeln!(io::stdout().lock(), "{count} {what} again; the daemon sends them")
}
