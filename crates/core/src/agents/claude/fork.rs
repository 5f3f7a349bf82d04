//! Where a fork came from. A fork copies its parent's lines, ids and all, and never names the parent.

use super::{store, transcript};
use crate::{
    agent::Stub,
    agents::json::{self, Pick},
    host::{Bytes, Host},
    lines::{self, Body, Line},
    tally::{Reader, Writer},
};
use jiff::Timestamp;

/// The last line a fork copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    first: String,
    last: String,
    at: Timestamp,
}

/// The lines at the beginning that are older than the session itself, met one after the other.
#[derive(Debug, Default)]
pub(super) struct Copying {
    began: Option<Timestamp>,
    copied: Option<Copied>,
    /// A line of its own was met: whatever follows is, too.
    is_over: bool,
}

impl Copying {
    /// Takes in the next line.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        let (false, Body::Whole(bytes)) = (self.is_over, &line.body) else { return };
        let told = json::some_parts(bytes, &[Pick::Field("timestamp"), Pick::Field("uuid")]);
        let Some(at) = told.time("timestamp") else { return };
        let began = *self.began.get_or_insert(at); // when it began is the first moment written down
        let Some(uuid) = told.string("uuid") else { return };
        self.is_over = at >= began;
        if !self.is_over {
            let first = self.copied.take().map_or_else(|| uuid.clone(), |copied| copied.first);
            self.copied = Some(Copied { first, last: uuid, at });
        }
    }

    /// No line that follows tells anything.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What was copied.
    pub(super) fn copied(self) -> Option<Copied> {
        self.copied
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.number(u64::from(self.is_over));
        to.text(&self.began.map_or_else(String::new, |began| began.to_string()));
        match &self.copied {
            None => to.number(0),
            Some(Copied { first, last, at }) => {
                to.number(1);
                [first, last, &at.to_string()].into_iter().for_each(|text| to.text(text));
            }
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        let is_over = from.number()? == 1;
        let began = from.text()?.parse().ok();
        let copied = match from.number()? {
            0 => None,
            _ => {
                let [first, last] = [from.text()?, from.text()?].map(str::to_owned);
                Some(Copied { first, last, at: from.text()?.parse().ok()? })
            }
        };
        Some(Self { began, copied, is_over })
    }
}

/// The session in which the last copied line was first written, if it is still there.
pub(super) fn origin(host: &dyn Host, stub: &Stub, copied: &Copied) -> Option<String> {
    let siblings = store::siblings(host, stub)?;
    let wrote = |other: &Stub| {
        let file = host.open(&other.path).ok()?;
        let began = transcript::began(&*file)?;
        (began <= copied.at && first_line(&*file).as_ref() == Some(&copied.first)).then_some(())?;
        has_line(&*file, &copied.last).then(|| other.id.clone())
    };
    siblings.iter().find_map(wrote)
}

fn first_line(file: &dyn Bytes) -> Option<String> {
    json::first(file, |line| json::string(line, "uuid"))
}

fn has_line(file: &dyn Bytes, uuid: &str) -> bool {
    let needle = format!("\"uuid\":\"{uuid}\"");
    let finder = memchr::memmem::Finder::new(needle.as_bytes());
    let mut found = false;
    let _ = lines::forward(file, 0, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            found = finder.find(bytes).is_some();
        }
        lines::until(found)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these lines copied; before the one of this number, what was met was kept and read again.
    fn copied(lines: &[String], pause: usize) -> Option<Copied> {
        let mut copying = Copying::default();
        for (number, line) in lines.iter().enumerate() {
            if number == pause {
                let mut to = Writer::default();
                copying.write(&mut to);
                copying = Copying::read(&mut Reader::new(&to.bytes())).expect("it was written");
            }
            copying.take(&Line { at: 0, body: Body::Whole(line.as_bytes()) });
        }
        copying.copied()
    }

    #[test]
    fn what_was_copied_is_the_same_wherever_reading_paused() {
        let line = |uuid: &str, second: u32| {
            format!(r#"{{"uuid":"{uuid}","timestamp":"2026-01-02T03:04:{second:02}Z"}}"#)
        };
        let began = r#"{"timestamp":"2026-01-02T03:04:10Z"}"#.to_owned();
        // The last one was written late: what is copied stands before all that is its own.
        let lines = [began, line("a", 1), line("b", 2), line("own", 11), line("late", 9)];
        let at = "2026-01-02T03:04:02Z".parse().expect("a time");
        let all = Some(Copied { first: "a".to_owned(), last: "b".to_owned(), at });
        for pause in 0..lines.len() {
            assert_eq!(copied(&lines, pause), all, "{pause}");
        }
    }
}
