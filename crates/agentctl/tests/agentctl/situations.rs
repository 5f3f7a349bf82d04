//! Situations that real machines get into, each in a world of its own: processes, mounts and a home
//! that nothing else shares. Whatever was done to it, what is said must be what its kernel says.
//!
//! Each test is a row of `docs/proof/situations.md`, and is run for each agent that it is about; one
//! that begins with `real_` is the same row with the real programs.

mod cast;
mod clocks;
mod furnished;
mod ours;
mod pids;
mod place;
mod places;
mod planted;
mod player;
mod scene;
mod stores;
mod truth;
mod world;

pub(crate) use cast::Kind;
pub(crate) use scene::Scene;
pub(crate) use world::{Mounted, alone, each, is_inside};

/// Two tests of one situation: played, and with the real programs where all is proved.
macro_rules! situation {
    ($(#[$doc:meta])* $played:ident, $real:ident, $play:expr) => {
        $(#[$doc])*
        #[test]
        fn $played() {
            each(ALL, |kind| $play(Scene::new(kind)));
        }

        $(#[$doc])*
        #[test]
        #[ignore = "`cargo xtask prove --full --part situations` runs it"]
        fn $real() {
            each(REAL, |kind| $play(Scene::real(kind)));
        }
    };
}
pub(crate) use situation;
