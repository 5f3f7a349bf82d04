//! An issue on GitHub, told by the `gh` command.

use super::too_long;
use crate::{
    error::{Error, Kind},
    ops::command::said,
};
use agentctl_core::{context::Piece, text::one_line};
use serde::Deserialize;
use std::{env, path::Path, process::Command, time::Duration};

/// How long `gh` may take.
const WITHIN: Duration = Duration::from_secs(30);
const PROGRAM: &str = "gh";

/// Which issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    /// Its number.
    number: u32,
    /// `owner/name`; without it, that of the directory.
    repo: Option<String>,
}

/// What `gh issue view --json` says.
#[derive(Debug, Deserialize)]
struct Told {
    title: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    url: String,
}

impl Issue {
    /// From `7`, `#7`, `owner/name#7` or an address; `repo` is what --repo says.
    pub(crate) fn named(word: &str, repo: Option<&str>) -> Result<Self, Error> {
        let off = |why: &str| {
            Error::new(Kind::Usage, format!("--issue {}: {why}", one_line(word)))
                .hint("use a number, OWNER/NAME#7, or the address of an issue")
        };
        let path = word.strip_prefix("https://").and_then(|rest| rest.split_once('/'));
        let (place, number) = match path {
            Some((host, path)) => {
                let (place, number) =
                    path.split_once("/issues/").ok_or_else(|| off("no address of an issue"))?;
                let place =
                    if host == "github.com" { place.to_owned() } else { format!("{host}/{place}") };
                (Some(place), number)
            }
            None => match word.split_once('#') {
                Some((place, number)) => (Some(place.to_owned()).filter(|p| !p.is_empty()), number),
                None => (None, word),
            },
        };
        let number = number.parse().map_err(|_| off("no number of an issue"))?;
        let repo = match (place, repo.map(str::to_owned)) {
            (Some(place), Some(repo)) if place != repo => {
                return Err(off(&format!("--repo says {}", one_line(&repo))));
            }
            (place, repo) => repo.or(place),
        };
        match repo.as_ref().filter(|repo| !is_repo(repo)) {
            Some(repo) => Err(off(&format!("no repository is called {}", one_line(repo)))),
            None => Ok(Self { number, repo }),
        }
    }

    /// What it says.
    pub(super) fn piece(&self, cwd: &Path, limit: u64) -> Result<Piece, Error> {
        let number = self.number;
        let failed = |why: String| {
            Error::new(Kind::Usage, format!("cannot read issue {number}: `gh issue view` {why}"))
                .hint("`gh auth status` says whether gh may ask; --repo OWNER/NAME says where")
        };
        let bytes = said(&mut self.command(cwd)?, WITHIN).map_err(failed)?;
        let told: Told = serde_json::from_slice(&bytes)
            .map_err(|why| failed(format!("says what is not understood: {why}")))?;
        self.told(&told, limit)
    }

    fn told(&self, told: &Told, limit: u64) -> Result<Piece, Error> {
        let number = self.number;
        let text = format!("{}\n\n{}", told.title.trim(), told.body.trim());
        if text.len() as u64 > limit {
            return Err(too_long(&format!("issue {number}"), text.len() as u64, limit));
        }
        Ok(Piece { title: format!("Issue {number} {}", one_line(&told.url)), text })
    }

    fn command(&self, cwd: &Path) -> Result<Command, Error> {
        let path = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&path).any(|dir| dir.join(PROGRAM).is_file()) {
            let what = format!("cannot read issue {}: no `{PROGRAM}` on PATH", self.number);
            return Err(Error::new(Kind::Usage, what)
                .hint("install the GitHub command line, or put the issue into a file for --spec"));
        }
        let mut command = Command::new(PROGRAM);
        command.args(["issue", "view", &self.number.to_string(), "--json", "title,body,url"]);
        command.args(self.repo.iter().flat_map(|repo| ["--repo", repo]));
        command.current_dir(cwd).env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
        Ok(command)
    }
}

/// `owner/name`, or `host/owner/name`.
fn is_repo(text: &str) -> bool {
    let part = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && !part.starts_with('-') && part.chars().all(plain)
    };
    matches!(text.split('/').count(), 2 | 3) && text.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(word: &str, repo: Option<&str>) -> Result<(u32, Option<String>), String> {
        let issue = Issue::named(word, repo).map_err(|why| why.message)?;
        Ok((issue.number, issue.repo))
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// Anybody may write an issue: it is a piece within the limit under a title of one line, or nothing.
        #[test]
        fn any_issue_is_a_piece_or_an_error() {
            let run = |bytes: &[u8]| {
                const LIMIT: u64 = 100;
                let Ok(told) = serde_json::from_slice::<Told>(bytes) else { return };
                let Ok(piece) = (Issue { number: 7, repo: None }).told(&told, LIMIT) else {
                    return;
                };
                assert!(piece.text.len() as u64 <= LIMIT);
                assert!(!piece.title.contains(char::is_control), "{:?}", piece.title);
            };
            let seeds = || {
                vec![br#"{"title":"It fails","body":"When I\n","url":"https://github.com/a/b/issues/7"}"#.to_vec()]
            };
            Target { name: "issues", run, seeds }.holds(5_000);
        }
    }

    #[test]
    fn an_issue_has_many_names() {
        let there = Some("a/b".to_owned());
        assert_eq!(named("7", None), Ok((7, None)));
        assert_eq!(named("#7", Some("a/b")), Ok((7, there.clone())));
        assert_eq!(named("a/b#7", None), Ok((7, there.clone())));
        assert_eq!(named("a/b#7", Some("a/b")), Ok((7, there.clone())));
        assert_eq!(named("https://github.com/a/b/issues/7", None), Ok((7, there)));
        let elsewhere = Some("git.example.org/a/b".to_owned());
        assert_eq!(named("https://git.example.org/a/b/issues/7", None), Ok((7, elsewhere)));
    }

    #[test]
    fn what_names_no_issue_is_refused() {
        for word in ["", "x", "-7", "a/b", "a/b#", "#", "https://github.com/a/b/pull/7", "a b/c#1"]
        {
            assert!(named(word, None).is_err(), "{word}");
        }
        for repo in ["a", "--help/x", "a/b/c/d", "a/", "/b", "a/b;c"] {
            assert!(named("7", Some(repo)).is_err(), "{repo}");
        }
        assert_eq!(named("a/b#7", Some("c/d")), Err("--issue a/b#7: --repo says c/d".to_owned()));
    }
}
