//! `demo AGENTCTL`, run by `cargo xtask demo`.

use std::io::{self, Write};
use std::path::PathBuf;

fn main() {
    let agentctl = std::env::args_os().nth(1).map(PathBuf::from);
    let Some(agentctl) = agentctl.filter(|path| path.is_file()) else {
        let _ = writeln!(io::stderr(), "usage: demo AGENTCTL");
        std::process::exit(2);
    };
    agentctl_testkit::demo::run(&agentctl);
}
