//! Pages made from the code: the JSON schemas of every answer, and the README's table of agents.

mod support;

use crate::{
    check::Finding,
    failure::{Failure, Outcome},
};
use agentctl_core::wire;
use schemars::{JsonSchema, generate::SchemaSettings};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where the schemas lie, below the repository.
const SCHEMAS: &str = "docs/schema";

/// Writes every generated page.
pub(crate) fn write(root: &Path) -> Outcome<()> {
    let dir = root.join(SCHEMAS);
    fs::create_dir_all(&dir).map_err(|why| Failure::io("create", &dir, &why))?;
    for (path, text) in pages(root)? {
        fs::write(&path, text).map_err(|why| Failure::io("write", &path, &why))?;
    }
    Ok(())
}

/// Generated pages that are not what the code says.
pub(crate) fn stale(root: &Path) -> Outcome<Vec<Finding>> {
    let mut stale = Vec::new();
    for (path, text) in pages(root)? {
        if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            stale.push(Finding::new(&path, 1, "not up to date; run `cargo xtask gen`"));
        }
    }
    Ok(stale)
}

fn pages(root: &Path) -> Outcome<Vec<(PathBuf, String)>> {
    let place = |(name, text): (&str, String)| (root.join(SCHEMAS).join(name), text);
    let mut pages: Vec<(PathBuf, String)> = schemas()?.into_iter().map(place).collect();
    pages.push(support::page(root)?);
    Ok(pages)
}

fn schemas() -> Outcome<Vec<(&'static str, String)>> {
    Ok(vec![
        ("error.json", schema::<wire::Failed>()?),
        ("list.json", schema::<wire::Sessions>()?),
        ("status.json", schema::<wire::OneSession>()?),
        ("logs.json", schema::<wire::Messages>()?),
        ("config.json", schema::<wire::Config>()?),
        ("config-path.json", schema::<wire::ConfigFiles>()?),
        ("attach.json", schema::<wire::Attach>()?),
        ("decision.json", schema::<wire::Decision>()?),
        ("daemon.json", schema::<wire::Daemon>()?),
        ("doctor.json", schema::<wire::Doctor>()?),
        ("hook.json", schema::<wire::HookRun>()?),
        ("event.json", schema::<wire::Event>()?),
        ("fuses.json", schema::<wire::Fuses>()?),
        ("budgets.json", schema::<wire::Budgets>()?),
        ("launch.json", schema::<wire::Launch>()?),
        ("launches.json", schema::<wire::Launches>()?),
        ("dry-run.json", schema::<wire::DryRun>()?),
        ("dry-runs.json", schema::<wire::DryRuns>()?),
        ("locks.json", schema::<wire::Locks>()?),
        ("prune.json", schema::<wire::Pruned>()?),
        ("send.json", schema::<wire::Delivery>()?),
        ("stop.json", schema::<wire::Stops>()?),
        ("webhook-list.json", schema::<wire::Webhooks>()?),
        ("webhook-test.json", schema::<wire::WebhookTests>()?),
        ("webhook-retry.json", schema::<wire::WebhookRetries>()?),
        ("worktree-list.json", schema::<wire::Worktrees>()?),
        ("worktree-clean.json", schema::<wire::Cleaning>()?),
        ("diff.json", schema::<wire::Difference>()?),
        ("compare.json", schema::<wire::Comparison>()?),
    ])
}

fn schema<T: JsonSchema>() -> Outcome<String> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|why| Failure::new(format!("cannot write a schema: {why}")))?;
    Ok(format!("{text}\n"))
}
