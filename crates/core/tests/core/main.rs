//! Properties of `core` that hold for any evidence whatever.

mod claude;
mod codex;
mod copilot;
mod counted;
mod derive;
mod event;
mod known;
mod lines;
mod lists;
mod messages;
mod observe;
mod opencode;
mod pi;
mod plans;
mod play;
mod policy;
mod receipt;
mod rules;
mod select;
mod shown;
mod some;
mod steered;
mod stories;
mod world;
