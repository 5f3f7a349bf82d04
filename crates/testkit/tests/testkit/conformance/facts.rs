//! Whether each fact that a session is said to follow from holds on the host it was read from.

use agentctl_core::{
    host::{Host, Kernel, Servers, Tables},
    ident::ProcKey,
    proof::Source,
    receipt::VARIABLE,
    wire::Session,
};
use agentctl_testkit::fixture::FixtureHost;
use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

/// Facts of a session that do not hold.
pub(super) fn untrue(session: &Session, host: &FixtureHost) -> Vec<String> {
    let name = session.id.as_deref().unwrap_or("(unnamed)");
    let wrong = session.because.iter().filter(|because| !holds(&because.source, host));
    wrong
        .map(|because| format!("{name}: not true: {}: {:?}", because.fact, because.source))
        .collect()
}

fn holds(source: &Source, host: &FixtureHost) -> bool {
    match source {
        Source::Line { path, offset, shows, without } => {
            let rest = rest(host, path, *offset);
            let line = rest.lines().next().unwrap_or_default();
            line.contains(shows) && !without.iter().any(|word| rest.contains(word))
        }
        Source::File { path, shows } => whole(host, path).contains(shows),
        Source::Alive { process } => is_alive(process, host),
        Source::Halted { process } => {
            let table = host.table().ok();
            let own = table.and_then(|table| table.process(process.pid));
            is_alive(process, host) && own.is_some_and(|own| own.halted)
        }
        Source::Gone { process } => !is_alive(process, host),
        Source::Lock { path, pid } => host.lockers(path).is_ok_and(|pids| pids.contains(pid)),
        Source::NoLock { path } => host.lockers(path).is_ok_and(|pids| pids.is_empty()),
        Source::OpenFile { path, pid } => of(*pid, host)
            .and_then(|key| host.open_files(&key).ok())
            .is_some_and(|files| files.iter().any(|file| file.path == *path)),
        Source::Variable { variable, pid } => carries(variable, *pid, host),
        Source::Launch { launch, pid } => carries(&format!("{VARIABLE}={launch}"), *pid, host),
        Source::NoVariable { variable, pid } => {
            let below = host.table().map(|table| table.descendants(*pid)).unwrap_or_default();
            !below.iter().any(|pid| carries(variable, *pid, host))
        }
        Source::Unreadable { path } => {
            agentctl_core::host::slurp(host as &dyn Host, path, 1).is_err()
        }
        Source::Arguments { shows, pid } => of(*pid, host)
            .and_then(|key| host.argv(&key).ok())
            .is_some_and(|argv| argv.iter().any(|word| word.contains(shows))),
        Source::Inference { process } => is_alive(process, host),
        Source::Row { path, query, shows } => host.rows(path, query, &[]).is_ok_and(|rows| {
            rows.iter().flatten().any(|cell| cell.text().is_some_and(|text| text.contains(shows)))
        }),
        Source::Answer { url, shows } => said(host, url).contains(shows),
        Source::Absence { check } => is_absent(check, host).unwrap_or(false),
        Source::Blind => true,
    }
}

/// Runs the check with the captured machine's processes and gateway in the place of this one's, and
/// nothing else of whoever runs the tests but the usual commands.
fn is_absent(check: &str, host: &FixtureHost) -> io::Result<bool> {
    let bin = tempfile::tempdir()?;
    let place = bin.path().display();
    let table = host.table().map(|table| table.processes.clone()).unwrap_or_default();
    let comms =
        table.iter().filter(|one| !one.zombie).map(|one| format!("{} {}\n", one.pid, one.comm));
    fs::write(bin.path().join("comms"), comms.collect::<String>())?;
    let found = "$2 == name { print $1; found = 1 } END { exit !found }";
    program(
        &bin.path().join("pgrep"),
        &format!("for name; do :; done; awk -v name=\"$name\" '{found}' {place}/comms"),
    )?;
    let lists = host.facts().gateways.values().filter_map(|one| one.answers.get("sessions.list"));
    let rows = lists.filter_map(|list| list["payload"]["sessions"].as_array()).flatten();
    let active: Vec<String> =
        rows.filter(|row| row["hasActiveRun"] == true).map(ToString::to_string).collect();
    if !host.facts().gateways.is_empty() {
        fs::write(bin.path().join("rows"), active.join("\n"))?;
    }
    program(&bin.path().join("openclaw"), &format!("cat {place}/rows"))?;
    let clean = format!("export PATH={place}:/usr/bin:/bin HOME={place}; {check}");
    host.shell(&clean).map(|status| status.success())
}

fn program(path: &Path, script: &str) -> io::Result<()> {
    fs::write(path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn of(pid: u32, host: &FixtureHost) -> Option<ProcKey> {
    let table = host.table().ok()?;
    table.process(pid).filter(|process| !process.zombie).map(|process| table.key(process))
}

fn is_alive(process: &ProcKey, host: &FixtureHost) -> bool {
    of(process.pid, host).as_ref() == Some(process)
}

fn carries(variable: &str, pid: u32, host: &FixtureHost) -> bool {
    let Some((name, value)) = variable.split_once('=') else { return false };
    let env = of(pid, host).and_then(|key| Kernel::env(host, &key, &[name]).ok());
    env.is_some_and(|env| env.get(name).is_some_and(|found| found == value))
}

fn said(host: &FixtureHost, url: &str) -> String {
    let page = host.get(url, None).map(|page| String::from_utf8_lossy(&page).into_owned());
    let gateway = host.facts().gateways.get(url);
    let answers = || gateway.into_iter().flat_map(|one| one.answers.values());
    page.unwrap_or_else(|_| answers().map(ToString::to_string).collect())
}

fn whole(host: &FixtureHost, path: &Path) -> String {
    let bytes = agentctl_core::host::slurp(host as &dyn Host, path, usize::MAX);
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn rest(host: &FixtureHost, path: &Path, offset: u64) -> String {
    let bytes = agentctl_core::host::slurp(host as &dyn Host, path, usize::MAX).unwrap_or_default();
    let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    String::from_utf8_lossy(rest).into_owned()
}
