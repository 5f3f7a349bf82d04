//! Processes that play an agent, or somebody else.

use super::{cast::Part, place::Place};
use crate::kills::{Process, until};
use rustix::process::Signal;
use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

/// Opens and locks files, and becomes the program: `exec` keeps pid, start, locks, and which signals
/// wait for ever.
const BECOME: &str = r#"
$^F = 255;
my ($program, $keeps) = (shift, shift);
for (split /\x01/, $keeps) {
    my ($how, $path) = /^(.)(.*)/s;
    $path =~ s/\$\$/$$/g;
    open(my $file, '>>', $path) or die "$path: $!";
    flock($file, 2) or die if $how eq '+';
    push @kept, $file;
}
# Whoever made a session has written at least as much.
open(my $nothing, '>', '/dev/null') or die $!;
syswrite($nothing, "\0" x 1_000_000) or die $!;
if (delete $ENV{DEAF}) {
    require POSIX;
    my $all = POSIX::SigSet->new;
    $all->fillset;
    POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all) or die $!;
}
exec { $program } @ARGV or die;
"#;

/// A process; one that was started here is ended with this value.
pub(crate) struct Player {
    child: Option<Child>,
    pub(crate) process: Process,
}

impl Player {
    /// Starts one that goes by this name in the end.
    pub(super) fn start(command: &mut Command, name: &str) -> Self {
        // What it does is read from a pipe that stays open: it does nothing until it is killed.
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().expect("a player");
        let comm = format!("/proc/{}/comm", child.id());
        let short: String = name.chars().take(15).collect();
        until("player", || {
            let read = fs::read_to_string(&comm).unwrap_or_default();
            (read.trim_end() == short).then_some(())
        });
        let process = Process::of(child.id()).expect("it lives");
        Self { child: Some(child), process }
    }

    /// Starts as many in namespaces of their own, at nearly the same moment.
    pub(super) fn enclosed<const N: usize>(outside: [Command; N], name: &str) -> [Self; N] {
        let spawn = |mut outside: Command| {
            outside.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("util-linux")
        };
        outside.map(spawn).map(|child| {
            let process = until("player", || {
                let children = format!("/proc/{0}/task/{0}/children", child.id());
                let pid = fs::read_to_string(children).ok()?.trim_end().parse().ok()?;
                let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
                Process::of(pid).filter(|_| comm.trim_end() == name)
            });
            Self { child: Some(child), process }
        })
    }

    /// One that others started.
    pub(super) fn of(process: Process) -> Self {
        Self { child: None, process }
    }

    /// Kills it; who started it here does not ask how it ended, so that it stays a zombie.
    pub(crate) fn kill(&mut self) {
        self.process.signal(Signal::KILL);
        until("death", || (!self.process.lives()).then_some(()));
    }

    /// Kills it, and waits until its pid is free.
    pub(crate) fn end(&mut self) {
        self.process.signal(Signal::KILL);
        if let Some(child) = &mut self.child {
            child.wait().expect("a child");
        }
        let place = format!("/proc/{}", self.process.pid);
        until("free pid", || (!fs::exists(&place).is_ok_and(|there| there)).then_some(()));
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill(); // it may have been collected
            let _ = child.wait();
        }
    }
}

/// The same call in a namespace of pids of its own, which sees the `/proc` of ours.
pub(super) fn enclosing(command: &Command) -> Command {
    apart(command, &["--pid"])
}

/// The same call in namespaces of its own. As `unshare` needs rights that others have not, the user is changed inside.
pub(super) fn apart(command: &Command, spaces: &[&str]) -> Command {
    let mut outside = Command::new("unshare");
    outside.args(spaces).args(["--fork", "--kill-child"]).arg(command.get_program());
    outside.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outside.env(name, value),
            None => outside.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        outside.current_dir(dir);
    }
    outside
}

/// The same for a player whom no signal ends but a kill: each that is sent to him can be seen to wait.
pub(super) fn deaf(place: &Place, part: &Part) -> Command {
    let mut command = playing(place, part, None);
    command.env("DEAF", "1");
    command
}

/// The call that becomes a player of this part, as this user or as that of the place.
pub(super) fn playing(place: &Place, part: &Part, user: Option<u32>) -> Command {
    let program = place.program(part.program);
    if !program.exists() {
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "no player");
    }
    let mut command = place.command("perl");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let whole = |keep: &&str| format!("{}{}", &keep[..1], place.path(&keep[1..]).display());
    let keeps: Vec<String> = part.keeps.iter().map(whole).collect();
    // Told apart by what no path of these tests has.
    command.args(["-e", BECOME]).arg(program).arg(keeps.join("\u{1}"));
    command.arg(part.program).arg("-es").args(part.words);
    command
}
