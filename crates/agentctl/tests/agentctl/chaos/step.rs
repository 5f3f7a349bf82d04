//! What may happen, and how often. A step names its session by a number, which is taken modulo those that are there:
//! so every sequence can be played, and every part of one.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// Whose session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Claude,
    Codex,
    Pi,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Claude, Kind::Codex, Kind::Pi];

/// What an agent is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Prompt,
    Reply,
    Ask,
    Exit,
}

/// What an agent is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sign {
    Kill,
    Term,
    Int,
    Halt,
    Go,
}

/// When a launch is killed: as soon as this is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Moment {
    Spawned,
    Orders,
    Receipt,
    Born,
}

/// Which file is spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum File {
    Record,
    Receipt,
    Exit,
    Stop,
    Budget,
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Harm {
    /// Cut in the middle of its last line.
    Torn,
    Empty,
    /// With more behind it that nobody understands.
    Garbage,
}

/// What befalls a directory, until it is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fault {
    /// It has another name.
    Away,
    /// Nobody may look into it.
    Closed,
    /// Nobody may write into it.
    Fixed,
    /// A file has its name.
    Replaced,
    /// There is no room on its disk.
    Full,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Launch {
        agent: Kind,
        dir: u8,
        key: Option<u8>,
        steerable: bool,
    },
    LaunchKilled {
        agent: Kind,
        dir: u8,
        at: Moment,
    },
    Run {
        agent: Kind,
        dir: u8,
    },
    Order {
        who: u8,
        order: Order,
    },
    Send {
        who: u8,
    },
    Signal {
        who: u8,
        sign: Sign,
    },
    ShimKilled {
        who: u8,
    },
    Stop {
        who: u8,
        force: bool,
    },
    StopKilled {
        who: u8,
    },
    Resume {
        who: u8,
    },
    Lock {
        dir: u8,
    },
    Unlock {
        dir: u8,
    },
    FuseSet {
        dir: u8,
    },
    FuseCancel {
        which: u8,
    },
    Budget {
        who: u8,
    },
    Prune,
    Daemon,
    DaemonKilled,
    /// Somebody listens to what happens, to the end.
    Listen,
    Spoil {
        who: u8,
        file: File,
        harm: Harm,
    },
    /// The pid of a process that is gone is an innocent's now.
    Recycle {
        who: u8,
    },
    SpoilLock {
        dir: u8,
        harm: Harm,
    },
    SpoilFuse {
        which: u8,
        harm: Harm,
    },
    Store {
        agent: Kind,
        fault: Fault,
    },
    State {
        fault: Fault,
    },
    Cache,
    /// So much time passes that whoever is written down nowhere ought to be.
    Age,
    Mend,
}

impl Step {
    /// What it is counted as.
    pub(super) fn name(&self) -> String {
        let value = serde_json::to_value(self).expect("plain values");
        let key = value.as_object().and_then(|fields| fields.keys().next());
        let name = key.map(String::as_str).or(value.as_str()).expect("it has a name");
        let detail = match self {
            Self::Order { order, .. } => format!("{order:?}"),
            Self::Signal { sign, .. } => format!("{sign:?}"),
            Self::Spoil { file, harm, .. } => format!("{file:?} {harm:?}"),
            Self::Store { fault, .. } | Self::State { fault } => format!("{fault:?}"),
            Self::Launch { .. }
            | Self::LaunchKilled { .. }
            | Self::Run { .. }
            | Self::Send { .. }
            | Self::ShimKilled { .. }
            | Self::Stop { .. }
            | Self::StopKilled { .. }
            | Self::Resume { .. }
            | Self::Lock { .. }
            | Self::Unlock { .. }
            | Self::FuseSet { .. }
            | Self::FuseCancel { .. }
            | Self::Budget { .. }
            | Self::Prune
            | Self::Daemon
            | Self::DaemonKilled
            | Self::Listen
            | Self::Recycle { .. }
            | Self::SpoilLock { .. }
            | Self::SpoilFuse { .. }
            | Self::Cache
            | Self::Age
            | Self::Mend => String::new(),
        };
        format!("{} {detail}", name.replace('_', " ")).trim_end().to_lowercase()
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(&KINDS[..])
}

fn launched() -> impl Strategy<Value = Step> {
    let key = prop::option::weighted(0.4, 0u8..2);
    let begun = (kind(), 0u8..4, key, prop::bool::weighted(0.3))
        .prop_map(|(agent, dir, key, steerable)| Step::Launch { agent, dir, key, steerable });
    let by_hand = prop::sample::select(&[Kind::Claude, Kind::Codex][..]);
    let run = (by_hand, 0u8..4).prop_map(|(agent, dir)| Step::Run { agent, dir });
    let moments = [Moment::Spawned, Moment::Orders, Moment::Receipt, Moment::Born];
    let killed = (kind(), 0u8..4, prop::sample::select(moments.to_vec()))
        .prop_map(|(agent, dir, at)| Step::LaunchKilled { agent, dir, at });
    prop_oneof![4 => begun, 2 => run, 1 => killed]
}

fn lived() -> impl Strategy<Value = Step> {
    let orders = vec![Order::Prompt, Order::Reply, Order::Reply, Order::Ask, Order::Exit];
    let order = (any::<u8>(), prop::sample::select(orders))
        .prop_map(|(who, order)| Step::Order { who, order });
    let signs = vec![Sign::Kill, Sign::Term, Sign::Int, Sign::Halt, Sign::Go];
    let signal = (any::<u8>(), prop::sample::select(signs))
        .prop_map(|(who, sign)| Step::Signal { who, sign });
    let who = |step: fn(u8) -> Step| any::<u8>().prop_map(step);
    prop_oneof![
        4 => order,
        3 => signal,
        1 => who(|who| Step::Send { who }),
        1 => who(|who| Step::ShimKilled { who }),
        1 => who(|who| Step::StopKilled { who }),
        2 => who(|who| Step::Resume { who }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(who, force)| Step::Stop { who, force }),
    ]
}

fn wanted() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0u8..4).prop_map(|dir| Step::Lock { dir }),
        1 => (0u8..4).prop_map(|dir| Step::Unlock { dir }),
        1 => (0u8..4).prop_map(|dir| Step::FuseSet { dir }),
        1 => any::<u8>().prop_map(|which| Step::FuseCancel { which }),
        1 => any::<u8>().prop_map(|who| Step::Budget { who }),
        1 => Just(Step::Prune),
        1 => Just(Step::Daemon),
        1 => Just(Step::DaemonKilled),
        3 => Just(Step::Listen),
    ]
}

fn harm() -> impl Strategy<Value = Harm> {
    prop::sample::select(vec![Harm::Torn, Harm::Empty, Harm::Garbage])
}

fn harmed() -> impl Strategy<Value = Step> {
    let files =
        vec![File::Record, File::Record, File::Receipt, File::Exit, File::Stop, File::Budget];
    let spoil = (any::<u8>(), prop::sample::select(files), harm())
        .prop_map(|(who, file, harm)| Step::Spoil { who, file, harm });
    let stores = prop::sample::select(vec![Fault::Away, Fault::Closed]);
    let store = (kind(), stores).prop_map(|(agent, fault)| Step::Store { agent, fault });
    let faults = vec![Fault::Closed, Fault::Fixed, Fault::Replaced, Fault::Full];
    let state = prop::sample::select(faults).prop_map(|fault| Step::State { fault });
    prop_oneof![
        4 => spoil,
        2 => any::<u8>().prop_map(|who| Step::Recycle { who }),
        1 => (0u8..4, harm()).prop_map(|(dir, harm)| Step::SpoilLock { dir, harm }),
        1 => (any::<u8>(), harm()).prop_map(|(which, harm)| Step::SpoilFuse { which, harm }),
        2 => store,
        3 => state,
        1 => Just(Step::Cache),
        1 => Just(Step::Age),
        4 => Just(Step::Mend),
    ]
}

/// Sequences of at most so many steps.
pub(super) fn sequences(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![4 => launched(), 6 => lived(), 2 => wanted(), 3 => harmed()];
    prop::collection::vec(step, 1..=most)
}
