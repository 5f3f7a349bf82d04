//! What is told of Pi, which names its session late.

use rustix::process::Signal;

use super::{NEW, OLD};
use crate::support::{Stage, signal};

#[test]
fn every_step_of_a_conversation_is_told_once() {
    for line in [&NEW, &OLD] {
        let stage = Stage::new();
        let mut events = stage.watch();
        let terminal = stage.chat_pi(line, &[]);
        terminal.send("MOCK:text first answer");
        let id = events.named(terminal.pid());
        events.becomes(&id, &["working"], "idle");

        let gate = stage.sandbox.gate("answer");
        terminal.send(&gate.until());
        assert_eq!(events.told(&id), "session.working: idle working");
        gate.open();
        assert_eq!(events.told(&id), "session.idle: working idle");

        let never = stage.sandbox.gate("never");
        terminal.send(&never.until());
        assert_eq!(events.told(&id), "session.working: idle working");
        stage.asked(&format!("until {}", never.path().display()));
        signal(Signal::KILL, terminal.pid());
        assert_eq!(events.told(&id), "session.ended: working died");
        events.are_unique();
    }
}
