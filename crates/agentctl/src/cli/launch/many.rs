//! Several launches of one command: which, with what, and what became of each.

use super::{
    ask::{ask, usual_model},
    config, cwd, is_limited, is_uncreated,
    prompt::prompt,
    wait,
};
use crate::{
    cli::{
        args::{Launch, What},
        run::Outcome,
    },
    config::{Config, Key},
    error::{Error, Kind},
    ops::{
        self, Here,
        launch::{Ask, Begun, Place, Slot, Source, Wanted},
    },
    places, view,
};
use agentctl_core::{
    matrix::{self, Matrix},
    wire::{self, DryRuns, DrySlot, Launches, Problem, Session},
};
use std::path::{Path, PathBuf};

/// No file that names launches is longer.
const LONGEST: u64 = 1 << 20;

/// Several launches that are asked for.
pub(super) struct Several<'a> {
    here: &'a Here,
    args: &'a Launch,
    group: String,
    slots: Vec<Slot>,
}

impl<'a> Several<'a> {
    /// Those that `--adapter` names.
    pub(super) fn new(
        here: &'a Here,
        args: &'a Launch,
        slots: Vec<matrix::Slot>,
    ) -> Result<Self, Error> {
        let config = config(args, None)?;
        let cwd = cwd(here, args, None, &config)?;
        let prompt = prompt(&args.what, None, &cwd)?;
        let common = Common { args, what: args.what.clone(), config, cwd, prompt };
        Self::with(here, &common, slots)
    }

    /// Those that a file names. What it says of places is meant from where it is; what is said on the
    /// command line counts more.
    pub(super) fn of_file(here: &'a Here, args: &'a Launch, file: &Path) -> Result<Self, Error> {
        let matrix = read(file)?;
        let from = file.parent().unwrap_or(Path::new(""));
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let place = |path: &PathBuf| from.join(places::from_home(path, home.as_deref()));
        let told = matrix.cwd.as_ref().map(&place);
        let config = config(args, told.as_deref())?;
        let cwd = cwd(here, args, told.as_deref(), &config)?;
        let mut what = args.what.clone();
        what.context.spec = what.context.spec.or(matrix.spec.as_ref().map(place));
        what.hooks.on_create = what.hooks.on_create.or(matrix.hooks.on_create);
        what.hooks.on_complete = what.hooks.on_complete.or(matrix.hooks.on_complete);
        let prompt = prompt(&what, matrix.prompt.filter(|_| what.says_nothing()), &cwd)?;
        Self::with(here, &Common { args, what, config, cwd, prompt }, matrix.slots)
    }

    fn with(here: &'a Here, common: &Common<'a>, slots: Vec<matrix::Slot>) -> Result<Self, Error> {
        let args = common.args;
        if let Some(why) = off(args, &slots) {
            return Err(Error::new(Kind::Usage, why).hint("launch them one by one"));
        }
        let group = args.what.group.clone();
        let group = group.or_else(|| common.config.text(Key::Group).map(str::to_owned));
        let group = group.or_else(|| args.key.as_deref().map(ops::launch::group_of));
        let group = group.unwrap_or_else(|| ops::launch::fresh_group(here));
        let repo = args.tree.worktree.as_deref().unwrap_or(&common.cwd);
        let source = Source::new(repo, &common.cwd)?;
        let names = matrix::names(&slots);
        let slots = slots.into_iter().zip(names).map(|(slot, name)| {
            let branch = match &slot.branch {
                Some(branch) => branch.clone(),
                None => source.free_branch(&matrix::branch(&group, &name))?,
            };
            let tree = source.on(branch, args.tree.base_branch.clone().or(slot.base.clone()));
            let ask = Ask { group: Some(group.clone()), ..common.ask(slot, &name, tree) };
            Ok(Slot { name, ask })
        });
        let slots = slots.collect::<Result<_, Error>>()?;
        Ok(Self { here, args, group, slots })
    }

    /// Starts all of them, or shows how they would be started.
    pub(super) fn launch(self) -> Outcome {
        let what = &self.args.what;
        self.slots.iter().try_for_each(|slot| is_limited(&slot.ask, what))?;
        if what.dry_run {
            return self.show();
        }
        let mut progress =
            (!what.json).then(|| view::launch::Progress::new(&self.group, self.slots.len()));
        let begun = ops::launch::many(self.here, &self.slots, |slot, outcome| {
            let Some(progress) = &mut progress else { return };
            match outcome {
                Ok(begun) => progress.started(&slot.name, &begun.session, begun.reused),
                Err(why) => progress.failed(&slot.name, why),
            }
        });
        let failed: Vec<Kind> =
            begun.iter().filter_map(|one| one.as_ref().err()).map(|why| why.kind).collect();
        let mut slots: Vec<wire::Slot> = self.slots.iter().zip(begun).map(told).collect();
        if progress.is_some() {
            notes(&slots).iter().for_each(|text| view::note(text));
            if self.slots.iter().any(|slot| slot.ask.budget.is_some()) {
                crate::cli::budget::unkept();
            }
        }
        let good = !what.wait || self.wait(&mut slots)?;
        let sessions =
            slots.iter().filter(|slot| !slot.reused).filter_map(|slot| slot.session.as_ref());
        let (mut problems, mut uncreated) = (Vec::new(), false);
        for session in sessions {
            problems.extend(view::hooks::problems(session));
            uncreated |= is_uncreated(session);
        }
        let unwitnessed = if what.wait { unwitnessed(self.here, &slots) } else { Vec::new() };
        let is_known = unwitnessed.is_empty();
        problems.extend(unwitnessed);
        match what.json {
            true => {
                view::json(&Launches { schema: wire::SCHEMA, group: self.group, slots, problems })?
            }
            false => view::problems(&problems),
        }
        Ok(match failed.first() {
            None if !good => Kind::No.code(),
            None if uncreated || !is_known => Kind::Problems.code(),
            None => 0,
            Some(first) if failed.len() == self.slots.len() => {
                let same = failed.iter().all(|kind| kind == first);
                if same { first.code() } else { Kind::NotStarted.code() }
            }
            Some(_) => Kind::Problems.code(),
        })
    }

    fn show(self) -> Outcome {
        let plan = |slot: &Slot| {
            let (plan, error) = match ops::launch::dry(self.here, &slot.ask) {
                Ok(plan) => (Some(plan), None),
                Err(why) => (None, Some((&why).into())),
            };
            DrySlot { name: slot.name.clone(), plan, error }
        };
        let slots: Vec<DrySlot> = self.slots.iter().map(plan).collect();
        let bad = slots.iter().any(|slot| slot.error.is_some());
        match self.args.what.json {
            true => view::json(&DryRuns { schema: wire::SCHEMA, group: self.group, slots })?,
            false => view::launch::plans(&slots)?,
        }
        Ok(if bad { Kind::Problems.code() } else { 0 })
    }

    /// Waits for all that started; says whether all of them ended well.
    fn wait(&self, slots: &mut [wire::Slot]) -> Result<bool, Error> {
        let ids: Vec<String> =
            slots.iter().filter_map(|slot| slot.session.as_ref()?.id.clone()).collect();
        if ids.is_empty() {
            return Ok(true);
        }
        let group = &self.group;
        let ended = wait(self.here, ids)
            .map_err(|why| why.hint(format!("`agentctl list --group {group}` shows them")))?;
        for session in slots.iter_mut().filter_map(|slot| slot.session.as_mut()) {
            let same = |one: &&Session| one.id == session.id && one.agent == session.agent;
            if let Some(now) = ended.iter().find(same) {
                *session = now.clone();
            }
        }
        if !self.args.what.json {
            view::launch::waited(&ended)?;
        }
        Ok(ended.iter().all(crate::cli::wait::is_good))
    }
}

/// How these ended is not known.
fn unwitnessed(here: &Here, slots: &[wire::Slot]) -> Vec<Problem> {
    ops::wait::unwitnessed(here, slots.iter().filter_map(|slot| slot.session.as_ref()))
}

/// What all have in common.
struct Common<'a> {
    args: &'a Launch,
    /// What the command line says, and the file where that says nothing.
    what: What,
    config: Config,
    cwd: PathBuf,
    prompt: String,
}

impl Common<'_> {
    fn ask(&self, slot: matrix::Slot, name: &str, tree: Wanted) -> Ask {
        let args = self.args;
        let ask = ask(&self.what, slot.agent, &self.config);
        let mut labels = ask.labels;
        labels.extend(slot.labels);
        labels.extend(self.what.label.iter().cloned());
        Ask {
            prompt: self.prompt.clone(),
            cwd: self.cwd.clone(),
            model: slot.model.or_else(|| usual_model(&self.config, slot.agent)),
            permission: match self.what.permission {
                Some(_) => ask.permission,
                None => slot.permission.unwrap_or(ask.permission),
            },
            labels,
            name: self.what.name.as_ref().map(|all| format!("{all}-{name}")),
            system: args.append_system_prompt.clone(),
            key: args.key.as_ref().map(|all| format!("{all}/{name}")),
            place: Place::Wanted(tree),
            ..ask
        }
    }
}

/// What cannot be meant for several.
fn off(args: &Launch, slots: &[matrix::Slot]) -> Option<String> {
    let other = |slot: &matrix::Slot| slot.agent.card().name != slots[0].agent.card().name;
    if args.tree.branch.is_some() {
        return Some("--branch names one branch, and every launch needs its own".to_owned());
    }
    if !args.what.more.is_empty() && slots.iter().any(other) {
        let why = "arguments behind -- are for one agent, and several are named";
        return Some(why.to_owned());
    }
    let mut branches: Vec<&String> = slots.iter().filter_map(|slot| slot.branch.as_ref()).collect();
    branches.sort();
    // A branch is a file to git, and cannot be a folder for others too.
    let clash = |two: &&[&String]| two[1] == two[0] || two[1].starts_with(&format!("{}/", two[0]));
    let clash = branches.windows(2).find(clash);
    clash.map(|two| match two[0] == two[1] {
        true => format!("two launches have the same branch: {}", two[0]),
        false => format!("git cannot have both branches: {} and {}", two[0], two[1]),
    })
}

fn read(file: &Path) -> Result<Matrix, Error> {
    let way = "`agentctl help launch` names the keys of such a file";
    let text = ops::context::text(file, LONGEST).map_err(|why| why.hint(way))?;
    Matrix::parse(&text).map_err(|why| {
        Error::new(Kind::Usage, format!("cannot use {}: {why}", file.display())).hint(way)
    })
}

fn told((slot, begun): (&Slot, Result<Begun, Error>)) -> wire::Slot {
    let (session, reused, worktree, error) = match begun {
        Ok(Begun { session, reused, worktree }) => (Some(session), reused, worktree, None),
        Err(why) => (None, false, None, Some((&why).into())),
    };
    let agent = slot.ask.agent.card().name.to_owned();
    let model = slot.ask.model.clone();
    wire::Slot { name: slot.name.clone(), agent, model, session, reused, worktree, error }
}

/// What is to be known of any of them, once.
fn notes(slots: &[wire::Slot]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for note in slots.iter().flat_map(|slot| slot.worktree.iter().flat_map(|tree| &tree.notes)) {
        if !all.contains(note) {
            all.push(note.clone());
        }
    }
    all
}
