//! Terminals inside of other programs: which pane or window a process is in, and what leads there.

use agentctl_core::{
    host::{Env, Host, Table},
    ident::ProcKey,
};
use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// By these tell tmux, screen and zellij what runs in them where it is.
const TMUX: &str = "TMUX";
const SCREEN: &str = "STY";
const SCREEN_WINDOW: &str = "WINDOW";
const SCREEN_DIR: &str = "SCREENDIR";
const ZELLIJ: &str = "ZELLIJ_SESSION_NAME";
const ALL: &[&str] = &[TMUX, SCREEN, SCREEN_WINDOW, SCREEN_DIR, ZELLIJ];

/// A server of tmux that is stopped answers nobody.
const LIMIT: Duration = Duration::from_secs(3);

/// A process, as far as it tells where it is shown.
pub(super) struct Shown<'a> {
    table: &'a Table,
    /// Itself, its parent, and so on.
    up: Vec<u32>,
    /// Its terminal; `None` where that cannot be told.
    terminal: Option<PathBuf>,
    env: Env,
}

impl<'a> Shown<'a> {
    /// `None` if it is on no terminal: it may have been started on one, and has left.
    pub(super) fn of(host: &'a dyn Host, process: &ProcKey) -> Option<Self> {
        let terminal = match host.terminal(process) {
            Ok(None) => return None,
            Ok(terminal) => terminal,
            Err(_) => None,
        };
        let table = host.table().ok()?;
        let env = host.env(process, ALL).unwrap_or_default();
        Some(Self { table, up: ancestors(table, process.pid), terminal, env })
    }

    /// Its terminal.
    pub(super) fn terminal(&self) -> Option<&Path> {
        self.terminal.as_deref()
    }

    /// The command that leads there. The terminal itself proves a pane; an ancestor may be one that
    /// shows another multiplexer, so it is asked last.
    pub(super) fn command(&self) -> Option<Vec<String>> {
        let panes = self.panes();
        let own = panes.iter().find(|pane| Some(&pane.terminal) == self.terminal.as_ref());
        let above = || panes.iter().find(|pane| self.up.contains(&pane.pid));
        own.map(Pane::command)
            .or_else(|| self.screen())
            .or_else(|| self.zellij())
            .or_else(|| above().map(Pane::command))
    }

    /// All panes of the tmux server that it names, and of the one that this user has by default.
    fn panes(&self) -> Vec<Pane> {
        let named = self.text(TMUX).as_deref().and_then(server);
        let mut panes = named.map(|socket| panes(Some(socket))).unwrap_or_default();
        panes.extend(panes_by_default(&panes));
        panes
    }

    /// By the process that serves its windows; its number stands first in the variable.
    fn screen(&self) -> Option<Vec<String>> {
        let name = self.text(SCREEN)?;
        let pid: u32 = name.split('.').next()?.parse().ok()?;
        let serves = self.table.process(pid)?.comm.eq_ignore_ascii_case("screen");
        if !serves || !self.up.contains(&pid) {
            return None;
        }
        let window = self.text(SCREEN_WINDOW).unwrap_or_else(|| "0".to_owned());
        let inside = env::var(SCREEN).is_ok_and(|here| here == name);
        let folder =
            self.env.get(SCREEN_DIR).filter(|dir| env::var_os(SCREEN_DIR) != Some((*dir).clone()));
        let folder = folder.map(|dir| format!("{SCREEN_DIR}={}", dir.to_string_lossy()));
        let moved = folder.into_iter().flat_map(|dir| ["env".to_owned(), dir]);
        let words = match inside {
            true => ["screen", "-X", "select", &window].map(str::to_owned).to_vec(),
            false => ["screen", "-x", &pid.to_string(), "-p", &window].map(str::to_owned).to_vec(),
        };
        Some(moved.chain(words).collect())
    }

    /// By name: zellij leads to a session, and to no pane of it, and to none from inside of it.
    fn zellij(&self) -> Option<Vec<String>> {
        let name = self.zellij_name().filter(|_| !self.is_beside_us())?;
        Some(vec!["zellij".to_owned(), "attach".to_owned(), name])
    }

    fn zellij_name(&self) -> Option<String> {
        let is_it = |pid: &u32| self.table.process(*pid).is_some_and(|one| one.comm == "zellij");
        self.text(ZELLIJ).filter(|_| self.up.iter().any(is_it))
    }

    /// It is in the session of zellij that this command was typed in.
    pub(super) fn is_beside_us(&self) -> bool {
        self.zellij_name().is_some_and(|name| env::var(ZELLIJ).is_ok_and(|here| here == name))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.env.get(name)?.to_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }
}

/// A pane of tmux.
struct Pane {
    socket: PathBuf,
    pid: u32,
    terminal: PathBuf,
    id: String,
}

impl Pane {
    /// A client that is there already is led on; one inside of another server is one too many for
    /// tmux, unless it does not know.
    fn command(&self) -> Vec<String> {
        let here = env::var(TMUX).ok().filter(|here| !here.is_empty());
        let socket = self.socket.to_string_lossy();
        let to = |verb: &str| ["tmux", "-S", &*socket, verb, "-t", &self.id].map(str::to_owned);
        match here {
            Some(here) if server(&here).as_deref() == Some(&*self.socket) => {
                to("switch-client").to_vec()
            }
            Some(_) => {
                let unknowing = ["env", "-u", TMUX].map(str::to_owned);
                unknowing.into_iter().chain(to("attach-session")).collect()
            }
            None => to("attach-session").to_vec(),
        }
    }
}

/// The socket, the first of three fields.
fn server(variable: &str) -> Option<PathBuf> {
    variable.split(',').next().filter(|path| path.starts_with('/')).map(PathBuf::from)
}

fn panes_by_default(known: &[Pane]) -> Vec<Pane> {
    let mut found = panes(None);
    found.retain(|pane| known.iter().all(|one| one.socket != pane.socket));
    found
}

/// The panes of the server at this socket, or of the default one.
fn panes(socket: Option<PathBuf>) -> Vec<Pane> {
    let mut tmux = Command::new("tmux");
    if let Some(socket) = &socket {
        tmux.arg("-S").arg(socket);
    }
    let format = "#{pane_pid} #{pane_tty} #{pane_id} #{socket_path}";
    let said = said(tmux.args(["list-panes", "-a", "-F", format])).unwrap_or_default();
    let pane = |line: &str| {
        let mut words = line.splitn(4, ' ');
        Some(Pane {
            pid: words.next()?.parse().ok()?,
            terminal: words.next()?.into(),
            id: words.next()?.to_owned(),
            socket: words.next()?.into(),
        })
    };
    said.lines().filter_map(pane).collect()
}

/// What a command prints, if it ends well and soon.
fn said(command: &mut Command) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut out = child.stdout.take()?;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = out.read_to_string(&mut text);
        let _ = tell.send(read.ok().map(|_| text)); // nobody may be waiting any more
    });
    let text = told.recv_timeout(LIMIT).ok().flatten();
    if text.is_none() {
        let _ = child.kill();
    }
    child.wait().ok().filter(|status| status.success()).and(text)
}

/// A process, its parent, and so on.
fn ancestors(table: &Table, pid: u32) -> Vec<u32> {
    let mut up = vec![pid];
    while let Some(process) = up.last().and_then(|pid| table.process(*pid)) {
        if process.parent < 2 || up.contains(&process.parent) {
            break;
        }
        up.push(process.parent);
    }
    up
}
