//! `agentctl man`

use super::{
    args::{Cli, Man},
    run::Outcome,
};
use crate::{
    error::{Error, Kind},
    view,
};
use clap::{Command, CommandFactory};
use std::{fs, io, path::Path};

/// Prints one page, or writes all of them.
pub(super) fn run(args: Man) -> Outcome {
    let mut program = Cli::command();
    program.build();
    if let Some(dir) = args.dir {
        write_all(&program, &dir).map_err(|why| {
            Error::new(Kind::Io, format!("cannot write pages to {}: {why}", dir.display()))
        })?;
        return Ok(0);
    }
    let chosen = match &args.command {
        None => &program,
        Some(name) => program.find_subcommand(name).ok_or_else(|| {
            Error::new(Kind::Usage, format!("no such command: {name}"))
                .hint("run `agentctl --help` to see all commands")
        })?,
    };
    view::raw(&page(chosen)?)?;
    Ok(0)
}

fn write_all(program: &Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join("agentctl.1"), page(program)?)?;
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = format!("agentctl-{}.1", command.get_name());
        fs::write(dir.join(name), page(command)?)?;
    }
    Ok(())
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
