//! Paths in Rust text: which names are used under `crate::`, without parsing the language.

/// One use of a name directly under a root.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Used {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The first name after the root.
    pub(crate) name: String,
}

/// Blanks comments and literals, keeping every line where it was.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = blank_end(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

/// Names used as `root::name` or in `root::{name, …}`.
pub(crate) fn under(code: &str, root: &str) -> Vec<Used> {
    let head = format!("{root}::");
    let mut used = Vec::new();
    for (at, _) in code.match_indices(&head) {
        if !code[..at].ends_with(|c: char| is_word(c) || c == ':') {
            let line = code[..at].matches('\n').count() + 1;
            used.extend(first_names(&code[at + head.len()..], line));
        }
    }
    used
}

/// The names at the head of a path's rest: one word, or the first word of each part of a group.
fn first_names(rest: &str, line: usize) -> Vec<Used> {
    let name = |text: &str| text.chars().take_while(|c| is_word(*c)).collect::<String>();
    if !rest.starts_with('{') {
        return vec![Used { line, name: name(rest) }];
    }
    let (mut used, mut depth, mut line, mut is_start) = (Vec::new(), 0, line, false);
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            '\n' => line += 1,
            _ => {}
        }
        if is_start && is_word(c) {
            used.push(Used { line, name: name(&rest[at..]) });
        }
        is_start = depth == 1 && (c == '{' || c == ',' || (is_start && c.is_whitespace()));
    }
    used
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the comment or literal that starts here ends; `at` itself if none starts.
fn blank_end(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match (chars[at], next) {
        ('/', Some('/')) => find(chars, at, |rest| rest[0] == '\n', 0),
        ('/', Some('*')) => block_end(chars, at),
        ('"', _) => match hashes(chars, at) {
            Some(count) => raw_end(chars, at + 1, count),
            None => quote_end(chars, at + 1, '"'),
        },
        ('\'', Some('\\')) => quote_end(chars, at + 1, '\''),
        ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

/// The first place from `at` on whose rest is as asked, and `more` characters further.
fn find(chars: &[char], at: usize, is: impl Fn(&[char]) -> bool, more: usize) -> usize {
    (at..chars.len()).find(|it| is(&chars[*it..])).map_or(chars.len(), |it| it + more)
}

/// Block comments nest.
fn block_end(chars: &[char], start: usize) -> usize {
    let (mut depth, mut at) = (0, start);
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

fn quote_end(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// How many `#` a raw string's quote has before it; none if the string is not raw.
fn hashes(chars: &[char], quote: usize) -> Option<usize> {
    let before = &chars[..quote];
    let count = before.iter().rev().take_while(|c| **c == '#').count();
    let prefix: String =
        before[..quote - count].iter().rev().take_while(|c| is_word(**c)).collect();
    ["r", "rb", "rc"].contains(&prefix.as_str()).then_some(count)
}

fn raw_end(chars: &[char], start: usize, count: usize) -> usize {
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest.len() > count && rest[1..=count].iter().all(|c| *c == '#')
    };
    find(chars, start, closes, count + 1)
}

#[cfg(test)]
mod tests {
    use super::{Used, code_only, under};

    fn names(text: &str) -> Vec<(usize, String)> {
        let used = under(&code_only(text), "crate").into_iter();
        used.map(|Used { line, name }| (line, name)).collect()
    }

    fn named(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
        expected.iter().map(|(line, name)| (*line, (*name).to_owned())).collect()
    }

    #[test]
    fn plain_paths_and_groups_are_found() {
        assert_eq!(
            names("use crate::ops;\nlet x = crate::host::read();"),
            named(&[(1, "ops"), (2, "host")])
        );
        assert_eq!(
            names("use crate::{\n    host::{self, Kernel},\n    ops, view::{a, b},\n};\n"),
            named(&[(2, "host"), (3, "ops"), (3, "view")])
        );
        assert_eq!(names("pub(in crate::ops) fn f() {}"), named(&[(1, "ops")]));
    }

    #[test]
    fn other_words_are_not_paths() {
        assert_eq!(names("pub(crate) fn f() {}\nuse my_crate::ops;"), named(&[]));
    }

    #[test]
    fn comments_and_literals_do_not_count() {
        let text = "/// See [`crate::ops`].\n/* crate::a /* crate::b */ crate::c */\n\
                    let s = \"crate::d \\\" crate::e\";\nlet r = r#\"crate::f \" crate::g\"#;\n\
                    let b = br\"crate::h\\\";\nlet c = '\"'; let l: &'static str; crate::real();\n\
                    let e = '\\''; crate::also();\n";
        assert_eq!(names(text), named(&[(6, "real"), (7, "also")]));
    }

    #[test]
    fn blanking_keeps_the_lines() {
        assert_eq!(code_only("a // b\n\"c\nd\" e"), "a     \n  \n   e");
    }

    #[test]
    fn torn_text_ends_quietly() {
        for torn in ["\"open", "r#\"open", "/* open", "'\\", "\"\\", "crate::", "crate::{a"] {
            code_only(torn);
            under(torn, "crate");
        }
    }
}
