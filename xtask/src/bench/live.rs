//! Live sessions with real processes, ended when this value is dropped.
//!
//! Each process is a stand-in under the agent's name: it holds what the agent would hold, and ends
//! by itself when whoever started it is gone.

use super::{
    chance::Chance,
    claude, codex,
    home::Home,
    plan::{self, Agent, Ending, LIVE, Session},
    programs::Programs,
    time::Moment,
};
use crate::failure::{Failure, Outcome};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::SystemTime,
};

/// Files of live sessions, in case a run could not remove them.
const LIST: &str = "bench-live.txt";

/// Who is live: the agent, the size of the transcript, its end, and what the registry says.
const WHO: [(Agent, u64, Ending, &str); LIVE] = [
    (Agent::Claude, 30_000, Ending::InTool, r#""busy""#),
    (Agent::Claude, 120_000, Ending::Done, r#""idle""#),
    (Agent::Claude, 800_000, Ending::InTool, r#""waiting","waitingFor":"permission prompt""#),
    (Agent::Codex, 60_000, Ending::InTool, ""),
    (Agent::Codex, 400_000, Ending::Generating, ""),
];

/// The live sessions of one home.
pub(super) struct Live {
    children: Vec<Child>,
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
    /// Starts them all; what is started before a failure is ended too.
    pub(super) fn start(home: &Home, programs: &Programs) -> Outcome<Self> {
        Self::of(home, programs, &WHO)
    }

    /// Starts so many that do nothing.
    pub(super) fn idle(home: &Home, programs: &Programs, count: usize) -> Outcome<Self> {
        Self::of(home, programs, &vec![(Agent::Claude, 120_000, Ending::Done, r#""idle""#); count])
    }

    fn of(home: &Home, programs: &Programs, who: &[(Agent, u64, Ending, &str)]) -> Outcome<Self> {
        let list = home.dir.join(LIST);
        sweep(&list);
        let mut live = Self { children: Vec::new(), claudes: Vec::new(), list };
        let mut chance = Chance::new(0x6c69_7665);
        let cwds = plan::projects(&home.dir);
        for (agent, size, ending, says) in who.iter().copied() {
            let at = now();
            let id = match agent {
                Agent::Claude => chance.uuid4(),
                Agent::Codex => chance.uuid7(at.0),
            };
            let session = Session {
                agent,
                id,
                parent: None,
                cwd: chance.pick(&cwds).to_string_lossy().into_owned(),
                start: at.before(600_000),
                end: at,
                size,
                ending,
                seed: chance.next(),
                typed: true,
                special: false,
                archived: false,
            };
            match agent {
                Agent::Claude => live.claude(home, programs, (session, says))?,
                Agent::Codex => live.codex(home, programs, session)?,
            }
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
        for child in self.children.iter_mut().filter(|child| child.id() == pid) {
            child.kill().map_err(|why| Failure::new(format!("cannot kill a stand-in: {why}")))?;
        }
        Ok(id)
    }

    fn numbered(&self, number: usize) -> Outcome<&(u32, Session)> {
        self.claudes.get(number).ok_or_else(|| Failure::new("too few sessions are live"))
    }

    fn claude(&mut self, home: &Home, programs: &Programs, who: (Session, &str)) -> Outcome<()> {
        let (mut session, says) = who;
        let pid = self.spawn(&mut Command::new(&programs.claude), home, &session)?;
        session.end = now();
        let registry = home.claude().join("sessions").join(format!("{pid}.json"));
        self.remember(&[&claude::path(&home.claude(), &session), &registry])?;
        claude::write(&home.claude(), &session)?;
        register(home, pid, &session, says)?;
        self.claudes.push((pid, session));
        Ok(())
    }

    fn codex(&mut self, home: &Home, programs: &Programs, mut session: Session) -> Outcome<()> {
        let rollout = codex::path(&home.codex(), &session);
        let lock = home.codex().join("thread-writer-locks").join(format!("{}.lock", session.id));
        if let Some(dir) = rollout.parent() {
            fs::create_dir_all(dir).map_err(|why| Failure::io("create", dir, &why))?;
        }
        self.remember(&[&rollout, &lock])?;
        let mut command = Command::new(&programs.codex);
        command.args(["exec", "--json"]).env("STANDIN_LOCK", &lock).env("STANDIN_OPEN", &rollout);
        self.spawn(&mut command, home, &session)?;
        // The turn that is open must be younger than the process that holds it.
        session.end = now();
        codex::write(&home.codex(), &session)
    }

    /// Starts a stand-in and waits until it holds what it is to hold.
    fn spawn(&mut self, command: &mut Command, home: &Home, session: &Session) -> Outcome<u32> {
        let spawned = command
            .current_dir(&session.cwd)
            .env("HOME", &home.dir)
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("CODEX_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child =
            spawned.map_err(|why| Failure::new(format!("cannot start a stand-in: {why}")))?;
        let (pid, said) = (child.id(), child.stdout.take());
        self.children.push(child);
        let mut line = String::new();
        let read = said.map(|said| BufReader::new(said).read_line(&mut line));
        match (read, line.as_str()) {
            (Some(Ok(_)), "ready\n") => Ok(pid),
            _ => Err(Failure::new("a stand-in ended before it was ready")),
        }
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
        for child in &mut self.children {
            // It may have ended by itself; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
        sweep(&self.list);
    }
}

/// Writes down which session a process has, as Claude Code does.
fn register(home: &Home, pid: u32, session: &Session, says: &str) -> Outcome<()> {
    let (Session { id, cwd, end, .. }, ticks) = (session, ticks(pid)?);
    let registry = home.claude().join("sessions").join(format!("{pid}.json"));
    let text = format!(
        r#"{{"pid":{pid},"sessionId":"{id}","cwd":"{cwd}","startedAt":{0},"procStart":"{ticks}","version":"2.1.197","peerProtocol":1,"kind":"interactive","entrypoint":"cli","name":"bench-{pid}","nameSource":"derived","status":{says},"updatedAt":{0},"statusUpdatedAt":{0}}}"#,
        end.0
    );
    fs::write(&registry, text).map_err(|why| Failure::io("write", &registry, &why))
}

/// Removes the files of live sessions that an earlier run left.
fn sweep(list: &Path) {
    for file in fs::read_to_string(list).unwrap_or_default().lines() {
        let _ = fs::remove_file(file);
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
