//! Steps that begin a session or go on with one, and what must come of them.

use super::{
    life::{Birth, Life, Paper},
    step::{Kind, Moment},
    world::World,
};
use crate::{
    home::Answer,
    kills::{Process, until},
};
use rustix::process::Signal;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Child, Stdio},
};

/// So many looks at all processes, one after the other, miss nobody.
const LOOKS: usize = 5;

/// What is asked of a launch.
pub(super) struct Wish {
    pub(super) agent: Kind,
    pub(super) dir: usize,
    pub(super) key: Option<String>,
    pub(super) steerable: bool,
}

impl Wish {
    fn words(&self, dir: &str, label: &str) -> Vec<String> {
        let words = ["launch", self.agent.agent(), "-p", "go", "--json", "--cwd", dir];
        let mut words: Vec<String> = words.map(str::to_owned).into();
        words.extend(["--label".to_owned(), format!("who={label}")]);
        words.extend(self.key.iter().flat_map(|key| ["--key".to_owned(), key.clone()]));
        words.extend(self.steerable.then(|| "--steerable".to_owned()));
        words
    }
}

impl World {
    /// A label that no other launch has.
    fn label(&mut self) -> String {
        self.launches += 1;
        format!("l{}", self.launches)
    }

    pub(super) fn launch(&mut self, wish: &Wish) {
        if self.is_faulty(wish.agent) {
            return self.skip(); // it would make a store of its own
        }
        let (dir, label) = (self.dir(wish.dir), self.label());
        let words = wish.words(&dir, &label);
        let answer = self.ask(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let births = self.born_of(&answer);
        if self.is_full() && answer.code != Some(0) {
            return nothing(&answer, &births, "there is no room");
        }
        let of_key = |life: &&Life| wish.key.is_some() && life.key == wish.key;
        let same = self.lives.iter().filter(of_key).collect::<Vec<_>>();
        let lost = same.iter().any(|life| life.receipt != Paper::Good);
        match same.first().filter(|_| !lost && !self.is_fixed()) {
            Some(first) if first.kind == wish.agent => {
                let code = answer.code;
                let reused = answer.json()["session"]["id"] == *first.id;
                assert!(code == Some(0) && reused && births.is_empty(), "not reused: {answer:?}");
            }
            Some(_) => nothing(&answer, &births, "the key is another agent's"),
            None if lost && !self.is_fixed() => {
                let kept = answer.code == Some(5) || answer.json()["reused"] == true;
                assert!(kept && births.is_empty(), "its key is lost: {answer:#?}");
            }
            None => self.launched(&answer, &births, wish, &label),
        }
    }

    /// Who was born of a call that is over. One that succeeds may do so before its agent has said what it is.
    fn born_of(&mut self, answer: &Answer) -> Vec<Birth> {
        if answer.code != Some(0) || answer.json()["reused"] == true {
            return self.births();
        }
        until("birth by a launch", || Some(self.births()).filter(|births| !births.is_empty()))
    }

    fn launched(&mut self, answer: &Answer, births: &[Birth], wish: &Wish, label: &str) {
        if self.is_fixed() {
            return nothing(answer, births, "our state is out of reach");
        }
        if wish.key.is_some() && self.has_lost_keys() {
            assert_eq!(answer.code, Some(5), "it may be in what is lost: {answer:?}");
            return nothing(answer, births, "it may be in what is lost");
        }
        if self.is_taken(wish.dir) {
            assert_eq!(answer.code, Some(5), "the directory is taken: {answer:?}");
            return nothing(answer, births, "the directory is taken");
        }
        assert!(answer.code == Some(0) && births.len() == 1, "{} born: {answer:#?}", births.len());
        is_it(&answer.json()["session"], &births[0]);
        self.adopt(births, wish, label);
    }

    /// What was born is a session from now on.
    fn adopt(&mut self, births: &[Birth], wish: &Wish, label: &str) {
        assert!(births.len() < 2, "one launch, {} agents", births.len());
        for birth in births {
            let mut life = Life::new(birth, wish.agent, wish.dir);
            life.launched(birth);
            life.label = Some(label.to_owned());
            life.labels.push(label.to_owned());
            life.key.clone_from(&wish.key);
            life.steerable = wish.steerable;
            self.touched = Some(self.lives.len());
            self.lives.push(life);
        }
    }

    /// A launch whose caller is killed by -9 as soon as something is there.
    pub(super) fn launch_killed(&mut self, wish: &Wish, at: Moment) {
        if self.is_faulty(wish.agent) || self.state.is_some() || self.is_taken(wish.dir) {
            return self.skip();
        }
        let (dir, label) = (self.dir(wish.dir), self.label());
        let words = wish.words(&dir, &label);
        let before = self.receipts();
        let mut command =
            self.home().agentctl(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a launch");
        until("moment to kill a launch", || {
            let ended = child.try_wait().expect("a child").is_some();
            (ended || self.has_come(at, &before)).then_some(())
        });
        killed(&mut child);
        // Whatever it has started comes to life, or goes. One that starts another and goes may be missed by one look.
        let mut looks = 0;
        until("end of a launch without its caller", || {
            looks = if self.has_stranger() { 0 } else { looks + 1 };
            (self.has_come(Moment::Born, &before) || looks == LOOKS).then_some(())
        });
        let births = self.births();
        self.adopt(&births, wish, &label);
        if let Some(life) = self.lives.last().filter(|_| !births.is_empty()) {
            let receipt = self.launches_dir().join(life.launch.clone().unwrap_or_default());
            let receipt = receipt.with_added_extension("json");
            until("name in the receipt", || {
                let text = fs::read_to_string(&receipt).unwrap_or_default();
                text.contains(&life.id).then_some(())
            });
        }
    }

    fn has_come(&self, at: Moment, before: &BTreeSet<PathBuf>) -> bool {
        let new = |ending: &str| {
            let receipts = self.receipts();
            let fits = |path: &&PathBuf| path.extension().is_some_and(|own| own == ending);
            receipts.difference(before).any(|path| fits(&path))
        };
        match at {
            Moment::Spawned => true,
            Moment::Orders => new("orders") || new("json"),
            Moment::Receipt => new("json"),
            Moment::Born => {
                let all = Birth::all(&self.home().path("born"));
                all.iter().any(|birth| !self.known.contains(&birth.file))
            }
        }
    }

    fn receipts(&self) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(self.launches_dir()).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Somebody is there who is none of those that are known: a launch goes on.
    fn has_stranger(&self) -> bool {
        let lives = self.lives.iter().flat_map(|life| life.shim.into_iter().chain([life.process]));
        let asleep = self.innocents.iter().map(|(_, process)| *process);
        let mut known: BTreeSet<u32> = lives.chain(asleep).map(|process| process.pid).collect();
        known.extend(self.daemon.iter().map(Child::id));
        known.extend(self.heard.iter().map(|heard| heard.stream.pid()));
        self.everybody().into_iter().any(|pid| !known.contains(&pid))
    }

    /// All that run here. One that becomes another program has no environment for a moment, but the same user.
    pub(super) fn everybody(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").expect("processes").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let user = self.home().user().map(|user| format!("Uid:\t{user}\t"));
        let own = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            user.as_ref().is_some_and(|user| status.lines().any(|line| line.starts_with(user)))
        };
        let pids: Vec<u32> = match user {
            Some(_) => pids.filter(own).collect(),
            None => self.agents.alive().into_iter().filter_map(|pid| pid.try_into().ok()).collect(),
        };
        pids.into_iter().filter(|pid| Process::of(*pid).is_some()).collect()
    }

    /// An agent that a person starts.
    pub(super) fn run(&mut self, kind: Kind, slot: usize) {
        if self.is_faulty(kind) {
            return self.skip();
        }
        let mut command = self.home().command(self.home().path(format!("bin/{}", kind.command())));
        command.current_dir(self.dir(slot));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("an agent");
        let birth = until("birth of an agent", || {
            assert!(child.try_wait().expect("a child").is_none(), "it ended at once");
            self.births().pop()
        });
        let mut life = Life::new(&birth, kind, slot);
        life.child = Some(child);
        self.touched = Some(self.lives.len());
        self.lives.push(life);
    }

    pub(super) fn resume(&mut self, at: usize) {
        let life = &self.lives[at];
        let (id, slot, lived) = (life.id.clone(), life.dir, life.lives());
        let answer = self.ask(&["resume", &id, "-p", "go", "--json"]);
        let births = self.born_of(&answer);
        let vague = self.lives[at].spoiled || self.is_ownerless(&self.lives[at]);
        let full = self.is_full() && answer.code != Some(0);
        if lived || full || self.is_fixed() || self.is_faulty(self.lives[at].kind) {
            return nothing(&answer, &births, "it lives, nobody can tell, or there is no room");
        }
        if self.is_taken(slot) {
            return nothing(&answer, &births, "its directory is taken");
        }
        if births.is_empty() && answer.code != Some(0) && vague {
            return;
        }
        assert!(answer.code == Some(0) && births.len() == 1, "{} born: {answer:#?}", births.len());
        is_it(&answer.json()["session"], &births[0]);
        assert_eq!(births[0].text("id"), id, "another session: {answer:?}");
        let life = &mut self.lives[at];
        if life.receipt == Paper::Lost {
            (life.label, life.key) = (None, None); // it went with its file
        }
        // A key is that of the launch it was given to.
        life.launched(&births[0]);
        life.steerable = false;
    }
}

/// The answer is about what was born.
fn is_it(session: &Value, birth: &Birth) {
    let process = birth.process();
    let (pid, start) = (&session["process"]["pid"], &session["process"]["start"]);
    let same = session["id"] == *birth.text("id") && *pid == process.pid && *start == process.start;
    assert!(same && session["live"] == true, "{} is told as {session:#}", birth.value);
}

/// It was not done, and that was said.
fn nothing(answer: &Answer, births: &[Birth], why: &str) {
    let refused = answer.code != Some(0) && births.is_empty();
    assert!(refused, "{why}, and {} are born: {answer:#?}", births.len());
}

/// Kills one of ours, and collects it.
pub(super) fn killed(child: &mut Child) {
    let process = Process::of(child.id());
    if let Some(process) = process.filter(|process| process.lives()) {
        process.signal(Signal::KILL);
    }
    child.wait().expect("a child");
}
