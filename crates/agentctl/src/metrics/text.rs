//! The figures as OpenMetrics text, which every Prometheus since 2.5 reads. Pure.

use super::Counters;
use agentctl_core::{
    host::Spent,
    wire::{Lock, LockKind, Session, StateName, Webhook},
};
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};
use std::{collections::BTreeMap, sync::atomic::AtomicU64, time::Duration};

/// So many sessions have figures of their own: each is a series that Prometheus keeps for long.
const SESSIONS: usize = 100;

/// What was seen.
pub(crate) struct Seen<'a> {
    /// Those that are alive, or may be.
    pub(crate) sessions: &'a [Session],
    /// What the process of each has used, in the same order.
    pub(crate) spent: &'a [Option<Spent>],
    pub(crate) locks: &'a [Lock],
    /// Fuses that have not fired.
    pub(crate) fuses: usize,
    /// How long it took to look at each agent.
    pub(crate) times: &'a [(&'static str, Duration)],
    /// Whose sessions could not be read, once for each reason.
    pub(crate) problems: &'a [String],
    pub(crate) webhooks: &'a [Webhook],
    /// Nothing, where nobody counts.
    pub(crate) counters: Option<&'a Counters>,
}

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;
type Counts = Family<Labels, Counter<f64, AtomicU64>>;

/// The figures.
pub(crate) fn text(seen: &Seen<'_>) -> String {
    let mut registry = Registry::default();
    now(&mut registry, seen);
    each_session(&mut registry, seen);
    adapters(&mut registry, seen);
    if let Some(counters) = seen.counters {
        counted(&mut registry, counters);
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes everything");
    text
}

fn gauges(registry: &mut Registry, name: &str, help: &str) -> Gauges {
    let family = Gauges::default();
    registry.register(name, help, family.clone());
    family
}

fn single(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge: Gauge<u64, AtomicU64> = Gauge::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn set(family: &Gauges, labels: Labels, value: u64) {
    family.get_or_create(&labels).set(value as f64);
}

fn now(registry: &mut Registry, seen: &Seen<'_>) {
    let info = gauges(registry, "agentctl_build_info", "Version of agentctl; always 1");
    set(&info, vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1);
    let live = count(seen.sessions, |session| session.live);
    single(registry, "agentctl_sessions_active", "Number of active sessions", live);
    let states =
        gauges(registry, "agentctl_sessions_by_state", "Sessions that are alive or may be");
    let mut by_state: BTreeMap<(&str, StateName), u64> = BTreeMap::new();
    for session in seen.sessions {
        *by_state.entry((&session.agent, session.state)).or_default() += 1;
    }
    for ((agent, state), number) in by_state {
        set(&states, vec![("agent", agent.to_owned()), ("state", state.name().to_owned())], number);
    }
    let locks = gauges(registry, "agentctl_locks_active", "Number of active locks");
    for (name, kind) in [("auto", LockKind::Session), ("manual", LockKind::Manual)] {
        set(&locks, vec![("type", name.to_owned())], count(seen.locks, |lock| lock.kind == kind));
    }
    let fuses = seen.fuses as u64;
    single(registry, "agentctl_fuses_active", "Number of fuses that have not fired", fuses);
    let help = "Messages for a target that wait, were given up, or were dropped";
    let messages = gauges(registry, "agentctl_webhook_messages", help);
    for hook in seen.webhooks {
        let numbers = [
            ("waiting", hook.waiting as u64),
            ("given_up", hook.given_up as u64),
            ("dropped", hook.dropped),
        ];
        for (state, number) in numbers {
            set(
                &messages,
                vec![("target", hook.name.clone()), ("state", state.to_owned())],
                number,
            );
        }
    }
}

fn count<T>(all: &[T], is: impl Fn(&T) -> bool) -> u64 {
    all.iter().filter(|one| is(one)).count() as u64
}

fn each_session(registry: &mut Registry, seen: &Seen<'_>) {
    let help = "Tokens of a live session so far, counted once a minute";
    let tokens = gauges(registry, "agentctl_session_tokens", help);
    let help = "What a live session has cost so far, where its agent says so";
    let cost = gauges(registry, "agentctl_session_cost_usd", help);
    let cpu = Counts::default();
    let help = "Processor time of the process that has a session, without what it started";
    registry.register("agentctl_session_cpu_seconds", help, cpu.clone());
    let help = "Memory of the process that has a session, without what it started";
    let memory = gauges(registry, "agentctl_session_memory_bytes", help);
    let help = "Live sessions beyond the first 100, which have no figures of their own";
    let spent = seen.spent.iter().copied().chain(std::iter::repeat(None));
    let named: Vec<_> = seen.sessions.iter().zip(spent).filter(|(one, _)| one.live).collect();
    let beyond = named.len().saturating_sub(SESSIONS) as u64;
    single(registry, "agentctl_sessions_without_figures", help, beyond);
    for (session, spent) in named.into_iter().take(SESSIONS) {
        let labels = || -> Labels {
            let pid = || session.pid.map(|pid| format!("pid:{pid}"));
            let name = session.id.clone().or_else(pid).unwrap_or_default();
            vec![("agent", session.agent.clone()), ("session", name)]
        };
        if let Some(used) = session.tokens {
            let kinds = [
                ("input", used.input),
                ("output", used.output),
                ("cache_read", used.cache_read),
                ("cache_write", used.cache_write),
            ];
            for (kind, number) in kinds {
                set(&tokens, [labels(), vec![("kind", kind.to_owned())]].concat(), number);
            }
        }
        if let Some(dollars) = session.cost_usd {
            cost.get_or_create(&labels()).set(dollars);
        }
        if let Some(spent) = spent {
            cpu.get_or_create(&labels()).inc_by(spent.cpu.as_secs_f64());
            set(&memory, labels(), spent.memory);
        }
    }
}

fn adapters(registry: &mut Registry, seen: &Seen<'_>) {
    let help = "How long the last look at an agent's sessions took";
    let looks = gauges(registry, "agentctl_adapter_look_seconds", help);
    let help = "What of an agent could not be read in the last look";
    let problems = gauges(registry, "agentctl_adapter_problems", help);
    for (agent, time) in seen.times {
        let labels = vec![("agent", (*agent).to_owned())];
        looks.get_or_create(&labels).set(time.as_secs_f64());
        set(&problems, labels, 0);
    }
    for agent in seen.problems {
        problems.get_or_create(&vec![("agent", agent.clone())]).inc();
    }
}

fn counted(registry: &mut Registry, counters: &Counters) {
    let help = "Sessions that ended since the daemon began, by status";
    let sessions: Family<Labels, Counter> = Family::default();
    registry.register("agentctl_sessions", help, sessions.clone());
    let ended = [
        ("completed", counters.completed),
        ("failed", counters.failed),
        ("stopped", counters.stopped),
    ];
    for (status, number) in ended {
        sessions.get_or_create(&vec![("status", status.to_owned())]).inc_by(number);
    }
    let fuses: Counter = Counter::default();
    fuses.inc_by(counters.fuses);
    registry.register("agentctl_fuses_expired", "Fuses that fired since the daemon began", fuses);
    let help = "How long sessions took that ended since the daemon began";
    registry.register("agentctl_session_duration_seconds", help, counters.durations.clone());
}
