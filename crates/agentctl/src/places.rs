//! Where our own files are.

use std::{env, ffi::OsString, path::PathBuf};

/// The directory of receipts, intents and logs.
pub(crate) fn state() -> Option<PathBuf> {
    place(env::var_os, "XDG_STATE_HOME", ".local/state")
}

fn place(
    variable: impl Fn(&'static str) -> Option<OsString>,
    base: &'static str,
    usual: &str,
) -> Option<PathBuf> {
    let dir = |name| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let below = || dir(base).or_else(|| Some(dir("HOME")?.join(usual)));
    dir("AGENTCTL_HOME").or_else(|| Some(below()?.join("agentctl")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_most_particular_variable_says_where() {
        let with = |pairs: &'static [(&str, &str)]| {
            let variable = |name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            place(variable, "XDG_STATE_HOME", ".local/state")
        };
        assert_eq!(with(&[("HOME", "/h")]).as_deref(), Some(Path::new("/h/.local/state/agentctl")));
        let xdg = with(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]);
        assert_eq!(xdg.as_deref(), Some(Path::new("/s/agentctl")));
        let own = with(&[("HOME", "/h"), ("AGENTCTL_HOME", "/a")]);
        assert_eq!(own.as_deref(), Some(Path::new("/a")));
        assert_eq!(with(&[("AGENTCTL_HOME", "relative")]), None);
    }
}
