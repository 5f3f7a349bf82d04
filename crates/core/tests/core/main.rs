//! Properties of `core` that hold for any evidence whatever.

mod derive;
mod event;
mod some;
