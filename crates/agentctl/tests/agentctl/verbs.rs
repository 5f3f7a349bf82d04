//! Launching, locking and sweeping, where things go wrong.

mod locks;
mod race;
