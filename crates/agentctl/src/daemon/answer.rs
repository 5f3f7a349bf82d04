//! What each method answers: the shapes of `--json`, from the same calls.

use super::{
    hub::{Line, Subscriber},
    past,
    rpc::{self, Fault, Request, Version},
    shared::{Shared, locked},
};
use crate::{
    error::{Error, Kind},
    ops::{self, Here, events, list},
    patience::patience,
};
use agentctl_core::{
    agent::Depth,
    select::Order,
    wire::{Event, EventKind, SCHEMA, Sessions},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc::SyncSender},
    time::Duration,
};

/// So many answers are worked out at once; who asks more waits.
const DESKS: usize = 4;

/// So long a subscription waits for the first look: what it is told begins there.
const FIRST: Duration = Duration::from_secs(60);

/// Who asks.
pub(super) struct Caller {
    pub(super) connection: u64,
    /// There are too many: he is only told how the daemon is, or ends it.
    pub(super) spare: bool,
    pub(super) lines: SyncSender<Line>,
    pub(super) stream: UnixStream,
    /// For what does not go line by line.
    pub(super) out: Arc<Mutex<UnixStream>>,
}

/// What was said.
pub(super) enum Said {
    /// This is to be sent.
    Result(String),
    /// It was sent.
    Already,
    /// This is to be sent, and nothing after it: the daemon ends.
    Last(String),
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
pub(super) struct List {
    all: bool,
    since: Option<String>,
    usage: bool,
    agent: Vec<String>,
    state: Vec<String>,
    status: Vec<String>,
    cwd: Vec<PathBuf>,
    group: Vec<String>,
    stalled: bool,
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
pub(super) struct Events {
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
        "stop" => none(params).and_then(|()| Ok(Said::Last(text(&version(shared))?))),
        _ if caller.spare => Err(Error::new(Kind::Refused, "too many connections").into()),
        "list" => at_a_desk(|| {
            let asked: List = rpc::params(params.clone())?;
            match asked.is_past() {
                true => past::list(shared.portable, caller, id, &params),
                false => said(&list(shared.portable, asked)?),
            }
        }),
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
        "budgets" => at_a_desk(|| {
            let Fuses { all } = rpc::params(params)?;
            said(&ops::budgets::list(&shared.here(None), all)?)
        }),
        "events" => subscribe(shared, caller, id, &params),
        other => Err(Fault::no_method(other)),
    }
}

fn said(value: &impl Serialize) -> Result<Said, Fault> {
    text(value).map(Said::Result)
}

fn text(value: &impl Serialize) -> Result<String, Fault> {
    let text = serde_json::to_string(value);
    text.map_err(|why| Error::new(Kind::Io, why.to_string()).into())
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
        watches: shared.hub.watched(Duration::ZERO),
        supervised: shared.supervised,
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

impl List {
    /// It may be as long as all that ever was.
    fn is_past(&self) -> bool {
        let plain = !self.all && self.since.is_none() && !self.usage;
        !plain || !self.state.is_empty() || !self.status.is_empty()
    }
}

/// What `list` answers.
pub(super) fn list(portable: bool, params: List) -> Result<Sessions, Fault> {
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
        stalled: params.stalled,
        order: order.transpose()?,
        limit: params.limit,
    };
    let here = Here::new(portable, list::Words::patience(plain, asked));
    Ok(list::told(&here, &words.ask(&here)?))
}

fn one(shared: &Shared, One { id }: One, depth: Depth) -> Result<Said, Fault> {
    said(&ops::status::shown(&shared.here(None), &id, depth)?)
}

/// What was missed first, from a look of its own; then all that the watcher tells, but for what was just told.
fn subscribe(shared: &Shared, caller: &Caller, id: &Value, params: &Value) -> Result<Said, Fault> {
    let asked: Events = rpc::params(params.clone())?;
    let once = asked.once;
    let events::Ask { since, filter, .. } = asked.ask(&shared.here(None))?;
    let subscriber = Subscriber {
        connection: caller.connection,
        filter,
        lines: caller.lines.clone(),
        stream: caller.stream.try_clone().map_err(Error::from)?,
        held: since.is_some().then(Vec::new),
        ahead: BTreeSet::new(),
        known: BTreeMap::new(),
    };
    let begin = |cursor: &str| {
        let cursor = if since.is_some() { "" } else { cursor };
        let result = serde_json::to_string(&Subscribed { schema: SCHEMA, cursor });
        rpc::answer(id, Ok(&result.unwrap_or_default())).into()
    };
    if !once && !shared.hub.watched(FIRST) {
        return Err(Error::new(Kind::TimedOut, "the daemon has not looked around yet").into());
    }
    match once {
        true => {
            shared.hub.remove(caller.connection); // this takes the place of what he had
            drop(caller.lines.send(begin("")));
        }
        false => shared.hub.add(subscriber, begin),
    }
    if since.is_none() && !once {
        return Ok(Said::Already);
    }
    match at_a_desk(|| past::missed(shared, caller, params)) {
        Ok(_) if once => {}
        Ok(told) => shared.hub.release(caller.connection, &told),
        Err(fault) => {
            // He was answered: that there is no more to come only the end of the line can say.
            shared.log.say(&format!("hangs up on a caller: {}", fault.message));
            shared.hub.remove(caller.connection);
            let _ = caller.stream.shutdown(Shutdown::Both);
        }
    }
    Ok(Said::Already)
}

impl Events {
    fn ask(&self, here: &Here) -> Result<events::Ask, Error> {
        let since =
            self.since.as_deref().map(|text| events::since(text, here.now())).transpose()?;
        let filter = events::filter(&self.filter, |dir| ops::absolute(here, dir))?;
        Ok(events::Ask { since, once: true, filter })
    }
}

/// What happened until now, line by line; where to go on from only for who wants no more.
pub(super) fn happened(
    portable: bool,
    params: Events,
    mut tell: impl FnMut(String) -> Result<(), Error>,
) -> Result<(), Fault> {
    let here = Here::new(portable, None);
    events::events(&here, params.ask(&here)?, |batch| {
        let wanted = |event: &&Event| params.once || event.kind != EventKind::Cursor;
        let mut events = batch.events.iter().filter(wanted);
        events.try_for_each(|event| tell(rpc::notification("event", event)))
    })?;
    Ok(())
}
