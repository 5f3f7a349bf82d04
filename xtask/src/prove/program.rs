//! One program with many mutants in it: a copy of the tree, built again without each that no compiler takes.

use super::weave::{Mutant, Part, weave};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What the mutants ask, and how many there are.
const SWITCH: &str = include_str!("switch.txt");
const LIB: &str = "crates/core/src/lib.rs";

/// The tests, with mutants in what they test.
#[derive(Default)]
pub(super) struct Program {
    /// Each with the directory to run it in.
    pub(super) tests: Vec<(PathBuf, PathBuf)>,
    /// Numbers of those that no compiler takes.
    pub(super) unviable: BTreeSet<usize>,
    /// Numbers of those that cannot be switched.
    pub(super) aside: BTreeSet<usize>,
}

/// Mutants of one source, by number.
type OfFile = BTreeMap<usize, Mutant>;

struct Tree<'a> {
    root: &'a Path,
    at: PathBuf,
    files: BTreeMap<String, OfFile>,
    parts: BTreeMap<String, Vec<Part>>,
}

/// Builds the tests with all these in them; the number of each is its place.
pub(super) fn build(root: &Path, mutants: &[Mutant]) -> Outcome<Program> {
    let mut files = BTreeMap::from([(LIB.to_owned(), OfFile::new())]);
    for (number, mutant) in mutants.iter().enumerate() {
        files.entry(mutant.file.clone()).or_default().insert(number, mutant.clone());
    }
    let at = root.join("target/mutants/tree");
    copy(root, &at)?;
    let switch = format!("{SWITCH}\nconst MUTANTS: usize = {};\n", mutants.len());
    write(&at.join("crates/core/src/switch.rs"), &switch)?;
    let mut tree = Tree { root, at, files, parts: BTreeMap::new() };
    let (mut unviable, mut aside) = (BTreeSet::new(), BTreeSet::new());
    let mut changed: BTreeSet<String> = tree.files.keys().cloned().collect();
    while !changed.is_empty() {
        for file in &changed {
            aside.extend(tree.weave(file)?);
        }
        let blamed = tree.blamed()?;
        changed = blamed.iter().map(|(file, _)| file.clone()).collect();
        for (file, part) in blamed {
            match part.is_off {
                true => aside.extend(&part.mutants),
                false => unviable.extend(&part.mutants),
            }
            if let Some(of) = tree.files.get_mut(&file) {
                of.retain(|number, _| !part.mutants.contains(number));
            }
        }
        println!("{} are unviable, {} are set aside", unviable.len(), aside.len());
    }
    Ok(Program { tests: tree.tests()?, unviable, aside })
}

/// Copies what git knows, as it stands now, with its times: what did not change is not built again.
fn copy(root: &Path, to: &Path) -> Outcome<()> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(|why| Failure::io("remove", to, &why))?;
    }
    let listed = tool::captured(Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]))?;
    for name in listed.split('\0').filter(|name| root.join(name).is_file()) {
        let (from, to) = (root.join(name), to.join(name));
        let copied = || {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(&from, &to)?;
            fs::File::open(&to)?.set_modified(from.metadata()?.modified()?)
        };
        copied().map_err(|why| Failure::io("copy", &from, &why))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    fs::write(path, text).map_err(|why| Failure::io("write", path, &why))
}

impl Tree<'_> {
    /// Puts the mutants that are left into their source; returns those that cannot be switched.
    fn weave(&mut self, file: &str) -> Outcome<Vec<usize>> {
        let path = self.root.join(file);
        let source = fs::read_to_string(&path).map_err(|why| Failure::io("read", &path, &why))?;
        let woven = weave(&source, &self.files[file])?;
        let switch = if file == LIB { "\nmod switch;\n" } else { "" };
        write(&self.at.join(file), &(woven.text + switch))?;
        self.parts.insert(file.to_owned(), woven.parts);
        Ok(woven.aside)
    }

    /// The parts that the compiler does not take, with their files.
    fn blamed(&self) -> Outcome<Vec<(String, Part)>> {
        let said = self.cargo(&["build", "--lib", "-p", "agentctl-core"])?;
        let errors = said.iter().map(|line| &line["message"]).filter(|one| one["level"] == "error");
        let mut blamed = Vec::new();
        let mut strange = Vec::new();
        for error in errors {
            let spans = error["spans"].as_array().into_iter().flatten();
            let places = spans.filter(|span| span["is_primary"] == true).flat_map(places);
            match places.filter_map(|(file, line)| self.part(&file, line)).next() {
                Some(part) => blamed.push(part),
                None => strange.push(error["rendered"].as_str().unwrap_or_default().to_owned()),
            }
        }
        // What compilers say last is how many errors there are, at no place.
        match blamed.is_empty() && !strange.is_empty() {
            true => Err(Failure::new(strange.join("\n"))),
            false => Ok(blamed),
        }
    }

    /// The smallest part that has this line.
    fn part(&self, file: &str, line: usize) -> Option<(String, Part)> {
        let parts = self.parts.get(file)?.iter().filter(|part| part.lines.contains(&line));
        Some((file.to_owned(), parts.min_by_key(|part| part.lines.len())?.clone()))
    }

    fn tests(&self) -> Outcome<Vec<(PathBuf, PathBuf)>> {
        let said =
            self.cargo(&["test", "--no-run", "-p", "agentctl-core", "-p", "agentctl-testkit"])?;
        let test = |line: &Value| {
            let program = line["profile"]["test"].as_bool()?.then_some(&line["executable"])?;
            let manifest = Path::new(line["manifest_path"].as_str()?);
            Some((PathBuf::from(program.as_str()?), manifest.parent()?.to_owned()))
        };
        let tests: Vec<_> = said.iter().filter_map(test).collect();
        match tests.is_empty() {
            true => Err(Failure::new("the tests do not build with mutants in them")),
            false => Ok(tests),
        }
    }

    /// What cargo says, in its own words; optimised a little, as each test is run many times.
    fn cargo(&self, words: &[&str]) -> Outcome<Vec<Value>> {
        let mut cargo = tool::cargo();
        cargo.args(words).arg("--message-format=json").current_dir(&self.at);
        cargo.args(["--config", "profile.dev.opt-level=1", "--config", "profile.dev.debug=0"]);
        cargo.env("CARGO_TARGET_DIR", self.root.join("target/mutants/build"));
        let ran = cargo.output().map_err(|why| Failure::new(format!("cannot run cargo: {why}")))?;
        let said = String::from_utf8_lossy(&ran.stdout);
        Ok(said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

/// Where something is, and where the macro stands that made it.
fn places(span: &Value) -> Vec<(String, usize)> {
    let spans = std::iter::successors(Some(span), |span| {
        Some(&span["expansion"]["span"]).filter(|span| span.is_object())
    });
    let place = |span: &Value| {
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        Some((span["file_name"].as_str()?.to_owned(), line))
    };
    spans.filter_map(place).collect()
}
