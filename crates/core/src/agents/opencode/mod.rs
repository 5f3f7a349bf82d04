//! OpenCode: `opencode.db`, the older `storage/` tree of JSON files, and the server in its processes.
//!
//! Nothing on disk says which process runs a session, or that it runs at all. The database is what
//! counts where there is one: 1.2.1 copied the files into it and left them, 1.18.33 ignores them.

mod adapter;
mod control;
mod cursor;
mod database;
mod launch;
mod messages;
mod record;
mod server;
mod storage;
mod store;

pub(super) use adapter::OpenCode;
