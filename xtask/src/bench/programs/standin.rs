//! Stands in for an agent's process: takes a lock and holds a transcript open where it is told to
//! (`STANDIN_LOCK`, `STANDIN_OPEN`), says so, and lives until its standard input ends, so that it
//! cannot outlive whoever started it.

use std::{
    env,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
};

fn main() -> io::Result<()> {
    let lock = env::var_os("STANDIN_LOCK").map(File::create).transpose()?;
    if let Some(lock) = &lock {
        lock.lock()?;
    }
    let append = |path| OpenOptions::new().append(true).create(true).open(path);
    let _open = env::var_os("STANDIN_OPEN").map(append).transpose()?;
    io::stdout().write_all(b"ready\n")?;
    io::stdin().read_to_end(&mut Vec::new()).map(|_| ())
}
