//! What happens, put into the outbox of everybody who is to be told, and taken out by a thread for each.

use super::{run::begin, shared::Shared, watch::Sink};
use crate::{
    error::Error,
    notify::{Notice, Post, Target},
};
use agentctl_core::{
    fuse::Action,
    wire::{Event, EventKind},
};
use std::{path::Path, sync::Arc};

/// While nothing can be written, so many events are held; what is more is lost.
const HELD: usize = 2000;

/// Whoever is told, and what could not be kept for them yet.
struct Mail {
    shared: Arc<Shared>,
    posts: Vec<Arc<Post>>,
    held: Vec<Event>,
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
    let mut mail = Mail { shared: Arc::clone(shared), posts, held: Vec::new() };
    Ok(Box::new(move |events| mail.take(events)))
}

impl Mail {
    /// On the disk when this returns true; else it is tried again with whatever happens next.
    fn take(&mut self, events: &[Event]) -> bool {
        self.held.extend_from_slice(events);
        let notices: Vec<Notice<'_>> = self.held.iter().map(notice).collect();
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
        if kept {
            self.held.clear();
        } else if let Some(lost @ 1..) = self.held.len().checked_sub(HELD) {
            self.held.drain(..lost);
            self.shared.own_trouble(None, "webhooks are not told all: too much could not be kept");
        }
        kept
    }
}

/// A person who had a fuse set off webhooks wants it told, whatever else they are told.
fn notice(event: &Event) -> Notice<'_> {
    let asked = event.fuse.as_ref().is_some_and(|fuse| fuse.action == Action::Webhook);
    Notice { event, to_all: asked && event.kind == EventKind::FuseFired }
}
