//! Notes to ourselves: each names the issue in which the work is kept.

use super::{report::Finding, tree::Tree};

/// The words that mark a note; split here so that this file has none.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// Lines with a mark but no `#12`.
pub(crate) fn without_issue(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(mark) = MARKS.iter().find(|mark| has_word(line, mark))
                && !names_issue(line)
            {
                let what = format!("{mark} without an issue number: write `{mark}(#12)`");
                findings.push(Finding::new(&file.path, index + 1, what));
            }
        }
    }
    findings
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|it| it == word)
}

fn names_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{Finding, MARKS, Tree, without_issue};

    #[test]
    fn only_a_mark_without_a_number_is_found() {
        let mark = MARKS[0];
        let text = format!("x\n// {mark}: later\n// {mark}(#12): later\n// {mark}S\n");
        let what = format!("{mark} without an issue number: write `{mark}(#12)`");
        let tree = Tree::of(&[("a.rs", &text)]);
        assert_eq!(without_issue(&tree), [Finding::new("a.rs", 2, what)]);
    }
}
