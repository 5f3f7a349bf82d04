//! Which tests meet a mutant, and whether one of them fails with it.

use super::program::Program;
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use std::{
    collections::BTreeSet,
    env, fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// Tests that go through captured machines begin like this. Those that pass with one machine alone are tried with few first.
const WALKS: [&str; 2] = ["conformance::", "observed::"];
/// The one of them that notices most.
const READS: &str = "conformance::every_case_reads_as_it_was_seen_by_a_full_host";
/// Machines to go through, for those.
const CASES: &str = "AGENTCTL_TEST_CASES";
/// So many machines are tried first, and so many at most.
const FEW: usize = 6;
const MANY: usize = 24;
/// Tests that take no longer are run together.
const QUICK: Duration = Duration::from_millis(200);
/// How often a test without a mutant may fail before it counts.
const TRIES: usize = 3;
/// Seconds: tests that take longer are left out, if somebody wants to know soon.
pub(super) const LONGEST: &str = "AGENTCTL_MUTANTS_LONGEST";

/// How a mutant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Killed,
    /// The tests did not come to an end.
    Timeout,
    Survives,
    /// No compiler takes it.
    Unviable,
    /// It cannot be switched on.
    Aside,
}

impl End {
    const ALL: [Self; 5] =
        [Self::Killed, Self::Timeout, Self::Survives, Self::Unviable, Self::Aside];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Timeout => "timeout",
            Self::Survives => "survives",
            Self::Unviable => "unviable",
            Self::Aside => "aside",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.name() == name)
    }
}

/// A test that passes, and the mutants in what it runs through.
struct Test {
    program: usize,
    name: String,
    took: Duration,
    met: BTreeSet<usize>,
    /// It goes through captured machines, and any of them will do.
    walks: bool,
}

/// All that can be tried.
pub(super) struct Trials {
    program: Program,
    tests: Vec<Test>,
    cases: Vec<(String, BTreeSet<usize>)>,
    longest: Option<Duration>,
}

/// Tests of one program that are run together, on some machines or all.
struct Run {
    program: usize,
    names: Vec<String>,
    cases: Option<Vec<String>>,
    /// What they take without a mutant.
    takes: Duration,
}

impl Trials {
    /// Runs each test once, without a mutant, to see which it meets.
    pub(super) fn record(root: &Path, program: Program) -> Outcome<Self> {
        let met = root.join("target/mutants/met");
        let longest = env::var(LONGEST).ok().and_then(|seconds| seconds.parse().ok());
        let mut all = Self {
            program,
            tests: Vec::new(),
            cases: Vec::new(),
            longest: longest.map(Duration::from_secs_f64),
        };
        let machines = machines(root)?;
        let alone = || machines.first().map(|one| vec![one.clone()]);
        for number in 0..all.program.tests.len() {
            for name in all.names(number)? {
                let (took, met) = all.met(&Run::of(number, &[&name], None), &met)?;
                let is_named = WALKS.iter().any(|prefix| name.starts_with(prefix));
                let few = Run::of(number, &[&name], alone());
                let walks = is_named && all.run(&few, None, None)?.success();
                all.tests.push(Test { program: number, name, took, met, walks });
            }
        }
        let walks: Vec<&Test> = all.tests.iter().filter(|test| test.walks).collect();
        let names: Vec<&str> = walks.iter().map(|test| test.name.as_str()).collect();
        let number = walks.first().map_or(0, |test| test.program);
        let mut cases = Vec::new();
        for case in machines {
            let run = Run::of(number, &names, Some(vec![case.clone()]));
            cases.push((case, all.met(&run, &met)?.1));
        }
        all.cases = cases;
        Ok(all)
    }

    fn names(&self, program: usize) -> Outcome<Vec<String>> {
        let (path, _) = &self.program.tests[program];
        let said = tool::captured(Command::new(path).args(["--list", "--format", "terse"]))?;
        let names = said.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    fn met(&self, run: &Run, file: &Path) -> Outcome<(Duration, BTreeSet<usize>)> {
        for _ in 0..TRIES {
            fs::write(file, "").map_err(|why| Failure::io("write", file, &why))?;
            let began = Instant::now();
            if self.run(run, Some(file), None)?.success() {
                let took = began.elapsed();
                let met = fs::read_to_string(file);
                let met = met.map_err(|why| Failure::io("read", file, &why))?;
                return Ok((took, met.lines().filter_map(|line| line.parse().ok()).collect()));
            }
        }
        Err(Failure::new(format!("without any mutant {} fail", run.names.join(", "))))
    }

    /// Whether some test fails with this mutant, and which run it was in; those that end soon are tried first.
    pub(super) fn of(&self, mutant: usize) -> Outcome<(End, String)> {
        if self.program.unviable.contains(&mutant) {
            return Ok((End::Unviable, String::new()));
        }
        if self.program.aside.contains(&mutant) {
            return Ok((End::Aside, String::new()));
        }
        for run in self.plan(mutant) {
            let Some(end) = self.fails(&run, mutant)? else { continue };
            let on = run.cases.unwrap_or_default().join(" ");
            return Ok((end, format!("{} {on}", run.names.join(" "))));
        }
        Ok((End::Survives, String::new()))
    }

    /// How a run ends with this mutant, if not well. It has to fail twice: some tests ask servers, which may be late on a
    /// machine that has much to do.
    fn fails(&self, run: &Run, mutant: usize) -> Outcome<Option<End>> {
        for _ in 0..2 {
            let status = self.run(run, None, Some(mutant))?;
            match (status.success(), status.code(), status.signal()) {
                (true, ..) => return Ok(None),
                // Of `timeout`, and the kernel: a program may use so much of a processor.
                (_, Some(124 | 137 | 152), _) | (_, _, Some(9 | 24)) => {
                    return Ok(Some(End::Timeout));
                }
                (false, ..) => {}
            }
        }
        Ok(Some(End::Killed))
    }

    fn plan(&self, mutant: usize) -> Vec<Run> {
        let met: Vec<&Test> = self.tests.iter().filter(|test| test.met.contains(&mutant)).collect();
        let (walks, other): (Vec<&Test>, Vec<&Test>) = met.into_iter().partition(|test| test.walks);
        let (quick, mut slow): (Vec<&Test>, Vec<&Test>) =
            other.into_iter().partition(|test| test.took <= QUICK);
        slow.retain(|test| self.longest.is_none_or(|most| test.took <= most));
        slow.sort_by_key(|test| test.took);
        let reads: Vec<&Test> = walks.iter().copied().filter(|test| test.name == READS).collect();
        let cases = self.cases.iter().filter(|(_, met)| met.contains(&mutant));
        let cases: Vec<&str> = cases.map(|(name, _)| name.as_str()).collect();
        let mut runs = together(&quick, None);
        runs.extend(together(&reads, Some(spread(&cases, FEW))));
        runs.extend(together(&walks, Some(spread(&cases, FEW))));
        runs.extend(slow.iter().flat_map(|test| together(&[test], None)));
        if cases.len() > FEW {
            runs.extend(together(&reads, Some(spread(&cases, cases.len()))));
            let many = walks.iter().filter(|_| self.longest.is_none());
            runs.extend(many.flat_map(|test| together(&[test], Some(spread(&cases, MANY)))));
        }
        runs
    }

    fn run(&self, run: &Run, met: Option<&Path>, mutant: Option<usize>) -> Outcome<ExitStatus> {
        let (program, dir) = &self.program.tests[run.program];
        // Some times what it takes, and some seconds; a machine that has much to do may take its time.
        let most = 4 + run.takes.as_secs() * 5;
        let script = format!(
            "ulimit -t {most}; ulimit -v 8000000; exec timeout -s KILL {} \"$@\"",
            most * 30
        );
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg("sh").arg(program).current_dir(dir);
        shell.arg("--exact").args(&run.names).arg("--test-threads=1");
        shell.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("RUST_BACKTRACE", "0");
        shell.envs(met.map(|file| ("AGENTCTL_MUTANTS_MET", file)));
        shell.envs(mutant.map(|number| ("AGENTCTL_MUTANT", number.to_string())));
        shell.envs(run.cases.as_ref().map(|cases| (CASES, cases.join(","))));
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        shell
            .status()
            .map_err(|why| Failure::new(format!("cannot run {}: {why}", program.display())))
    }
}

impl Run {
    fn of(program: usize, names: &[&str], cases: Option<Vec<String>>) -> Self {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Self { program, names, cases, takes: Duration::from_secs(600) }
    }
}

/// One run for each program that has some of these tests.
fn together(tests: &[&Test], cases: Option<Vec<String>>) -> Vec<Run> {
    let programs: BTreeSet<usize> = tests.iter().map(|test| test.program).collect();
    let run = |program| {
        let own = || tests.iter().filter(|test| test.program == program);
        let names: Vec<&str> = own().map(|test| test.name.as_str()).collect();
        let takes = own().map(|test| test.took).sum();
        Run { takes, ..Run::of(program, &names, cases.clone()) }
    };
    programs.into_iter().map(run).collect()
}

/// At most so many of them, from first to last.
fn spread(all: &[&str], most: usize) -> Vec<String> {
    let count = all.len().min(most);
    (0..count).map(|place| all[place * all.len() / count].to_owned()).collect()
}

/// The captured machines, as tests name them.
fn machines(root: &Path) -> Outcome<Vec<String>> {
    let listed = tool::captured(Command::new("git").arg("-C").arg(root).args([
        "ls-files",
        "--",
        "crates/core/fixtures/*/case.json",
    ]))?;
    let name = |line: &str| {
        Some(line.strip_prefix("crates/core/fixtures/")?.strip_suffix("/case.json")?.to_owned())
    };
    Ok(listed.lines().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_are_from_first_to_last() {
        assert_eq!(spread(&["a", "b", "c", "d", "e", "f"], 3), ["a", "c", "e"]);
        assert_eq!(spread(&["a", "b"], 3), ["a", "b"]);
        assert_eq!(spread(&[], 3), [""; 0]);
    }

    #[test]
    fn what_ends_soon_is_tried_first_and_only_what_meets_the_mutant() {
        let test = |name: &str, millis, met: &[usize]| Test {
            program: 0,
            name: name.to_owned(),
            took: Duration::from_millis(millis),
            met: met.iter().copied().collect(),
            walks: name.contains("::"),
        };
        let trials = Trials {
            program: Program::default(),
            tests: vec![
                test("slow", 900, &[7]),
                test("quick", 1, &[7]),
                test("other", 1, &[8]),
                test(READS, 5_000, &[7]),
                test("observed::all", 5_000, &[7]),
            ],
            cases: vec![("a".into(), [7].into()), ("b".into(), [8].into())],
            longest: None,
        };
        let plan = trials.plan(7);
        let names: Vec<String> = plan.iter().map(|run| run.names.join(" ")).collect();
        let both = format!("{READS} observed::all");
        assert_eq!(names, ["quick", READS, &both, "slow"]);
        assert_eq!(plan[1].cases, Some(vec!["a".to_owned()]));
        assert!(trials.plan(9).is_empty());
    }
}
