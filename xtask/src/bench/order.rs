//! Which functions the quick questions run, and behind them those of a daemon, for the linker to lay side by side.
//!
//! A program that answers in two milliseconds spends a tenth of them on having pages of its own code mapped, as long as each
//! question needs a little of everywhere. What is written here is what lld reads (`--symbol-ordering-file`); a name that
//! a later build does not have is passed over.

use super::{home::Home, measure::Subject, questions, report};
use crate::{
    failure::{Failure, Outcome},
    setup, tool,
};
use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

/// Where the program's build script finds it.
const ORDER: &str = "crates/agentctl/order.txt";
const HEAD: &str = "# Functions that quick questions run, then those of a daemon: `cargo xtask bench --order` writes them, from live sessions.\n";

/// Has each quick question run where every block of code is told, and writes down which functions these are of.
pub(super) fn write(root: &Path, home: &Home, scratch: &Path) -> Outcome<()> {
    setup::emulator()?;
    let map = scratch.join("program.map");
    let program = built(root, &map)?;
    let text = fs::read_to_string(&map).map_err(|why| Failure::io("read", &map, &why))?;
    let functions = functions(&text);
    let mut order = String::from(HEAD);
    let mut seen = HashSet::new();
    for words in questions::ordered(home) {
        let subject = Subject::new(&program, home).words(words.split(' ')).again();
        let told = subject.blocks(scratch);
        let told = told.ok_or_else(|| Failure::new(format!("`{words}` cannot be traced")))?;
        let run = told.lines().filter_map(block).filter_map(|at| function(&functions, at));
        for name in run.filter(|name| !is_of_parser(name)) {
            if seen.insert(name.to_owned()) {
                order.extend([name, "\n"]);
            }
        }
    }
    println!("{} functions", seen.len());
    let path = root.join(ORDER);
    fs::write(&path, order).map_err(|why| Failure::io("write", &path, &why))
}

/// Builds the program as it is released, and tells how many of the functions that are laid side by side it still has: each larger change
/// gives some of them other names.
pub(super) fn checked(root: &Path, scratch: &Path) -> Outcome<(PathBuf, String)> {
    let (map, order) = (scratch.join("program.map"), root.join(ORDER));
    let program = built(root, &map)?;
    let order = fs::read_to_string(&order).map_err(|why| Failure::io("read", &order, &why))?;
    // Cargo links nothing that it has linked before, and another linker writes other lists.
    let map = fs::read_to_string(&map).unwrap_or_default();
    let there: HashSet<&str> = map.lines().filter_map(symbol).map(|(_, _, name)| name).collect();
    let ordered: Vec<&str> = order.lines().filter(|line| !line.starts_with('#')).collect();
    let all = ordered.len();
    let known = ordered.into_iter().filter(|name| there.contains(name)).count();
    let share = (!there.is_empty()).then(|| -(known as f64 / all.max(1) as f64));
    let told = match share {
        None => "Whether the order of functions is that of now is not known.\n".to_owned(),
        share => format!(
            "Of {all} functions that are laid side by side, {known} are in this program (bar: 95 %): {}.\n",
            report::verdict(&[(share, Some(-0.95))])
        ),
    };
    Ok((program, told))
}

/// Builds the program as it is released, with a list of what lies where.
fn built(root: &Path, map: &Path) -> Outcome<PathBuf> {
    let mut build = tool::cargo();
    build.args(["rustc", "--release", "--package", "agentctl"]).current_dir(root);
    let flag = format!("link-arg=-Wl,--no-demangle,-Map={}", map.display());
    tool::built_with(&mut build, "agentctl", &["-C", &flag])
}

/// A question that takes too long under an emulator is asked with a word more, which is read by rules; usually they are not.
fn is_of_parser(name: &str) -> bool {
    name.contains("clap")
}

/// Functions by where they begin, with their lengths.
fn functions(map: &str) -> BTreeMap<u64, (u64, &str)> {
    let mut all = BTreeMap::new();
    for (at, size, name) in map.lines().filter_map(symbol) {
        // Of two names in one place that of the longer one is meant: marks have no length.
        let known = all.entry(at).or_insert((size, name));
        if known.0 < size {
            *known = (size, name);
        }
    }
    all
}

/// A line of the list has two addresses, a size and an alignment, and behind them what is there: a name alone is a symbol's.
fn symbol(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (at, size) = (words.next()?, words.nth(1)?);
    let name = words.nth(1).filter(|name| !name.starts_with('.'))?;
    let is_alone = words.next().is_none() && !name.contains(['/', ':', '<', '=']);
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    is_alone.then_some((number(at)?, number(size)?, name))
}

/// The function that has this address.
fn function<'m>(functions: &BTreeMap<u64, (u64, &'m str)>, at: u64) -> Option<&'m str> {
    let (from, (size, name)) = functions.range(..=at).next_back()?;
    (at - from < *size).then_some(*name)
}

/// Where an instruction is that was run for the first time: `0x0039d780:  31 ed  xorl …`.
fn block(line: &str) -> Option<u64> {
    let (at, _) = line.strip_prefix("0x")?.split_once(':')?;
    u64::from_str_radix(at, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
          39d780           39d780   a2cf31    64 .text
          39d780           39d780       26    16         /usr/lib/crt1.o:(.text)
          39d780           39d780       26     1                 _start
          39d7a6           39d7a6        0     1                 mark
          39d7b0           39d7b0       10    16                 _ZN4core3fmt17h1E
          39d7b0           39d7b0        0     1                 alias
          39d7c0           39d7c0        0     1         . = ALIGN(16)";

    #[test]
    fn a_block_is_of_the_function_in_which_it_begins() {
        let functions = functions(MAP);
        let of = |line: &str| function(&functions, block(line)?);
        assert_eq!(of("0x0039d780:  31 ed                    xorl     %ebp, %ebp"), Some("_start"));
        assert_eq!(
            of("0x0039d7bf:  c3                       retq     "),
            Some("_ZN4core3fmt17h1E")
        );
        assert_eq!(of("0x0039d7c0:  c3                       retq     "), None);
        assert_eq!(of("0x0039d77f:  c3                       retq     "), None);
        assert_eq!(of("IN: _start"), None);
    }
}
