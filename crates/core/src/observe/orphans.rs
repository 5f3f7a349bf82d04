//! What agents that we launched have left behind: processes that carry the launch and whose session
//! has ended.

use crate::{
    host::{Host, Process, Table},
    ident::ProcKey,
    receipt::{Launched, VARIABLE},
    wire::{Orphan, Session},
};
use std::{borrow::Borrow, collections::BTreeSet};

/// Processes of ended launches. `sessions` are all that live, of every agent: whoever is above or
/// below one of them is shown with it.
pub fn orphans<S: Borrow<Session>>(host: &dyn Host, sessions: &[S]) -> Vec<Orphan> {
    let Ok(table) = host.table() else { return Vec::new() };
    let all = sessions.iter().map(Borrow::borrow);
    let live: Vec<&Session> = all.filter(|session: &&Session| session.live).collect();
    let over = |launch: &Launched| {
        let key = launch.process.as_ref()?;
        let listed = live.iter().any(|session| session.launch_id.as_ref() == Some(&launch.launch));
        let over = key.boot == table.boot && !listed && host.began(key.pid, key.start) == Ok(None);
        over.then_some(key.start)
    };
    let over: Vec<(&Launched, u64)> =
        host.launches().iter().filter_map(|launch| Some((launch, over(launch)?))).collect();
    let Some(first) = over.iter().map(|(_, start)| *start).min() else {
        return Vec::new();
    };
    let kin: BTreeSet<u32> =
        live.iter().filter_map(|session| session.pid).flat_map(|pid| kin(table, pid)).collect();
    let may_be = |process: &&Process| {
        !process.zombie && process.start >= first && !kin.contains(&process.pid)
    };
    let orphan = |process: &Process| {
        let key = table.key(process);
        let launch = host.env(&key, &[VARIABLE]).ok()?.remove(VARIABLE)?;
        let (launch, _) = over.iter().find(|(one, _)| *one.launch == *launch)?;
        (host.is_mine(&key) == Ok(true)).then(|| of(launch, key, &process.comm))
    };
    table.processes.iter().filter(may_be).filter_map(orphan).collect()
}

fn of(launch: &Launched, process: ProcKey, comm: &str) -> Orphan {
    Orphan {
        process,
        command: comm.to_owned(),
        launch_id: launch.launch.clone(),
        agent: launch.agent.clone(),
        session_id: launch.session.clone(),
    }
}

/// A process with all that are above and below it.
fn kin(table: &Table, pid: u32) -> Vec<u32> {
    let mut all = table.descendants(pid);
    let mut at = table.process(pid);
    while let Some(process) = at.filter(|process| !all.contains(&process.pid)) {
        all.push(process.pid);
        at = table.process(process.parent);
    }
    all
}
