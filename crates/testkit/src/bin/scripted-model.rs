//! The scripted model as a program: prints its URL and serves until it is killed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentctl_testkit::model::{Model, Options};

const USAGE: &str = "usage: scripted-model [--port N] [--port-file FILE] [--log FILE]";

fn main() -> ExitCode {
    let served = arguments(std::env::args().skip(1)).and_then(|(options, port_file)| {
        serve(&options, port_file.as_deref()).map_err(|why| format!("cannot serve: {why}"))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(
    mut given: impl Iterator<Item = String>,
) -> Result<(Options, Option<PathBuf>), String> {
    let mut options = Options::default();
    let mut port_file = None;
    while let Some(flag) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{flag} wants a value\n{USAGE}"));
        match flag.as_str() {
            "--port" => {
                let text = value()?;
                options.port = text.parse().map_err(|_| format!("`{text}` is not a port"))?;
            }
            "--port-file" => port_file = Some(value()?.into()),
            "--log" => options.log = Some(value()?.into()),
            _ => return Err(format!("unknown argument `{flag}`\n{USAGE}")),
        }
    }
    Ok((options, port_file))
}

fn serve(options: &Options, port_file: Option<&Path>) -> io::Result<()> {
    let model = Model::start_with(options)?;
    if let Some(file) = port_file {
        // Renamed into place: whoever waits for the file never reads half a number.
        let draft = file.with_extension("draft");
        std::fs::write(&draft, model.port().to_string())?;
        std::fs::rename(draft, file)?;
    }
    writeln!(io::stdout(), "{}", model.url())?;
    loop {
        std::thread::park();
    }
}
