//! How a server tells, unasked, that something of its sessions has changed.
//!
//! Plain data: an adapter says where to listen and which messages matter, the host listens. What a
//! message says is never believed; it only says when to look.

use crate::ident::ProcKey;
use memchr::memmem;
use std::{net::SocketAddr, path::PathBuf};

/// A line on which a process tells of changes. It may hold a secret, so it is shown to nobody.
pub struct Push {
    /// Who must be the one that listens there: nobody else hears a word of ours.
    pub process: ProcKey,
    /// Where, and how it is spoken to.
    pub line: Line,
    /// Words, as they stand near the beginning of a message that is worth a look. Any other message is
    /// passed over. What the server says when the line stands belongs to them: what changed before
    /// is told to nobody.
    pub wakes: &'static [&'static str],
}

/// How it is spoken to.
pub enum Line {
    /// Server-sent events of a page.
    Events {
        /// Where it listens: one of these, each tried in turn.
        at: Vec<SocketAddr>,
        /// The page, with its first slash.
        page: String,
        /// Name and password, for Basic authentication.
        user: Option<(String, String)>,
    },
    /// Text frames over a WebSocket.
    Frames {
        /// Where it listens.
        at: Door,
        /// What is said to it, in this order.
        says: Vec<Step>,
    },
}

/// Where a WebSocket is reached.
pub enum Door {
    /// On loopback.
    Port(SocketAddr),
    /// At a socket in a file.
    File(PathBuf),
}

/// One frame that is said to a server.
pub struct Step {
    /// Said once it has sent a frame with these words; at once without any.
    pub after: Option<&'static str>,
    /// The frame.
    pub say: String,
}

/// How much of a message is searched for words that matter.
pub const BEGINNING: usize = 8 << 10;

/// These words stand near the beginning of a message.
pub fn says(message: &[u8], words: &str) -> bool {
    let beginning = &message[..message.len().min(BEGINNING)];
    memmem::find(beginning, words.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_at_the_beginning_of_a_message_only() {
        let word = r#""type":"session.idle""#;
        assert!(says(br#"data: {"payload":{"type":"session.idle"}}"#, word));
        assert!(!says(br#"data: {"payload":{"type":"session.updated"}}"#, word));
        // Text of a model is quoted in a message, and so is no word of it.
        assert!(!says(br#"data: {"delta":"{\"type\":\"session.idle\"}"}"#, word));
        let late = format!("{}{word}", " ".repeat(BEGINNING));
        assert!(!says(late.as_bytes(), word));
    }
}
