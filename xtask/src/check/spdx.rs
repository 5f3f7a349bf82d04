//! Licence expressions, as far as crates use them: `MIT OR (Apache-2.0 AND ISC)`, and the old `/`.

/// Whether the terms of an expression can be met with allowed licences alone; the error names what
/// could not be read.
pub(crate) fn is_met(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut terms = Terms { words: &words, allowed };
    let met = terms.any()?;
    match terms.words.first() {
        None => Ok(met),
        Some(word) => Err(format!("unexpected `{word}` in `{expression}`")),
    }
}

/// The words not yet read.
struct Terms<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl<'a> Terms<'a> {
    /// Terms joined by OR, the weaker word.
    fn any(&mut self) -> Result<bool, String> {
        let mut met = self.all()?;
        while self.takes("OR") {
            // Both sides must be read, so no shortcut.
            met |= self.all()?;
        }
        Ok(met)
    }

    /// Terms joined by AND.
    fn all(&mut self) -> Result<bool, String> {
        let mut met = self.one()?;
        while self.takes("AND") {
            met &= self.one()?;
        }
        Ok(met)
    }

    /// One licence, with its exception if it has one, or a group.
    fn one(&mut self) -> Result<bool, String> {
        if self.takes("(") {
            let met = self.any()?;
            return if self.takes(")") { Ok(met) } else { Err("a `(` is not closed".to_owned()) };
        }
        let mut licence = self.licence()?.to_owned();
        if self.takes("WITH") {
            licence = format!("{licence} WITH {}", self.licence()?);
        }
        Ok(self.allowed.contains(&licence.as_str()))
    }

    fn licence(&mut self) -> Result<&'a str, String> {
        match self.words.split_first() {
            Some((word, rest)) if !["(", ")", "AND", "OR", "WITH"].contains(word) => {
                self.words = rest;
                Ok(word)
            }
            Some((word, _)) => Err(format!("`{word}` stands where a licence should")),
            None => Err("a licence is missing at the end".to_owned()),
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if *first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_met;

    const ALLOWED: &[&str] = &["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];

    fn met(expression: &str) -> bool {
        is_met(expression, ALLOWED).expect("the expression is well formed")
    }

    #[test]
    fn or_needs_one_and_needs_both() {
        assert!(met("MIT"));
        assert!(!met("GPL-3.0"));
        assert!(met("GPL-3.0 OR MIT"));
        assert!(!met("GPL-3.0 AND MIT"));
        assert!(met("MIT/Apache-2.0"));
        assert!(met("GPL-3.0/MIT"));
    }

    #[test]
    fn and_binds_tighter_and_parentheses_win() {
        assert!(met("MIT OR Apache-2.0 AND GPL-3.0"));
        assert!(!met("(MIT OR Apache-2.0) AND GPL-3.0"));
        assert!(met("(GPL-3.0 OR MIT) AND (Apache-2.0)"));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert!(met("Apache-2.0 WITH LLVM-exception"));
        assert!(!met("MIT WITH LLVM-exception"));
        assert!(met("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
    }

    #[test]
    fn nonsense_is_an_error() {
        for nonsense in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(is_met(nonsense, ALLOWED).is_err(), "{nonsense}");
        }
    }
}
