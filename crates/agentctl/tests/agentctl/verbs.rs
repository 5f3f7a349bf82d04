//! Launching, locking and sweeping, where things go wrong.

mod abuse;
mod locks;
mod prune;
mod race;
mod receipts;
mod send;
mod wait;
