//! Files by which the system's supervisor starts the daemon: a user unit of systemd, an agent of launchd.

use crate::error::{Error, Kind};
use agentctl_core::{agents, text::one_line};
use std::{
    collections::BTreeSet,
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A file with this in it is ours.
const MARK: &str = "Written by `agentctl daemon install`";
const UNIT: &str = "agentctl.service";
const LABEL: &str = "dev.agentctl.daemon";
/// A daemon that is silent for so long is started anew.
const WATCHDOG: u32 = 180;
/// Where our files are, besides what agents look at.
const VARIABLES: &[&str] =
    &["AGENTCTL_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PATH"];

/// Who starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervisor {
    /// On Linux.
    Systemd,
    /// On macOS.
    Launchd,
}

/// What was written or removed.
pub(crate) struct Installed {
    /// Which file; none where there was nothing to remove.
    pub(crate) path: Option<PathBuf>,
    /// What to type next.
    pub(crate) next: Option<String>,
    /// What the supervisor's own command said, where it failed.
    pub(crate) note: Option<String>,
}

impl Supervisor {
    /// That of this system.
    pub(crate) fn usual() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    fn path(self) -> Result<PathBuf, Error> {
        let dir = |name| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let home = dir("HOME");
        let path = match self {
            Self::Systemd => {
                let config = dir("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
                config.map(|config| config.join("systemd/user").join(UNIT))
            }
            Self::Launchd => {
                home.map(|home| home.join("Library/LaunchAgents").join(format!("{LABEL}.plist")))
            }
        };
        path.ok_or_else(|| Error::new(Kind::Io, "cannot tell where it goes").hint("set HOME"))
    }

    fn next(self, path: &Path) -> String {
        match self {
            Self::Systemd => format!("systemctl --user enable --now {UNIT}"),
            Self::Launchd => format!("launchctl bootstrap gui/$(id -u) {}", quoted(path)),
        }
    }
}

/// What the file holds.
pub(crate) fn text(supervisor: Supervisor) -> Result<String, Error> {
    let program = env::current_exe()
        .map_err(|why| Error::new(Kind::Io, format!("cannot tell where this program is: {why}")))?;
    let program = program.to_str().ok_or_else(|| {
        Error::new(Kind::Refused, "the path of this program is no text").hint("move it")
    })?;
    match supervisor {
        // It is refused however it is written.
        Supervisor::Systemd if program.contains(['"', '\'', '\\']) => {
            let what = format!("systemd starts no program with such a path: {}", one_line(program));
            Err(Error::new(Kind::Refused, what).hint("move it"))
        }
        Supervisor::Systemd => Ok(unit(program, &settings())),
        Supervisor::Launchd => Ok(plist(program, &settings())),
    }
}

/// A supervisor starts it without the variables of a shell: those that say where files are it is told. Only paths:
/// nothing else belongs into a file.
fn settings() -> Vec<(String, String)> {
    let is_path = |value: &String| value.starts_with('/') && !value.chars().any(char::is_control);
    names()
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), env::var(name).ok().filter(is_path)?)))
        .collect()
}

fn names() -> BTreeSet<&'static str> {
    let agents = agents::ALL.iter().flat_map(|agent| agent.card().variables).copied();
    VARIABLES.iter().copied().chain(agents).filter(|name| *name != "PWD").collect()
}

/// What is set here and changes what the daemon does, and does not reach it: a file is no place for secrets.
pub(crate) fn left_out() -> Option<String> {
    let (names, told) = (names(), settings());
    let is_own = |name: &String| name.starts_with("AGENTCTL_") || names.contains(&**name);
    let left: BTreeSet<String> = env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| is_own(name) && !told.iter().any(|(known, _)| known == name))
        .collect();
    let left = Vec::from_iter(left).join(", ");
    let what = format!("set here, and not in the file: {left}; what they say can be configured");
    (!left.is_empty()).then(|| one_line(&what))
}

fn unit(program: &str, settings: &[(String, String)]) -> String {
    let set = |(name, value): &(String, String)| {
        format!("Environment={}\n", escaped(&format!("{name}={value}")))
    };
    let environment: String = settings.iter().map(set).collect();
    format!(
        "# {MARK}; `agentctl daemon uninstall` removes it.\n\
         [Unit]\n\
         Description=agentctl: keeps fuses and deadlines, and tells what coding agents do\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={} daemon run\n\
         {environment}\
         WatchdogSec={WATCHDOG}\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         KillMode=process\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        escaped(program)
    )
}

/// In quotes, and with all that systemd would read otherwise doubled. It knows no variables in the path of a program,
/// and none in values.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{text}\"")
}

fn plist(program: &str, settings: &[(String, String)]) -> String {
    let set = |(name, value): &(String, String)| {
        format!("    <key>{}</key>\n    <string>{}</string>\n", xml(name), xml(value))
    };
    let environment: String = settings.iter().map(set).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {MARK}; `agentctl daemon uninstall` removes it. -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n\
         \x20   <string>{}</string>\n\
         \x20   <string>daemon</string>\n\
         \x20   <string>run</string>\n\
         \x20 </array>\n\
         \x20 <key>EnvironmentVariables</key>\n\
         \x20 <dict>\n\
         {environment}\
         \x20 </dict>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>KeepAlive</key>\n\
         \x20 <dict>\n\
         \x20   <key>SuccessfulExit</key>\n\
         \x20   <false/>\n\
         \x20 </dict>\n\
         </dict>\n\
         </plist>\n",
        xml(program)
    )
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn quoted(path: &Path) -> String {
    agentctl_core::proof::shell_word(&path.to_string_lossy())
}

/// Writes the file. One that somebody else wrote is replaced by force only.
pub(crate) fn install(supervisor: Supervisor, force: bool) -> Result<Installed, Error> {
    let (path, text) = (supervisor.path()?, text(supervisor)?);
    if !is_ours(&path)? && !force {
        return Err(foreign(&path, "not replaced"));
    }
    write(&path, &text)
        .map_err(|why| Error::new(Kind::Io, format!("cannot write {}: {why}", path.display())))?;
    let note = match supervisor {
        Supervisor::Systemd => told("systemctl", &["--user", "daemon-reload"]),
        Supervisor::Launchd => None,
    };
    Ok(Installed { next: Some(supervisor.next(&path)), path: Some(path), note })
}

/// Removes the file, and has the supervisor end what it started.
pub(crate) fn uninstall(supervisor: Supervisor, force: bool) -> Result<Installed, Error> {
    let path = supervisor.path()?;
    if path.symlink_metadata().is_err() {
        return Ok(Installed { path: None, next: None, note: None });
    }
    if !is_ours(&path)? && !force {
        return Err(foreign(&path, "not removed"));
    }
    let note = match supervisor {
        Supervisor::Systemd => told("systemctl", &["--user", "disable", "--now", UNIT]),
        Supervisor::Launchd => None,
    };
    fs::remove_file(&path)
        .map_err(|why| Error::new(Kind::Io, format!("cannot remove {}: {why}", path.display())))?;
    let next = match supervisor {
        Supervisor::Systemd => {
            told("systemctl", &["--user", "daemon-reload"]);
            None
        }
        Supervisor::Launchd => Some(format!("launchctl bootout gui/$(id -u)/{LABEL}")),
    };
    Ok(Installed { path: Some(path), next, note })
}

/// Has the supervisor start the daemon anew that runs as this process.
pub(super) fn restart(pid: u32) -> Result<(), Error> {
    let mut show = Command::new("systemctl");
    show.args(["--user", "show", "--property", "MainPID", "--value", UNIT]).stdin(Stdio::null());
    let main = show.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !main.is_ok_and(|main| main.trim() == pid.to_string()) {
        let what = format!("the daemon (process {pid}) belongs to another supervisor than {UNIT}");
        return Err(Error::new(Kind::Refused, what).hint("restart it there"));
    }
    match told("systemctl", &["--user", "restart", UNIT]) {
        None => Ok(()),
        Some(why) => Err(Error::new(Kind::Io, why)),
    }
}

fn foreign(path: &Path, what: &str) -> Error {
    let what = format!("{} was not written by agentctl, and is {what}", path.display());
    Error::new(Kind::Refused, what).hint("look at it, and use --force")
}

/// Nothing is there, or what we wrote.
fn is_ours(path: &Path) -> Result<bool, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).contains(MARK)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            Ok(path.symlink_metadata().is_err()) // a link that leads nowhere is somebody's
        }
        Err(why) => Err(Error::new(Kind::Io, format!("cannot read {}: {why}", path.display()))),
    }
}

/// Whole or not at all; where it is a link, in its place.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir)?; // the supervisor's, and not ours to close
    let draft = dir.join(format!(".{LABEL}.{}", crate::write::DRAFT));
    let _ = fs::remove_file(&draft); // of whoever was killed
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// Has the supervisor's own command do this, if there is one; says what went wrong.
fn told(program: &str, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let failed = match command.output() {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return None,
        Err(why) => why.to_string(),
        Ok(output) if output.status.success() => return None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            said.lines().next().map_or_else(|| output.status.to_string(), str::to_owned)
        }
    };
    Some(one_line(&format!("`{program} {}` failed: {failed}", words.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_paths_are_read_back_as_they_are() {
        let strange = "/opt/a b/100%/\"q\"/$HOME/\\x";
        let settings = [("AGENTCTL_HOME".to_owned(), strange.to_owned())];
        let unit = unit("/opt/a b/100%/$HOME", &settings);
        assert!(unit.contains("ExecStart=\"/opt/a b/100%%/$HOME\" daemon run\n"), "{unit}");
        assert!(
            unit.contains("Environment=\"AGENTCTL_HOME=/opt/a b/100%%/\\\"q\\\"/$HOME/\\\\x\"\n"),
            "{unit}"
        );
        let plist = plist("/a<b>&c", &settings);
        assert!(plist.contains("<string>/a&lt;b&gt;&amp;c</string>"), "{plist}");
    }

    /// Whoever may look into his supervisor's directory may do so afterwards.
    #[test]
    fn the_supervisor_s_directory_stays_as_open_as_it_was() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("user");
        fs::create_dir(&dir).expect("a folder");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o775)).expect("our folder");
        write(&dir.join(UNIT), "text").expect("room");
        let mode = fs::metadata(&dir).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o7777, 0o775);
    }
}
