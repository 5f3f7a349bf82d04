//! A caller's lines: short ones as they come; of long ones, such as cursors of many sessions, one at a time and not
//! for long, so that all callers together cannot make the daemon large.

use super::{
    rpc::{LONGEST, PATIENCE, SHORT},
    shared::locked,
};
use std::{
    io::{BufRead, BufReader, Read},
    os::unix::net::UnixStream,
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Whoever says a long line.
static LONG: Mutex<()> = Mutex::new(());

/// What a caller says.
pub(super) struct Lines<'a> {
    stream: &'a UnixStream,
    input: BufReader<&'a UnixStream>,
    /// How long he may be silent.
    silence: Option<Duration>,
}

/// One line; others who say a long one wait until this is gone.
pub(super) struct Heard {
    pub(super) bytes: Vec<u8>,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// What came.
pub(super) enum Next {
    Line(Heard),
    TooLong,
    /// He hung up, or took too long.
    Nobody,
}

impl<'a> Lines<'a> {
    pub(super) fn new(stream: &'a UnixStream, silence: Option<Duration>) -> Self {
        let _ = stream.set_read_timeout(silence); // else he may be silent for longer
        Self { stream, input: BufReader::new(stream), silence }
    }

    pub(super) fn next(&mut self) -> Next {
        let mut bytes = Vec::new();
        let limit = u64::try_from(SHORT).unwrap_or(u64::MAX);
        match self.input.by_ref().take(limit).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => Next::Nobody,
            Ok(count) if count < SHORT || bytes.ends_with(b"\n") => {
                Next::Line(Heard { bytes, _turn: None })
            }
            Ok(_) => self.rest(bytes),
        }
    }

    fn rest(&mut self, mut bytes: Vec<u8>) -> Next {
        let turn = locked(&LONG);
        let end = Instant::now() + PATIENCE;
        while !bytes.ends_with(b"\n") {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
                return Next::Nobody;
            }
            let Ok(part @ [_, ..]) = self.input.fill_buf() else { return Next::Nobody };
            let count = part.iter().position(|byte| *byte == b'\n').map_or(part.len(), |at| at + 1);
            bytes.extend(&part[..count]);
            self.input.consume(count);
            if bytes.len() > LONGEST {
                return Next::TooLong;
            }
        }
        let _ = self.stream.set_read_timeout(self.silence); // else he is hung up on when silent
        Next::Line(Heard { bytes, _turn: Some(turn) })
    }
}
