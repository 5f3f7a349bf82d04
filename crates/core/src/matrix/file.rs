//! The file that names several launches: every key known, every mistake told with its line.

use super::{MOST, Slot};
use crate::{agents, launch::Permission};
use serde::{
    Deserialize, Deserializer,
    de::{self, SeqAccess, Visitor},
};
use serde_saphyr::{Error, Spanned};
use std::{collections::BTreeMap, fmt, path::PathBuf};
use thiserror::Error as ThisError;

/// What a file asks for.
#[derive(Clone)]
pub struct Matrix {
    /// What all are told.
    pub prompt: Option<String>,
    /// Where the repository is.
    pub cwd: Option<PathBuf>,
    /// A file that is put before the prompt.
    pub spec: Option<PathBuf>,
    /// What is run beside each.
    pub hooks: Hooks,
    /// Every launch.
    pub slots: Vec<Slot>,
}

/// What is run when a session is there, and when it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    /// Once it is there.
    #[serde(alias = "onCreate")]
    pub on_create: Option<String>,
    /// Once it has ended.
    #[serde(alias = "onComplete")]
    pub on_complete: Option<String>,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub struct Off {
    /// Line and column, counted from one; absent where it is the file as a whole.
    pub place: Option<(u64, u64)>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.what)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    prompt: Option<String>,
    cwd: Option<PathBuf>,
    spec: Option<PathBuf>,
    #[serde(default)]
    hooks: Hooks,
    #[serde(alias = "baseBranch")]
    base_branch: Option<Spanned<Listed>>,
    permission: Option<Spanned<Listed>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    matrix: Spanned<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    adapter: Spanned<Listed>,
    model: Option<Spanned<Listed>>,
    branch: Option<Spanned<Listed>>,
    #[serde(alias = "baseBranch")]
    base_branch: Option<Spanned<Listed>>,
    permission: Option<Spanned<Listed>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// One text, or a list of them.
#[derive(Clone)]
struct Listed(Vec<String>);

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Listed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a text, in quotes if it looks like a number or a yes, or a list of texts",
                )
            }

            fn visit_str<E: de::Error>(self, one: &str) -> Result<Listed, E> {
                Ok(Listed(vec![one.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Listed, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Listed(all))
            }
        }
        from.deserialize_any(Texts)
    }
}

impl Matrix {
    /// Reads a file; lists become one launch for each of their texts.
    pub fn parse(text: &str) -> Result<Self, Off> {
        let written: Written = serde_saphyr::from_str(text).map_err(|why| off(&why))?;
        let mut slots = Vec::new();
        for entry in &written.matrix.value {
            slots.extend(expand(entry, &written)?);
            if slots.len() > MOST {
                return Err(at(&written.matrix, format!("more than {MOST} launches at once")));
            }
        }
        if slots.is_empty() {
            return Err(at(&written.matrix, "it names no launch"));
        }
        let Written { prompt, cwd, spec, hooks, .. } = written;
        Ok(Self { prompt, cwd, spec, hooks, slots })
    }
}

fn expand(entry: &Entry, file: &Written) -> Result<Vec<Slot>, Off> {
    let permissions = entry.permission.as_ref().or(file.permission.as_ref());
    let bases = entry.base_branch.as_ref().or(file.base_branch.as_ref());
    let mut labels = file.labels.clone();
    labels.extend(entry.labels.clone());
    let mut slots = Vec::new();
    // Counted before they are made: a few lists of thousands would fill the memory.
    let lists =
        [Some(&entry.adapter), entry.model.as_ref(), bases, permissions, entry.branch.as_ref()];
    let sizes = lists.iter().flatten().map(|listed| listed.value.0.len());
    if sizes.fold(1, usize::saturating_mul) > MOST {
        return Err(at(&entry.adapter, format!("more than {MOST} launches at once")));
    }
    for adapter in texts(Some(&entry.adapter))?.into_iter().flatten() {
        let agent = agents::named(adapter).ok_or_else(|| {
            at(&entry.adapter, format!("no agent is called {adapter}; known are {}", known()))
        })?;
        for model in texts(entry.model.as_ref())? {
            for base in texts(bases)? {
                for permission in texts(permissions)? {
                    for branch in texts(entry.branch.as_ref())? {
                        let mode = permission.map(|name| mode(name, permissions)).transpose()?;
                        slots.push(Slot {
                            branch: branch.map(str::to_owned),
                            base: base.map(str::to_owned),
                            permission: mode,
                            labels: labels.clone(),
                            ..Slot::new(agent, model.map(str::to_owned))
                        });
                    }
                }
            }
        }
    }
    Ok(numbered(slots))
}

/// Several of one entry cannot share a branch: what tells them apart is added to it.
fn numbered(mut slots: Vec<Slot>) -> Vec<Slot> {
    let names = super::names(&slots);
    let branches: Vec<Option<String>> = slots.iter().map(|slot| slot.branch.clone()).collect();
    for (slot, name) in slots.iter_mut().zip(names) {
        let shared = branches.iter().filter(|branch| **branch == slot.branch).count() > 1;
        if let Some(branch) = slot.branch.as_mut().filter(|_| shared) {
            branch.push_str(&format!("-{name}"));
        }
    }
    slots
}

/// Each text of a list, or nothing once where there is no list.
fn texts(listed: Option<&Spanned<Listed>>) -> Result<Vec<Option<&str>>, Off> {
    let Some(listed) = listed else { return Ok(vec![None]) };
    if listed.value.0.is_empty() {
        return Err(at(listed, "the list is empty"));
    }
    if listed.value.0.iter().any(|text| text.trim().is_empty()) {
        return Err(at(listed, "a text is empty"));
    }
    Ok(listed.value.0.iter().map(|text| Some(text.as_str())).collect())
}

fn mode(name: &str, from: Option<&Spanned<Listed>>) -> Result<Permission, Off> {
    let modes: Vec<&str> = Permission::ALL.iter().map(|(name, _)| *name).collect();
    let what = format!("no permission is called {name}; known are {}", modes.join(", "));
    Permission::named(name).ok_or_else(|| match from {
        Some(from) => at(from, what),
        None => Off { place: None, what },
    })
}

fn known() -> String {
    agents::ALL.iter().map(|agent| agent.card().name).collect::<Vec<_>>().join(", ")
}

fn at<T>(place: &Spanned<T>, what: impl Into<String>) -> Off {
    Off { place: Some((place.referenced.line(), place.referenced.column())), what: what.into() }
}

fn off(why: &Error) -> Off {
    let why = why.without_snippet();
    let place = why.location().map(|place| (place.line(), place.column()));
    let said = why.to_string();
    let said = said.lines().next().unwrap_or_default();
    // It tells the place again, and has words for its callers.
    let what = said.rsplit_once(" at line ").map_or(said, |(what, _)| what);
    let what = what.split_once(", set ").map_or(what, |(what, _)| what);
    let what = match why {
        Error::MultipleDocuments { .. } => "a second document begins here",
        _ => what,
    };
    Off { place, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every launch in one line.
    fn slots(text: &str) -> Result<Vec<String>, String> {
        let matrix = Matrix::parse(text).map_err(|off| off.to_string())?;
        let line = |slot: &Slot| {
            let words = [&slot.model, &slot.branch, &slot.base];
            let words = words.map(|word| word.as_deref().unwrap_or("-").to_owned());
            let more = format!("{:?} {:?}", slot.permission, slot.labels);
            format!("{} {} {more}", slot.agent.card().name, words.join(" "))
        };
        Ok(matrix.slots.iter().map(line).collect())
    }

    #[test]
    fn lists_become_their_cross_product() {
        let text = "prompt: go\ncwd: ~/x\nlabels: {team: a}\nmatrix:\n\
                    - adapter: claude\n  model: [opus, sonnet]\n  permission: [read, edit]\n\
                    - adapter: codex\n  branch: mine\n  baseBranch: main\n  labels: {team: b, n: 1}\n";
        let expected = [
            "claude-code opus - - Some(Read) {\"team\": \"a\"}",
            "claude-code opus - - Some(Edit) {\"team\": \"a\"}",
            "claude-code sonnet - - Some(Read) {\"team\": \"a\"}",
            "claude-code sonnet - - Some(Edit) {\"team\": \"a\"}",
            "codex - mine main None {\"n\": \"1\", \"team\": \"b\"}",
        ];
        assert_eq!(slots(text), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn the_example_of_the_page_is_read() {
        let page = include_str!("../../../../docs/MATRIX.md");
        let (_, rest) = page.split_once("```yaml\n").expect("an example");
        let (text, _) = rest.split_once("```").expect("its end");
        let matrix = Matrix::parse(text).expect("it is right");
        let names = ["claude-opus-4-6", "claude-sonnet-4-5"].map(str::to_owned).to_vec();
        let more = ["codex-read", "codex-edit", "pi-read", "pi-edit", "gemini"];
        assert_eq!(
            super::super::names(&matrix.slots),
            [names, more.map(str::to_owned).to_vec()].concat()
        );
        assert_eq!(matrix.hooks.on_complete.as_deref(), Some("cargo test"));
    }

    #[test]
    fn several_of_one_entry_have_branches_of_their_own() {
        let text = "matrix:\n- {adapter: [pi, codex], branch: mine, base_branch: main}\n";
        let expected = ["pi - mine-pi main None {}", "codex - mine-codex main None {}"];
        assert_eq!(slots(text), Ok(expected.map(str::to_owned).to_vec()));
        let text = "matrix:\n- {adapter: pi, branch: [a, b]}\n";
        let expected = ["pi - a - None {}", "pi - b - None {}"];
        assert_eq!(slots(text), Ok(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_model_may_look_like_a_number() {
        let text = "matrix:\n- adapter: pi\n  model: [4.10, true, 0x1]\n";
        let expected = ["4.10", "true", "0x1"].map(|model| format!("pi {model} - - None {{}}"));
        assert_eq!(slots(text), Ok(expected.to_vec()));
    }

    #[test]
    fn every_mistake_has_its_line() {
        let cases = [
            ("matrix:\n- adapter: pi\n  models: x\n", "line 3, column 3: unknown field `models`"),
            ("prompt: go\nmatrx: []\n", "line 2, column 1: unknown field `matrx`"),
            (
                "matrix:\n- adapter: emacs\n",
                "line 2, column 12: no agent is called emacs; known are claude-code, codex, ",
            ),
            (
                "matrix:\n- adapter: pi\n  permission: all\n",
                "line 3, column 15: no permission is called",
            ),
            ("matrix:\n- adapter: pi\n  model: []\n", "line 3, column 10: the list is empty"),
            (
                "matrix:\n- adapter: pi\n  model: {a: b}\n",
                "line 3, column 10: invalid type: map, expected a text, in quotes if",
            ),
            ("matrix: []\n", "line 1, column 9: it names no launch"),
            ("matrix:\n- model: x\n", "line 2, column 3: missing field `adapter`"),
            (
                "prompt: go\nprompt: stop\nmatrix: []\n",
                "line 2, column 1: duplicate mapping key: prompt",
            ),
            ("matrix:\n- adapter: [pi\n", "line 2, column 12: unclosed bracket"),
            (
                "matrix:\n- adapter: pi\n  model: 1.10\n",
                "line 3, column 3: invalid type: floating point",
            ),
            ("matrix:\n- adapter: pi\n  branch: ''\n", "line 3, column 11: a text is empty"),
            (
                "matrix:\n- adapter: pi\n---\nx: y\n",
                "line 4, column 1: a second document begins here",
            ),
            (
                "matrix:\n- {adapter: pi, base_branch: a, baseBranch: b}\n",
                "line 2, column 3: duplicate field",
            ),
        ];
        for (text, expected) in cases {
            let told = slots(text).expect_err(text);
            assert!(told.starts_with(expected), "{text}: {told}");
        }
    }

    #[test]
    fn a_mistake_in_a_list_does_not_launch_a_crowd() {
        let models: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
        let models = models.join(", ");
        let text =
            format!("matrix:\n- adapter: [pi, codex, gemini, opencode]\n  model: [{models}]\n");
        let told = slots(&text).expect_err("80 launches");
        assert_eq!(told, "line 2, column 12: more than 64 launches at once");
        let several = |entries: usize, of: usize| {
            let models: Vec<String> = (0..of).map(|number| format!("m{number}")).collect();
            let entry = format!("- adapter: pi\n  model: [{}]\n", models.join(", "));
            slots(&format!("matrix:\n{}", entry.repeat(entries))).map(|slots| slots.len())
        };
        assert_eq!((several(1, 64), several(2, 32)), (Ok(64), Ok(64)));
        let told = several(4, 20).expect_err("80 launches");
        assert_eq!(told, "line 2, column 3: more than 64 launches at once");
    }

    #[test]
    fn a_mistake_of_the_whole_file_has_no_line() {
        assert_eq!(slots("~"), Err("missing field `matrix`".to_owned()));
    }
}
