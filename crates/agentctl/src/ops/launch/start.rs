//! A launch that is under way: the shim is started, the session is waited for, or nothing is left.

use super::{Ask, argv, inherited, receipt, variables};
use crate::{
    error::{Error, Kind},
    host::{How, Refused, STOPS, end, one, stop_name},
    ops::{
        Here,
        dirs::{Claimed, unwritable},
        list,
    },
    places,
    shim::{Orders, Report, Stage, beginning, told},
    write::whole,
};
use agentctl_core::{
    evidence::Role,
    ident::ProcKey,
    launch::{Id, Input, Plan, Signal},
    observe::History,
    proof::{Fact, Source},
    receipt::{Launched, VARIABLE},
    wire::Session,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// An agent that has no session by then is ended.
const LIMIT: Duration = Duration::from_secs(60);
/// Our own shim may take this long to start the agent and to write that down.
const SHIM: Duration = Duration::from_secs(10);
/// How long an agent that is ended for it may take.
const GRACE: Duration = Duration::from_secs(2);
/// A program is loaded by then, and looked at again after this.
const LOADED: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(5);
/// From then on, its output is enough to say that it has its session.
const SLOW: Duration = Duration::from_secs(5);
/// How much of a failed agent's output is repeated.
const LINES: usize = 12;
/// How much of that from its beginning.
const FIRST: usize = 3;

/// A launch that is under way.
pub(super) struct Start<'a> {
    pub(super) here: &'a Here,
    pub(super) ask: &'a Ask,
    pub(super) receipt: PathBuf,
    pub(super) launch: String,
    /// How its session's id is known.
    pub(super) id: Id,
    /// How it is started.
    pub(super) role: Role,
    /// When it began.
    pub(super) at: Timestamp,
    pub(super) claimed: Claimed,
}

/// The shim of a launch that is under way.
pub(super) struct Shim {
    pub(super) reports: Receiver<Report>,
    /// As long as this is there, nothing is run for the agent's end.
    _held: mpsc::Sender<()>,
}

impl Start<'_> {
    /// Starts the shim, and listens to it. It waits with what is run at the end until it is let go.
    pub(super) fn begin(&self, program: &Path, plan: &Plan) -> Result<Shim, Error> {
        let orders = self.orders(program, plan);
        let path = self.receipt.with_extension("orders");
        let input = self.input(plan).map_err(|why| self.undone(&why))?;
        private(&path)
            .and_then(|mut file| file.write_all(&serde_json::to_vec(&orders)?))
            .map_err(|why| self.undone(&why))?;
        let lock = self.claimed.lock().map_err(|why| self.undone(&why))?;
        let shim = std::env::current_exe().and_then(|me| {
            let mut command = Command::new(me);
            command.args(Stage::Leave.words()).arg(&path);
            command.stdin(input).stdout(Stdio::piped()).stderr(lock).spawn()
        });
        let mut shim = shim.map_err(|why| self.failed(&format!("cannot start our shim: {why}")))?;
        let pipe = shim.stdout.take().expect("it was asked for");
        let (tell, reports) = mpsc::channel();
        let (held, let_go) = mpsc::channel::<()>();
        thread::spawn(move || {
            let _ = shim.wait(); // its first stage goes at once
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if let Ok(report) = serde_json::from_str(&line) {
                    let is_last = matches!(report, Report::Ended { .. });
                    let _ = tell.send(report);
                    if is_last {
                        let _ = let_go.recv(); // our end of the pipe is closed after that
                        return;
                    }
                }
            }
        });
        Ok(Shim { reports, _held: held })
    }

    fn orders(&self, program: &Path, plan: &Plan) -> Orders {
        let ask = self.ask;
        let (session, mark) = match &plan.id {
            Id::Chosen(id) => (Some(id.clone()), None),
            Id::Told(mark) => (None, Some(mark.clone())),
        };
        let receipt = Launched {
            session,
            at: self.at,
            log: Some(self.receipt.with_extension("log")),
            input: matches!(plan.input, Input::Open(_)).then(|| self.receipt.with_extension("in")),
            ..receipt(ask, &self.launch)
        };
        Orders {
            argv: argv(program, plan, ask),
            cwd: ask.cwd.clone(),
            env: variables(plan, ask),
            without: inherited().into_iter().map(str::to_owned).collect(),
            receipt,
            log: self.receipt.with_extension("log"),
            mark,
            first: match &plan.input {
                Input::Open(text) => Some(text.clone()),
                Input::Text(_) => None,
            },
            ends_by: ask.agent.ends_by(Some(self.role)).to_vec(),
        }
    }

    /// What the agent will read: a file without a name, so that no copy of the prompt is left.
    fn input(&self, plan: &Plan) -> io::Result<Stdio> {
        let text = match &plan.input {
            Input::Text(text) => text,
            Input::Open(_) => {
                make_fifo(&self.receipt.with_extension("in"))?;
                return Ok(Stdio::null());
            }
        };
        let path = self.receipt.with_extension("prompt");
        let mut file = private(&path)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.seek(SeekFrom::Start(0)));
        fs::remove_file(&path)?;
        written.map(|_| file.into())
    }

    /// Waits until the session is there, or its agent is not.
    pub(super) fn follow(&self, reports: &Receiver<Report>) -> Result<Session, Error> {
        let (began, limit) = (Instant::now(), limit());
        let mut pause = Duration::from_millis(30);
        let mut started = false;
        loop {
            match reports.recv_timeout(pause) {
                Ok(Report::NotStarted(why)) => return Err(self.failed(&why)),
                Ok(Report::Started) => started = true,
                Ok(Report::Ended { code, signal }) => return self.ended(code, signal),
                Err(RecvTimeoutError::Disconnected) if !started => {
                    return Err(self.failed("our shim was ended before it started the agent"));
                }
                // Only the shim is gone, and nobody else will tell.
                Err(RecvTimeoutError::Disconnected) => {
                    let gone = self.is_gone();
                    self.name();
                    if gone {
                        return self.ended(None, None);
                    }
                    thread::sleep(pause);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let slow = began.elapsed() > SLOW;
            let is_there = |one: &Session| self.is_there(one, slow);
            if started && let Some(session) = self.look(History::Skip, &is_there) {
                return Ok(session);
            }
            // Before the shim has told, nobody knows which process to end.
            if began.elapsed() > if started { limit } else { limit + SHIM } {
                return Err(self.hung(reports, limit, started));
            }
            pause = (pause * 3 / 2).min(Duration::from_millis(250));
        }
    }

    /// The agent's process, once the shim wrote it down.
    fn process(&self) -> Option<ProcKey> {
        let launch: Option<Launched> = one(&self.receipt);
        launch?.process
    }

    /// Writes down what the agent calls its session, in the shim's place.
    fn name(&self) {
        let Id::Told(mark) = &self.id else { return };
        let Some(mut launch) = one::<Launched>(&self.receipt) else { return };
        if launch.session.is_some() {
            return;
        }
        launch.session = launch.log.as_ref().and_then(|log| told(log, mark));
        if launch.session.is_some() {
            let _ = whole(&self.receipt, &launch); // the session is there without it
        }
    }

    /// The agent is surely there no more.
    fn is_gone(&self) -> bool {
        let began = |key: ProcKey| self.here.again().host().began(key.pid, key.start);
        self.process().is_some_and(|key| began(key).is_ok_and(|there| there.is_none()))
    }

    /// It is alive, and the agent itself says that it has the session: by its records, or by its output.
    fn is_there(&self, session: &Session, slow: bool) -> bool {
        let told = match &self.id {
            Id::Told(_) => true, // the shim read it from there
            // Gemini 0.61 writes no record before the model's first word.
            Id::Chosen(id) => slow && says(&self.receipt.with_extension("log"), id),
        };
        session.live && (told || session.because.iter().any(|because| self.is_its_word(because)))
    }

    /// The agent wrote it itself since it was started. Its arguments are our words, and a resumed
    /// session has old records, which it says nothing of if it dies at once.
    fn is_its_word(&self, because: &Fact) -> bool {
        match because.source {
            Source::Line { .. }
            | Source::File { .. }
            | Source::Lock { .. }
            | Source::OpenFile { .. }
            | Source::Variable { .. }
            | Source::Answer { .. }
            | Source::Row { .. } => because.at.is_none_or(|at| at >= self.at),
            Source::Alive { .. }
            | Source::Halted { .. }
            | Source::Gone { .. }
            | Source::Launch { .. }
            | Source::Arguments { .. }
            | Source::Inference { .. }
            | Source::NoLock { .. }
            | Source::NoVariable { .. }
            | Source::Absence { .. }
            | Source::Unreadable { .. }
            | Source::Blind => false,
        }
    }

    /// The session of this launch, seen anew.
    fn look(&self, history: History, fits: &dyn Fn(&Session) -> bool) -> Option<Session> {
        let agents = vec![self.ask.agent.card().name.to_owned()];
        let ask = list::Ask { agents, ..list::Ask::every(history) };
        let found = list::list(&self.here.again(), &ask).sessions.into_iter();
        let own = |session: &Session| session.launch_id.as_ref() == Some(&self.launch);
        let mut found = found.filter(|session| own(session) && session.id.is_some());
        found.find(|session| fits(session)).map(|session| *session)
    }

    /// The agent ended before its session was seen alive: it may have been quick.
    fn ended(&self, code: Option<i32>, signal: Option<i32>) -> Result<Session, Error> {
        let written = |session: &Session| session.updated_at.is_some_and(|at| at >= self.at);
        if let Some(session) = self.look(History::Since(self.at), &written) {
            return Ok(session);
        }
        let over = |timeout| Timestamp::now().duration_since(self.at) >= timeout;
        let timeout = self.ask.timeout.and_then(|timeout| SignedDuration::try_from(timeout).ok());
        if timeout.is_some_and(over) {
            return Err(self.failed("--timeout ended it before it had a session"));
        }
        let how = match (code, signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        };
        Err(self.failed(&format!("it ended before it had a session ({how})")))
    }

    /// Too long without a session: ended, with all that it started.
    fn hung(&self, reports: &Receiver<Report>, limit: Duration, started: bool) -> Error {
        let signals = self.ask.agent.ends_by(Some(self.role));
        let ended = match self.process() {
            Some(key) => end(&key, signals, GRACE),
            None if started => Err(Refused::Untold("its receipt cannot be read".to_owned())),
            None => Ok(Vec::new()),
        };
        let lives = match ended {
            Ok(deaths) => deaths.into_iter().find_map(|death| match death.how {
                How::Survived(why) => Some(format!("pid {}: {why}", death.key.pid)),
                How::By(..) | How::Followed => None,
            }),
            Err(Refused::Gone) => None,
            Err(why) => Some(why.to_string()),
        };
        let title = self.ask.agent.card().title;
        if let Some(why) = lives {
            let what = format!("{title} had no session after {limit:?} and cannot be ended: {why}");
            return Error::new(Kind::NotStarted, what)
                .hint("`agentctl list` shows it as long as it is there");
        }
        // The shim writes a last time when the agent has ended: nothing is to be left of that either.
        while !matches!(reports.recv_timeout(GRACE), Ok(Report::Ended { .. }) | Err(_)) {}
        self.failed(&format!("it had no session after {limit:?}"))
    }

    /// Nothing is left of a launch that failed but its error; or its receipt, by which `list` shows
    /// what the agent started and what cannot be ended.
    fn failed(&self, why: &str) -> Error {
        let log = self.receipt.with_extension("log");
        let said = said(&log);
        let left = self.sweep();
        let stop = self.process().zip(places::state());
        if let Some((key, state)) = stop.filter(|_| left.is_empty()) {
            let _ = fs::remove_file(state.join(STOPS).join(stop_name(&key)));
        }
        // No session, no end of it.
        if let Some(launch) = one::<Launched>(&self.receipt).filter(|one| one.hooks.is_some()) {
            let _ = whole(&self.receipt, &Launched { hooks: None, ..launch });
        }
        match left.is_empty() {
            true => self.clear(),
            false => self.forget(&["orders", "prompt", "in"]),
        }
        let title = self.ask.agent.card().title;
        let said = if said.is_empty() { said } else { format!("\n{said}") };
        let hint = match left.is_empty() {
            true => "nothing was left behind; mend what is wrong and launch it again".to_owned(),
            false => {
                format!("what it started cannot be ended, and `agentctl list` shows it: {left}")
            }
        };
        Error::new(Kind::NotStarted, format!("{title} did not start: {why}{said}")).hint(hint)
    }

    /// Ends what it started and what lives on without it; says what cannot be ended. What is only being loaded does not tell
    /// yet whose it is.
    fn sweep(&self) -> String {
        let began = Instant::now();
        loop {
            let here = self.here.again();
            let left = self.swept(&here);
            if !left.is_empty() || !self.is_loading(&here) || began.elapsed() > LOADED {
                return left;
            }
            thread::sleep(TICK);
        }
    }

    /// Some process of ours that began since tells nothing of itself.
    fn is_loading(&self, here: &Here) -> bool {
        let host = here.host();
        let Ok(table) = host.table() else { return false };
        // Starts are told in hundredths of a second.
        let at = self.at.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(self.at);
        let young = table.processes.iter().filter(|one| table.since(one.start) >= at);
        young.filter(|one| !one.zombie).map(|one| table.key(one)).any(|key| {
            let silent = host.env(&key, &[VARIABLE]).is_err();
            silent && host.is_mine(&key) == Ok(true) && !host.is_over(&key)
        })
    }

    fn swept(&self, here: &Here) -> String {
        let found = list::list(here, &list::Ask::every(History::Held));
        let orphans = found.orphans.iter().filter(|orphan| orphan.launch_id == self.launch);
        let orphans = orphans.map(|orphan| (&orphan.process, orphan.command.as_str()));
        // What looks like the agent itself, and has begun no session.
        let agents = found.sessions.iter().filter(|session| !session.shared);
        let agents = agents.filter_map(|session| session.process.as_ref());
        let agents = agents.filter(|key| self.has_launched(here, key));
        let own = orphans.chain(agents.map(|key| (key, self.ask.agent.card().binary)));
        let lives =
            own.filter(|(key, _)| match end(key, &[Signal::Terminate, Signal::Kill], GRACE) {
                Ok(deaths) => deaths.iter().any(|death| matches!(death.how, How::Survived(_))),
                Err(Refused::Gone) => false,
                Err(_) => true,
            });
        let words = lives.map(|(key, command)| format!("pid {} ({command})", key.pid));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The process carries the name of this launch.
    fn has_launched(&self, here: &Here, key: &ProcKey) -> bool {
        let env = here.host().env(key, &[VARIABLE]).unwrap_or_default();
        env.get(VARIABLE).is_some_and(|launch| *launch == *self.launch)
    }

    fn forget(&self, files: &[&str]) {
        for file in files {
            let _ = fs::remove_file(self.receipt.with_extension(file));
        }
    }

    /// Removes all files of this launch: who was killed while he wrote one left a draft.
    fn clear(&self) {
        let folder = self.receipt.parent().map(fs::read_dir).and_then(Result::ok);
        let own = format!("{}.", self.launch);
        for entry in folder.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&own) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn undone(&self, why: &io::Error) -> Error {
        self.forget(&["orders", "prompt", "in"]);
        unwritable(&self.receipt, why)
    }
}

/// Tests cannot wait as long as people can.
pub(super) fn limit() -> Duration {
    let told = std::env::var("AGENTCTL_LAUNCH_LIMIT_MS").ok();
    told.and_then(|told| told.parse().ok()).map_or(LIMIT, Duration::from_millis)
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// A channel that holds its first words until somebody reads them.
#[cfg(target_os = "linux")]
fn make_fifo(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, Mode, mkfifoat};
    Ok(mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?)
}

/// rustix has no call for it on macOS; every Unix has the command.
#[cfg(not(target_os = "linux"))]
fn make_fifo(path: &Path) -> io::Result<()> {
    match Command::new("mkfifo").args(["-m", "600"]).arg(path).status()?.success() {
        true => Ok(()),
        false => Err(io::Error::other("mkfifo failed")),
    }
}

/// These words are at the beginning of its output.
fn says(log: &Path, words: &str) -> bool {
    beginning(log).is_some_and(|output| output.contains(words))
}

/// How it began and how it ended: some complain before they explain their use, some behind that.
fn said(log: &Path) -> String {
    const PART: u64 = 16 << 10;
    let read = |from: u64| -> io::Result<String> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::Start(from))?;
        let mut part = Vec::new();
        file.take(PART).read_to_end(&mut part)?;
        Ok(String::from_utf8_lossy(&part).into_owned())
    };
    let size = fs::metadata(log).map(|stat| stat.len()).unwrap_or_default();
    let (head, tail) = (read(0), read(size.saturating_sub(PART)));
    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
    let full = |line: &&str| !line.trim().is_empty();
    let mut lines: Vec<&str> = tail.lines().filter(full).collect();
    if lines.len() > LINES || size > PART {
        let last = lines.split_off(lines.len().saturating_sub(LINES - FIRST));
        lines = head.lines().filter(full).take(FIRST).chain(["…"]).chain(last).collect();
    }
    let cut = |line: &&str| format!("  {}", agentctl_core::text::one_line(line));
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}
