//! How Claude Code is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Permission, Plan, Signal},
};
use serde_json::json;

/// 2.1.197: a terminal started with some of these keeps no records; others name the outer session.
pub(super) static INHERITED: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_EFFORT",
    "CLAUDE_CODE_SESSION_KIND",
    "CLAUDE_CODE_SESSION_NAME",
    "CLAUDE_CODE_SESSION_LOG",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY",
    "CLAUDE_JOB_DIR",
];

/// Prompts beyond this are refused by 2.1.197.
const LONGEST: usize = 10 << 20;

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    if ask.prompt.len() > LONGEST {
        return Err("Claude Code takes prompts of at most 10 MB".to_owned());
    }
    let mut args = vec!["-p".to_owned(), "--output-format".into(), "stream-json".into()];
    args.push("--verbose".into());
    let chosen = match ask.earlier {
        Some(earlier) if !earlier.fork => earlier.id,
        _ => ask.id,
    };
    if let Some(earlier) = ask.earlier {
        args.extend(["--resume".into(), earlier.record.to_string_lossy().into_owned()]);
        if earlier.fork {
            args.push("--fork-session".into());
        }
    }
    if chosen == ask.id {
        args.extend(["--session-id".into(), ask.id.to_owned()]);
    }
    let words =
        [("--model", ask.model), ("--name", ask.name), ("--append-system-prompt", ask.system)];
    for (flag, value) in words {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
    }
    args.extend(permission(ask.permission).iter().map(|&word| word.to_owned()));
    let input = match ask.steerable {
        false => Input::Text(ask.prompt.to_owned()),
        true => {
            args.extend(["--input-format".into(), "stream-json".into()]);
            Input::Open(message(ask.prompt))
        }
    };
    Ok(Plan { args, env: Vec::new(), input, id: Id::Chosen(chosen.to_owned()) })
}

/// A prompt, as a process with an open input reads it.
pub(super) fn message(prompt: &str) -> String {
    let line = json!({"type": "user", "message": {"role": "user", "content": prompt}});
    format!("{line}\n")
}

fn permission(mode: Permission) -> &'static [&'static str] {
    match mode {
        Permission::Read => &["--permission-mode", "plan"],
        Permission::Default => &[],
        Permission::Edit => &["--permission-mode", "acceptEdits"],
        Permission::Full => &["--dangerously-skip-permissions"],
    }
}

/// 2.1.197: one that answers a prompt closes its turn on SIGINT; a terminal only goes.
pub(super) fn ends_by(role: Option<Role>) -> &'static [Signal] {
    match role {
        Some(Role::Headless | Role::Piped) => &[Signal::Interrupt, Signal::Terminate, Signal::Kill],
        Some(Role::Interactive | Role::Background | Role::Server) | None => {
            &[Signal::Terminate, Signal::Kill]
        }
    }
}
