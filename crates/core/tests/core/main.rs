//! Properties of `core` that hold for any evidence whatever.

mod derive;
mod event;
mod lines;
mod policy;
mod select;
mod some;
