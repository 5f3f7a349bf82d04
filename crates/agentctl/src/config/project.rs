//! The file of the project that a directory belongs to, and whether the user trusts it.

use rustix::process::geteuid;
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// What the file is called.
pub(super) const NAME: &str = ".agentctl.toml";

/// The nearest one, from this directory upward: as far as the root of its git repository, the home, or the
/// end of its file system.
pub(super) fn find(dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let device = fs::metadata(dir).ok()?.dev();
    for above in dir.ancestors() {
        if fs::metadata(above).ok()?.dev() != device {
            return None;
        }
        let file = above.join(NAME);
        match fs::symlink_metadata(&file) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Ok(_) | Err(_) => return Some(file), // one that cannot be read is told, not passed by
        }
        if above.join(".git").symlink_metadata().is_ok() || Some(above) == home {
            return None;
        }
    }
    None
}

/// Whose word a file is: that of another user in a directory above ours (`/tmp`) is nobody's.
pub(super) fn is_heard(file: &Path, dir: &Path) -> bool {
    owner(file).is_some_and(|owner| {
        is_ours(owner) || fs::metadata(dir).is_ok_and(|stat| stat.uid() == owner)
    })
}

/// The user trusts the directory of the file, or one above it.
pub(super) fn is_trusted(file: &Path, trust: &[PathBuf]) -> bool {
    let Some(folder) = file.parent().and_then(|dir| dir.canonicalize().ok()) else { return false };
    let written_by_all = fs::symlink_metadata(file).map_or(true, |stat| stat.mode() & 0o002 != 0);
    let covers = |above: &PathBuf| {
        let above = above.canonicalize().ok().filter(|above| folder.starts_with(above));
        let by = above.and_then(|above| fs::metadata(above).ok()).map(|stat| stat.uid());
        by.is_some_and(|by| owner(file).is_some_and(|owner| is_ours(owner) || owner == by))
    };
    !written_by_all && trust.iter().any(covers)
}

fn owner(file: &Path) -> Option<u32> {
    fs::symlink_metadata(file).ok().map(|stat| stat.uid())
}

fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    #[test]
    fn the_nearest_file_counts_and_none_beyond_the_repository_or_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let made = |path: &str| {
            fs::create_dir_all(top.join(path)).unwrap();
            top.join(path)
        };
        let file = |dir: &Path| {
            fs::write(dir.join(NAME), "").unwrap();
            dir.join(NAME)
        };
        let (deep, plain) = (made("repo/src/deep"), made("home/plain/below"));
        let _ = (made("repo/.git"), file(&top), made("alone/below"));
        let home = top.join("home");
        let found = |dir: &Path| find(dir, Some(&home));
        assert_eq!((found(&deep), found(&plain)), (None, None));
        assert_eq!(found(&top.join("alone/below")), Some(top.join(NAME)));
        let repo = file(&top.join("repo"));
        assert_eq!(found(&deep), Some(repo));
        let near = file(&top.join("repo/src"));
        assert_eq!(found(&deep), Some(near));
        let at_home = file(&home);
        assert_eq!(found(&plain), Some(at_home));
        assert_eq!(found(&top.join("gone")), None);
    }

    #[test]
    fn trust_covers_what_is_below_and_no_file_that_all_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("work/repo")).unwrap();
        let file = top.join("work/repo").join(NAME);
        fs::write(&file, "").unwrap();
        let trusts = |path: &str| is_trusted(&file, &[top.join("other"), top.join(path)]);
        assert!(trusts("work") && trusts("work/repo"));
        assert!(!trusts("wor") && !trusts("work/repo/src") && !trusts("work/../other"));
        std::os::unix::fs::symlink(top.join("work"), top.join("link")).unwrap();
        assert!(trusts("link"));
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(!trusts("work"));
    }
}
