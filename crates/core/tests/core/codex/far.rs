//! How far from the end of a rollout what is only nice to know is looked for.

use super::{codex, event, item, line, rollout, with};
use agentctl_core::agent::Depth;
use serde_json::{Value, json};

const FARTHEST: usize = 256 << 10;

/// A line of so many bytes, with its newline.
fn long(line: &Value, size: usize) -> String {
    let padded = |count| with(line.clone(), &json!({"padding": "x".repeat(count)})).to_string();
    let line = padded(size - padded(0).len() - 1);
    format!("{line}\n")
}

/// What was said before so many bytes of a turn that has not ended.
fn said_before(distance: usize) -> Option<String> {
    let each = distance / 16;
    let beside = line("world_state", json!({}));
    let mut text = format!("{}\n", item("AgentMessage", "said"));
    text += &long(&beside, each + distance % 16);
    for _ in 0..14 {
        text += &long(&beside, each);
    }
    text += &long(&event("task_started", json!({})), each);
    let (machine, stub) = rollout(&text);
    codex().read(&machine, &stub, Depth::Glance).expect("it is understood").last
}

#[test]
fn what_was_said_is_looked_for_near_the_end() {
    assert_eq!(said_before(FARTHEST).as_deref(), Some("said"));
    assert_eq!(said_before(FARTHEST + 1), None);
}
