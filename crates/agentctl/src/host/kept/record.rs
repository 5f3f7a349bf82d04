//! A record as bytes, its fields one behind the other: ten thousand come back for one list, and JSON took most of that time.
//!
//! Any bytes are read as a record or refused; sums and stamps tell whether they are the right ones.

use agentctl_core::{
    evidence::{Ending, Pending, Record, Role, Tokens, Turn},
    proof::Source,
};
use jiff::Timestamp;
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The length of a text that there is none of.
const NONE: u32 = u32::MAX;
/// The length of a path that is the record's own.
const OWN: u32 = u32::MAX - 1;

/// A record that was read from a file of this path, without its last words. None where it would not come back as it was.
pub(super) fn bytes(record: &Record, path: &Path) -> Option<Vec<u8>> {
    // By name, so that a new field is not forgotten here.
    let Record {
        turn,
        cwd,
        branch,
        model,
        title,
        prompt,
        last: _,
        version,
        started,
        updated,
        tokens,
        cost_usd,
        parent,
        forked_from,
        made_by,
        archived,
        gap,
        elsewhere: _,
    } = record;
    let mut to = Writer { bytes: Vec::with_capacity(1024), path };
    to.text(title.as_deref())?;
    to.text(prompt.as_deref())?;
    to.turn(turn)?;
    to.some_path(cwd.as_deref())?;
    for text in [branch, model, version, parent, forked_from, gap] {
        to.text(text.as_deref())?;
    }
    for moment in [started, updated] {
        to.flag(moment.is_some());
        to.moment(moment.unwrap_or_default());
    }
    to.flag(tokens.is_some());
    let Tokens { input, output, cache_read, cache_write } = tokens.unwrap_or_default();
    [input, output, cache_read, cache_write].into_iter().for_each(|count| to.number(count));
    // In bits: as text it may come back as the number next to it.
    to.number(cost_usd.unwrap_or(f64::NAN).to_bits());
    to.bytes.push(made_by.map_or(0, role_byte));
    to.flag(*archived);
    Some(to.bytes)
}

/// The same, as it was; in brief without a prompt that no table shows, since there is a title.
pub(super) fn record(kept: &[u8], path: &Path, brief: bool) -> Option<Record> {
    let mut from = Reader { bytes: kept, path };
    let title = from.text()?;
    let prompt = match brief && title.is_some() {
        true => from.part()?.and(None),
        false => from.text()?,
    };
    let record = Record {
        title,
        prompt,
        turn: from.turn()?,
        last: None,
        cwd: from.some_path()?,
        branch: from.text()?,
        model: from.text()?,
        version: from.text()?,
        parent: from.text()?,
        forked_from: from.text()?,
        gap: from.text()?,
        started: from.some_moment()?,
        updated: from.some_moment()?,
        tokens: from.some_tokens()?,
        cost_usd: Some(f64::from_bits(from.number()?)).filter(|cost| !cost.is_nan()),
        made_by: role_of(from.byte()?)?,
        archived: from.flag()?,
        elsewhere: false,
    };
    from.bytes.is_empty().then_some(record)
}

fn role_byte(role: Role) -> u8 {
    match role {
        Role::Headless => 1,
        Role::Piped => 2,
        Role::Interactive => 3,
        Role::Background => 4,
        Role::Server => 5,
    }
}

/// Whoever adds a role above adds it here: what is not known is refused, and read anew each time.
fn role_of(byte: u8) -> Option<Option<Role>> {
    Some(match byte {
        0 => None,
        1 => Some(Role::Headless),
        2 => Some(Role::Piped),
        3 => Some(Role::Interactive),
        4 => Some(Role::Background),
        5 => Some(Role::Server),
        _ => return None,
    })
}

struct Writer<'a> {
    bytes: Vec<u8>,
    /// The record's own.
    path: &'a Path,
}

impl Writer<'_> {
    fn turn(&mut self, turn: &Turn) -> Option<()> {
        match turn {
            Turn::None => self.bytes.push(0),
            Turn::Open { alive, pending, line } => {
                self.bytes.push(1);
                self.moment(*alive);
                self.source(line)?;
                self.pending(pending)?;
            }
            Turn::Ended { at, how, line } => {
                self.bytes.push(2);
                self.moment(*at);
                self.source(line)?;
                let (kind, why) = match how {
                    Ending::Completed => (0, None),
                    Ending::Interrupted => (1, None),
                    Ending::Failed(why) => (2, Some(&**why)),
                };
                self.bytes.push(kind);
                self.text(why)?;
            }
        }
        Some(())
    }

    fn pending(&mut self, pending: &Pending) -> Option<()> {
        let (kind, text) = match pending {
            Pending::Nothing => (0, None),
            Pending::Answer => (1, None),
            Pending::Approval => (2, None),
            Pending::Unnamed => (3, None),
            Pending::Retry(why) => (4, Some(why)),
            Pending::ApprovalUnless { variable, .. } => (5, Some(variable)),
        };
        self.bytes.push(kind);
        self.text(text.map(String::as_str))?;
        match pending {
            Pending::ApprovalUnless { values, .. } => self.texts(values),
            Pending::Nothing | Pending::Answer | Pending::Approval => Some(()),
            Pending::Unnamed | Pending::Retry(_) => Some(()),
        }
    }

    fn source(&mut self, source: &Source) -> Option<()> {
        match source {
            Source::Line { path, offset, shows, without } => {
                self.bytes.push(0);
                self.path(path)?;
                self.number(*offset);
                self.text(Some(shows))?;
                self.texts(without)
            }
            Source::File { path, shows } => {
                self.bytes.push(1);
                self.path(path)?;
                self.text(Some(shows))
            }
            Source::Row { path, query, shows } => {
                self.bytes.push(2);
                self.path(path)?;
                self.text(Some(query))?;
                self.text(Some(shows))
            }
            // Of processes and servers, and so of no record.
            Source::Launch { .. } | Source::Alive { .. } | Source::Halted { .. } => None,
            Source::Gone { .. } | Source::Lock { .. } | Source::NoLock { .. } => None,
            Source::OpenFile { .. } | Source::Absence { .. } | Source::NoVariable { .. } => None,
            Source::Variable { .. } | Source::Arguments { .. } | Source::Inference { .. } => None,
            Source::Answer { .. } | Source::Unreadable { .. } | Source::Blind => None,
        }
    }

    fn texts(&mut self, texts: &[String]) -> Option<()> {
        self.number(texts.len() as u64);
        texts.iter().try_for_each(|text| self.text(Some(text)))
    }

    fn text(&mut self, text: Option<&str>) -> Option<()> {
        self.part(text.map(str::as_bytes))
    }

    fn some_path(&mut self, path: Option<&Path>) -> Option<()> {
        match path {
            Some(path) => self.path(path),
            None => self.part(None),
        }
    }

    fn path(&mut self, path: &Path) -> Option<()> {
        // Bytes, not parts: what is written in another way is shown in another way.
        if path.as_os_str() == self.path.as_os_str() {
            self.bytes.extend(OWN.to_le_bytes());
            return Some(());
        }
        self.part(Some(path.as_os_str().as_bytes()))
    }

    fn part(&mut self, part: Option<&[u8]>) -> Option<()> {
        let length = part.map_or(Some(NONE), |part| u32::try_from(part.len()).ok())?;
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(part.unwrap_or_default());
        Some(())
    }

    fn moment(&mut self, at: Timestamp) {
        self.bytes.extend(at.as_second().to_le_bytes());
        self.bytes.extend(at.subsec_nanosecond().to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }
}

/// Reads them again, in the same order; `None` where that is not what stands there.
struct Reader<'a> {
    bytes: &'a [u8],
    path: &'a Path,
}

impl<'a> Reader<'a> {
    fn turn(&mut self) -> Option<Turn> {
        let kind = self.byte()?;
        if kind == 0 {
            return Some(Turn::None);
        }
        let (at, line) = (self.moment()?, self.source()?);
        match kind {
            1 => Some(Turn::Open { alive: at, pending: self.pending()?, line }),
            2 => {
                let how = match (self.byte()?, self.text()?) {
                    (0, None) => Ending::Completed,
                    (1, None) => Ending::Interrupted,
                    (2, Some(why)) => Ending::Failed(why),
                    _ => return None,
                };
                Some(Turn::Ended { at, how, line })
            }
            _ => None,
        }
    }

    fn pending(&mut self) -> Option<Pending> {
        Some(match (self.byte()?, self.text()?) {
            (0, None) => Pending::Nothing,
            (1, None) => Pending::Answer,
            (2, None) => Pending::Approval,
            (3, None) => Pending::Unnamed,
            (4, Some(why)) => Pending::Retry(why),
            (5, Some(variable)) => Pending::ApprovalUnless { variable, values: self.texts()? },
            _ => return None,
        })
    }

    fn source(&mut self) -> Option<Source> {
        let (kind, path) = (self.byte()?, self.some_path()??);
        Some(match kind {
            0 => {
                let (offset, shows) = (self.number()?, self.text()??);
                Source::Line { path, offset, shows, without: self.texts()? }
            }
            1 => Source::File { path, shows: self.text()?? },
            2 => Source::Row { path, query: self.text()??, shows: self.text()?? },
            _ => return None,
        })
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()?).collect() // ends with the bytes, whatever it counts
    }

    fn text(&mut self) -> Option<Option<String>> {
        let Some(part) = self.part()? else { return Some(None) };
        Some(Some(str::from_utf8(part).ok()?.to_owned()))
    }

    fn some_path(&mut self) -> Option<Option<PathBuf>> {
        if let Some(rest) = self.bytes.strip_prefix(&OWN.to_le_bytes()) {
            self.bytes = rest;
            return Some(Some(self.path.to_owned()));
        }
        Some(self.part()?.map(|part| PathBuf::from(OsStr::from_bytes(part))))
    }

    fn part(&mut self) -> Option<Option<&'a [u8]>> {
        match u32::from_le_bytes(self.next()?) {
            NONE => Some(None),
            length => {
                let (part, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
                self.bytes = rest;
                Some(Some(part))
            }
        }
    }

    fn some_tokens(&mut self) -> Option<Option<Tokens>> {
        let there = self.flag()?;
        let [input, output] = [self.number()?, self.number()?];
        let [cache_read, cache_write] = [self.number()?, self.number()?];
        Some(there.then_some(Tokens { input, output, cache_read, cache_write }))
    }

    fn some_moment(&mut self) -> Option<Option<Timestamp>> {
        let (there, at) = (self.flag()?, self.moment()?);
        Some(there.then_some(at))
    }

    fn moment(&mut self) -> Option<Timestamp> {
        let seconds = i64::from_le_bytes(self.next()?);
        Timestamp::new(seconds, i32::from_le_bytes(self.next()?)).ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.next().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        self.next::<1>().map(|[byte]| byte)
    }

    fn next<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (next, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*next)
    }
}
