//! Rust files: not too long, and each says at its top what it is.
//!
//! Functions and parameters are held by clippy (`clippy.toml`).

use super::{report::Finding, tree::Tree};

/// The limit on a file's lines, tests included.
const MOST_LINES: usize = 500;

/// Files over the limit.
pub(crate) fn too_long(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(file, lines)| {
            let what = format!("{lines} lines; the limit is {MOST_LINES}: split along the idea");
            Finding::new(&file.path, MOST_LINES + 1, what)
        })
        .collect()
}

/// Files that do not open with `//!`.
pub(crate) fn without_header(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Finding::new(&file.path, 1, "must open with `//!`, saying what it is"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Finding, Tree, too_long, without_header};

    #[test]
    fn the_limit_itself_is_allowed() {
        let (most, over) = ("//! x\n".repeat(500), "//! x\n".repeat(501));
        let tree = Tree::of(&[("a.rs", &most), ("b.rs", &over), ("c.toml", &over)]);
        let what = "501 lines; the limit is 500: split along the idea";
        assert_eq!(too_long(&tree), [Finding::new("b.rs", 501, what)]);
    }

    #[test]
    fn a_header_is_the_very_first_thing() {
        let tree = Tree::of(&[("a.rs", "//! Says.\n"), ("b.rs", "\n//! Late.\n"), ("c.rs", "")]);
        let what = "must open with `//!`, saying what it is";
        assert_eq!(
            without_header(&tree),
            [Finding::new("b.rs", 1, what), Finding::new("c.rs", 1, what)]
        );
    }
}
