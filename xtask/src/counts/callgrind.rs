//! What callgrind wrote down: instructions, and which function of ours took them.

use std::collections::BTreeMap;

/// How names of our own functions begin, behind what marks an implementation.
const OWN: &str = "agentctl_core";
/// What asks for memory.
const ALLOCATORS: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];

/// The cost of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Instructions in the program's own file.
    pub(super) instructions: u64,
    /// How often memory was asked for.
    pub(super) allocations: u64,
    /// Instructions by function of ours, with those of others that it called.
    pub(super) functions: BTreeMap<String, u64>,
}

/// Where a line of the file stands.
#[derive(Default)]
struct Place {
    object: String,
    function: String,
    called: String,
    called_object: Option<String>,
    /// The next line tells what a call cost, so many times.
    calls: Option<u64>,
}

/// Reads a dump made without compressed names; `program` ends the path of the program's file.
pub(super) fn part(dump: &str, program: &str) -> Part {
    let (mut part, mut at) = (Part::default(), Place::default());
    for line in dump.lines() {
        match line.split_once('=') {
            Some(("ob", object)) => object.clone_into(&mut at.object),
            Some(("fn", name)) => name.clone_into(&mut at.function),
            Some(("cob", object)) => at.called_object = Some(object.to_owned()),
            Some(("cfn", name)) => name.clone_into(&mut at.called),
            Some(("calls", count)) => {
                at.calls = count.split(' ').next().and_then(|count| count.parse().ok());
            }
            _ => part.cost(line, &mut at, program),
        }
    }
    part.functions.retain(|_, cost| *cost > 0);
    part
}

impl Part {
    fn cost(&mut self, line: &str, at: &mut Place, program: &str) {
        let is_cost = line.starts_with(|c: char| c.is_ascii_digit());
        let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
        let Some(cost) = cost.filter(|_| is_cost) else { return };
        let is_own = |name: &str| name.trim_start_matches(['<', '&', '(']).starts_with(OWN);
        let charged = match at.calls.take() {
            None => {
                let counts = at.object.ends_with(program);
                self.instructions += if counts { cost } else { 0 };
                counts
            }
            Some(times) => {
                if ALLOCATORS.contains(&at.called.as_str()) {
                    self.allocations += times;
                }
                let object = at.called_object.take();
                let object = object.as_deref().unwrap_or(&at.object);
                object.ends_with(program) && !is_own(&at.called)
            }
        };
        if charged && is_own(&at.function) {
            *self.functions.entry(at.function.clone()).or_default() += cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, part};

    #[test]
    fn a_function_answers_for_those_of_others_that_it_calls() {
        let dump = "events: Ir\n\nob=/t/counts\nfl=a.rs\nfn=<agentctl_core::a as T>::b\n0 100\n\
                    cfn=serde_json::parse\ncalls=3 0\n0 40\ncfn=agentctl_core::c\ncalls=1 0\n0 7\n\
                    cob=/lib/libc.so.6\ncfn=malloc\ncalls=5 0\n0 500\n\n\
                    fn=serde_json::parse\n0 40\n\nfn=agentctl_core::c\n0 7\n\n\
                    ob=/lib/libc.so.6\nfn=malloc\n0 500\n\ntotals: 647\n";
        let functions = [("<agentctl_core::a as T>::b", 140), ("agentctl_core::c", 7)]
            .map(|(name, cost)| (name.to_owned(), cost));
        let expected =
            Part { instructions: 147, allocations: 5, functions: functions.into_iter().collect() };
        assert_eq!(part(dump, "counts"), expected);
    }
}
