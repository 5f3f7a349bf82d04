//! The other end of the socket, for the commands that look after the daemon.

use super::{lock::Keeper, rpc::Version};
use crate::host::{Grip, dial, key_of, other_end};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

/// Who does not answer within this hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer to what is asked here is longer.
const LONGEST: u64 = 1 << 20;

/// A daemon that answers.
pub(super) struct Client {
    stream: BufReader<UnixStream>,
    /// Who listens there, in a grip that was taken before it answered.
    pub(super) grip: Option<Grip>,
    /// What it said of itself.
    pub(super) version: Version,
    /// Where it was called.
    pub(super) socket: PathBuf,
}

impl Client {
    /// Calls the daemon that has the lock. It is the one that listens there: it says its pid on the socket, and the
    /// kernel says the same of the socket and of the lock.
    pub(super) fn connect(keeper: &Keeper) -> io::Result<Self> {
        let mut last = None;
        for socket in keeper.sockets() {
            match Self::call(socket, keeper) {
                Ok(client) => return Ok(client),
                // Of the usual place, where anybody may have written the other.
                Err(why) => last = Some(why),
            }
        }
        Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    fn call(socket: &Path, keeper: &Keeper) -> io::Result<Self> {
        let stream = dial(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let listens = other_end(&stream)?.pid;
        let grip = listens.and_then(|pid| Grip::open(&key_of(pid).ok()?).ok());
        let mut stream = BufReader::new(stream);
        let version = ask(&mut stream, "version")?;
        let version: Version = serde_json::from_value(version)?;
        if listens.is_some_and(|pid| pid != version.pid) {
            let why =
                format!("process {} answers for process {}", listens.unwrap_or(0), version.pid);
            return Err(io::Error::other(why));
        }
        if !keeper.is(version.pid) {
            let why = format!("process {} listens there, and has no lock", version.pid);
            return Err(io::Error::other(why));
        }
        Ok(Self { stream, grip, version, socket: socket.to_owned() })
    }

    /// Asks something that has no params.
    pub(super) fn ask(&mut self, method: &str) -> io::Result<Value> {
        ask(&mut self.stream, method)
    }
}

fn ask(stream: &mut BufReader<UnixStream>, method: &str) -> io::Result<Value> {
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": method});
    stream.get_mut().write_all(format!("{line}\n").as_bytes())?;
    let mut line = Vec::new();
    stream.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut answer: Value = serde_json::from_slice(&line)?;
    match answer.get("error").and_then(|error| error["message"].as_str()) {
        Some(why) => Err(io::Error::other(why.to_owned())),
        None => Ok(answer.get_mut("result").map(Value::take).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;
        use std::net::Shutdown;

        /// Whoever listens where a daemon did: what it says is an answer or an error.
        #[test]
        fn any_line_of_a_daemon_is_an_answer_or_an_error() {
            let run = |bytes: &[u8]| {
                let (ours, mut theirs) = UnixStream::pair().expect("two ends");
                theirs.write_all(bytes).expect("there is room");
                theirs.shutdown(Shutdown::Write).expect("an end");
                let said = ask(&mut BufReader::new(ours), "version");
                if let Ok(said) = &said {
                    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                    let whole: Value = serde_json::from_slice(line).expect("an answer is JSON");
                    assert_eq!(whole.get("result").unwrap_or(&Value::Null), said);
                }
                let _ = said.map(serde_json::from_value::<Version>);
            };
            let seeds = || {
                let version = json!({"schema": 1, "protocol": 1, "version": "2.0.0", "pid": 7,
                    "since": "2026-11-15T18:24:04Z", "watches": true});
                let answer = json!({"jsonrpc": "2.0", "id": 1, "result": version});
                let error =
                    json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}});
                [answer, error].map(|line| format!("{line}\n").into_bytes()).to_vec()
            };
            Target { name: "client", run, seeds }.holds(3_000);
        }
    }
}
