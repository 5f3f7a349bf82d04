//! Listening to what servers on this machine tell unasked: one thread for each, which sleeps until
//! something comes. Nothing of it is kept, and nobody but the right process hears a word of ours.

mod events;
mod frames;
mod line;

use super::{Change, Native};
use agentctl_core::{
    host::{self, Kernel},
    ident::ProcKey,
    push::{Line, Push, says},
};
use std::{
    io::{self, PipeReader, PipeWriter},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

/// How long a server may take until its line stands; after that it may be silent for ever.
const PATIENCE: Duration = Duration::from_secs(3);

/// A line that is listened to; it is hung up when this is dropped.
pub(crate) struct Listening {
    /// Closing it ends the thread.
    _stop: PipeWriter,
}

impl Listening {
    /// Begins; `tell` is called for every message that is worth a look, and once when the line is over.
    pub(super) fn begin(
        push: Push,
        number: u64,
        tell: impl Fn(Change) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, writer) = io::pipe()?;
        let listen = move || {
            let Push { process, line, wakes } = push;
            let wake = || tell(Change::Pushed(process.clone()));
            let ear = Ear { process: &process, wakes, stop: &stop, wake: &wake };
            // Why it is over tells nothing that the next look does not.
            let _ = match line {
                Line::Events { at, page, user } => {
                    events::hear(&ear, &at, &events::ask(page, user))
                }
                Line::Frames { at, says } => frames::hear(&ear, &at, says.into()),
            };
            tell(Change::Hushed(process, number));
        };
        thread::Builder::new().name("ear for a server".to_owned()).spawn(listen)?;
        Ok(Self { _stop: writer })
    }
}

/// Whoever listens.
struct Ear<'a> {
    /// To whom.
    process: &'a ProcKey,
    /// For which words.
    wakes: &'static [&'static str],
    /// It is closed at its other end to hang up.
    stop: &'a PipeReader,
    /// Called for every message that has one of them.
    wake: &'a dyn Fn(),
}

impl Ear<'_> {
    fn heard(&self, message: &[u8]) {
        if self.wakes.iter().any(|words| says(message, words)) {
            (self.wake)();
        }
    }

    /// Connected to this very process. It was seen to listen there before; seen again now, nobody can
    /// have taken its place in between.
    fn connected(&self, at: SocketAddr) -> io::Result<TcpStream> {
        if !at.ip().is_loopback() {
            return Err(io::Error::other(format!("{at} is not on this machine")));
        }
        let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
        let own = Native::new().ports(self.process).map_err(|why| io::Error::other(why.0))?;
        match own.into_iter().filter_map(host::loopback).any(|own| own == at) {
            true => Ok(stream),
            false => Err(io::ErrorKind::AddrNotAvailable.into()),
        }
    }
}
