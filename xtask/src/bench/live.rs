//! Live sessions with real processes, ended when this value is dropped.
//!
//! Each process is a stand-in under the agent's name: it holds what the agent would hold, and ends
//! by itself when whoever started it is gone.

use super::{
    chance::Chance,
    formats,
    home::Home,
    plan::{self, Agent, Ending, Session},
    programs::Programs,
    standin::Standin,
    time::Moment,
};
use crate::failure::{Failure, Outcome};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, SystemTime},
};

/// Files of live sessions, in case a run could not remove them.
const LIST: &str = "bench-live.txt";

/// A session that is to be live.
#[derive(Clone, Copy)]
struct Who {
    agent: Agent,
    size: u64,
    ending: Ending,
    /// What Claude Code's registry says of it.
    says: &'static str,
}

const fn who(agent: Agent, size: u64, ending: Ending, says: &'static str) -> Who {
    Who { agent, size, ending, says }
}

/// Who is live, over and over where more are wanted: one that works, one that waits for a person, and
/// one of each agent whose trail is another one: a registry, a lock, an open file, none at all.
const WHO: [Who; 5] = [
    who(Agent::Claude, 30_000, Ending::InTool, r#""busy""#),
    who(Agent::Codex, 400_000, Ending::InTool, ""),
    who(Agent::Copilot, 60_000, Ending::InTool, ""),
    who(Agent::Pi, 120_000, Ending::InTool, ""),
    who(Agent::Claude, 800_000, Ending::InTool, r#""waiting","waitingFor":"permission prompt""#),
];
const IDLE: Who = who(Agent::Claude, 120_000, Ending::Done, r#""idle""#);

/// The live sessions of one home.
pub(super) struct Live {
    standins: Vec<Standin>,
    /// Sessions of Claude Code, each with its process.
    claudes: Vec<(u32, Session)>,
    list: PathBuf,
}

/// This moment.
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment(u64::try_from(since.as_millis()).unwrap_or_default())
}

impl Live {
    /// Starts so many; what is started before a failure is ended too.
    pub(super) fn start(home: &Home, programs: &Programs, count: usize) -> Outcome<Self> {
        Self::of(home, programs, WHO.iter().cycle().take(count).copied())
    }

    /// Starts so many that do nothing.
    pub(super) fn idle(home: &Home, programs: &Programs, count: usize) -> Outcome<Self> {
        Self::of(home, programs, std::iter::repeat_n(IDLE, count))
    }

    fn of(home: &Home, programs: &Programs, who: impl Iterator<Item = Who>) -> Outcome<Self> {
        let list = home.dir.join(LIST);
        sweep(&list);
        let mut live = Self { standins: Vec::new(), claudes: Vec::new(), list };
        let mut chance = Chance::new(0x6c69_7665);
        let cwds = plan::projects(&home.dir);
        // Each in a directory of its own while there are enough: two of Pi in one leave no trail.
        for (who, cwd) in who.zip(cwds.iter().cycle()) {
            let at = now();
            let session = Session {
                agent: who.agent,
                id: who.agent.id(&mut chance, at),
                parent: None,
                cwd: cwd.to_string_lossy().into_owned(),
                start: at,
                end: at,
                size: who.size,
                ending: who.ending,
                seed: chance.next(),
                typed: true,
                special: false,
                archived: false,
            };
            live.session(home, programs, (session, who.says))?;
        }
        Ok(live)
    }

    /// What the session of this number says of itself from now on; returns its id.
    pub(super) fn says(&self, home: &Home, number: usize, says: &str) -> Outcome<String> {
        let (pid, session) = self.numbered(number)?;
        register(home, *pid, session, says)?;
        Ok(session.id.clone())
    }

    /// Kills the process of the session of this number; returns its id.
    pub(super) fn kill(&mut self, number: usize) -> Outcome<String> {
        let (pid, session) = self.numbered(number)?;
        let (pid, id) = (*pid, session.id.clone());
        self.standins.iter_mut().filter(|it| it.pid() == pid).try_for_each(Standin::kill)?;
        Ok(id)
    }

    fn numbered(&self, number: usize) -> Outcome<&(u32, Session)> {
        self.claudes.get(number).ok_or_else(|| Failure::new("too few sessions are live"))
    }

    /// A transcript of a Claude Code session.
    pub(super) fn transcript(&self, home: &Home) -> Outcome<PathBuf> {
        self.numbered(0).map(|(_, session)| formats::path(&home.dir, session))
    }

    /// Starts the process of a session, then writes what the session says: all of it is younger.
    fn session(&mut self, home: &Home, programs: &Programs, who: (Session, &str)) -> Outcome<()> {
        let (mut session, says) = who;
        let mut command = Command::new(programs.standin(session.agent)?);
        if session.agent == Agent::Codex {
            command.args(["exec", "--json"]);
        }
        command.current_dir(&session.cwd).env("HOME", &home.dir);
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR"] {
            command.env_remove(variable);
        }
        let mut standin = Standin::start(&mut command)?;
        let pid = standin.pid();
        (session.start, session.end) = (now(), now());
        let (record, store) = (formats::path(&home.dir, &session), home.store(session.agent));
        let dir = record.parent().unwrap_or(&record);
        fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
        self.remember(&[&record])?;
        match session.agent {
            Agent::Claude => {
                self.remember(&[&store.join("sessions").join(format!("{pid}.json"))])?;
                register(home, pid, &session, says)?;
            }
            Agent::Codex => {
                let lock = store.join("thread-writer-locks").join(format!("{}.lock", session.id));
                self.remember(&[&lock])?;
                standin.told(&format!("lock {}", lock.display()))?;
                standin.told(&format!("open {}", record.display()))?;
            }
            Agent::Copilot => {
                let lock = formats::lock(&record, pid);
                self.remember(&[dir])?;
                standin.told(&format!("lock {}", lock.display()))?;
            }
            Agent::OpenCode | Agent::Pi | Agent::Gemini | Agent::OpenClaw => {}
        }
        formats::write(&home.dir, &session)?;
        if session.agent == Agent::Pi {
            // Nothing but what it wrote leads to its session, and starts are told in hundredths of a second.
            thread::sleep(Duration::from_millis(50));
            standin.told(&format!("rewrite {}", record.display()))?;
        }
        self.standins.push(standin);
        if session.agent == Agent::Claude {
            self.claudes.push((pid, session));
        }
        Ok(())
    }

    fn remember(&self, files: &[&Path]) -> Outcome<()> {
        let known = fs::read_to_string(&self.list).unwrap_or_default();
        let more: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        let wrote = fs::write(&self.list, known + &more);
        wrote.map_err(|why| Failure::io("write", &self.list, &why))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.standins.clear();
        sweep(&self.list);
    }
}

/// Writes down which session a process has, as Claude Code does.
fn register(home: &Home, pid: u32, session: &Session, says: &str) -> Outcome<()> {
    let (Session { id, cwd, end, .. }, ticks) = (session, ticks(pid)?);
    let registry = home.store(Agent::Claude).join("sessions").join(format!("{pid}.json"));
    let text = format!(
        r#"{{"pid":{pid},"sessionId":"{id}","cwd":"{cwd}","startedAt":{0},"procStart":"{ticks}","version":"2.1.197","peerProtocol":1,"kind":"interactive","entrypoint":"cli","name":"bench-{pid}","nameSource":"derived","status":{says},"updatedAt":{0},"statusUpdatedAt":{0}}}"#,
        end.0
    );
    fs::write(&registry, text).map_err(|why| Failure::io("write", &registry, &why))
}

/// Removes the files of live sessions that an earlier run left.
fn sweep(list: &Path) {
    for file in fs::read_to_string(list).unwrap_or_default().lines() {
        // A folder is that of a session which has all its files in it.
        let _ = fs::remove_file(file).or_else(|_| fs::remove_dir_all(file));
    }
    let _ = fs::remove_file(list);
}

/// When a process started, as the kernel counts it.
fn ticks(pid: u32) -> Outcome<u64> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    let line = fs::read_to_string(&path).map_err(|why| Failure::io("read", &path, &why))?;
    let after_name = line.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_ascii_whitespace().nth(19).and_then(|word| word.parse().ok());
    ticks.ok_or_else(|| Failure::new(format!("{} is not understood", path.display())))
}
