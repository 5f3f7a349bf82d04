//! Settings with which the real agents talk to the scripted model and ask a person nothing.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::model::Model;

/// The key of the scripted model; Claude Code wants the end of it approved before a first start.
const KEY: &str = "dummy";

/// Writes the settings of all agents into the home below `root`.
pub(super) fn plant(root: &Path, model: &Model) {
    let home = root.join("home");
    write(&home.join(".claude.json"), &claude(root).to_string());
    // Workers of Claude's own fleet lose the variable, and keep this.
    let settings = json!({"env": {"ANTHROPIC_BASE_URL": model.url()}});
    write(&home.join(".claude/settings.json"), &settings.to_string());
    write(&home.join(".codex/config.toml"), &codex(model));
}

/// Has the agents trust a directory.
pub(super) fn trust(root: &Path, dir: &Path) {
    let config = root.join("home/.codex/config.toml");
    let table = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", dir.display().to_string());
    File::options()
        .append(true)
        .open(&config)
        .and_then(|mut file| file.write_all(table.as_bytes()))
        .unwrap_or_else(|why| panic!("cannot write {}: {why}", config.display()));
}

/// Variables for the agents: where the model is, and that they keep to themselves.
pub(super) fn variables(model: &Model) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("ANTHROPIC_BASE_URL", model.url()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("MOCK_KEY", KEY.to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ];
    let quiet = [
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    ];
    all.extend(quiet.map(|name| (name, "1".to_owned())));
    all
}

/// Claude Code 2.1.197 trusts what lies below a directory it trusts.
fn claude(root: &Path) -> Value {
    let root = root.display().to_string();
    json!({
        "hasCompletedOnboarding": true,
        "lastOnboardingVersion": "2.1.197",
        "lastReleaseNotesSeen": "2.1.197",
        "theme": "dark",
        "officialMarketplaceAutoInstallAttempted": true,
        "officialMarketplaceAutoInstalled": true,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {root: {"hasTrustDialogAccepted": true, "allowedTools": []}},
    })
}

fn codex(model: &Model) -> String {
    format!(
        r#"model = "mock-model"
model_provider = "mock"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "{}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[feedback]
enabled = false
"#,
        model.url()
    )
}

fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("settings lie in a folder");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .unwrap_or_else(|why| panic!("cannot write {}: {why}", path.display()));
}
