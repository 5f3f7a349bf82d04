//! Tells others what happens: webhooks and the desktop, at least once and in order for each session.
//!
//! What is to be told lies on disk before [`Post::put`] returns, and until somebody has said that they heard
//! it: whoever is killed knows nothing that is lost. Secrets are in no file, message or problem of this room.
//! Plain calls: the daemon gives each [`Post::deliver`] a thread.

mod desktop;
mod message;
mod outbox;
mod post;
mod send;
mod sign;
mod target;
#[cfg(test)]
mod tests;
mod tries;

pub(crate) use message::Notice;
pub(crate) use post::{Post, listed, retry, test};
pub(crate) use target::{Target, targets};
#[cfg(test)]
pub(crate) use tests::{session as some_session, some_event};
