//! The order of a bench: build, generate, start, measure, tell.

use super::{
    ask::Ask,
    daemon, events,
    home::{self, Home, Places},
    live::{self, Live},
    measure::Subject,
    order,
    paper::Paper,
    plan::Scale,
    programs::{self, Programs},
    questions::{self, Question},
    report::{self, Row, Yard},
    rounds::{self, Costs, Patience},
    totals,
};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use serde_json::Value;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

/// How often the two homes take turns.
const TURNS: usize = 6;
/// How long nobody asks before one who asks alone.
const PAUSE: Duration = Duration::from_millis(200);
/// In folders that were changed a moment ago more is looked at; most sessions that live began longer ago.
const SETTLES: Duration = Duration::from_secs(5);

/// A question, how it was asked, and what that cost.
type Answered = (Question, Subject, Costs);

/// What stays the same during a bench.
pub(super) struct Bench {
    pub(super) agentctl: PathBuf,
    pub(super) rg: PathBuf,
    pub(super) programs: Programs,
    pub(super) scratch: PathBuf,
    pub(super) patience: Patience,
}

/// Measures and prints; only what cannot be measured at all is a failure.
pub(crate) fn run(root: &Path, words: &[&str]) -> Outcome<()> {
    let ask = Ask::parse(words)?;
    let scratch = match &ask.keep {
        Some(dir) => std::path::absolute(dir).map_err(|why| Failure::io("resolve", dir, &why))?,
        None => setup::cache_dir()?.join("bench"),
    };
    let _turn = turn(&scratch)?;
    let (places, now) = (Places { homes: &scratch, repository: root }, live::now());
    let home = home::ensure(&places, ask.scale(), now)?;
    let small = home::ensure(&places, ask.small(), now)?;
    if ask.homes_only {
        println!("{}\n{}", home.dir.display(), small.dir.display());
        return Ok(());
    }
    setup::watchers()?;
    let programs = programs::compile(&scratch.join("programs"))?;
    if ask.hold {
        return held(&Live::start(&home, &programs, ask.scale().live)?, &home);
    }
    if ask.order {
        let _live = Live::start(&home, &programs, ask.scale().live)?;
        return order::write(root, &home, &scratch);
    }
    let (built, order) = match &ask.program {
        Some(path) => {
            (fs::canonicalize(path).map_err(|why| Failure::io("find", path, &why))?, None)
        }
        None => order::checked(root, &scratch).map(|(built, told)| (built, Some(told)))?,
    };
    let agentctl = programs::installed(&built, scratch.join("agentctl"))?;
    let rg = setup::ripgrep()?;
    let bench = Bench { agentctl, rg, programs, scratch, patience: ask.patience() };
    let mut paper = Paper::default();
    bench.origin(&mut paper, ask.program.is_none().then_some(root))?;
    order.into_iter().for_each(|told| paper.say(told));
    bench.all(&mut paper, &home, ask.scale())?;
    bench.independence(&mut paper, (&home, ask.scale()), (&small, ask.small()))?;
    let mut live = Live::idle(&home, &bench.programs, events::IDLE)?;
    let watch = bench.subject(&home, &["events", "--json", "--since", "1s"]);
    events::run(&mut paper, (watch, &home), &mut live, ask.quiet())?;
    if ask.page { paper.publish(root) } else { Ok(()) }
}

/// Waits for this bench's turn: another one has live sessions in the same homes.
fn turn(dir: &Path) -> Outcome<File> {
    let failed = |why| Failure::io("lock", dir, &why);
    fs::create_dir_all(dir).map_err(failed)?;
    let file = File::create(dir.join("bench.lock")).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Says where sessions are live, and keeps them so until nobody wants to look at them any more.
fn held(_live: &Live, home: &Home) -> Outcome<()> {
    println!("{}", home.dir.display());
    let read = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    read.map(|_| ()).map_err(|why| Failure::new(format!("cannot wait for the end of input: {why}")))
}

impl Bench {
    /// A call of the program.
    pub(super) fn subject(&self, home: &Home, words: &[&str]) -> Subject {
        Subject::new(&self.agentctl, home).words(words.iter().copied())
    }

    /// When, of what and where; the repository tells of what, if the program was built from it.
    fn origin(&self, paper: &mut Paper, built_from: Option<&Path>) -> Outcome<()> {
        let of = match built_from {
            None => "a program that was given".to_owned(),
            Some(root) => {
                let said = |words: &[&str]| {
                    tool::captured(Command::new("git").args(words).current_dir(root))
                };
                let commit = said(&["rev-parse", "--short=10", "HEAD"])?;
                let changed = !said(&["status", "--porcelain", "--", "crates"])?.is_empty();
                format!("commit `{}`{}", commit.trim(), if changed { " with changes" } else { "" })
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (at, size) = (live::now(), fs::metadata(&self.agentctl).map_or(0, |found| found.len()));
        paper.say(format!(
            "{}, {of}, {:.2} MB, {cores} cores.\n",
            at.to_string().get(..16).unwrap_or_default().replace('T', " "),
            size as f64 / 1e6
        ));
        Ok(())
    }

    /// All questions on the large home, in turns with the yardsticks.
    fn all(&self, paper: &mut Paper, home: &Home, scale: Scale) -> Outcome<()> {
        let live = Live::start(home, &self.programs, scale.live)?;
        thread::sleep(SETTLES);
        let find = Subject::new("find", home).words(home.folders());
        let find = find.words(["-type", "f", "-printf", "%s\n"]);
        let bytes = size(&find)?;
        self.census(paper, home, (scale, bytes))?;
        let walk = Subject::new(&self.programs.walk, home);
        let reading = walk.clone().words(["read"]);
        let (slow, quick): (Vec<_>, Vec<_>) =
            questions::all(home).into_iter().partition(|question| question.is_beside_find());
        let starts = [Subject::new(&self.programs.hello, home), walk, reading];
        let (starts, quick) = self.beside(&starts, quick, home)?;
        let (found, slow) = self.beside(&[find], slow, home)?;
        let mut costs: Vec<Costs> = starts.into_iter().chain(found).collect();
        let names = ["hello-world", "hello + walk over /proc", "walk that reads each stat", "find"];
        for (name, costs) in names.iter().zip(&costs) {
            paper.say(yardstick(name, costs));
        }
        let yard = Yard { find: costs.remove(3), walk: costs.remove(1), hello: costs.remove(0) };
        paper.say(format!("\n{}", report::head()));
        let mut programs = None;
        for (question, subject, costs) in quick.into_iter().chain(slow) {
            let (peak, calls) = (subject.peak(&self.scratch), subject.syscalls(&self.scratch));
            let (name, bars) = (question.shown(home), question.bars);
            programs = programs.or(calls.filter(|_| name == "list").map(|(_, execs)| execs));
            let row = Row { name, costs, bars, peak, syscalls: calls.map(|(all, _)| all) };
            paper.say(row.line(&yard));
        }
        if let Some(started) = programs {
            let verdict = report::verdict(&[(Some(started as f64), Some(1.0))]);
            paper.say(format!("\n`list` starts {} programs: {verdict}.", started.max(1) - 1));
        }
        self.alone(paper, home)?;
        totals::run(self, paper, home, (&live, bytes))?;
        daemon::run(self, paper, home)
    }

    /// Questions in turns with the yardsticks that they are held to, and with no others: what takes long leaves few of the processor's caches
    /// to whoever comes next, and takes more from one who needs more of them.
    fn beside(
        &self,
        yardsticks: &[Subject],
        questions: Vec<Question>,
        home: &Home,
    ) -> Outcome<(Vec<Costs>, Vec<Answered>)> {
        let asked = |question: &Question| question.subject(&self.agentctl, home);
        let asked: Vec<Subject> = questions.iter().map(asked).collect();
        let subjects: Vec<&Subject> = yardsticks.iter().chain(&asked).collect();
        let mut costs = rounds::interleaved(&subjects, self.patience)?;
        let answered = costs.split_off(yardsticks.len());
        let each = questions.into_iter().zip(asked).zip(answered);
        Ok((costs, each.map(|((question, subject), costs)| (question, subject, costs)).collect()))
    }

    /// `list` as a prompt or a status bar asks for it: now and then. Some of what the kernel is asked costs much more then.
    fn alone(&self, paper: &mut Paper, home: &Home) -> Outcome<()> {
        let walk = Subject::new(&self.programs.walk, home);
        let subjects = [walk, self.subject(home, &["list"])];
        let mut costs = [Costs::default(), Costs::default()];
        for _ in 0..self.patience.rounds {
            for (subject, costs) in subjects.iter().zip(&mut costs) {
                thread::sleep(PAUSE);
                costs.add(subject.run()?);
            }
        }
        let [walk, list] = costs;
        paper.say(format!(
            "\n`list` after a pause of {PAUSE:?}: {:.2} ms, {:.2} × hello + walk after the same pause ({:.2} ms).",
            list.wall(),
            list.times(&walk),
            walk.wall()
        ));
        Ok(())
    }

    /// What is there, and what agentctl finds of it.
    fn census(&self, paper: &mut Paper, home: &Home, (scale, bytes): (Scale, u64)) -> Outcome<()> {
        let Scale { sessions, live, .. } = scale;
        let (window, gigabytes) = (scale.window(), bytes as f64 / 1e9);
        paper.say(format!("Home: {sessions} sessions, {gigabytes:.2} GB, {window} of them in the last 7 days, {live} live.\n"));
        let found = |words: &[&str]| self.subject(home, words).output();
        let asked = [
            (vec!["list", "--json"], live),
            (vec!["list", "-a", "--json"], window),
            (vec!["list", "-a", "--since", "all", "--json"], sessions),
        ];
        let mut others = false;
        for (words, expected) in asked {
            let ran = found(&words)?;
            let json: Value = serde_json::from_slice(&ran.stdout).unwrap_or_default();
            let count = |key: &str| json[key].as_array().map_or(0, Vec::len);
            let (sessions, problems) = (count("sessions"), count("problems"));
            if sessions != expected || problems > 0 {
                others = true;
                paper.say(format!(
                    "`{}` finds {sessions} sessions of {expected}, {problems} problems.",
                    words.join(" ")
                ));
            }
        }
        if others {
            paper.say("Are other agents at work on this machine? They cost `list` a look too.\n");
        }
        Ok(())
    }

    /// `list` on both homes by turns, each with live sessions of its own.
    fn independence(
        &self,
        paper: &mut Paper,
        (large, many): (&Home, Scale),
        (small, few): (&Home, Scale),
    ) -> Outcome<()> {
        let mut costs = [Costs::default(), Costs::default()];
        for home in [large, small] {
            // The daemon has left one in the other home: what is ours is not history.
            let state = home.dir.join(".local/state/agentctl");
            fs::create_dir_all(&state).map_err(|why| Failure::io("create", &state, &why))?;
        }
        for _ in 0..TURNS {
            for (home, costs) in [large, small].into_iter().zip(&mut costs) {
                let _live = Live::start(home, &self.programs, many.live)?;
                thread::sleep(SETTLES);
                let subject = self.subject(home, &["list"]);
                subject.run()?;
                for _ in 0..self.patience.rounds {
                    costs.add(subject.run()?);
                }
            }
        }
        let [of_large, of_small] = costs;
        let change = (of_large.times(&of_small) - 1.0) * 100.0;
        paper.say(format!(
            "`list`, {} → {} sessions: {:.2} → {:.2} ms, {change:+.0} % (bar: below 10 %): {}.",
            few.sessions,
            many.sessions,
            of_small.wall(),
            of_large.wall(),
            report::verdict(&[(Some(change), Some(10.0))])
        ));
        Ok(())
    }
}

/// A line about a yardstick.
pub(super) fn yardstick(name: &str, costs: &Costs) -> String {
    let (wall, cpu, quickest) = (costs.wall(), costs.cpu(), costs.quickest());
    format!("- {name}: {wall:.2} ms, CPU {cpu:.2} ms, quickest {quickest:.2} ms")
}

/// All session files together, as `find` tells.
fn size(find: &Subject) -> Outcome<u64> {
    let said = find.output()?.stdout;
    Ok(String::from_utf8_lossy(&said).lines().filter_map(|line| line.parse::<u64>().ok()).sum())
}
