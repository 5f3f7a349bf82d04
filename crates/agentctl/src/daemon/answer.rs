//! What each method answers: the shapes of `--json`, from the same calls.

use super::{
    hub::{Line, Subscriber},
    rpc::{self, Fault, Request, Version},
    shared::{Shared, locked},
};
use crate::{
    error::{Error, Kind},
    ops::{self, events, list},
    patience::patience,
};
use agentctl_core::{agent::Depth, event::Cursor, select::Order, wire::SCHEMA};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{Condvar, Mutex, PoisonError, mpsc::SyncSender},
};

/// So many answers are worked out at once; who asks more waits.
const DESKS: usize = 4;

/// Who asks.
pub(super) struct Caller {
    pub(super) connection: u64,
    pub(super) lines: SyncSender<Line>,
    pub(super) stream: UnixStream,
}

/// What was said.
pub(super) enum Said {
    /// This is to be sent.
    Result(String),
    /// It was sent.
    Already,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    id: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct List {
    all: bool,
    since: Option<String>,
    usage: bool,
    agent: Vec<String>,
    state: Vec<String>,
    status: Vec<String>,
    cwd: Vec<PathBuf>,
    group: Vec<String>,
    sort: Option<String>,
    limit: Option<usize>,
    timeout: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fuses {
    all: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Events {
    since: Option<String>,
    filter: Vec<String>,
    once: bool,
}

/// What a subscription is answered with.
#[derive(Serialize)]
struct Subscribed<'a> {
    schema: u32,
    /// Where it begins.
    #[serde(skip_serializing_if = "str::is_empty")]
    cursor: &'a str,
}

/// Answers.
pub(super) fn answer(
    shared: &Shared,
    caller: &Caller,
    id: &Value,
    request: Request,
) -> Result<Said, Fault> {
    let Request { method, params, .. } = request;
    match method.as_str() {
        "version" => none(params).and_then(|()| said(&version(shared))),
        "daemon" => none(params).and_then(|()| said(&shared.told())),
        "stop" => none(params).and_then(|()| {
            let last = said(&version(shared));
            shared.end();
            last
        }),
        "list" => at_a_desk(|| list(shared, rpc::params(params)?)),
        "status" => at_a_desk(|| one(shared, rpc::params(params)?, Depth::Whole)),
        "explain" => at_a_desk(|| one(shared, rpc::params(params)?, Depth::Glance)),
        "locks" => at_a_desk(|| {
            none(params)?;
            said(&ops::locks::locks(&shared.here(None))?)
        }),
        "fuses" => {
            let Fuses { all } = rpc::params(params)?;
            said(&ops::fuses::list(&shared.here(None), all)?)
        }
        "events" => subscribe(shared, caller, id, rpc::params(params)?),
        other => Err(Fault::no_method(other)),
    }
}

fn said(value: &impl Serialize) -> Result<Said, Fault> {
    let text = serde_json::to_string(value);
    text.map(Said::Result).map_err(|why| Error::new(Kind::Io, why.to_string()).into())
}

fn none(params: Value) -> Result<(), Fault> {
    rpc::params::<Nothing>(params).map(|Nothing {}| ())
}

fn version(shared: &Shared) -> Version {
    Version {
        schema: SCHEMA,
        protocol: super::PROTOCOL,
        version: super::VERSION.to_owned(),
        pid: std::process::id(),
        since: shared.since,
    }
}

/// Answers may be long, and callers many: only some are worked out at once.
fn at_a_desk<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    static FREE: (Mutex<usize>, Condvar) = (Mutex::new(DESKS), Condvar::new());
    let free = locked(&FREE.0);
    let free = FREE.1.wait_while(free, |free| *free == 0);
    *free.unwrap_or_else(PoisonError::into_inner) -= 1;
    let done = work();
    *locked(&FREE.0) += 1;
    FREE.1.notify_one();
    done
}

fn list(shared: &Shared, params: List) -> Result<Said, Fault> {
    let usage = |what: String| Error::new(Kind::Usage, what);
    let plain = !params.all && params.since.is_none() && !params.usage;
    let asked = params.timeout.as_deref().map(patience).transpose();
    let asked = asked.map_err(|why| usage(format!("timeout: {why}")))?;
    let order = params.sort.as_deref().map(|word| match word {
        "attention" => Ok(Order::Attention),
        "updated" => Ok(Order::Updated),
        "started" => Ok(Order::Started),
        "state" => Ok(Order::State),
        "agent" => Ok(Order::Agent),
        "cwd" => Ok(Order::Cwd),
        other => Err(usage(format!("cannot sort by {other:?}"))),
    });
    let words = list::Words {
        all: params.all,
        since: params.since,
        usage: params.usage,
        agents: params.agent,
        states: params.state,
        statuses: params.status,
        dirs: params.cwd,
        groups: params.group,
        order: order.transpose()?,
        limit: params.limit,
    };
    let here = shared.here(list::Words::patience(plain, asked));
    said(&list::list(&here, &words.ask(&here)?))
}

fn one(shared: &Shared, One { id }: One, depth: Depth) -> Result<Said, Fault> {
    said(&ops::status::status(&shared.here(None), &id, depth)?)
}

/// What was missed first, from a look of its own; then all that the watcher tells, but for what was just told.
fn subscribe(shared: &Shared, caller: &Caller, id: &Value, params: Events) -> Result<Said, Fault> {
    let here = shared.here(None);
    let filter = || events::filter(&params.filter, |dir| ops::absolute(&here, dir));
    let since = params.since.as_deref().map(|text| events::since(text, here.now())).transpose()?;
    let subscriber = Subscriber {
        connection: caller.connection,
        filter: filter()?,
        lines: caller.lines.clone(),
        stream: caller.stream.try_clone().map_err(Error::from)?,
        held: since.is_some().then(Vec::new),
    };
    let catch_up = since.is_some();
    let begin = |cursor: &str| {
        let cursor = if catch_up { "" } else { cursor };
        let result = serde_json::to_string(&Subscribed { schema: SCHEMA, cursor });
        rpc::answer(id, Ok(&result.unwrap_or_default())).into()
    };
    match params.once {
        true => drop(caller.lines.send(begin(""))),
        false => shared.hub.add(subscriber, begin),
    }
    if catch_up || params.once {
        let told = missed(&here, caller, since, filter()?)?;
        shared.hub.release(caller.connection, &told);
    }
    Ok(Said::Already)
}

/// Tells what happened until now, and which ids that was.
fn missed(
    here: &ops::Here,
    caller: &Caller,
    since: Option<Cursor>,
    filter: agentctl_core::event::Filter,
) -> Result<BTreeSet<String>, Fault> {
    let mut told = BTreeSet::new();
    let ask = events::Ask { since, once: true, filter };
    let gone = |_| Error { silent: true, ..Error::new(Kind::Io, "nobody listens") };
    events::events(here, ask, |batch| {
        for event in &batch.events {
            told.insert(event.id.clone());
            let line = rpc::notification("event", event).into();
            caller.lines.send(line).map_err(gone)?;
        }
        Ok(())
    })?;
    Ok(told)
}
