//! Hello-world plus one walk over `/proc`: readdir and stat(2) of every process; with the word
//! `read` its `stat` file is read instead, which is the least that tells a process's start.

use std::{fs, io, io::Read};

fn main() -> io::Result<()> {
    let read = std::env::args().nth(1).is_some_and(|word| word == "read");
    let mut seen = 0;
    let mut line = [0; 2048];
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if !name.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let path = std::path::Path::new("/proc").join(&name);
        let there = match read {
            false => fs::metadata(&path).is_ok(),
            true => fs::File::open(path.join("stat")).and_then(|mut it| it.read(&mut line)).is_ok(),
        };
        seen += usize::from(there);
    }
    println!("hello, {seen} processes");
    Ok(())
}
