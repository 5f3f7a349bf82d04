//! Webhooks, as people read them.

use super::{paint::Paint, words};
use agentctl_core::{
    text::one_line,
    wire::{WebhookTests, Webhooks},
};
use std::io::{self, BufWriter, Write};
use unicode_width::UnicodeWidthStr;

/// One line for each, and one more where something is wrong; nothing at all where there are none.
pub(crate) fn table(found: &Webhooks) -> io::Result<()> {
    if found.webhooks.is_empty() {
        return Ok(());
    }
    let row = |hook: &agentctl_core::wire::Webhook| {
        let signed = if hook.signed { "signed" } else { "-" };
        [&hook.name, &hook.url, &hook.format, signed, &hook.waiting.to_string(), &hook.filter]
            .map(one_line)
    };
    let rows: Vec<[String; 6]> = found.webhooks.iter().map(row).collect();
    let heads = ["NAME", "WHERE", "FORMAT", "SIGNED", "WAITING", "TOLD OF"].map(str::to_owned);
    let width = |at: usize| {
        rows.iter().chain([&heads]).map(|row| row[at].width()).max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3, 4, 5].map(width);
    let line = |cells: &[String; 6]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width() + 2)));
        padded.collect::<String>().trim_end().to_owned()
    };
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", paint.faint(&line(&heads)))?;
    for (row, hook) in rows.iter().zip(&found.webhooks) {
        writeln!(out, "{}", line(row))?;
        let at = hook.problem_at.map(|at| format!(" at {}", words::moment(at))).unwrap_or_default();
        if let Some(why) = &hook.problem {
            writeln!(out, "  {} {}{at}", paint.asking("problem:"), one_line(why))?;
        }
        if hook.given_up > 0 {
            let way = format!("`agentctl webhook retry {}` tries them again", hook.name);
            writeln!(out, "  {} {}; {way}", paint.bad("given up:"), hook.given_up)?;
        }
        if hook.dropped > 0 {
            writeln!(out, "  {} {} for want of room", paint.bad("dropped:"), hook.dropped)?;
        }
    }
    out.flush()
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
