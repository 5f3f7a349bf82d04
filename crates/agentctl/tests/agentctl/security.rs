//! Who may do what to us, and what we give away. `docs/SECURITY.md` names the test of each threat.

mod bombs;
mod links;
mod modes;
mod named;
mod paths;
mod secrets;
