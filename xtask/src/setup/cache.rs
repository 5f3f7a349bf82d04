//! The cache directory: each thing in it is whole or absent, however many setups run at once.

use crate::failure::{Failure, Outcome};
use std::{
    env,
    ffi::OsString,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

/// The directory that holds what tests need.
#[derive(Debug)]
pub(super) struct Cache {
    dir: PathBuf,
}

/// How to come by one directory of the cache.
pub(super) struct Recipe<'a> {
    /// Its name in the cache; a new pin needs a new name.
    pub(super) name: String,
    /// Says why a directory cannot be used as it is.
    pub(super) is_sound: &'a dyn Fn(&Path) -> Outcome<()>,
    /// Fills an empty directory, which is moved afterwards.
    pub(super) fill: &'a dyn Fn(&Path) -> Outcome<()>,
}

/// Where the cache of this user is; it exists.
pub(crate) fn cache_dir() -> Outcome<PathBuf> {
    Cache::of_this_user().map(|cache| cache.dir)
}

impl Cache {
    /// The cache that this user's environment names.
    pub(super) fn of_this_user() -> Outcome<Self> {
        let dir = place(|name| env::var_os(name))
            .ok_or_else(|| Failure::new("no place for the cache: set AGENTCTL_TEST_CACHE"))?;
        let dir = std::path::absolute(&dir).map_err(|why| Failure::io("resolve", &dir, &why))?;
        fs::create_dir_all(&dir).map_err(|why| Failure::io("create", &dir, &why))?;
        Ok(Self { dir })
    }

    /// The recipe's directory, made if it is missing or not sound.
    pub(super) fn ensure(&self, recipe: &Recipe) -> Outcome<PathBuf> {
        let home = self.dir.join(&recipe.name);
        if home.is_dir() && (recipe.is_sound)(&home).is_ok() {
            return Ok(home);
        }
        let _turn = self.turn()?;
        // Another setup may have made it while this one waited.
        if home.is_dir() {
            match (recipe.is_sound)(&home) {
                Ok(()) => return Ok(home),
                Err(why) => step(&format!("{} is broken, making it anew: {why}", recipe.name)),
            }
        }
        step(&format!("installing {}", recipe.name));
        let partial = self.dir.join(format!("{}.partial", recipe.name));
        remove(&partial)?;
        fs::create_dir_all(&partial).map_err(|why| Failure::io("create", &partial, &why))?;
        (recipe.fill)(&partial)?;
        (recipe.is_sound)(&partial)?;
        remove(&home)?;
        fs::rename(&partial, &home).map_err(|why| Failure::io("move", &partial, &why))?;
        Ok(home)
    }

    /// Waits for this process's turn to write; the kernel gives the turn back when the file closes.
    pub(super) fn turn(&self) -> Outcome<File> {
        let path = self.dir.join("setup.lock");
        let file = File::create(&path).map_err(|why| Failure::io("create", &path, &why))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => step("waiting for another setup to finish"),
            Err(TryLockError::Error(why)) => return Err(Failure::io("lock", &path, &why)),
        }
        file.lock().map_err(|why| Failure::io("lock", &path, &why))?;
        Ok(file)
    }
}

/// Tells a person what is being done.
pub(super) fn step(what: &str) {
    eprintln!("setup: {what}");
}

/// A name for some bytes: FNV-1a, which stays the same on every machine and toolchain.
pub(super) fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn remove(dir: &Path) -> Outcome<()> {
    match fs::remove_dir_all(dir) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::io("remove", dir, &why))
        }
        _ => Ok(()),
    }
}

fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    path("AGENTCTL_TEST_CACHE")
        // The XDG specification: a relative path is to be ignored.
        .or_else(|| {
            Some(path("XDG_CACHE_HOME").filter(|it| it.is_absolute())?.join("agentctl-tests"))
        })
        .or_else(|| Some(path("HOME")?.join(".cache/agentctl-tests")))
}

#[cfg(test)]
mod tests {
    use super::{digest, place};
    use std::path::PathBuf;

    fn placed(variables: &[(&str, &str)]) -> Option<PathBuf> {
        place(|name| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let own = ("AGENTCTL_TEST_CACHE", "/own");
        let xdg = ("XDG_CACHE_HOME", "/xdg");
        let home = ("HOME", "/home/me");
        assert_eq!(placed(&[own, xdg, home]), Some("/own".into()));
        assert_eq!(placed(&[xdg, home]), Some("/xdg/agentctl-tests".into()));
        assert_eq!(placed(&[home]), Some("/home/me/.cache/agentctl-tests".into()));
        assert_eq!(placed(&[]), None);
    }

    #[test]
    fn empty_and_relative_places_are_passed_over() {
        let home = ("HOME", "/home/me");
        let expected = Some(PathBuf::from("/home/me/.cache/agentctl-tests"));
        assert_eq!(placed(&[("AGENTCTL_TEST_CACHE", ""), home]), expected);
        assert_eq!(placed(&[("XDG_CACHE_HOME", "cache"), home]), expected);
    }

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(digest(b""), "cbf29ce484222325");
        assert_eq!(digest(b"foobar"), "85944171f73967e8");
    }
}
