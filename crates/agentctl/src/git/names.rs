//! Names of branches and of the directories made for them.

use agentctl_core::{proof::shell_word, text::one_line};
use std::path::{Path, PathBuf};
use strsim::osa_distance;

/// A path as a person may hand it to a shell.
pub(crate) fn place(path: &Path) -> String {
    word(&path.to_string_lossy())
}

/// A name as a person may hand it to a shell.
pub(crate) fn word(name: &str) -> String {
    shell_word(&one_line(name))
}

/// Where the worktree of a branch goes: beside the repository, as agentctl 1.x named it.
pub(super) fn beside(main: &Path, branch: &str, is_free: impl Fn(&Path) -> bool) -> PathBuf {
    let name = main.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Of a bare repository, the name that it was cloned from; `.bare` and the like lie in a folder.
    let (base, name) = match name.starts_with('.') {
        true => {
            let folder = main.parent().unwrap_or(main);
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            (folder, name.unwrap_or_default())
        }
        false => (main, name.strip_suffix(".git").map(str::to_owned).unwrap_or(name)),
    };
    let name = format!("{name}-{}", plain(branch));
    let first = base.with_file_name(&name);
    let next = (2..).map(|number| base.with_file_name(format!("{name}-{number}")));
    std::iter::once(first).chain(next).find(|path| is_free(path)).expect("numbers do not end")
}

/// A branch's name as part of a file's.
fn plain(branch: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    branch.chars().map(|c| if fits(c) { c } else { '-' }).collect()
}

/// Names that may have been meant, the nearest first.
pub(super) fn near<'a>(meant: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let meant = meant.to_lowercase();
    let rate = |name: &str| {
        let name = name.to_lowercase();
        let last = name.rsplit('/').next().unwrap_or(&name);
        let steps = osa_distance(&meant, &name).min(osa_distance(&meant, last));
        let holds = meant.len() > 2 && (name.contains(&meant) || meant.contains(last));
        (holds || steps <= 1 + meant.chars().count() / 4).then_some(steps)
    };
    let mut rated: Vec<_> = names.filter_map(|name| Some((rate(name)?, name))).collect();
    rated.sort_unstable();
    rated.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_lie_beside_their_repository() {
        let free = |_: &Path| true;
        let at = |main: &str, branch: &str| beside(Path::new(main), branch, free);
        assert_eq!(at("/c/mono", "try/g-a1b2c3/cc"), Path::new("/c/mono-try-g-a1b2c3-cc"));
        assert_eq!(at("/c/mono.git", "fix it\u{1b}"), Path::new("/c/mono-fix-it-"));
        assert_eq!(at("/c/mono/.bare", "x"), Path::new("/c/mono-x"));
        let taken = |path: &Path| !path.ends_with("m-x") && !path.ends_with("m-x-2");
        assert_eq!(beside(Path::new("/m"), "x", taken), Path::new("/m-x-3"));
    }

    #[test]
    fn near_names_are_found() {
        let names = ["main", "origin/main", "release/2.1", "feature/login", "dev"];
        let near = |meant: &str| near(meant, names.into_iter());
        assert_eq!(near("main2"), ["main", "origin/main"]);
        assert_eq!(near("login"), ["feature/login"]);
        assert_eq!(near("relase/2.1"), ["release/2.1"]);
        assert_eq!(near("xyz"), [""; 0]);
        assert_eq!(near("amin"), ["main", "origin/main"]);
    }
}
