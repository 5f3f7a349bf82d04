//! The real agents, by `npm ci` from the checked-in locks.

use super::{
    cache::{Cache, Recipe, digest},
    ready::bad_pin,
};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The npm packages we know, and the command each brings.
const COMMANDS: &[(&str, &str)] = &[
    ("@anthropic-ai/claude-code", "claude"),
    ("@earendil-works/pi-coding-agent", "pi"),
    ("@github/copilot", "copilot"),
    ("@google/gemini-cli", "gemini"),
    ("@mariozechner/pi-coding-agent", "pi"),
    ("@openai/codex", "codex"),
    ("node", "node"), // for agents that want a newer one than the machine has
    ("openclaw", "openclaw"),
    ("opencode-ai", "opencode"),
];

/// Packages whose install script must be run by us: npm 11 runs none unasked, and claude 2.1.197
/// puts its native program into place by it.
const INSTALL_SCRIPTS: &[(&str, &str)] =
    &[("@anthropic-ai/claude-code", "install.cjs"), ("opencode-ai", "postinstall.mjs")];

/// What is pinned for one set of agents.
#[derive(Deserialize)]
struct Pins {
    dependencies: BTreeMap<String, String>,
}

/// Installs the set of agents pinned in a folder and returns the directory of their commands.
pub(super) fn ensure(cache: &Cache, set: &Path) -> Outcome<PathBuf> {
    let name = set.file_name().unwrap_or_default().to_string_lossy();
    let lock = read(&set.join("package-lock.json"))?;
    let pins = pins(&set.join("package.json"))?;
    let home = cache.ensure(&Recipe {
        name: format!("agents-{name}-{}", digest(&lock)),
        is_sound: &|dir| are_pinned(dir, &pins),
        fill: &|dir| fill(dir, set, &pins),
    })?;
    Ok(commands(&home))
}

fn commands(home: &Path) -> PathBuf {
    home.join("node_modules/.bin")
}

fn fill(dir: &Path, set: &Path, pins: &Pins) -> Outcome<()> {
    for file in ["package.json", "package-lock.json"] {
        let from = set.join(file);
        fs::copy(&from, dir.join(file)).map_err(|why| Failure::io("copy", &from, &why))?;
    }
    let quiet = ["--no-audit", "--no-fund", "--no-progress", "--loglevel=error"];
    tool::captured(
        Command::new("npm").args(["ci", "--ignore-scripts"]).args(quiet).current_dir(dir),
    )?;
    for (package, script) in INSTALL_SCRIPTS {
        if pins.dependencies.contains_key(*package) {
            let folder = dir.join("node_modules").join(package);
            tool::captured(Command::new("node").arg(script).current_dir(folder))?;
        }
    }
    Ok(())
}

/// The commands of a set, and which version each is to be.
pub(super) fn commands_of(set: &Path) -> Outcome<Vec<(&'static str, String)>> {
    let pins = pins(&set.join("package.json"))?;
    pins.commands().map(|found| found.map(|(command, pin)| (command, pin.to_owned()))).collect()
}

impl Pins {
    fn commands(&self) -> impl Iterator<Item = Outcome<(&'static str, &str)>> {
        self.dependencies.iter().map(|(package, pin)| {
            let known = COMMANDS.iter().find(|(known, _)| known == package);
            let missing = || Failure::new(format!("no command is known for {package}"));
            let (_, command) = known.ok_or_else(missing)?;
            // `npm:package@version` is a package under another name.
            Ok((*command, pin.rsplit_once('@').map_or(pin.as_str(), |(_, version)| version)))
        })
    }
}

/// Asks each command for its version: a wrong or half-installed agent would make tests lie.
fn are_pinned(dir: &Path, pins: &Pins) -> Outcome<()> {
    for found in pins.commands() {
        let (command, pin) = found?;
        let answer = tool::heard(
            Command::new(commands(dir).join(command))
                .arg("--version")
                .env_clear()
                .env("PATH", search_path(dir))
                // Not the person's home: an agent may write there even to tell its version.
                .env("HOME", dir.join("home")),
        )?;
        if !answer.split_whitespace().any(|word| word.trim_matches(['v', ',', '.']) == pin) {
            let answer = answer.trim();
            return Err(Failure::new(format!("{command} is to be {pin} but says `{answer}`")));
        }
    }
    Ok(())
}

/// The set's own commands first: it may bring its own Node.
fn search_path(dir: &Path) -> std::ffi::OsString {
    let mut path = commands(dir).into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    path
}

fn pins(file: &Path) -> Outcome<Pins> {
    serde_json::from_slice(&read(file)?).map_err(|why| bad_pin(file, why))
}

fn read(file: &Path) -> Outcome<Vec<u8>> {
    fs::read(file).map_err(|why| Failure::io("read", file, &why))
}
