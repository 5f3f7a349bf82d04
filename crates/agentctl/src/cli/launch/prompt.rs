//! What an agent is told: words, a file, standard input, and what is put before them.

use super::super::args::What;
use crate::{
    error::{Error, Kind},
    ops::context::{Issue, Sources},
};
use agentctl_core::context;
use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
};

/// What it is told, with its context. A specification or an issue may be all of it: then nothing is read
/// from standard input, which may never end.
pub(super) fn prompt(what: &What, text: Option<String>, cwd: &Path) -> Result<String, Error> {
    let context = &what.context;
    let issue = context.issue.as_deref();
    let issue = issue.map(|word| Issue::named(word, context.repo.as_deref())).transpose()?;
    let sources = Sources {
        spec: context.spec.clone(),
        issue,
        files: context.file.clone(),
        limit: context.max_file_size,
    };
    let words = text.or_else(|| what.prompt.clone());
    let words = match (words, &what.prompt_file) {
        (None, None) if sources.are_a_task() => String::new(),
        (words, file) => {
            let way = "use -p TEXT or -f FILE, or pipe the prompt in";
            text_of(words, file.as_deref(), ("prompt", way))?
        }
    };
    Ok(context::before(&sources.gather(cwd)?, &words))
}

/// These words, or those of a file, or what comes on standard input; `what` they are, and the way to give
/// them, is told where they are missing.
pub(in crate::cli) fn text_of(
    text: Option<String>,
    file: Option<&Path>,
    (what, way): (&str, &str),
) -> Result<String, Error> {
    let (words, from) = match (text, file) {
        (Some(text), _) => (text, format!("the {what}")),
        (None, Some(file)) => {
            let name = file.display().to_string();
            let read = fs::read(file)
                .map_err(|why| Error::new(Kind::Usage, format!("cannot read {name}: {why}")))?;
            (utf8(read, &name)?, name)
        }
        (None, None) => {
            if io::stdin().is_terminal() {
                return Err(Error::new(Kind::Usage, format!("no {what}")).hint(way));
            }
            let mut read = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut read)
                .map_err(|why| Error::new(Kind::Io, format!("cannot read the {what}: {why}")))?;
            (utf8(read, "standard input")?, "standard input".to_owned())
        }
    };
    match words.trim().is_empty() {
        true => Err(Error::new(Kind::Usage, format!("{from} is empty")).hint(way)),
        false => Ok(words),
    }
}

fn utf8(bytes: Vec<u8>, from: &str) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to();
        Error::new(Kind::Usage, format!("{from} is no text: byte {at} is not UTF-8"))
    })
}
