//! Starts an agent, and returns once its session is really there.

mod hooks;
mod hosted;
mod many;
mod start;
mod tree;

pub(crate) use many::{Slot, fresh_group, group_of, many};
pub(crate) use tree::{Place, Source, Wanted};

use super::{
    Here, budgets,
    dirs::{Claim, Claimed, free, root, unwritable},
    observe::environment,
    status::{Among, status, transcript},
};
use crate::{
    error::{Error, Kind},
    git::{self, Tree},
    host::{LAUNCHES, launch_name},
    places,
    write::make_dir,
};
use agentctl_core::{
    agent::{Agent, Depth},
    agents,
    budget::Order,
    evidence::Role,
    host::Host,
    ident::ProcKey,
    launch::{self, Earlier, Input, MASK, OF_A_REPOSITORY, OURS_ALONE, Permission, Plan},
    policy::Sharing,
    receipt::{Callback, Launched, Runs, SCHEMA},
    wire::{self, DryRun, NewWorktree, Session},
};
pub(crate) use hooks::Errands;
use hosted::Hosting;
use jiff::{SignedDuration, Timestamp};
use start::Start;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// A pipe holds 64 KiB until somebody reads it.
const OPEN: usize = 60 << 10;
/// How long to wait for another launch with the same key: longer than that may take.
const KEYED: Duration = Duration::from_secs(90);

/// What is asked for.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) agent: &'static dyn Agent,
    pub(crate) prompt: String,
    pub(crate) cwd: PathBuf,
    pub(crate) model: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) group: Option<String>,
    pub(crate) force: bool,
    pub(crate) timeout: Option<Duration>,
    /// How much it may use.
    pub(crate) budget: Option<Order>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) permission: Permission,
    pub(crate) system: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) steerable: bool,
    pub(crate) more: Vec<String>,
    pub(crate) errands: Errands,
    pub(crate) callback: Callback,
    /// The conversation to go on with.
    pub(crate) earlier: Option<Before>,
    /// Whether it has a worktree of its own.
    pub(crate) place: Place,
}

impl Ask {
    /// With whom it may work in one directory.
    fn sharing(&self) -> Sharing {
        match self.force {
            true => Sharing::WithSessions,
            false => Sharing::Alone,
        }
    }

    /// The worktree that was made for it, or would be.
    fn tree(&self) -> Option<&Tree> {
        match &self.place {
            Place::Made(tree) => Some(tree),
            Place::Given | Place::Wanted(_) => None,
        }
    }
}

/// What a launch would do; where it would be refused, why.
pub(crate) fn dry(here: &Here, ask: &Ask) -> Result<DryRun, Error> {
    would_launch(here, ask).map_err(not_started)?;
    planned(here, ask)
}

/// What stands in the way of a launch there, but for who launches at this very moment; what is wrong with its program or
/// its words `planned` tells. Nothing is written.
fn would_launch(here: &Here, ask: &Ask) -> Result<(), Error> {
    can_be_kept(ask)?;
    let state = places::known_state()?;
    if let Some(key) = &ask.key {
        match of_key(here, ask, key)? {
            None => all_are_read(here.host(), &state)?,
            Some(_) => return Ok(()), // nothing would be started
        }
    }
    let dir = match &ask.place {
        Place::Given | Place::Made(_) => ask.cwd.clone(),
        Place::Wanted(wanted) => wanted.planned(ask)?.cwd,
    };
    free(here, &state, &root(&dir), ask.sharing())
}

fn planned(here: &Here, ask: &Ask) -> Result<DryRun, Error> {
    if let Place::Wanted(wanted) = &ask.place {
        return planned(here, &wanted.planned(ask)?);
    }
    if let Some(server) = ask.agent.hosted() {
        return hosted::dry(here, ask, server);
    }
    let id = fresh_id();
    let plan = plan(ask, &id, "LAUNCH")?;
    let program = program(here.host(), ask.agent)?;
    Ok(DryRun {
        schema: wire::SCHEMA,
        argv: argv(&program, &plan, ask),
        cwd: ask.cwd.clone(),
        env: shown(variables(&plan, ask), ask),
        without: inherited().into_iter().map(str::to_owned).collect(),
        input: match plan.input {
            Input::Text(_) => "the prompt",
            Input::Open(_) => "the prompt, and then what is sent to it",
        }
        .to_owned(),
        hooks: ask.errands.planned(),
        requests: Vec::new(),
        worktree: ask.tree().map(tree::told),
    })
}

/// A session that was launched.
pub(crate) struct Begun {
    pub(crate) session: Session,
    /// It was launched before, with the same key.
    pub(crate) reused: bool,
    /// The worktree that was made for it.
    pub(crate) worktree: Option<NewWorktree>,
}

/// Launches an agent, or returns the session that was launched under the same key.
pub(crate) fn launch(here: &Here, ask: &Ask) -> Result<Begun, Error> {
    let started = || {
        can_be_kept(ask)?;
        let state = places::known_state()?;
        let Some(key) = &ask.key else { return placed(here, ask, &state) };
        let _claimed = Claimed::key(&state, key, KEYED)?;
        let now = here.again();
        match of_key(&now, ask, key)? {
            None => all_are_read(now.host(), &state).and_then(|()| placed(here, ask, &state)),
            Some(session) => Ok(Begun { session, reused: true, worktree: None }),
        }
    };
    started().map_err(not_started)
}

fn not_started(why: Error) -> Error {
    match why.kind {
        Kind::Io => Error { kind: Kind::NotStarted, ..why },
        _ => why,
    }
}

/// The limits that are asked for, and those that a session has used up.
fn can_be_kept(ask: &Ask) -> Result<(), Error> {
    if let Some(why) = ask.budget.and_then(|order| budgets::why_not(ask.agent, &order)) {
        return Err(why);
    }
    let Some(before) = ask.earlier.as_ref().filter(|before| !before.fork) else { return Ok(()) };
    let Some(spent) = budgets::spent(ask.agent.card().name, &before.id)? else { return Ok(()) };
    if ask.budget.is_some_and(|order| order.limits.of(spent.limit).is_some()) {
        return Ok(());
    }
    let (id, limit) = (&before.id, spent.limit.name());
    let what = format!("cannot resume {id}: it has used up its budget of {limit}");
    Err(Error::new(Kind::Refused, what)
        .hint(format!("--max-{limit} gives it more, `agentctl budget cancel {id}` all it wants")))
}

/// Launches where it is to work, which may have to be made first.
fn placed(here: &Here, ask: &Ask, state: &Path) -> Result<Begun, Error> {
    let (mut session, worktree) = match &ask.place {
        Place::Given | Place::Made(_) => (launch_in(here, ask, state)?, None),
        Place::Wanted(wanted) => {
            let (session, tree) = wanted.launch(here, ask, |ask| launch_in(here, ask, state))?;
            (session, Some(tree))
        }
    };
    if ask.budget.is_some() {
        let now = here.again();
        budgets::adopt(&now, state);
        budgets::attach(&now, [&mut session], false);
    }
    Ok(Begun { session, reused: false, worktree })
}

fn launch_in(here: &Here, ask: &Ask, state: &Path) -> Result<Session, Error> {
    let dir = state.join(LAUNCHES);
    make_dir(&dir).map_err(|why| unwritable(&dir, &why))?;
    let (id, launch) = (fresh_id(), launch_name());
    let receipt = dir.join(format!("{launch}.json"));
    let claim = || {
        let who = format!("{} by pid {}", ask.agent.card().name, std::process::id());
        let claim = Claim { state, dir: &ask.cwd, sharing: ask.sharing(), who: &who };
        let claimed = Claimed::take(here, &claim)?;
        match &ask.earlier {
            // Somebody may have resumed it since it was found.
            Some(before) if !before.fork => {
                earlier(&here.again(), &before.id, false).map(|_| claimed)
            }
            Some(_) | None => Ok(claimed),
        }
    };
    if let Some(hosted) = ask.agent.hosted() {
        return Hosting { here, ask, hosted, launch, receipt }.launch(claim);
    }
    let program = program(here.host(), ask.agent)?;
    let plan = plan(ask, &id, &launch)?;
    let claimed = claim()?;
    let id = plan.id.clone();
    let role = if matches!(plan.input, Input::Open(_)) { Role::Piped } else { Role::Headless };
    let start = Start { here, ask, receipt, launch, id, role, at: Timestamp::now(), claimed };
    let shim = start.begin(&program, &plan)?;
    let (session, receipt) = (start.follow(&shim.reports)?, start.receipt.clone());
    drop(start); // others need not wait for what is run now
    Ok(hooks::created(here, session, &receipt))
}

/// A conversation to go on with.
#[derive(Clone)]
pub(crate) struct Before {
    pub(crate) agent: &'static dyn Agent,
    pub(crate) id: String,
    pub(crate) record: PathBuf,
    /// In a copy.
    pub(crate) fork: bool,
    pub(crate) group: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) callback: Callback,
    pub(crate) cwd: PathBuf,
    pub(crate) model: Option<String>,
}

/// The session of this name, which must have ended unless it is copied.
pub(crate) fn earlier(here: &Here, name: &str, fork: bool) -> Result<Before, Error> {
    let (agent, session, stub) = transcript(here, name, Among::All)?;
    let refuse = |why: &str| Error::new(Kind::Refused, format!("cannot resume {name}: {why}"));
    if session.live && !fork {
        return Err(refuse("it is alive").hint(format!(
            "`agentctl send {name} TEXT` reaches a live session; --fork goes on in a copy"
        )));
    }
    if let Some(why) = session.reason.as_ref().filter(|_| !fork) {
        return Err(
            refuse(why).hint("`agentctl explain` says what was seen; --fork goes on in a copy")
        );
    }
    match (session.id, stub, session.cwd) {
        (Some(id), Some(stub), Some(cwd)) => Ok(Before {
            agent,
            id,
            record: stub.path,
            fork,
            group: session.group,
            labels: session.labels,
            callback: session.callback.unwrap_or_default(),
            cwd,
            model: session.model,
        }),
        _ => Err(refuse("it has no record to go on from")),
    }
}

/// What will take the agent with it when it ends, if anything will: a service, or a container.
pub(crate) fn bound_to() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let unit = own.rsplit('/').next().filter(|unit| unit.ends_with(".service"));
    let contained =
        ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
    match (unit, contained) {
        (Some(unit), _) if !unit.starts_with("user@") => Some(format!("the unit {unit}")),
        (_, true) => Some("this container".to_owned()),
        (Some(_) | None, false) => None,
    }
}

fn fresh_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The session that was launched with this key before.
fn of_key(here: &Here, ask: &Ask, key: &str) -> Result<Option<Session>, Error> {
    let (host, name) = (here.host(), ask.agent.card().name);
    let same = |one: &&Launched| one.key.as_deref() == Some(key);
    let launches: Vec<&Launched> = host.launches().iter().filter(same).collect();
    if let Some(other) = launches.iter().find(|one| one.agent != name) {
        let what = format!("{} was launched with this key", other.agent);
        return Err(Error::new(Kind::Refused, what).hint("use another key for another agent"));
    }
    for id in launches.iter().filter_map(|one| one.session.as_ref()) {
        match status(here, id, Depth::Glance) {
            Ok(found) => return Ok(Some(found.session)),
            Err(why) if why.kind == Kind::NoSession => {} // it was killed before it wrote anything
            Err(why) => return Err(why),
        }
    }
    // Its caller is gone, and it has not named its session yet.
    let lives = |key: &&ProcKey| !host.is_over(key);
    match launches.iter().filter_map(|one| one.process.as_ref()).find(lives) {
        None => Ok(None),
        Some(key) => {
            let what = format!("pid {} was launched with this key and has no session yet", key.pid);
            Err(Error::new(Kind::Refused, what).hint("try again when `agentctl list` shows its id"))
        }
    }
}

/// A receipt of a launch that cannot be read may be that of a key: nobody can say that it is new.
fn all_are_read(host: &dyn Host, state: &Path) -> Result<(), Error> {
    let dir = state.join(LAUNCHES);
    let is_receipt = |path: &Path| path.starts_with(&dir) && path.with_extension("json") == *path;
    let lost = host.lost().iter().find(|(path, _)| *path == dir || is_receipt(path));
    lost.map_or(Ok(()), |(path, why)| {
        let path = path.display();
        let what =
            format!("cannot tell whether something was launched with this key: {path}: {why}");
        Err(Error::new(Kind::Refused, what)
            .hint("remove it if nobody needs what was in it, or launch without --key"))
    })
}

pub(super) fn program(host: &dyn Host, agent: &dyn Agent) -> Result<PathBuf, Error> {
    super::doctor::on_path(host, agent.card()).ok_or_else(|| {
        let card = agent.card();
        Error::new(
            Kind::NotStarted,
            format!("{} is not installed: no `{}` on PATH", card.title, card.binary),
        )
        .hint("run `agentctl doctor` to see which agents are there")
    })
}

fn plan(ask: &Ask, id: &str, launch: &str) -> Result<Plan, Error> {
    let title = ask.agent.card().title;
    let usage =
        |why: String| Error::new(Kind::Usage, format!("{title} cannot be started so: {why}"));
    let plan = ask.agent.plan(&native(ask, id, launch)).map_err(usage)?;
    // The flag by which it is told its id: another id would be a session that nobody looks for.
    let at = plan.args.iter().position(|word| word == id);
    let flag = at.and_then(|at| plan.args.get(at.checked_sub(1)?)).filter(|_| at.is_some());
    let is_it = |word: &String, flag: &String| word.split('=').next() == Some(flag.as_str());
    if let Some(flag) = flag.filter(|flag| ask.more.iter().any(|word| is_it(word, flag))) {
        return Err(usage(format!("{flag} is given to it already, with a new id"))
            .hint("`agentctl resume ID TEXT` goes on with a session"));
    }
    match &plan.input {
        Input::Open(text) if text.len() > OPEN => {
            Err(usage("the first prompt of a steerable session is at most 60 KiB".to_owned())
                .hint("launch it with less, and `agentctl send` the rest"))
        }
        Input::Open(_) | Input::Text(_) => Ok(plan),
    }
}

/// What is asked of the agent's adapter.
fn native<'a>(ask: &'a Ask, id: &'a str, launch: &'a str) -> launch::Ask<'a> {
    let earlier = ask.earlier.as_ref().map(|before| Earlier {
        id: &before.id,
        record: &before.record,
        fork: before.fork,
    });
    launch::Ask {
        prompt: &ask.prompt,
        cwd: &ask.cwd,
        id,
        launch,
        model: ask.model.as_deref(),
        permission: ask.permission,
        system: ask.system.as_deref(),
        name: ask.name.as_deref(),
        earlier,
        steerable: ask.steerable,
        timeout: ask.timeout,
    }
}

/// What we alone know of a launch that begins now.
fn receipt(ask: &Ask, launch: &str) -> Launched {
    let at = Timestamp::now();
    let after = |time| {
        at.saturating_add(SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)).ok()
    };
    let mut labels = ask.labels.clone();
    labels.extend(ask.name.clone().map(|name| ("name".to_owned(), name)));
    let tree = ask.tree();
    let (branch, base) = match tree {
        Some(tree) => (Some(tree.branch.clone()), Some(tree.base_commit.clone())),
        None => git::head(&ask.cwd).map_or((None, None), |head| (head.branch, Some(head.commit))),
    };
    Launched {
        schema: SCHEMA,
        launch: launch.to_owned(),
        agent: ask.agent.card().name.to_owned(),
        session: None,
        process: None,
        at,
        log: None,
        group: ask.group.clone(),
        labels,
        key: ask.key.clone(),
        deadline: ask.timeout.and_then(after),
        budget: ask.budget,
        input: None,
        stores: stores(ask),
        branch,
        base,
        repo: tree.map(|tree| tree.repo.clone()),
        hooks: ask.errands.of(ask),
        callback: ask.callback.clone(),
        runs: Runs::default(),
        exit: None,
    }
}

/// Where the agent will keep its sessions.
fn stores(ask: &Ask) -> Vec<PathBuf> {
    let mut env = environment();
    let known = |name: &str| name == "HOME" || ask.agent.card().variables.contains(&name);
    let given = ask.env.iter().filter(|(name, _)| known(name));
    env.extend(given.map(|(name, value)| (name.clone(), value.into())));
    ask.agent.stores(&env)
}

fn argv(program: &Path, plan: &Plan, ask: &Ask) -> Vec<String> {
    let program = program.to_string_lossy().into_owned();
    [program].into_iter().chain(plan.args.iter().cloned()).chain(ask.more.iter().cloned()).collect()
}

fn variables(plan: &Plan, ask: &Ask) -> Vec<(String, String)> {
    let own = plan.env.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    own.chain(ask.env.iter().cloned()).collect()
}

/// The same for people, who copy it into bug reports: what they set themselves may be a secret.
fn shown(variables: Vec<(String, String)>, ask: &Ask) -> Vec<(String, String)> {
    let theirs = |name: &String| ask.env.iter().any(|(own, _)| own == name);
    let shown = |(name, value): (String, String)| match theirs(&name) {
        true => (name, MASK.to_owned()),
        false => (name, value),
    };
    variables.into_iter().map(shown).collect()
}

/// Whoever launches may be an agent itself, or a hook of git: what it was told is not for its children, nor is what is
/// for us alone.
fn inherited() -> Vec<&'static str> {
    let told = agents::ALL.iter().flat_map(|agent| agent.card().inherited);
    told.chain(OF_A_REPOSITORY).chain(OURS_ALONE).copied().collect()
}
