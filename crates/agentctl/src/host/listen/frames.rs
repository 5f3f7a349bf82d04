//! Text frames over a WebSocket, on a port of loopback or at a socket in a file.

use super::{Ear, line::Held};
use crate::host::peer;
use agentctl_core::push::{Door, Step, says};
use rustix::fd::AsFd;
use std::{
    collections::VecDeque,
    io::{self, Read, Write},
};
use tungstenite::{
    HandshakeError, Message, WebSocket, client::client_with_config, protocol::WebSocketConfig,
};

/// Longest message that is heard to its end; behind a longer one the line is over.
const LIMIT: usize = 4 << 20;
/// Read at once: most messages are short.
const BUFFER: usize = 8 << 10;

/// Says what is to be said, and then listens.
pub(super) fn hear(ear: &Ear<'_>, at: &Door, steps: VecDeque<Step>) -> io::Result<()> {
    match at {
        Door::Port(at) => {
            let held = Held::new(ear.connected(*at)?, ear.stop)?;
            talk(ear, shake(&format!("ws://{at}/"), held)?, steps)
        }
        Door::File(path) => {
            let held = Held::new(peer::connected(path, ear.process)?, ear.stop)?;
            talk(ear, shake("ws://localhost/", held)?, steps)
        }
    }
}

fn talk<S: AsFd + Read + Write>(
    ear: &Ear<'_>,
    mut socket: WebSocket<Held<'_, S>>,
    mut steps: VecDeque<Step>,
) -> io::Result<()> {
    while let Some(step) = steps.pop_front_if(|step| step.after.is_none()) {
        socket.send(Message::text(step.say)).map_err(plain)?;
    }
    loop {
        if steps.is_empty() {
            socket.get_mut().until = None;
        }
        let text = match socket.read().map_err(plain)? {
            Message::Text(text) => text,
            Message::Close(_) => return Ok(()),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {
                continue;
            }
        };
        let heard = text.as_str().as_bytes();
        ear.heard(heard);
        let due = |step: &mut Step| step.after.is_none_or(|words| says(heard, words));
        if let Some(step) = steps.pop_front_if(due) {
            socket.send(Message::text(step.say)).map_err(plain)?;
        }
    }
}

fn shake<S: Read + Write>(url: &str, held: S) -> io::Result<WebSocket<S>> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .max_message_size(Some(LIMIT))
        .max_frame_size(Some(LIMIT));
    let shaken = client_with_config(url, held, Some(config));
    shaken.map(|(socket, _)| socket).map_err(|why| match why {
        HandshakeError::Failure(why) => plain(why),
        HandshakeError::Interrupted(_) => io::ErrorKind::TimedOut.into(),
    })
}

fn plain(why: tungstenite::Error) -> io::Error {
    match why {
        tungstenite::Error::Io(why) => why,
        other => io::Error::other(other.to_string()),
    }
}
