//! Where our own files are, and what they are called.

use crate::error::{Error, Kind};
use rustix::process::geteuid;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

/// Names beyond this are cut to a hash: file systems take 255 bytes, and endings come on top.
const LONGEST: usize = 200;

/// The directory of receipts, intents and logs.
pub(crate) fn state() -> Option<PathBuf> {
    place(env::var_os, "XDG_STATE_HOME", ".local/state")
}

/// The directory of what the user has set.
pub(crate) fn config() -> Option<PathBuf> {
    place(env::var_os, "XDG_CONFIG_HOME", ".config")
}

/// The directory of what can be thrown away at any moment.
pub(crate) fn cache() -> Option<PathBuf> {
    place(env::var_os, "XDG_CACHE_HOME", ".cache")
}

/// Where the daemon of this state listens: in the user's own directory of this login where it is safe, else beside our
/// state. The former is shared by all states of its user, and each has a name of its own there.
pub(crate) fn socket(state: &Path) -> PathBuf {
    let own = env::var_os("AGENTCTL_HOME").is_none();
    let dir = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|_| own);
    let safe = |dir: &PathBuf| {
        let stat = fs::symlink_metadata(dir).ok().filter(|stat| stat.is_dir());
        let stat = stat.filter(|stat| stat.uid() == geteuid().as_raw());
        dir.is_absolute() && stat.is_some_and(|stat| stat.mode() & 0o777 == 0o700)
    };
    dir.filter(safe).map_or_else(
        || state.join("run/agentctl.sock"),
        |dir| dir.join("agentctl").join(format!("agentctl-{}.sock", short(state))),
    )
}

/// Where the daemon of this state stood, among what can be thrown away; several states may share that directory.
pub(crate) fn cursor(state: &Path) -> Option<PathBuf> {
    Some(cache()?.join(format!("daemon-{}.cursor", short(state))))
}

/// What tells one state from another, in few letters: the name of a socket has no room.
fn short(state: &Path) -> String {
    let hash = hash(state.as_os_str().as_bytes());
    format!("{:016x}", (hash >> 64) ^ (hash & u128::from(u64::MAX)))
}

/// The directory of our state, for whoever cannot do without.
pub(crate) fn known_state() -> Result<PathBuf, Error> {
    state().ok_or_else(|| {
        Error::new(Kind::Io, "cannot tell where our files go").hint("set HOME or AGENTCTL_HOME")
    })
}

/// A path that a person wrote: `~` is the home directory.
pub(crate) fn from_home(path: impl AsRef<Path>, home: Option<&Path>) -> PathBuf {
    let path = path.as_ref();
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        (Err(_), _) | (_, None) => path.to_owned(),
    }
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

/// The name of a file that is about a directory. Every version of this program must agree on it.
pub(crate) fn name_of(dir: &Path) -> String {
    let mut name = String::new();
    for byte in dir.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(*byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    match name.len() > LONGEST {
        true => format!("={:032x}", hash(dir.as_os_str().as_bytes())),
        false => name,
    }
}

/// The directory that a file of this name is about, unless it was cut or is not ours.
pub(crate) fn of_name(name: &OsStr) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, more @ ..] = rest {
        let (byte, after) = match (first, more) {
            (b'%', [high, low, after @ ..]) => {
                let pair = [*high, *low];
                (u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?, after)
            }
            _ => (*first, more),
        };
        bytes.push(byte);
        rest = after;
    }
    let dir = PathBuf::from(OsString::from_vec(bytes));
    (dir.is_absolute() && name == name_of(&dir).as_str()).then_some(dir)
}

/// FNV-1a with 128 bits: the standard library's hash may change with each release.
fn hash(bytes: &[u8]) -> u128 {
    let step = |hash: u128, byte: &u8| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    };
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_directories() {
        for dir in ["/", "/home/dev/a b", "/a/%2f/..x", "/é\u{1b}[31m\n", "/=0"] {
            let name = name_of(Path::new(dir));
            assert!(!name.contains(['/', '.', '\n']), "{name}");
            assert_eq!(of_name(OsStr::new(&name)).as_deref(), Some(Path::new(dir)));
        }
        let odd = Path::new(OsStr::from_bytes(b"/\xff\xfe"));
        assert_eq!(of_name(OsStr::new(&name_of(odd))).as_deref(), Some(odd));
    }

    #[test]
    fn long_names_are_cut_and_still_differ() {
        let long = |end: &str| name_of(Path::new(&format!("/{}{end}", "x".repeat(4000))));
        assert_eq!(long("a").len(), 33);
        assert_ne!(long("a"), long("b"));
        assert_eq!(of_name(OsStr::new(&long("a"))), None);
        assert_eq!(hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn foreign_names_lead_nowhere() {
        for name in ["", "README", "home%2fdev", "%2", "%zz", "%2Fupper", "=00"] {
            assert_eq!(of_name(OsStr::new(name)), None, "{name}");
        }
    }

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

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// No name leads out of its folder, and only names that we give lead anywhere.
        #[test]
        fn any_name_leads_back_or_nowhere() {
            let run = |bytes: &[u8]| {
                let name = name_of(Path::new(OsStr::from_bytes(bytes)));
                assert!(!name.contains(['/', '.', '\0']) && name.len() <= LONGEST, "{name}");
                if let Some(dir) = of_name(OsStr::from_bytes(bytes)) {
                    assert_eq!(name_of(&dir).as_bytes(), bytes);
                }
            };
            Target::new("places", run).holds(5_000);
        }
    }
}
