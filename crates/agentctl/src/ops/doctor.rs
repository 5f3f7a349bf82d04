//! What is installed, what is found, what cannot be read, and what was never seen before.

use super::{Here, observe, prune};
use agentctl_core::{
    agent::{Agent, Card},
    host::{self, Host},
    lines::{self, Body, Flow},
    observe::{History, Survey},
    wire::{Ability, Checkup, Doctor, Drift, SCHEMA, Store},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// How many of an agent's newest transcripts are searched for drift, and how much of each.
const NEWEST: usize = 50;
const TAIL: u64 = 512 << 10;
const MANIFEST: usize = 1 << 20;

/// Looks at everything.
pub(crate) fn doctor(here: &Here) -> Doctor {
    let host = here.host();
    let surveys =
        observe::all(here, |agent, host, env| Survey::new(agent, host, env, History::All));
    let agents = surveys.into_iter().map(|survey| checkup(host, survey)).collect();
    let problems = observe::lost(host.lost()).collect();
    let left_behind = prune::left_behind();
    Doctor { schema: SCHEMA, host: abilities(host), agents, problems, left_behind }
}

fn abilities(host: &dyn Host) -> Vec<Ability> {
    let locks = host.lockers(Path::new("/"));
    let own = host.table().map(|table| {
        let me = table.process(std::process::id());
        me.map(|process| host.open_files(&table.key(process)))
    });
    let files = match own {
        Ok(Some(Err(why))) | Err(why) => Some(why),
        Ok(Some(Ok(_)) | None) => None,
    };
    let told = |what: &str, why: Option<host::CannotTell>| {
        let cannot_tell = why.map(|why| why.0);
        Ability { what: what.to_owned(), cannot_tell }
    };
    vec![
        told("processes", host.table().err()),
        told("file locks", locks.err()),
        told("open files", files),
    ]
}

fn checkup(host: &dyn Host, mut survey: Survey<'_>) -> Checkup {
    let card = survey.agent.card();
    let program = on_path(host, card);
    let drift = drift(host, &survey);
    let problems = observe::problems(&mut survey, Vec::new());
    let mut stores: Vec<Store> = survey.stores.iter().map(|path| store(&survey, path)).collect();
    for path in survey.agent.stores(&observe::environment()) {
        if !survey.stores.contains(&host.resolve(&path)) {
            stores.push(Store { path, sessions: None, live: 0 });
        }
    }
    Checkup {
        agent: card.name.to_owned(),
        title: card.title.to_owned(),
        version: program.as_deref().and_then(|program| version(host, program)),
        program,
        proved: card.proved.iter().map(|version| (*version).to_owned()).collect(),
        stores,
        live: survey.candidates.iter().filter(|candidate| candidate.is_held()).count(),
        drift,
        problems,
    }
}

fn store(survey: &Survey<'_>, path: &Path) -> Store {
    let stored = survey.candidates.iter().filter(|one| one.store == path && one.stub.is_some());
    let held = survey.candidates.iter().filter(|one| one.store == path && one.is_held());
    Store { path: path.to_owned(), sessions: Some(stored.count()), live: held.count() }
}

/// The program as a shell would find it.
pub(super) fn on_path(host: &dyn Host, card: &Card) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join(card.binary));
    found.into_iter().find(|file| host.stat(file).is_ok())
}

/// The version, without starting anything: by the package the program lies in, or its own name.
fn version(host: &dyn Host, program: &Path) -> Option<String> {
    let real = host.resolve(program);
    let named = real.file_name()?.to_str()?;
    if named.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(named.to_owned()); // a native install names the file after its version
    }
    let manifest = real.ancestors().skip(1).take(4).map(|dir| dir.join("package.json"));
    let bytes = manifest.into_iter().find_map(|file| host::slurp(host, &file, MANIFEST).ok())?;
    let manifest: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    manifest.get("version")?.as_str().map(str::to_owned)
}

fn drift(host: &dyn Host, survey: &Survey<'_>) -> Vec<Drift> {
    let mut stubs: Vec<_> =
        survey.candidates.iter().filter_map(|candidate| candidate.stub.as_ref()).collect();
    stubs.sort_by_key(|stub| std::cmp::Reverse(stub.updated));
    let mut seen: BTreeMap<String, Drift> = BTreeMap::new();
    for stub in stubs.into_iter().take(NEWEST) {
        strange_lines(host, survey.agent, &stub.path, &mut |what, offset| {
            let path = stub.path.clone();
            let new = Drift { what: what.clone(), times: 0, path, offset };
            seen.entry(what).or_insert(new).times += 1;
        });
    }
    seen.into_values().collect()
}

fn strange_lines(
    host: &dyn Host,
    agent: &dyn Agent,
    path: &Path,
    note: &mut dyn FnMut(String, u64),
) {
    let Ok(file) = host.open(path) else { return };
    let from = file.size().saturating_sub(TAIL);
    let _ = lines::back(&*file, &mut |line| {
        if line.at < from {
            return Flow::Break(());
        }
        if let Body::Whole(bytes) = line.body
            && let Some(shape) = agent.shape(bytes)
        {
            for what in agent.card().strange(&shape) {
                note(what, line.at);
            }
        }
        Flow::Continue(())
    });
}
