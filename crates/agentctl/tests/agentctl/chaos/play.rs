//! Steps that happen to what is there.

use super::{
    begin::{Wish, killed},
    life::{Paper, Stopped, Turn},
    step::{Kind, Order, Sign, Step},
    world::{DIRS, Intent, World},
};
use crate::{home::Answer, kills::until};
use rustix::process::Signal;
use std::{fs, io, process::Stdio};

impl World {
    /// Does it, as far as it can be done.
    pub(super) fn play(&mut self, step: Step) {
        (self.touched, self.skipped) = (None, false);
        let slot = |dir: u8| usize::from(dir) % DIRS;
        match step {
            Step::Launch { agent, dir, key, steerable } => {
                let steerable = steerable && agent == Kind::Claude;
                let key = key.map(|key| format!("k{key}"));
                self.launch(&Wish { agent, dir: slot(dir), key, steerable });
            }
            Step::LaunchKilled { agent, dir, at } => {
                let wish = Wish { agent, dir: slot(dir), key: None, steerable: false };
                self.launch_killed(&wish, at);
            }
            Step::Run { agent, dir } => self.run(agent, slot(dir)),
            Step::Lock { dir } => self.lock(slot(dir)),
            Step::Unlock { dir } => self.unlock(slot(dir)),
            Step::FuseSet { dir } => self.set_fuse(slot(dir)),
            Step::FuseCancel { which } => self.cancel_fuse(which),
            Step::Prune => self.prune(),
            Step::Daemon => self.start_daemon(),
            Step::DaemonKilled => match self.daemon.take() {
                Some(mut daemon) => killed(&mut daemon),
                None => self.skip(),
            },
            Step::Listen => self.listen(),
            Step::SpoilLock { dir, harm } => self.spoil_lock(slot(dir), harm),
            Step::SpoilFuse { which, harm } => self.spoil_fuse(which, harm),
            Step::Store { agent, fault } => self.store_fault(agent, fault),
            Step::State { fault } => self.state_fault(fault),
            Step::Cache => match fs::remove_dir_all(self.home().path(".cache/agentctl")) {
                Ok(()) => {}
                Err(why) if why.kind() == io::ErrorKind::NotFound => self.skip(),
                Err(why) => panic!("the cache stays: {why}"),
            },
            Step::Age => self.age(),
            Step::Mend => self.mend(),
            Step::Order { who, .. }
            | Step::Send { who }
            | Step::Signal { who, .. }
            | Step::ShimKilled { who }
            | Step::Stop { who, .. }
            | Step::StopKilled { who }
            | Step::Resume { who }
            | Step::Budget { who }
            | Step::Recycle { who }
            | Step::Spoil { who, .. } => match self.pick(who) {
                Some(at) => self.play_with(at, step),
                None => self.skip(),
            },
        }
    }

    /// The same with one session.
    fn play_with(&mut self, at: usize, step: Step) {
        match step {
            Step::Order { order, .. } => self.order(at, order),
            Step::Send { .. } => self.send(at),
            Step::Signal { sign, .. } => self.signal(at, sign),
            Step::ShimKilled { .. } => self.kill_shim(at),
            Step::Stop { force, .. } => self.stop(at, force),
            Step::StopKilled { .. } => self.stop_killed(at),
            Step::Resume { .. } => self.resume(at),
            Step::Budget { .. } => self.budget(at),
            Step::Recycle { .. } => self.recycle(at),
            Step::Spoil { file, harm, .. } => self.spoil(at, file, harm),
            Step::Launch { .. }
            | Step::LaunchKilled { .. }
            | Step::Run { .. }
            | Step::Lock { .. }
            | Step::Unlock { .. }
            | Step::FuseSet { .. }
            | Step::FuseCancel { .. }
            | Step::Prune
            | Step::Daemon
            | Step::DaemonKilled
            | Step::Listen
            | Step::SpoilLock { .. }
            | Step::SpoilFuse { .. }
            | Step::Store { .. }
            | Step::State { .. }
            | Step::Cache
            | Step::Age
            | Step::Mend => panic!("{step:?} is about nobody"),
        }
    }

    fn order(&mut self, at: usize, order: Order) {
        let (paper, faulty) = (self.paper(), self.is_faulty(self.lives[at].kind));
        let home = self.home().path("");
        let life = &mut self.lives[at];
        if !life.lives() || life.halted || faulty {
            return self.skip();
        }
        let (word, turn) = match order {
            Order::Prompt => ("prompt", Turn::Open),
            Order::Reply => ("reply", Turn::Rest),
            Order::Ask if life.kind == Kind::Claude && life.turn == Turn::Open => {
                ("ask", Turn::Asking)
            }
            Order::Ask => return self.skip(),
            Order::Exit => {
                life.order(&home, "exit");
                return life.gone(Some(0), paper);
            }
        };
        life.order(&home, word);
        life.obeyed(&home);
        life.turn = turn;
        if order != Order::Ask {
            life.stopped = Stopped::No; // it went on after that
        }
    }

    fn send(&mut self, at: usize) {
        let (state, faulty) = (self.state.is_some(), self.is_faulty(self.lives[at].kind));
        let life = &self.lives[at];
        if life.halted || life.spoiled || state || faulty {
            return self.skip();
        }
        let text = format!("word-{}", self.launches);
        let answer = self.ask(&["send", &life.id, &text, "--json", "--timeout", "10s"]);
        if !life.lives() || !life.steerable || life.receipt != Paper::Good {
            return assert_ne!(answer.code, Some(0), "nobody can hear it: {answer:#?}");
        }
        let heard = fs::read_to_string(&life.record).is_ok_and(|record| record.contains(&text));
        assert!(answer.code == Some(0) && heard, "it is not delivered: {answer:#?}");
        let home = self.home().path("");
        let life = &mut self.lives[at];
        life.order(&home, "nothing");
        life.obeyed(&home);
        (life.turn, life.stopped) = (Turn::Open, Stopped::No);
        self.launches += 1;
    }

    fn signal(&mut self, at: usize, sign: Sign) {
        let paper = self.paper();
        let life = &mut self.lives[at];
        let kept = life.halted && matches!(sign, Sign::Term | Sign::Int);
        if !life.lives() || kept {
            return self.skip();
        }
        let halts = |life: &super::life::Life| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", life.process.pid));
            stat.unwrap_or_default().contains(") T ")
        };
        let (signal, code) = match sign {
            Sign::Kill => (Signal::KILL, 137),
            Sign::Term => (Signal::TERM, 143),
            Sign::Int => (Signal::INT, 130),
            Sign::Halt | Sign::Go => {
                let halt = sign == Sign::Halt;
                life.signal(if halt { Signal::STOP } else { Signal::CONT });
                until("halt", || (halts(life) == halt).then_some(()));
                life.halted = halt;
                return;
            }
        };
        life.signal(signal);
        life.gone(Some(code), paper);
    }

    fn kill_shim(&mut self, at: usize) {
        let life = &mut self.lives[at];
        let Some(shim) = life.shim.filter(|shim| shim.lives()) else { return self.skip() };
        shim.signal(Signal::KILL);
        until("end of a shim", || (!shim.lives()).then_some(()));
        life.shim = None;
    }

    fn stop(&mut self, at: usize, force: bool) {
        let (paper, faulty) = (self.paper(), self.is_faulty(self.lives[at].kind));
        let vague = faulty || self.may_be_loose(&self.lives[at]);
        let life = &self.lives[at];
        let (lived, id) = (life.lives(), life.id.clone());
        let mut words = vec!["stop", &id, "--json", "--grace", "2s"];
        words.extend(force.then_some("--force"));
        let answer = self.ask(&words);
        self.rewritten(at);
        let vague = vague || !lived && self.is_ownerless(&self.lives[at]);
        let life = &mut self.lives[at];
        let done = answer.code == Some(0);
        assert!(!done || !life.lives(), "it lives, and is told as stopped: {answer:#?}");
        assert!(done || vague || life.spoiled, "it is not stopped: {answer:#?}");
        if lived && !life.lives() {
            life.gone(None, paper);
            let surely = done && paper == Paper::Good;
            life.stopped = if surely { Stopped::Yes } else { Stopped::Perhaps };
        }
    }

    /// By one who is killed by -9 once he has written down what he is about to do.
    fn stop_killed(&mut self, at: usize) {
        let faulty = self.is_faulty(self.lives[at].kind) || self.state.is_some();
        let (home, paper) = (self.home().path(""), self.paper());
        let life = &self.lives[at];
        if !life.lives() || life.halted || faulty || self.may_be_loose(life) {
            return self.skip();
        }
        let receipt = self.stop_receipt(life);
        let mut command = self.home().agentctl(&["stop", &life.id]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a stop");
        until("receipt of a stop", || {
            let ended = child.try_wait().expect("a child").is_some();
            (ended || receipt.exists()).then_some(())
        });
        killed(&mut child);
        self.rewritten(at);
        let life = &mut self.lives[at];
        // Whoever still obeys was not signalled. Whoever hears nothing any more is on its way out.
        match life.ordered(&home, "nothing") {
            true => life.obeyed(&home),
            false => until("end of an agent", || (!life.lives()).then_some(())),
        }
        if !life.lives() {
            life.gone(None, paper);
        }
        life.stopped = Stopped::Perhaps;
    }

    /// Nothing can be written, or there was no room for it.
    fn is_refused(&self, answer: &Answer) -> bool {
        self.is_fixed() || self.is_full() && answer.code != Some(0)
    }

    fn lock(&mut self, slot: usize) {
        let before = self.files("locks");
        let answer = self.ask(&["lock", &self.dir(slot), "--reason", "mine", "--json"]);
        if self.is_refused(&answer) || self.is_taken(slot) {
            return assert_ne!(answer.code, Some(0), "it cannot be locked: {answer:#?}");
        }
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let path = self.fresh("locks", &before).expect("a lock is a file");
        self.locks.insert(slot, Intent { path, paper: Paper::Good });
    }

    fn unlock(&mut self, slot: usize) {
        let answer = self.ask(&["unlock", &self.dir(slot), "--json"]);
        if self.is_refused(&answer) || !self.locks.contains_key(&slot) {
            return assert_ne!(answer.code, Some(0), "nobody locked it: {answer:#?}");
        }
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let gone = self.locks.remove(&slot);
        self.spoiled.retain(|path| gone.as_ref().is_none_or(|one| one.path != *path));
    }

    fn set_fuse(&mut self, slot: usize) {
        let answer = self.ask(&["fuse", "set", &self.dir(slot), "--ttl", "9h", "--json"]);
        if self.is_refused(&answer) {
            return assert_ne!(answer.code, Some(0), "it cannot be kept: {answer:#?}");
        }
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let name = answer.json()["fuses"][0]["id"].as_str().expect("a name").to_owned();
        let path = self.state_dir().join(format!("intents/fuses/{name}.json"));
        self.fuses.insert(name, Intent { path, paper: Paper::Good });
    }

    fn cancel_fuse(&mut self, which: u8) {
        let at = usize::from(which).checked_rem(self.fuses.len());
        let Some(name) = at.and_then(|at| self.fuses.keys().nth(at)).cloned() else {
            return self.skip();
        };
        let answer = self.ask(&["fuse", "cancel", &name, "--json"]);
        let lost = self.fuses[&name].paper != Paper::Good;
        if self.is_refused(&answer) || lost {
            return assert_ne!(answer.code, Some(0), "it cannot be read or written: {answer:#?}");
        }
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        self.fuses.remove(&name);
    }

    fn budget(&mut self, at: usize) {
        let (id, before) = (self.lives[at].id.clone(), self.files("budgets"));
        let words = ["budget", "set", &id, "--max-turns", "1000", "--on-budget", "warn", "--json"];
        let answer = self.ask(&words);
        let vague = self.is_faulty(self.lives[at].kind) || self.lives[at].spoiled;
        let lost = self.budgets.get(&id).is_some_and(|one| one.paper != Paper::Good);
        if self.is_refused(&answer) || lost {
            return assert_ne!(answer.code, Some(0), "it cannot be kept: {answer:#?}");
        }
        assert!(answer.code == Some(0) || vague, "{answer:#?}");
        if let Some(path) = self.fresh("budgets", &before) {
            self.budgets.insert(id, Intent { path, paper: Paper::Good });
        }
    }

    fn prune(&self) {
        let answer = self.ask(&["prune", "--json"]);
        let told = !answer.json()["problems"].as_array().is_none_or(Vec::is_empty);
        let codes: &[i32] = if self.is_cut() { &[8] } else { &[0, 8] };
        let code = answer.code.filter(|code| codes.contains(code) && (*code == 8) == told);
        assert!(code.is_some(), "{answer:#?}");
    }

    fn start_daemon(&mut self) {
        if self.daemon.is_some() || self.state.is_some() {
            return self.skip();
        }
        let log = self.home().root().join("out/daemon");
        let mut command = self.home().agentctl(&["daemon", "run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(fs::File::create(&log).expect("our folder")).spawn();
        self.daemon = Some(child.expect("a daemon"));
        until("daemon that listens", || {
            let said = fs::read_to_string(&log).unwrap_or_default();
            said.contains("listens on").then_some(())
        });
    }
}
