//! Live processes: stand-ins for agents, and what the program makes of them.

mod recycled;
mod states;
mod storm;
mod users;
