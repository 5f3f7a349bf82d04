//! What a session changed, as people read it.

use super::{note, paint::Paint};
use agentctl_core::{
    text::{is_hostile, one_line},
    wire::{Changes, Since},
};
use std::io::{self, BufWriter, IsTerminal, Write};

/// A person looks at standard output, or somebody paints it for one.
pub(crate) fn is_for_eyes() -> bool {
    io::stdout().is_terminal() || Paint::stdout().is_on()
}

/// Since when changes are shown.
pub(crate) fn since(changes: &Changes) {
    let base = changes.base.get(..12).unwrap_or(&changes.base);
    let what = match changes.since {
        Since::Launch => "what was checked out when it was launched",
        Since::Upstream => "what its branch and the upstream have in common",
        Since::DefaultBranch => "what its branch and the default branch have in common",
        Since::Head => "what is checked out: only what is not committed is shown",
    };
    note(&format!("since {base}, {what}"));
    notes(changes).iter().for_each(|one| note(one));
}

/// What one should know of the numbers.
pub(super) fn notes(changes: &Changes) -> Vec<String> {
    let mut notes = changes.notes.clone();
    if changes.branch_only {
        let branch = changes.branch.as_deref().unwrap_or("its branch");
        notes.push(format!("its worktree is gone: only what was committed on {branch} is shown"));
    }
    notes
}

/// A line for each file, and how many there were.
pub(crate) fn stat(changes: &Changes) -> io::Result<()> {
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    for file in &changes.files {
        let name = match &file.from {
            Some(from) => format!("{} (was {})", one_line(&file.path), one_line(from)),
            None => one_line(&file.path),
        };
        match (file.added, file.removed) {
            (Some(added), Some(removed)) => {
                let (added, removed) = (
                    format!("{:>6}", format!("+{added}")),
                    format!("{:>6}", format!("-{removed}")),
                );
                writeln!(out, "{} {}  {name}", paint.good(&added), paint.bad(&removed))?;
            }
            _ => writeln!(out, "{:>13}  {name}", "binary")?,
        }
    }
    writeln!(out, "{}", sum(changes))?;
    out.flush()
}

fn sum(changes: &Changes) -> String {
    let many =
        |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let files = many(changes.files.len() as u64, "file");
    let commits = many(changes.commits, "commit");
    format!("{files} changed, +{} -{}, {commits}", changes.added, changes.removed)
}

/// The patch: in colours and without anything that steers a terminal, for eyes; else to the byte.
pub(crate) fn patch(patch: &[u8]) -> io::Result<()> {
    if !is_for_eyes() {
        return super::raw(patch);
    }
    let paint = Paint::stdout();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = Hunk::default();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let kind = left.kind(line);
        let text = shown(&String::from_utf8_lossy(line));
        let painted = match kind {
            Kind::Added => paint.good(&text),
            Kind::Removed => paint.bad(&text),
            Kind::Place => paint.name(&text),
            Kind::Head => paint.bold(&text),
            Kind::Same => text,
        };
        writeln!(out, "{painted}")?;
    }
    out.flush()
}

/// What would steer the terminal is shown in its place, as `cat -v` does.
fn shown(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => text.push(c),
            c if c.is_ascii_control() => {
                text.push('^');
                text.push(char::from((c as u8) ^ 0x40));
            }
            c if is_hostile(c) => text.push_str(&format!("<U+{:04X}>", c as u32)),
            c => text.push(c),
        }
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Head,
    Place,
    Added,
    Removed,
    Same,
}

/// How many lines of a hunk are still to come: inside, `--- a` is a line that was removed.
#[derive(Default)]
struct Hunk {
    before: u64,
    after: u64,
}

impl Hunk {
    fn kind(&mut self, line: &[u8]) -> Kind {
        if self.before == 0 && self.after == 0 {
            if line.starts_with(b"\\") {
                return Kind::Same;
            }
            let Some((before, after)) = counts(line) else { return Kind::Head };
            (self.before, self.after) = (before, after);
            return Kind::Place;
        }
        let (before, after, kind) = match line.first() {
            Some(b'+') => (0, 1, Kind::Added),
            Some(b'-') => (1, 0, Kind::Removed),
            Some(b'\\') => (0, 0, Kind::Same),
            Some(_) | None => (1, 1, Kind::Same),
        };
        self.before = self.before.saturating_sub(before);
        self.after = self.after.saturating_sub(after);
        kind
    }
}

/// Of `@@ -1,5 +1,7 @@`, the 5 and the 7; one line where none is told.
fn counts(line: &[u8]) -> Option<(u64, u64)> {
    let line = String::from_utf8_lossy(line);
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let count = |word: &str| word.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    let before = words.next()?.strip_prefix('-').and_then(count)?;
    let after = words.next()?.strip_prefix('+').and_then(count)?;
    Some((before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_patch_are_told_apart_by_their_place() {
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ fn\n--- gone\n same\n\
                     \\ No newline\ndiff --git a/y b/y\nnew file mode 100644\n";
        let mut hunk = Hunk::default();
        let kinds: Vec<Kind> = patch.lines().map(|line| hunk.kind(line.as_bytes())).collect();
        let (head, same) = (Kind::Head, Kind::Same);
        let expected = [head, head, head, Kind::Place, Kind::Removed, same, same, head, head];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn nothing_of_a_file_steers_the_terminal() {
        assert_eq!(
            shown("+a\u{1b}[2Jb\tc\r\u{202e}\u{9b}é\u{7f}"),
            "+a^[[2Jb\tc^M<U+202E><U+009B>é^?"
        );
    }
}
