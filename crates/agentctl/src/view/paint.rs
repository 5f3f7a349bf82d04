//! Colour, where a person looks and wants it: the terminal's own sixteen only.

use agentctl_core::wire::StateName;
use std::{
    env,
    io::{self, IsTerminal},
};

/// Whether to colour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// For standard output.
    pub(super) fn stdout() -> Self {
        Self::wanted(io::stdout().is_terminal())
    }

    /// For standard error.
    pub(super) fn stderr() -> Self {
        Self::wanted(io::stderr().is_terminal())
    }

    fn wanted(terminal: bool) -> Self {
        let said = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let forced = said("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let dumb = said("TERM").is_some_and(|term| term == "dumb");
        Self(said("NO_COLOR").is_none() && (forced || (terminal && !dumb)))
    }

    /// Anything is coloured at all.
    pub(super) fn is_on(self) -> bool {
        self.0
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn asking(self, text: &str) -> String {
        self.with("1;33", text)
    }

    pub(super) fn name(self, text: &str) -> String {
        self.with("36", text)
    }

    /// A word in the colour of a state.
    pub(super) fn state(self, state: StateName, text: &str) -> String {
        match state {
            StateName::Waiting => self.asking(text),
            StateName::Working => self.good(text),
            StateName::Idle => self.name(text),
            StateName::Unknown => self.with("35", text),
            StateName::Failed | StateName::Died => self.bad(text),
            StateName::Stopped | StateName::Done => self.faint(text),
        }
    }
}
