//! Stands in for an agent's process: a line `lock PATH`, `open PATH` or `rewrite PATH` on its standard input
//! makes it lock a file, hold a transcript open or be who wrote one, which it confirms. It lives until that
//! input ends, so that it cannot outlive whoever started it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, Write},
};

fn main() -> io::Result<()> {
    let mut held = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if let Some(path) = line.strip_prefix("lock ") {
            let lock = File::create(path)?;
            lock.lock()?;
            held.push(lock);
        } else if let Some(path) = line.strip_prefix("open ") {
            held.push(OpenOptions::new().append(true).create(true).open(path)?);
        } else if let Some(path) = line.strip_prefix("rewrite ") {
            fs::write(path, fs::read(path)?)?;
        }
        io::stdout().write_all(b"ready\n")?;
    }
    Ok(())
}
