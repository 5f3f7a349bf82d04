//! Launching, locking and sweeping, where things go wrong.

mod abuse;
mod attach;
mod budgets;
mod changed;
mod context;
mod corpus;
mod counted;
mod daemon;
mod events;
mod fuses;
mod hooks;
mod kept;
mod locks;
mod many;
mod metrics;
mod prune;
mod pushes;
mod race;
mod receipts;
mod send;
mod stop;
mod trees;
mod wait;
mod watching;
mod webhooks;
