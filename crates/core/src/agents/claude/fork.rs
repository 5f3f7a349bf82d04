//! Where a fork came from. A fork copies its parent's lines, ids and all, and never names the parent.

use super::{store, transcript};
use crate::{
    agent::Stub,
    agents::json,
    host::{Bytes, Host},
    lines::{self, Body, Flow},
};
use jiff::Timestamp;

/// The last line a fork copied.
struct Copied {
    first: String,
    last: String,
    at: Timestamp,
}

/// The session in which the last copied line was first written, if it is still there.
pub(super) fn origin(host: &dyn Host, stub: &Stub) -> Option<String> {
    let file = host.open(&stub.path).ok()?;
    let copied = copied(&*file)?;
    let siblings = store::siblings(host, stub)?;
    let wrote = |other: &Stub| {
        let file = host.open(&other.path).ok()?;
        let began = transcript::began(&*file)?;
        (began <= copied.at && first_line(&*file).as_ref() == Some(&copied.first)).then_some(())?;
        has_line(&*file, &copied.last).then(|| other.id.clone())
    };
    siblings.iter().find_map(wrote)
}

/// The lines at the beginning that are older than the session itself.
fn copied(file: &dyn Bytes) -> Option<Copied> {
    let began = transcript::began(file)?;
    let mut copied: Option<Copied> = None;
    lines::forward(file, 0, &mut |line| {
        let Body::Whole(bytes) = line.body else { return Flow::Continue(()) };
        let value = json::object(bytes);
        let chain = json::string(&value, "uuid").zip(json::time(&value, "timestamp"));
        let Some((uuid, at)) = chain else { return Flow::Continue(()) };
        if at >= began {
            return Flow::Break(());
        }
        let first = copied.as_ref().map_or_else(|| uuid.clone(), |copied| copied.first.clone());
        copied = Some(Copied { first, last: uuid, at });
        Flow::Continue(())
    })
    .ok()?;
    copied
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
        match found {
            true => Flow::Break(()),
            false => Flow::Continue(()),
        }
    });
    found
}
