//! A session that a process has loaded, and what can be done to both.

use super::{
    cast::{Kind, Part},
    place::{self, Place},
    planted,
    player::{Player, apart, deaf, playing},
    world::Mounted,
};
use crate::{
    home::Home,
    kills::{Process, now, until},
};
use agentctl_testkit::sandbox::Gate;
use jiff::Timestamp;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Who gets a pid that has become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heir {
    /// Somebody who has nothing to do with agents.
    Innocent,
    /// An agent of the same kind, without a session.
    Another,
}

/// A home with one session, which a process has loaded.
pub(crate) struct Scene {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    /// The file that holds the session.
    pub(crate) record: PathBuf,
    /// The folder that holds all sessions of its agent.
    pub(crate) store: PathBuf,
    pub(crate) holder: Player,
    /// Other agents, each with the session it has.
    pub(crate) others: Vec<(Option<&'static str>, Player)>,
    /// Processes that have nothing to do with agents.
    pub(crate) innocents: Vec<Player>,
    /// What a real agent's model waits for.
    #[allow(dead_code, reason = "the model waits as long as it is there")]
    gate: Option<Gate>,
    /// What is mounted below the home, for as long as the home is there.
    pub(super) mounted: Vec<Mounted>,
    /// Last, so that it outlives who works in it.
    pub(crate) place: Place,
}

impl Scene {
    /// One that is played.
    pub(crate) fn new(kind: Kind) -> Self {
        Self::within(kind, |work| work.to_owned())
    }

    /// One whose process works in a directory that this makes.
    pub(crate) fn within(kind: Kind, dir: impl Fn(&Path) -> PathBuf) -> Self {
        let place = Place::Played(Home::new());
        let dir = dir(&place.work());
        let holder = enter(&place, kind, &dir);
        Self::of(kind, kind.part().id.to_owned(), place, holder)
    }

    /// One with a real agent, which `agentctl` has launched.
    pub(crate) fn real(kind: Kind) -> Self {
        let place::Launched { place, session, process, gate } = place::launch(kind);
        let id = session["id"].as_str().expect("an id").to_owned();
        let mut scene = Self::of(kind, id, place, Player::of(process));
        scene.record = session["source"].as_str().expect("a path").into();
        scene.gate = Some(gate);
        scene
    }

    fn of(kind: Kind, id: String, place: Place, holder: Player) -> Self {
        let (record, store) = (place.path(kind.part().record), place.path(kind.part().store));
        let (others, innocents, gate, mounted) = (Vec::new(), Vec::new(), None, Vec::new());
        Self { kind, id, record, store, holder, others, innocents, gate, mounted, place }
    }

    /// It is played, and not real.
    pub(crate) fn is_played(&self) -> bool {
        matches!(self.place, Place::Played(_))
    }

    /// Brings another kind into the same home and directory, with its own session.
    pub(crate) fn join(&mut self, kind: Kind) {
        let player = enter(&self.place, kind, &self.place.work());
        self.others.push((Some(kind.part().id), player));
    }

    /// Starts another process of the same kind there, with a session of its own.
    pub(crate) fn twin(&mut self) -> (String, Process) {
        let part = self.kind.part();
        // The last digit of the part that names show too.
        let digit = if &part.id[7..8] == "9" { 8 } else { 9 };
        let id = format!("{}{digit}{}", &part.id[..7], &part.id[8..]);
        let named = |words: &[&str]| -> &'static [&'static str] {
            let word = |word: &&str| -> &'static str { word.replace(part.id, &id).leak() };
            words.iter().map(word).collect::<Vec<_>>().leak()
        };
        let own = Part { words: named(part.words), keeps: named(part.keeps), ..*part };
        for keep in own.keeps {
            let path = self.place.path(&keep[1..]);
            fs::create_dir_all(path.parent().expect("a folder")).expect("our folder");
        }
        planted::give(&self.place);
        let mut command = playing(&self.place, &own, self.place.user());
        let player = Player::start(command.current_dir(self.place.work()), part.program);
        until("older process", || (now() > player.process.start + 3).then_some(()));
        planted::plant_as(&self.place, part, &id);
        planted::claim_as(&self.place, part, (self.holder.process, player.process), &id);
        let process = player.process;
        self.others.push((None, player));
        (id, process)
    }

    /// Starts another process of the same kind there, which has no session.
    pub(crate) fn another(&mut self, dir: &Path, user: Option<u32>) -> Process {
        let part = self.kind.part();
        let words: &[&str] = match self.kind {
            Kind::Codex => &["exec"],
            Kind::OpenCode => &["run", "hello"],
            Kind::Gemini => &["/x/bin/gemini", "-p", "hello"],
            Kind::Copilot => &["x", "-p", "hello"],
            Kind::Claude | Kind::Pi | Kind::OpenClaw => &[],
        };
        // Each OpenCode has the one database open.
        let own = self.kind == Kind::OpenCode && user == self.place.user();
        let keeps: &[&str] = if own { part.keeps } else { &[] };
        let part = Part { words, keeps, ..*part };
        let mut command = playing(&self.place, &part, user);
        let player = Player::start(command.current_dir(dir), part.program);
        let process = player.process;
        self.others.push((None, player));
        process
    }

    /// Ends the holder, and lets another go on in a container, which writes itself down by the pid that it
    /// knows.
    pub(crate) fn enclose(&mut self) {
        self.holder.end();
        // Starts are told in hundredths of a second: it is seen to be younger than what was written.
        let then = now();
        until("younger process", || (now() > then + 3).then_some(()));
        let [holder] = Player::enclosed([self.apart(&["--pid"])], self.kind.part().program);
        self.holder = holder;
        let process = Process { pid: 1, ..self.holder.process };
        planted::claim_since(&self.place, self.kind, process, Timestamp::now() + planted::SETTLED);
    }

    /// Ends the holder, and lets two begin at one moment in two containers, of which one writes itself down.
    pub(crate) fn enclose_twins(&mut self) {
        self.holder.end();
        for _ in 0..100 {
            let apart = || self.apart(&["--pid"]);
            let [one, two] = Player::enclosed([apart(), apart()], self.kind.part().program);
            if one.process.start == two.process.start {
                planted::claim(&self.place, self.kind, Process { pid: 1, ..one.process });
                self.holder = one;
                self.others.push((None, two));
                return;
            }
        }
        panic!("no two begin at one moment");
    }

    /// Ends the holder, and lets another go on whose clock since the boot is ahead of ours, by which it writes itself
    /// down.
    pub(crate) fn hasten(&mut self) {
        const AHEAD: u64 = 100_000;
        self.holder.end();
        let clock = ["--time", &format!("--boottime={AHEAD}")];
        let [holder] = Player::enclosed([self.apart(&clock)], self.kind.part().program);
        self.holder = holder;
        let Process { pid, start } = self.holder.process;
        let start = start + AHEAD * rustix::param::clock_ticks_per_second();
        planted::claim(&self.place, self.kind, Process { pid, start });
    }

    /// Ends the holder, and lets another go on who sees its home under another name, as a container may.
    pub(crate) fn move_in(&mut self) {
        self.holder.end();
        let there = self.place.work().join("there");
        fs::create_dir(&there).expect("a folder");
        let script = r#"mount --bind "$1" "$2" && shift 2 && exec "$@""#;
        let mut inside = self.inside();
        inside.env("HOME", &there);
        let (program, args) = (inside.get_program().to_owned(), inside.get_args());
        let args: Vec<_> = args.map(ToOwned::to_owned).collect();
        let mut mounted = self.place.command("sh");
        mounted.args(["-c", script, "sh"]).arg(self.place.path("")).arg(&there);
        mounted.arg(program).args(args).env("HOME", &there).current_dir(self.place.work());
        let mounted = apart(&mounted, &["--mount"]);
        let [holder] = Player::enclosed([mounted], self.kind.part().program);
        self.holder = holder;
        until("older process", || (now() > self.holder.process.start + 3).then_some(()));
        planted::plant(&self.place, self.kind.part());
        planted::freshen(&self.place, self.kind.part(), &self.place.work());
    }

    /// The call of one that plays the holder in namespaces of its own.
    fn apart(&self, spaces: &[&str]) -> Command {
        apart(self.inside().current_dir(self.place.work()), spaces)
    }

    /// The call of one that plays the holder, as it is made by root.
    fn inside(&self) -> Command {
        let part = self.kind.part();
        let mut inside = playing(&self.place, part, None);
        if let Some(user) = self.place.user() {
            let (program, args) = (inside.get_program().to_owned(), inside.get_args());
            let args: Vec<_> = args.map(ToOwned::to_owned).collect();
            inside = self.place.command("setpriv");
            inside.args(["--clear-groups", &format!("--reuid={user}"), &format!("--regid={user}")]);
            inside.arg(program).args(args);
        }
        inside
    }

    /// Starts a process that is nobody's agent; it keeps this file locked.
    pub(crate) fn innocent(&mut self, locks: Option<&Path>) -> Process {
        let mut part = Part { program: "editor", words: &[], keeps: &[], ..*self.kind.part() };
        let keep;
        if let Some(path) = locks {
            keep = format!("+{}", path.display());
            part.keeps = Vec::leak(vec![&*keep.leak()]);
        }
        let player = Player::start(&mut deaf(&self.place, &part), part.program);
        let process = player.process;
        self.innocents.push(player);
        process
    }

    /// Ends the holder, and gives its pid to another process, which began later.
    pub(crate) fn recycle(&mut self, heir: Heir) -> Process {
        let old = self.holder.process;
        self.holder.end();
        // Starts are told in hundredths of a second: the heir is seen to be younger than the record.
        let ended = now();
        until("younger process", || (now() > ended + 3).then_some(()));
        let work = self.place.work();
        for _ in 0..50 {
            fs::write("/proc/sys/kernel/ns_last_pid", (old.pid - 1).to_string()).expect("a world");
            let new = match heir {
                Heir::Innocent => self.innocent(None),
                Heir::Another => self.another(&work, self.place.user()),
            };
            if new.pid == old.pid && new.start != old.start {
                return new;
            }
            match heir {
                Heir::Innocent => drop(self.innocents.pop()),
                Heir::Another => drop(self.others.pop()),
            }
        }
        panic!("nobody gets pid {}", old.pid);
    }
}

/// Plants a captured session, and starts the process that has it loaded.
fn enter(place: &Place, kind: Kind, dir: &Path) -> Player {
    let part = kind.part();
    planted::plant(place, part);
    let mut command = playing(place, part, place.user());
    let holder = Player::start(command.current_dir(dir), part.program);
    // Starts are told in hundredths of a second: it is seen to be older than what it wrote.
    until("older process", || (now() > holder.process.start + 3).then_some(()));
    planted::freshen(place, part, dir);
    planted::claim(place, kind, holder.process);
    holder
}
