//! A note on the desktop, by `notify-send`.

use super::{
    message::Message,
    send::{Outcome, PATIENCE},
};
use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often it is looked whether the program has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// Shows a message. Its words are arguments, never a shell's, and hold nothing that steers a terminal;
/// desktops read markup in the text, so that is escaped.
pub(super) fn show(message: &Message) -> Outcome {
    let urgency = if message.urgent { "--urgency=critical" } else { "--urgency=normal" };
    let text = message.body.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut command = Command::new("notify-send");
    command.args(["--app-name=agentctl", urgency, "--", &message.title, &text]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(why) => return Outcome::Refused(format!("cannot start notify-send: {}", why.kind())),
    };
    let end = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Outcome::Heard(None),
            Ok(Some(status)) => {
                return Outcome::Refused(format!("notify-send says no: {status}"));
            }
            Ok(None) if Instant::now() < end => thread::sleep(GLANCE),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait(); // else it stays as a zombie
                return Outcome::Refused("notify-send does not end".to_owned());
            }
        }
    }
}
