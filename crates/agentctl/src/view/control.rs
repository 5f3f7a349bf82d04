//! What became of a request to a live session, as people read it.

use agentctl_core::{
    proof::shell_word,
    text::one_line,
    wire::{Attach, Decided, Decision, Delivered, Delivery, StateName},
};
use std::io::{self, Write};

/// Whether a message came.
pub(crate) fn delivery(delivery: &Delivery) -> io::Result<()> {
    let word = match delivery.delivery {
        Delivered::Delivered => "delivered",
        Delivered::Unconfirmed => "unconfirmed: it was sent, and the agent does not show it yet",
    };
    writeln!(io::stdout().lock(), "{}  {word}", one_line(&delivery.session_id))?;
    match delivery.proof.as_ref().and_then(|proof| proof.check.as_ref()) {
        Some(check) => writeln!(io::stderr().lock(), "shown by: {}", one_line(check)),
        None => Ok(()),
    }
}

/// What was decided, and what came of it.
pub(crate) fn decision(decision: &Decision) -> io::Result<()> {
    let word = match decision.decision {
        Decided::Approved => "approved",
        Decided::Denied => "denied",
    };
    let (id, request) = (one_line(&decision.session_id), one_line(&decision.request.words));
    let then = match (decision.goes_on, decision.session.state) {
        (true, StateName::Waiting) => "asks for something else",
        (false, _) => "was not seen to go on",
        (true, state) => state.name(),
    };
    writeln!(io::stdout().lock(), "{id}  {word} ({request}), {then}")
}

/// A command, as it can be typed.
pub(crate) fn command(attach: &Attach) -> io::Result<()> {
    let words: Vec<String> = attach.argv.iter().map(|word| shell_word(&one_line(word))).collect();
    writeln!(io::stdout().lock(), "{}", words.join(" "))?;
    match attach.needs.as_slice() {
        [] => Ok(()),
        needs => {
            let needs = needs.join(" and ");
            writeln!(io::stderr().lock(), "note: it needs {needs} as the server was given")
        }
    }
}
