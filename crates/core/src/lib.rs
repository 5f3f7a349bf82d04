//! Facts in, answers out: what the kernel and the agents' own records say, and what follows.
//!
//! This crate computes. It reads through [`host::Host`] only, keeps nothing between calls, and never
//! looks at the clock or the environment by itself.
//!
//! One word for one idea:
//!
//! | word | meaning |
//! | --- | --- |
//! | session | one conversation of one agent, under the id the agent gave it |
//! | turn | one answer of the agent, from prompt to end |
//! | record | what the agent's own store says of a session |
//! | claim | something native that says "this session is loaded, there" |
//! | trail | how a claim leads to a process: a lock, an open file, a pid with its start time |
//! | holder | the live process that has a session loaded |
//! | suspect | a live process of the agent that may hold a session, and leaves no trail |
//! | evidence | all of the above for one session: plain data, from which [`derive`] answers |
//! | state | the answer; see [`derive::State`] |
//! | receipt | what one process of ours witnessed; see [`receipt`] |
//! | intent | what a person asked for: a lock |
//! | step | something a session's record or a receipt shows that it did, with its time; see [`story`] |
//! | mark | what was told of a session last; a cursor is all marks; see [`event`] |
//! | push | a server's word that something changed: it says when to look, and nothing else |
//! | fact | one piece of evidence a state follows from, with its source |

pub mod agent;
pub mod agents;
pub mod budget;
pub mod context;
pub mod control;
pub mod derive;
pub mod event;
pub mod evidence;
pub mod fuse;
pub mod host;
pub mod hosted;
pub mod ident;
pub mod launch;
pub mod lines;
pub mod matrix;
pub mod observe;
pub mod policy;
pub mod proof;
pub mod push;
pub mod receipt;
pub mod select;
pub mod sheet;
pub mod story;
pub mod tally;
pub mod text;
mod turns;
pub mod wire;
