//! Stand-ins: launched or started by hand, led through their turns, and ended in every way.

use super::{
    LIMIT, Soak,
    chance::Chance,
    record::{Grip, Life, Way},
    until,
};
use crate::{
    kills::Process,
    support::{Stage, uuid},
};
use agentctl_testkit::sandbox::Started;
use jiff::Timestamp;
use rustix::{fs::OFlags, process::Signal};
use std::{
    env, fs,
    io::Write,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::PathBuf,
    thread,
};

/// Puts the stand-in there.
pub(super) fn planted(stage: &Stage) {
    let dir = programs(stage);
    fs::create_dir(&dir).expect("the sandbox is ours");
    fs::write(dir.join("claude"), include_str!("agent.sh")).expect("the sandbox is ours");
    let all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(dir.join("claude"), all).expect("it is ours");
}

fn programs(stage: &Stage) -> PathBuf {
    stage.sandbox.root().join("programs")
}

/// What a stand-in is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Working,
    Waiting,
    Resting,
}

/// One that lives.
struct StandIn<'a> {
    soak: &'a Soak<'a>,
    id: String,
    process: Process,
    /// Where it works, without links.
    dir: PathBuf,
    launched: bool,
    doing: Doing,
    /// Orders that it has got.
    orders: usize,
    /// Since when and until when it asked something.
    asked: Vec<(Timestamp, Timestamp)>,
    /// Ours to wait for.
    child: Option<Started>,
}

/// One after the other.
pub(super) fn play(soak: &Soak<'_>, number: u64) {
    let mut chance = soak.chance(100 + number);
    for turn in 0.. {
        if soak.over.is_over() {
            return;
        }
        let dir = soak.stage.sandbox.dir(&format!("stand-in-{number}-{turn}"));
        live(soak, &mut chance, dir);
        soak.over.pause(chance.between(0, 400));
    }
}

/// One life.
fn live(soak: &Soak<'_>, chance: &mut Chance, dir: PathBuf) {
    let began = Timestamp::now();
    let mut one = match chance.once_in(2) {
        true => StandIn::launched(soak, dir),
        false => StandIn::by_hand(soak, dir),
    };
    let grip = Grip::of(one.process);
    let life = thread::scope(|scope| {
        let watch = scope.spawn(|| grip.gone(&soak.over));
        for _ in 0..chance.below(7) {
            soak.over.pause(pause(chance));
            one.step(chance);
        }
        soak.over.pause(pause(chance));
        let way = chance.one(&[Way::Done, Way::Stop, Way::Kill, Way::Kill, Way::Term]);
        // Killed in the middle of something, every now and then.
        if matches!(way, Way::Kill | Way::Term) && chance.once_in(3) {
            let order = if one.doing == Doing::Resting { "prompt" } else { "reply" };
            one.order(order);
            soak.over.pause(chance.between(0, 12));
        }
        one.end(way);
        let gone = watch.join().expect("it is watched").expect("it goes");
        if let Some(child) = &one.child {
            child.wait(LIMIT);
        }
        let project = one.dir.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let record = format!(".claude/projects/{project}/{}.jsonl", one.id);
        Life {
            agent: "stand-in",
            launched: one.launched,
            id: one.id.clone(),
            began,
            way,
            gone: Some(gone),
            record: Some(soak.stage.sandbox.home().join(record)),
            asked: one.asked.clone(),
        }
    });
    soak.record.life(life);
}

/// Mostly short, at times nothing, at times long enough for all to settle.
fn pause(chance: &mut Chance) -> std::time::Duration {
    match chance.below(5) {
        0 => chance.between(0, 3),
        1 => chance.between(700, 2500),
        _ => chance.between(20, 500),
    }
}

impl<'a> StandIn<'a> {
    fn launched(soak: &'a Soak<'a>, dir: PathBuf) -> Self {
        let path =
            format!("{}:{}", programs(soak.stage).display(), env::var("PATH").unwrap_or_default());
        let words = ["launch", "claude-code", "--json", "-p", "go", "--cwd"];
        let at = dir.to_string_lossy();
        let words = [&words[..], &[&at]].concat();
        let answer = soak.stage.sandbox.agentctl_with(&[("PATH", &path)], &words);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        let session = answer.json()["session"].clone();
        let pid = session["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        let pid = pid.unwrap_or_else(|| panic!("no pid: {session:#}"));
        let process = Process::of(pid).unwrap_or_else(|| panic!("it is gone: {session:#}"));
        let id = session["id"].as_str().expect("it has an id").to_owned();
        Self { launched: true, ..Self::new(soak, (id, process), dir) }
    }

    fn by_hand(soak: &'a Soak<'a>, dir: PathBuf) -> Self {
        let id = uuid();
        let program = programs(soak.stage).join("claude").to_string_lossy().into_owned();
        let run = soak.stage.sandbox.run(&[program.as_str(), "--session-id", &id]);
        let child = run.within(&dir).spawn();
        let process = until("process that is there", || Process::of(child.pid()));
        Self { child: Some(child), ..Self::new(soak, (id, process), dir) }
    }

    fn new(soak: &'a Soak<'a>, (id, process): (String, Process), dir: PathBuf) -> Self {
        let doing = Doing::Working;
        let one = Self {
            soak,
            id,
            process,
            dir,
            doing,
            launched: false,
            orders: 1,
            asked: Vec::new(),
            child: None,
        };
        one.obeyed();
        one
    }

    fn orders(&self) -> PathBuf {
        self.soak.stage.sandbox.home().join("orders").join(&self.id)
    }

    /// Gives an order, and waits for nothing.
    fn order(&mut self, order: &str) {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(self.orders());
        let sent = file.and_then(|mut file| file.write_all(format!("{order}\n").as_bytes()));
        assert!(sent.is_ok(), "it takes no order: {sent:?}");
        self.orders += 1;
    }

    /// Waits until all orders are obeyed.
    fn obeyed(&self) {
        let done = self.orders().with_added_extension("done");
        until("obedience", || {
            let done = fs::read_to_string(&done).unwrap_or_default();
            (done.lines().count() >= self.orders).then_some(())
        });
    }

    fn step(&mut self, chance: &mut Chance) {
        let (order, doing) = match self.doing {
            Doing::Working if chance.once_in(3) => ("ask", Doing::Waiting),
            Doing::Working => ("reply", Doing::Resting),
            Doing::Waiting => ("answer", Doing::Working),
            Doing::Resting => ("prompt", Doing::Working),
        };
        if let Some(asked) = self.asked.last_mut().filter(|_| self.doing == Doing::Waiting) {
            asked.1 = Timestamp::now();
        }
        self.order(order);
        self.obeyed();
        if doing == Doing::Waiting {
            self.asked.push((Timestamp::now(), Timestamp::now()));
        }
        self.doing = doing;
    }

    fn end(&mut self, way: Way) {
        match way {
            Way::Done => {
                if self.doing != Doing::Resting {
                    self.order("reply");
                }
                self.order("exit");
            }
            Way::Stop => {
                let stopped = self.soak.ask(&["stop", &self.id, "--json"]);
                assert_eq!(stopped.code, Some(0), "{stopped:?}");
            }
            Way::Kill => self.process.signal(Signal::KILL),
            Way::Term => self.process.signal(Signal::TERM),
        }
    }
}
