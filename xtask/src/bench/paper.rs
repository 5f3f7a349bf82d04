//! What a bench found: said at once, and kept for the page.

use crate::failure::{Failure, Outcome};
use std::{fs, path::Path};

/// Around the part of the page that a bench writes.
const MARKS: [&str; 2] = ["<!-- what `cargo xtask bench --page` found -->", "<!-- until here -->"];
/// Below the repository.
const PAGE: &str = "docs/PERFORMANCE.md";

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct Paper(String);

impl Paper {
    /// One more line.
    pub(super) fn say(&mut self, line: impl AsRef<str>) {
        println!("{}", line.as_ref());
        self.0.push_str(line.as_ref());
        self.0.push('\n');
    }

    /// Puts all of it into the page, in place of what was found before.
    pub(super) fn publish(&self, root: &Path) -> Outcome<()> {
        let path = root.join(PAGE);
        let page = fs::read_to_string(&path).map_err(|why| Failure::io("read", &path, &why))?;
        let lacks = || Failure::new(format!("{PAGE} has no place for what is found"));
        let page = replaced(&page, &self.0).ok_or_else(lacks)?;
        fs::write(&path, page).map_err(|why| Failure::io("write", &path, &why))
    }
}

fn replaced(page: &str, found: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}\n\n{found}\n{}{after}", MARKS[0], MARKS[1]))
}

#[cfg(test)]
mod tests {
    use super::{MARKS, replaced};

    #[test]
    fn only_what_was_found_is_replaced() {
        let page = format!("a\n{}\nold\n{}\nb\n", MARKS[0], MARKS[1]);
        let expected = format!("a\n{}\n\nnew\n\n{}\nb\n", MARKS[0], MARKS[1]);
        assert_eq!(replaced(&page, "new\n"), Some(expected));
        assert_eq!(replaced("no marks", "new"), None);
    }
}
