//! What is gathered of a machine, one fact at a time: who holds a session, who may, and who is gone.

mod asked;
mod claims;
mod inferred;
mod live;
mod muted;
mod orphans;
mod receipts;
mod records;
mod survey;
mod suspects;
mod tools;
