//! Words of a command line, read leniently.

use super::files::is_id;

/// The first full id behind one of these flags, as `--flag ID` or `--flag=ID`.
pub(super) fn id_behind(words: &[String], flags: &[&str]) -> Option<String> {
    behind(words, flags).find(|id| is_id(id)).map(str::to_owned)
}

/// What stands behind each of these flags, as `--flag WORD` or `--flag=WORD`; nothing behind the last word.
pub(super) fn behind<'w>(
    words: &'w [String],
    flags: &'w [&str],
) -> impl Iterator<Item = &'w str> + use<'w> {
    let next = words.iter().skip(1).map(String::as_str).chain([""]);
    words.iter().zip(next).filter_map(|(word, next)| {
        let (flag, value) = word.split_once('=').unwrap_or((word, next));
        flags.contains(&flag).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_full_id_counts() {
        let id = "8f2562be-1350-4693-85a6-3d142d74d7cb";
        let found = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            id_behind(&words, &["--resume", "-r"])
        };
        assert_eq!(found(&format!("-p hi --resume={id}")).as_deref(), Some(id));
        assert_eq!(found(&format!("-r {id} -p hi")).as_deref(), Some(id));
        assert_eq!(found(&format!("-p {id} -r latest")), None);
        assert_eq!(found("-r"), None);
    }
}
