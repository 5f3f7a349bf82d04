//! A launch that an agent's own server carries out: it is asked, and the session is waited for.

use super::{Ask, fresh_id, hooks, native, receipt, start};
use crate::{
    error::{Error, Kind},
    ops::{
        Here,
        dirs::{Claimed, unwritable},
        observe::environment,
        status::status,
    },
    write::whole,
};
use agentctl_core::{
    agent::Depth,
    control::Unheard,
    hosted::{Call, Hosted, Place},
    ident::ProcKey,
    observe::{History, Survey},
    receipt::Launched,
    wire::{self, DryRun, Session, StateName},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(50);

/// What would be asked.
pub(super) fn dry(here: &Here, ask: &Ask, hosted: &dyn Hosted) -> Result<DryRun, Error> {
    Ok(DryRun {
        schema: wire::SCHEMA,
        argv: Vec::new(),
        cwd: ask.cwd.clone(),
        env: Vec::new(),
        without: Vec::new(),
        input: "nothing".to_owned(),
        hooks: ask.errands.planned(),
        requests: calls(here, ask, hosted, "LAUNCH")?,
        worktree: ask.tree().map(super::tree::told),
    })
}

/// What a server is asked for. Its environment and its arguments are not ours to choose.
fn calls(here: &Here, ask: &Ask, hosted: &dyn Hosted, launch: &str) -> Result<Vec<Call>, Error> {
    let usage = |why: &str| {
        let title = ask.agent.card().title;
        Error::new(Kind::Usage, format!("{title} cannot be started so: {why}"))
    };
    if !ask.env.is_empty() {
        return Err(usage("its server has variables of its own (--env)"));
    }
    if ask.errands.on_complete.is_some() {
        let why = "its sessions end in its own server, where nobody of ours waits (--on-complete)";
        return Err(usage(why).hint("`agentctl wait ID && COMMAND` does the same from outside"));
    }
    if !ask.more.is_empty() {
        return Err(usage("its server takes no arguments (after --)"));
    }
    let calls = hosted.calls(here.host(), &native(ask, &fresh_id(), launch));
    calls.map_err(|why| usage(&why))
}

/// A launch that a server is asked for.
pub(super) struct Hosting<'a> {
    pub(super) here: &'a Here,
    pub(super) ask: &'a Ask,
    pub(super) hosted: &'a dyn Hosted,
    pub(super) launch: String,
    /// Where the receipt goes.
    pub(super) receipt: PathBuf,
}

impl Hosting<'_> {
    /// Asks a server, and waits until its session is there. `claim` is called once all words are right.
    pub(super) fn launch(
        &self,
        claim: impl FnOnce() -> Result<Claimed, Error>,
    ) -> Result<Session, Error> {
        let calls = calls(self.here, self.ask, self.hosted, &self.launch)?;
        let (store, servers) = self.servers()?;
        let claimed = claim()?;
        let mut launch = receipt(self.ask, &self.launch);
        launch.log = launch.hooks.is_some().then(|| self.receipt.with_extension("log"));
        // Before it is asked: on a full disk nothing is begun.
        let session = whole(&self.receipt, &launch)
            .map_err(|why| unwritable(&self.receipt, &why))
            .and_then(|()| self.begin(&store, &servers, &calls))
            .and_then(|()| self.follow(&store, launch));
        if session.is_err() {
            let _ = fs::remove_file(&self.receipt);
        }
        drop(claimed);
        session.map(|session| hooks::created(self.here, session, &self.receipt))
    }

    /// The servers of the store that is meant: the caller's own, or that of an earlier session.
    fn servers(&self) -> Result<(PathBuf, Vec<ProcKey>), Error> {
        let (agent, host, env) = (self.ask.agent, self.here.host(), environment());
        let survey = Survey::new(agent, host, &env, History::Skip);
        let store = match &self.ask.earlier {
            Some(before) => {
                survey.stores.iter().find(|store| before.record.starts_with(store)).cloned()
            }
            None => agent.stores(&env).first().map(|store| host.resolve(store)),
        };
        let found = store.map(|store| (survey.servers(&store), store));
        match found.filter(|(servers, _)| !servers.is_empty()) {
            Some((servers, store)) => Ok((store, servers)),
            None => Err(self.failed("its server does not run").hint(format!(
                "start it (`{}`), and launch it again; nothing was left behind",
                self.hosted.command()
            ))),
        }
    }

    fn failed(&self, why: &str) -> Error {
        let title = self.ask.agent.card().title;
        Error::new(Kind::NotStarted, format!("{title} did not start: {why}"))
    }

    /// Asks the first server that can be asked. One that does not answer may have heard.
    fn begin(&self, store: &Path, servers: &[ProcKey], calls: &[Call]) -> Result<(), Error> {
        for process in servers {
            match self.hosted.begin(self.here.host(), &Place { store, process }, calls) {
                Ok(()) | Err(Unheard::Silent(_)) => return Ok(()),
                Err(Unheard::NoChannel) => {}
                Err(why @ (Unheard::Refused(_) | Unheard::Failed(_))) => {
                    return Err(self
                        .failed(&why.to_string())
                        .hint("nothing was left behind; mend what it says and launch it again"));
                }
            }
        }
        Err(self
            .failed("its server does not say how it is asked")
            .hint("`agentctl doctor` says what was seen; nothing was left behind"))
    }

    /// Waits until the session is there, by its store and its server.
    fn follow(&self, store: &Path, mut launch: Launched) -> Result<Session, Error> {
        let (began, limit) = (Instant::now(), start::limit());
        loop {
            let seen = self.here.again();
            if launch.session.is_none() {
                launch.session = match &self.ask.earlier {
                    Some(before) if !before.fork => Some(before.id.clone()),
                    Some(_) | None => self.hosted.session(seen.host(), store, &self.launch),
                };
                if let Some(id) = &launch.session {
                    whole(&self.receipt, &launch).map_err(|why| unnamed(id, &why))?;
                }
            }
            let id = launch.session.as_ref();
            let session = id.and_then(|id| status(&seen, id, Depth::Glance).ok());
            if let Some(found) = session.filter(|found| is_there(&found.session, &launch)) {
                return Ok(found.session);
            }
            if began.elapsed() > limit {
                let id = launch.session.map_or_else(String::new, |id| format!(" in session {id}"));
                return Err(self
                    .failed(&format!("it was asked, and no run was seen{id} after {limit:?}"))
                    .hint("`agentctl list --all` shows whether it came about"));
            }
            thread::sleep(TICK);
        }
    }
}

fn unnamed(id: &str, why: &io::Error) -> Error {
    Error::new(Kind::Io, format!("session {id} runs, and its receipt cannot be written: {why}"))
        .hint("make room; its labels, group and key are lost")
}

/// A run of it goes on, or has ended since: what was made for it alone does not count.
fn is_there(session: &Session, launch: &Launched) -> bool {
    let since = || session.because.iter().any(|one| one.at.is_some_and(|at| at >= launch.at));
    session.live || session.state != StateName::Unknown && since()
}
