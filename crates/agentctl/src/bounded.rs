//! Commands of others, run to their end within a time. A common ground: `git` and `ops` both run some.

use std::{
    fmt,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How a command ended, and what it said.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    out: File,
    err: File,
}

/// Why nobody knows how a command ended.
pub(crate) enum Unrun {
    /// There is no room for what it says.
    Unheard(io::Error),
    NotStarted(io::Error),
    Lost(io::Error),
    /// It was ended.
    Late(Duration),
}

impl fmt::Display for Unrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unheard(why) => write!(f, "cannot be heard: {why}"),
            Self::NotStarted(why) => write!(f, "cannot be run: {why}"),
            Self::Lost(why) => write!(f, "cannot be waited for: {why}"),
            Self::Late(within) => write!(f, "did not end within {within:?}"),
        }
    }
}

/// Runs a command to its end, and ends it if that takes longer.
pub(crate) fn run(command: &mut Command, within: Duration) -> Result<Ran, Unrun> {
    let files = || -> io::Result<_> { Ok((tempfile::tempfile()?, tempfile::tempfile()?)) };
    // Files, not pipes: a full pipe would stop it, and whoever it leaves behind would keep one open.
    let (out, err) = files().map_err(Unrun::Unheard)?;
    let twins = out.try_clone().and_then(|out| Ok((out, err.try_clone()?)));
    let (to, errors) = twins.map_err(Unrun::Unheard)?;
    let mut child = command.stdout(to).stderr(errors).spawn().map_err(Unrun::NotStarted)?;
    match ended(&mut child, within).map_err(Unrun::Lost)? {
        Some(status) => Ok(Ran { status, out, err }),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Err(Unrun::Late(within))
        }
    }
}

fn ended(child: &mut Child, within: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        let taken = begun.elapsed();
        if status.is_some() || taken > within {
            return Ok(status);
        }
        // A part of what it has taken: short calls are many, and wait for no tick.
        thread::sleep((taken / 8).clamp(Duration::from_micros(100), Duration::from_millis(20)));
    }
}

impl Ran {
    /// What it said, at most so many bytes of it.
    pub(crate) fn out(&self, most: u64) -> io::Result<Vec<u8>> {
        read(&self.out, most)
    }

    /// What it complained of, at most so many bytes of it.
    pub(crate) fn err(&self, most: u64) -> io::Result<Vec<u8>> {
        read(&self.err, most)
    }
}

fn read(mut file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_too_long_is_ended() {
        let late = run(Command::new("sleep").arg("1000"), Duration::from_millis(50));
        assert_eq!(
            late.err().map(|why| why.to_string()).as_deref(),
            Some("did not end within 50ms")
        );
    }

    #[test]
    fn all_that_is_said_is_heard() {
        let script = "head -c 300000 /dev/zero; echo no >&2; exit 3";
        let ran = run(Command::new("sh").args(["-c", script]), Duration::from_secs(60));
        let ran = ran.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(ran.out(u64::MAX).map(|out| out.len()).ok(), Some(300_000));
        assert_eq!(ran.out(10).ok(), Some(vec![0; 10]));
        assert_eq!(ran.err(u64::MAX).ok().as_deref(), Some(&b"no\n"[..]));
    }
}
