//! What can be asked of a live session through a channel that its agent itself offers.
//!
//! Adapters put it into the agent's own words and ask through the host; whether it came about is for
//! others to see.

use crate::{host::Host, ident::ProcKey, lines, proof::Source};
use serde::Serialize;
use std::{io, path::Path};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Take this message.
    Say(&'a str),
    /// End the turn, and keep the session.
    Interrupt,
    /// Do, once, what the question of this id is about.
    Allow(&'a str),
    /// Do not do what the question of this id is about.
    Deny(&'a str),
}

/// What an agent asks a person leave for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The agent's own name of it.
    pub id: String,
    /// What it wants to do: a command, a file.
    pub words: String,
}

/// The session that is meant, and the process that has it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its id.
    pub id: &'a str,
    /// The store it is in.
    pub store: &'a Path,
    /// The process that has it: nobody else is asked, or told a password.
    pub process: &'a ProcKey,
    /// Where it works.
    pub cwd: Option<&'a Path>,
}

/// A command of the agent's own that shows a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leads {
    /// Its arguments.
    pub words: Vec<String>,
    /// Variables that it needs as the session's process has them, and that nobody is shown.
    pub secrets: &'static [&'static str],
}

/// Why a request did not come through.
#[derive(Debug, thiserror::Error)]
pub enum Unheard {
    /// That process has no channel for it.
    #[error("its process takes no such request")]
    NoChannel,
    /// The agent says no, or has nothing of the kind.
    #[error("{0}")]
    Refused(String),
    /// It was sent, and no answer came: it may have been heard.
    #[error("it does not answer: {0}")]
    Silent(io::Error),
    /// It was not sent.
    #[error("it cannot be asked: {0}")]
    Failed(io::Error),
}

/// The first line since that mark which passes, as a proof of this text.
pub(crate) fn line_since(
    host: &dyn Host,
    path: &Path,
    (at, text): (u64, &str),
    passes: &dyn Fn(&[u8]) -> bool,
) -> io::Result<Option<Source>> {
    let file = host.open(path)?;
    let from = if file.size() < at { 0 } else { at }; // cut or replaced: begin anew
    let mut found = None;
    lines::forward(&*file, from, &mut |line| match line.body {
        lines::Body::Whole(bytes) if passes(bytes) => {
            found = Some(line.at);
            lines::Flow::Break(())
        }
        lines::Body::Whole(_) | lines::Body::Huge(_) => lines::Flow::Continue(()),
    })?;
    Ok(found.map(|offset| Source::Line {
        path: path.to_owned(),
        offset,
        shows: plain(text).to_owned(),
        without: Vec::new(),
    }))
}

/// The longest part of a text that stands the same in any JSON. What is around a message may be lost on its way.
pub(crate) fn plain(text: &str) -> &str {
    const LONGEST: usize = 60;
    let same = |c: char| c.is_ascii_alphanumeric() || " .,:;!?+-_()=".contains(c);
    let parts = text.trim().split(|c: char| !same(c));
    let part = parts.rev().max_by_key(|part| part.len()).unwrap_or_default();
    &part[..part.len().min(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_proof_shows_words_that_no_json_escapes() {
        assert_eq!(plain("say \"hello there\"\nnow"), "hello there");
        assert_eq!((plain("\n\""), plain(" go on ")), ("", "go on"));
        assert_eq!(plain(&"x".repeat(100)).len(), 60);
    }
}
