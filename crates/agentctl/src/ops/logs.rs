//! What a session said, and what it goes on to say.

use super::{
    Here,
    status::{Among, transcript},
};
use crate::{
    error::{Error, Kind},
    host::{Change, Watch},
};
use agentctl_core::{
    agent::{Agent, Message, Stub},
    host::Host,
    ident::ProcKey,
    wire::{Messages, SCHEMA},
};
use std::{io, path::Path, time::Duration};

/// How often a session is looked at that is kept in more files than can be watched.
const PAUSE: Duration = Duration::from_secs(1);

/// The last messages of a session.
pub(crate) fn last(here: &Here, name: &str, count: usize) -> Result<Messages, Error> {
    let host = here.host();
    let (agent, session, stub) = transcript(here, name, Among::Namesake)?;
    let messages = match &stub {
        Some(stub) => {
            agent.tail(host, stub, count).map_err(|why| Error::unread(&stub.path, why))?.0
        }
        None => Vec::new(), // alive, and nothing said yet
    };
    Ok(Messages { schema: SCHEMA, id: session.id.unwrap_or_default(), messages })
}

/// A session that is being followed.
pub(crate) struct Follow<'a> {
    host: &'a dyn Host,
    agent: &'static dyn Agent,
    stub: Stub,
    at: u64,
    watch: Watch,
    /// Longest wait for the watch to tell; it tells all where there is none.
    pause: Option<Duration>,
    ended: bool,
}

impl<'a> Follow<'a> {
    /// Begins with the last messages; then [`Follow::next`] waits for more.
    pub(crate) fn new(
        here: &'a Here,
        name: &str,
        count: usize,
    ) -> Result<(Self, Vec<Message>), Error> {
        let host = here.host();
        let (agent, session, stub) = transcript(here, name, Among::Namesake)?;
        let Some(stub) = stub else {
            return Err(Error::new(Kind::No, format!("session {name} has no transcript")).hint(
                "it was not prompted yet, or keeps none; `agentctl status` says what it does",
            ));
        };
        // Watch first, read then: nothing can be written in between unseen.
        let path = agent.grows(&stub);
        let watch = watch(path.as_deref(), session.process.as_ref()).map_err(|why| {
            let path = path.as_ref().unwrap_or(&stub.path).display();
            Error::new(Kind::Io, format!("cannot watch {path}: {why}"))
        })?;
        let pause = path.is_none().then_some(PAUSE);
        let (messages, at) =
            agent.tail(host, &stub, count).map_err(|why| Error::unread(&stub.path, why))?;
        let ended = !session.live;
        Ok((Self { host, agent, stub, at, watch, pause, ended }, messages))
    }

    /// The next messages; `None` once the session's process is gone and everything was read.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Message>>, Error> {
        loop {
            let more = self.agent.since(self.host, &self.stub, self.at);
            let (messages, at) = more.map_err(|why| Error::unread(&self.stub.path, why))?;
            self.at = at;
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            if self.ended {
                return Ok(None);
            }
            match self.watch.next(self.pause) {
                Change::File(_)
                | Change::Below { .. }
                | Change::Pushed(_)
                | Change::Hushed(..)
                | Change::Lost
                | Change::TimedOut => {}
                Change::Ended(_) => self.ended = true, // read once more what it wrote last
            }
        }
    }
}

fn watch(path: Option<&Path>, process: Option<&ProcKey>) -> io::Result<Watch> {
    let paths: Vec<_> = path.map(Path::to_owned).into_iter().collect();
    let watch = Watch::new(&paths).map_err(io::Error::other)?;
    process.map_or(Ok(()), |key| watch.process(key))?;
    Ok(watch)
}
