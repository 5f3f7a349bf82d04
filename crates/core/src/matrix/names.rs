//! Names of launches that people can tell apart.

use super::Slot;
use crate::launch::Permission;

/// No part of a name is longer.
const LONGEST: usize = 32;

pub(super) fn unique(slots: &[Slot]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for slot in slots {
        let wanted = wanted(slot, slots);
        let mut name = wanted.clone();
        let mut count = 1;
        while taken.contains(&name) {
            count += 1;
            name = format!("{wanted}-{count}");
        }
        taken.push(name);
    }
    taken
}

fn wanted(slot: &Slot, all: &[Slot]) -> String {
    let program = slot.agent.card().binary;
    let kin: Vec<&Slot> = all.iter().filter(|one| one.agent.card().binary == program).collect();
    let mut name = program.to_owned();
    if kin.iter().any(|one| one.model != slot.model) {
        let model = slot.model.as_deref().map(|model| short(model, program));
        name.push_str(&format!("-{}", model.as_deref().unwrap_or("default")));
    }
    if kin.iter().any(|one| one.permission != slot.permission) {
        let known = |mode: Permission| Permission::ALL.iter().find(|(_, one)| *one == mode);
        let mode = slot.permission.and_then(known).map_or("default", |(name, _)| name);
        name.push_str(&format!("-{mode}"));
    }
    if kin.iter().any(|one| one.base != slot.base) {
        let base = slot.base.as_deref().map(|base| short(base, program));
        name.push_str(&format!("-{}", base.as_deref().unwrap_or("head")));
    }
    name
}

/// `anthropic/claude-opus-4-6` is `opus-4-6` to people who know that they run `claude`.
fn short(text: &str, program: &str) -> String {
    let last = text.rsplit('/').find(|part| !part.is_empty()).unwrap_or(text).to_ascii_lowercase();
    let own = last.strip_prefix(program).and_then(|rest| rest.strip_prefix('-')).unwrap_or(&last);
    plain(own)
}

/// Letters, digits, dots and dashes only, as git and file systems take them.
pub(super) fn plain(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let dotted =
        |part: &str| part.split('.').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(".");
    let parts = parts.map(dotted).filter(|part| !part.is_empty());
    let mut name = parts.collect::<Vec<_>>().join("-");
    name.truncate(LONGEST);
    let name = name.trim_end_matches(['-', '.']);
    match name.trim_end_matches(".lock") {
        "" => "other".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents;
    use proptest::{prelude::*, test_runner::RngSeed};

    fn slot(agent: &str, model: Option<&str>) -> Slot {
        Slot::new(agents::named(agent).expect("it is known"), model.map(str::to_owned))
    }

    #[test]
    fn an_agent_is_its_own_name_where_it_is_alone() {
        let slots = [slot("claude-code", Some("claude-opus-4-6")), slot("codex", None)];
        assert_eq!(unique(&slots), ["claude", "codex"]);
    }

    #[test]
    fn kin_is_told_apart_by_what_differs() {
        let models = [Some("claude-opus-4-6"), Some("anthropic/claude-sonnet-4-5"), None, None];
        let mut slots = models.map(|model| slot("claude-code", model));
        let expected = ["opus-4-6", "sonnet-4-5", "default", "default-2"];
        assert_eq!(unique(&slots), expected.map(|name| format!("claude-{name}")));
        slots[3].permission = Some(Permission::Read);
        assert_eq!(unique(&slots)[2..], ["claude-default-default", "claude-default-read"]);
        let mut slots = ["main", "release/2.0"]
            .map(|base| Slot { base: Some(base.to_owned()), ..slot("pi", None) });
        assert_eq!(unique(&slots), ["pi-main", "pi-2.0"]);
        slots[0].base = None;
        assert_eq!(unique(&slots), ["pi-head", "pi-2.0"]);
    }

    #[test]
    fn a_branch_ends_with_the_name_of_its_launch() {
        assert_eq!(crate::matrix::branch("my group", "claude-opus"), "try/my-group/claude-opus");
    }

    #[test]
    fn odd_models_have_names_too() {
        let named = |model| unique(&[slot("pi", Some(model)), slot("pi", Some("x"))]).remove(0);
        assert_eq!(named("../../etc"), "pi-etc");
        assert_eq!(named("a b\nc"), "pi-a-b-c");
        assert_eq!(named("..."), "pi-other");
        assert_eq!(named("model.lock"), "pi-model");
        assert_eq!(named("model.lock.lock"), "pi-model");
        assert_eq!(named("a.....b"), "pi-a.b");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2026), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_two_are_alike_and_all_are_plain(models in prop::collection::vec(any::<Option<String>>(), 1..12)) {
            let slots: Vec<Slot> = models.iter().map(|model| slot("codex", model.as_deref())).collect();
            let names = unique(&slots);
            for (at, name) in names.iter().enumerate() {
                prop_assert!(!names[..at].contains(name), "{names:?}");
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
                prop_assert!(name.chars().all(plain) && !name.contains(".."), "{name}");
                prop_assert!(!name.ends_with(['-', '.']) && !name.ends_with(".lock"), "{name}");
            }
        }
    }
}
