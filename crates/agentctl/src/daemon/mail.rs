//! What happens, put into the outbox of everybody who is to be told, and taken out by a thread for each.

use super::{
    run::begin,
    shared::Shared,
    watch::{Sink, Took},
};
use crate::{
    error::Error,
    notify::{Notice, Post, Target},
};
use agentctl_core::wire::Event;
use std::{path::Path, sync::Arc};

/// While nothing can be written, so many events are held; if there are more, none are, and all are looked for
/// again once something can be.
const HELD: usize = 2000;

/// Whoever is told, and what could not be kept for them yet.
struct Mail {
    shared: Arc<Shared>,
    posts: Vec<Arc<Post>>,
    held: Vec<Event>,
    /// It was too much to be held.
    lost: bool,
}

/// Begins to tell these, and says how.
pub(super) fn open(
    shared: &Arc<Shared>,
    state: &Path,
    targets: Vec<Target>,
) -> Result<Sink, Error> {
    let posts: Vec<_> =
        targets.into_iter().map(|target| Arc::new(Post::open(state, target))).collect();
    for post in &posts {
        let post = Arc::clone(post);
        begin("webhook", shared, move |shared| {
            post.deliver(|| shared.is_ending(), |problem| shared.trouble(problem));
        })?;
    }
    let mut mail = Mail { shared: Arc::clone(shared), posts, held: Vec::new(), lost: false };
    Ok(Box::new(move |events| mail.take(events)))
}

/// While nobody knows who is told, the cursor stands still: once they can be read again they are told from there.
pub(super) fn unknown() -> Sink {
    Box::new(|_| Took::NotYet)
}

impl Mail {
    /// Tries what is held again with whatever happens next.
    fn take(&mut self, events: &[Event]) -> Took {
        if self.lost {
            self.lost = !self.posts.iter().all(|post| post.has_room());
            return if self.lost { Took::NotYet } else { Took::Lost };
        }
        self.held.extend_from_slice(events);
        let notices: Vec<Notice<'_>> = self.held.iter().map(Notice::of).collect();
        let mut kept = true;
        for post in &self.posts {
            match post.put(&notices) {
                Ok(problems) => {
                    problems.into_iter().for_each(|problem| self.shared.trouble(problem));
                }
                Err(why) => {
                    kept = false;
                    self.shared.own_trouble(None, why.message);
                }
            }
        }
        self.lost = !kept && self.held.len() > HELD;
        if kept || self.lost {
            self.held = Vec::new();
        }
        if kept { Took::All } else { Took::NotYet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Format, Secret},
        daemon::{log::Log, shared::Nature},
        notify::some_event,
    };
    use std::fs;

    #[test]
    fn what_is_too_much_to_hold_is_asked_for_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        let socket = folder.path().join("socket");
        let shared = Shared::new(Nature { portable: false, socket, log_path: None }, Log::Stderr);
        let target = Target::new(Secret::new("http://127.0.0.1/"), None, Format::Ntfy);
        let posts = vec![Arc::new(Post::open(&state, target))];
        let mut mail = Mail { shared: Arc::new(shared), posts, held: Vec::new(), lost: false };
        let events: Vec<Event> =
            (0..=HELD).map(|number| some_event(&format!("e{number}"))).collect();
        fs::write(&state, "in the way").expect("a file");
        assert_eq!(mail.take(&events[..HELD]), Took::NotYet);
        assert_eq!((mail.held.len(), mail.lost), (HELD, false));
        assert_eq!(mail.take(&events[HELD..]), Took::NotYet);
        assert_eq!((mail.held.capacity(), mail.take(&events)), (0, Took::NotYet));
        fs::remove_file(&state).expect("a file");
        assert_eq!(mail.take(&events[HELD..]), Took::Lost);
        let queue = state.join("outbox/--url/queue");
        let waiting = || fs::read_dir(&queue).expect("a folder").count();
        assert_eq!(waiting(), 0, "what comes later is told first");
        assert_eq!(mail.take(&events[..3]), Took::All);
        assert_eq!((waiting(), mail.take(&[])), (3, Took::All));
    }
}
