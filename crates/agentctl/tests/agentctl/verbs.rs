//! Launching, locking and sweeping, where things go wrong.

mod abuse;
mod attach;
mod events;
mod locks;
mod prune;
mod race;
mod receipts;
mod send;
mod stop;
mod wait;
