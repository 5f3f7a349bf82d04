//! The one setting that matters here: the gateway's token. It goes to the gateway and nowhere else.

use crate::{
    host::{self, Host},
    ident::ProcKey,
};
use serde_json::Value;
use std::path::Path;

/// Configurations are small; more than this is not read.
const LIMIT: usize = 4 << 20;
/// How deep brackets may nest: `json5` 1.3 goes down with them until the stack is full.
const DEPTH: usize = 64;
const VARIABLE: &str = "OPENCLAW_GATEWAY_TOKEN";

/// The token that a configuration names, or the gateway's own environment.
pub(super) fn token(host: &dyn Host, config: &Path, gateway: &ProcKey) -> Option<String> {
    let bytes = host::slurp(host, config, LIMIT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let config: Value = match nests(&text, DEPTH) {
        true => Value::Null,
        false => json5::from_str(&text).unwrap_or_default(),
    };
    let written = config["gateway"]["auth"]["token"].as_str();
    // `${NAME}` stands for a variable.
    let plain = written.filter(|token| !token.is_empty() && !token.contains("${"));
    let given = || host.env(gateway, &[VARIABLE]).ok()?.remove(VARIABLE)?.into_string().ok();
    plain.map(str::to_owned).or_else(given)
}

/// Brackets stand deeper in each other than that.
fn nests(text: &str, limit: usize) -> bool {
    let (mut depth, mut chars) = (0usize, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            quote @ ('"' | '\'') => {
                while let Some(c) = chars.next().filter(|c| *c != quote) {
                    if c == '\\' {
                        chars.next();
                    }
                }
            }
            '/' if chars.peek() == Some(&'/') => {
                let ends = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
                while chars.next().is_some_and(|c| !ends(c)) {}
            }
            '/' if chars.next_if_eq(&'*').is_some() => {
                while chars.next().is_some_and(|c| c != '*' || chars.next_if_eq(&'/').is_none()) {}
            }
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::nests;

    #[test]
    fn depth_is_counted_outside_of_text_and_comments() {
        assert!(nests("[[[", 2));
        assert!(!nests("[[]][[]]", 2));
        assert!(!nests(r#"["[[[", '[[[', "\"[[[", // [[["#, 2));
        assert!(!nests("[ /* [[[ */ [] /* [[[", 2));
        assert!(nests("[']]]', // ]]]\r[/* ]]] */[", 2), "what closes nothing does not count");
        assert!(nests("[/*]*/[/**//*]*/[", 2));
        assert!(nests("/[[[", 2), "a slash alone begins no comment");
    }
}
