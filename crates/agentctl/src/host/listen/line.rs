//! A connection that is read for as long as it takes, until somebody hangs up.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::AsFd,
    io::Errno,
    net::sockopt::{Timeout, set_socket_timeout},
};
use std::{
    io::{self, PipeReader, Read, Write},
    time::Instant,
};

/// A connection, and the pipe whose other end is closed to hang up.
pub(super) struct Held<'a, S> {
    stream: S,
    stop: &'a PipeReader,
    /// Until when something must have come; without one, there is no hurry.
    pub(super) until: Option<Instant>,
}

impl<'a, S: AsFd> Held<'a, S> {
    /// Whoever does not hear us must not keep us.
    pub(super) fn new(stream: S, stop: &'a PipeReader) -> io::Result<Self> {
        set_socket_timeout(&stream, Timeout::Send, Some(super::PATIENCE))?;
        Ok(Self { stream, stop, until: Some(Instant::now() + super::PATIENCE) })
    }
}

impl<S: AsFd + Read> Read for Held<'_, S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut both =
                [PollFd::new(self.stop, PollFlags::IN), PollFd::new(&self.stream, PollFlags::IN)];
            match poll(&mut both, left.as_ref()) {
                Err(Errno::INTR) => continue,
                Err(why) => return Err(why.into()),
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => {}
            }
            if !both[0].revents().is_empty() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            return self.stream.read(buf);
        }
    }
}

impl<S: Write> Write for Held<'_, S> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
