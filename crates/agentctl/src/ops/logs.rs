//! What a session said, and what it goes on to say.

use super::{Here, status::transcript};
use crate::{
    error::{Error, Kind},
    host::{Change, Watch},
};
use agentctl_core::{
    agent::{self, Agent, Message},
    host::Host,
    ident::ProcKey,
    lines::{self, Flow},
    wire::{Messages, SCHEMA},
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The last messages of a session.
pub(crate) fn last(here: &Here, name: &str, count: usize) -> Result<Messages, Error> {
    let host = here.host();
    let (agent, session, stub) = transcript(host, name)?;
    let messages = match &stub {
        Some(stub) => {
            agent::tail(agent, host, &stub.path, count)
                .map_err(|why| Error::unread(&stub.path, why))?
                .0
        }
        None => Vec::new(), // alive, and nothing said yet
    };
    Ok(Messages { schema: SCHEMA, id: session.id.unwrap_or_default(), messages })
}

/// A session that is being followed.
pub(crate) struct Follow<'a> {
    host: &'a dyn Host,
    agent: &'static dyn Agent,
    path: PathBuf,
    at: u64,
    watch: Watch,
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
        let (agent, session, stub) = transcript(host, name)?;
        let Some(stub) = stub else {
            return Err(Error::new(Kind::No, format!("session {name} has no transcript")).hint(
                "it was not prompted yet, or keeps none; `agentctl status` says what it does",
            ));
        };
        // Watch first, read then: nothing can be written in between unseen.
        let watch = watch(&stub.path, session.process.as_ref()).map_err(|why| {
            Error::new(Kind::Io, format!("cannot watch {}: {why}", stub.path.display()))
        })?;
        let (messages, at) = agent::tail(agent, host, &stub.path, count)
            .map_err(|why| Error::unread(&stub.path, why))?;
        let ended = !session.live;
        Ok((Self { host, agent, path: stub.path, at, watch, ended }, messages))
    }

    /// The next messages; `None` once the session's process is gone and everything was read.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Message>>, Error> {
        loop {
            let messages = self.grown()?;
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            if self.ended {
                return Ok(None);
            }
            match self.watch.next(None) {
                Change::File(_) | Change::Lost | Change::TimedOut => {}
                Change::Ended(_) => self.ended = true, // read once more what it wrote last
            }
        }
    }

    fn grown(&mut self) -> Result<Vec<Message>, Error> {
        let unread = |why: io::Error| Error::unread(&self.path, why);
        let file = self.host.open(&self.path).map_err(unread)?;
        if file.size() < self.at {
            self.at = 0; // cut or replaced: begin anew
        }
        let mut messages = Vec::new();
        self.at = lines::forward(&*file, self.at, &mut |line| {
            messages.extend(agent::readable(self.agent, &line));
            Flow::Continue(())
        })
        .map_err(unread)?;
        Ok(messages)
    }
}

fn watch(path: &Path, process: Option<&ProcKey>) -> io::Result<Watch> {
    let watch = Watch::new(&[path.to_owned()]).map_err(io::Error::other)?;
    process.map_or(Ok(()), |key| watch.process(key))?;
    Ok(watch)
}
