//! One cell of the matrix: an agent is launched and held at a step, and somebody is killed.

use super::{
    Ground,
    caller::Caller,
    held::Holder,
    truth::{self, Launch},
    until,
    watched::Watched,
};
use rustix::process::Signal;
use serde_json::json;
use std::{
    env,
    fs::OpenOptions,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Victim {
    /// The process of `agentctl launch`.
    Caller,
    /// The same with all of its process group, as an orchestrator does whose time is up.
    Group,
    /// The terminal on which `agentctl launch` runs: what holds the other end of it.
    Terminal,
    /// The agent's parent.
    Shim,
    /// The agent.
    Agent,
    /// The daemon, which nobody needs.
    Daemon,
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The agent's process is there, and about to become the agent.
    Exec,
    /// The agent runs, and has not named its session.
    Id,
    /// The model is asked.
    Work,
    /// A tool runs.
    Tool,
    /// All is done and written.
    Exit,
}

/// Who, when, and by what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) victim: Victim,
    pub(crate) step: Step,
    pub(crate) signal: Signal,
}

const VICTIMS: [Victim; 6] =
    [Victim::Caller, Victim::Group, Victim::Terminal, Victim::Shim, Victim::Agent, Victim::Daemon];
const STEPS: [Step; 5] = [Step::Exec, Step::Id, Step::Work, Step::Tool, Step::Exit];
const SIGNALS: [Signal; 2] = [Signal::TERM, Signal::KILL];
/// Others that end programs. Programs in Rust do not hear the last one: who is hung up on is told so when it writes.
const OTHERS: [Signal; 4] = [Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE];
/// The variable that names the file in which `cargo xtask prove` collects what came of each cell.
const PROOF: &str = "AGENTCTL_PROOF";

/// Every cell of these victims.
pub(super) fn row(agent: &str, victim: Victim, run: impl Fn(Cell)) {
    let cells = STEPS.iter().flat_map(|step| SIGNALS.map(|signal| (*step, signal)));
    let failed: Vec<Cell> = cells
        .map(|(step, signal)| Cell { victim, step, signal })
        .filter(|cell| !holds(agent, *cell, &run))
        .collect();
    assert!(failed.is_empty(), "{agent}: these cells fail: {failed:#?}");
}

/// A victim at a step, by every other signal: these are no cells of the matrix.
pub(super) fn signals(agent: &str, (victim, step): (Victim, Step), run: impl Fn(Cell)) {
    for signal in OTHERS {
        one(agent, (victim, step, signal), &run);
    }
}

/// Every cell there is.
pub(crate) fn all(agent: &str, run: impl Fn(Cell)) {
    let rows = VICTIMS
        .iter()
        .map(|victim| catch_unwind(AssertUnwindSafe(|| row(agent, *victim, &run))).is_ok());
    let held = rows.filter(|held| *held).count();
    assert_eq!(held, VICTIMS.len(), "{agent}: whole rows without a failure");
}

/// One cell.
pub(crate) fn one(agent: &str, cell: (Victim, Step, Signal), run: impl Fn(Cell)) {
    let cell = Cell { victim: cell.0, step: cell.1, signal: cell.2 };
    assert!(holds(agent, cell, run), "{agent}: {cell:?} fails");
}

/// Runs a cell, and writes down what came of it where somebody collects that.
fn holds(agent: &str, cell: Cell, run: impl Fn(Cell)) -> bool {
    let began = Instant::now();
    let failure = catch_unwind(AssertUnwindSafe(|| run(cell))).err().map(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    });
    if let Some(file) = env::var_os(PROOF).filter(|_| SIGNALS.contains(&cell.signal)) {
        let line = json!({
            "agent": agent,
            "victim": format!("{:?}", cell.victim),
            "step": format!("{:?}", cell.step),
            "signal": if cell.signal == Signal::KILL { "KILL" } else { "TERM" },
            "failure": failure,
            "ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        let file = OpenOptions::new().append(true).create(true).open(file);
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        assert!(written.is_ok(), "the proof cannot be written: {written:?}");
    }
    failure.is_none()
}

/// Runs one cell on fresh ground.
pub(super) fn run(ground: &dyn Ground, cell: Cell) {
    let mut watched = (cell.victim == Victim::Daemon).then(|| Watched::start(ground));
    ground.shut(cell.step);
    let holder = (cell.step == Step::Exec).then(|| Holder::before_exec(ground));
    let mut caller = Caller::start(ground, cell);
    if let Some(holder) = &holder {
        holder.holds();
    }
    let launch = Launch::find(ground);
    let agent = ground.reached(cell.step, launch.process);
    let shim = launch.process.parent().expect("the shim is there");
    let doomed = match cell.victim {
        Victim::Caller | Victim::Group => vec![caller.launch],
        Victim::Terminal => vec![caller.top(), caller.launch],
        Victim::Shim => vec![shim],
        Victim::Agent => vec![agent],
        Victim::Daemon => watched.iter().map(Watched::process).collect(),
    };
    let before = truth::live(ground);
    match cell.victim {
        Victim::Group => caller.signal_group(cell.signal),
        _ => doomed[0].signal(cell.signal),
    }
    // One that exits hears nothing any more.
    if (cell.victim, cell.step) != (Victim::Agent, Step::Exit) && cell.signal != Signal::PIPE {
        until("death of who was killed", || (!doomed.iter().any(|one| one.lives())).then_some(()));
    }
    truth::holds(ground, &launch);
    // Nobody else's death is the agent's.
    if cell.victim != Victim::Agent && matches!(cell.step, Step::Work | Step::Tool) {
        assert!(agent.lives(), "it does not live on");
        assert_eq!((before.len(), &before), (1, &truth::live(ground)), "it is listed as before");
    }
    ground.open();
    drop(holder);
    until("end of all that was launched", || launch.carriers().is_empty().then_some(()));
    until("end of agent and shim", || (!agent.lives() && !shim.lives()).then_some(()));
    truth::holds(ground, &launch);
    let code = caller.ends();
    if let Some(watched) = &mut watched {
        watched.is_told(&launch);
    }
    truth::nothing_is_left(ground, &launch, cell, code);
}
