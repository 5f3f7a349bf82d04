//! Messages of a transcript of lines: its last ones, and those that came since.

use super::{Message, Speaker};
use crate::{host::Host, lines};
use std::{io, path::Path};

/// Last messages of a transcript of lines, and where its next line will begin.
pub(crate) fn last_lines(
    messages: impl Fn(&[u8]) -> Vec<Message>,
    host: &dyn Host,
    path: &Path,
    count: usize,
) -> io::Result<(Vec<Message>, u64)> {
    let file = host.open(path)?;
    let size = file.size();
    let mut newest_first = Vec::new();
    let mut next = size;
    lines::back(&*file, &mut |line| {
        if line.at + line.size() == size {
            next = line.at; // still being written
            return lines::Flow::Continue(());
        }
        newest_first.extend(readable(&messages, &line).into_iter().rev());
        lines::until(newest_first.len() >= count)
    })?;
    newest_first.truncate(count);
    newest_first.reverse();
    Ok((newest_first, next))
}

/// Messages of the lines that were added to a transcript since it was `at` bytes long.
pub(crate) fn lines_since(
    messages: impl Fn(&[u8]) -> Vec<Message>,
    host: &dyn Host,
    path: &Path,
    at: u64,
) -> io::Result<(Vec<Message>, u64)> {
    let file = host.open(path)?;
    let from = if file.size() < at { 0 } else { at }; // cut or replaced: begin anew
    let mut added = Vec::new();
    let next = lines::forward(&*file, from, &mut |line| {
        added.extend(readable(&messages, &line));
        lines::Flow::Continue(())
    })?;
    Ok((added, next))
}

/// What a line says, readably; one too long to hold says only that.
fn readable(messages: impl Fn(&[u8]) -> Vec<Message>, line: &lines::Line<'_>) -> Vec<Message> {
    match line.body {
        lines::Body::Whole(bytes) => messages(bytes),
        lines::Body::Huge(size) => vec![Message {
            at: None,
            speaker: Speaker::System,
            tool: None,
            failed: false,
            text: format!("(a line of {size} bytes is not shown)"),
        }],
    }
}
