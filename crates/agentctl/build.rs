//! Names the readers of this build by their source, so that what another build read of a record is never
//! taken for what this one would read.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

/// All that turns bytes into records.
const READERS: &str = "../core/src";

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    fold(Path::new(READERS), &mut hash)?;
    let mut cargo = io::stdout();
    writeln!(cargo, "cargo::rerun-if-changed={READERS}")?;
    writeln!(cargo, "cargo::rustc-env=AGENTCTL_READERS={hash:016x}")
}

/// FNV-1a over the names and contents of all that is below a directory, in a fixed order.
fn fold(dir: &Path, hash: &mut u64) -> io::Result<()> {
    let entries = fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            fold(&path, hash)?;
            continue;
        }
        let name = path.to_string_lossy().into_owned().into_bytes();
        for byte in name.into_iter().chain(fs::read(&path)?) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(())
}
