//! The one setting that matters here: the gateway's token. It goes to the gateway and nowhere else.

use crate::{
    host::{self, Host},
    ident::ProcKey,
};
use serde_json::Value;
use std::path::Path;

/// Configurations are small; more than this is not read.
const LIMIT: usize = 4 << 20;
const VARIABLE: &str = "OPENCLAW_GATEWAY_TOKEN";

/// The token that a configuration names, or the gateway's own environment.
pub(super) fn token(host: &dyn Host, config: &Path, gateway: &ProcKey) -> Option<String> {
    let bytes = host::slurp(host, config, LIMIT).unwrap_or_default();
    let config: Value = json5::from_str(&String::from_utf8_lossy(&bytes)).unwrap_or_default();
    let written = config["gateway"]["auth"]["token"].as_str();
    // `${NAME}` stands for a variable.
    let plain = written.filter(|token| !token.is_empty() && !token.contains("${"));
    let given = || host.env(gateway, &[VARIABLE]).ok()?.remove(VARIABLE)?.into_string().ok();
    plain.map(str::to_owned).or_else(given)
}
