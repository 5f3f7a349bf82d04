//! How Pi is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Mark, Permission, Plan, Signal},
};
use serde_json::json;

/// What its tools carry.
pub(super) static INHERITED: &[&str] = &["PI_SESSION_ID", "PI_SESSION_FILE"];

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    let mode = if ask.steerable { "rpc" } else { "json" };
    let mut args = vec!["--mode".to_owned(), mode.to_owned()];
    for (flag, value) in [("--model", ask.model), ("--append-system-prompt", ask.system)] {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
    }
    let tools = tools(ask.permission);
    args.extend(tools.into_iter().flat_map(|tools| ["--tools".to_owned(), tools.to_owned()]));
    let after = if ask.steerable { "\"sessionId\":\"" } else { "\"id\":\"" };
    let mut id = Id::Told(Mark { after: after.into(), also: "-._".into() });
    if let Some(earlier) = ask.earlier {
        let flag = if earlier.fork { "--fork" } else { "--session" };
        args.extend([flag.to_owned(), earlier.record.to_string_lossy().into_owned()]);
        if !earlier.fork {
            id = Id::Chosen(earlier.id.to_owned());
        }
    }
    let input = match ask.steerable {
        false => Input::Text(ask.prompt.to_owned()),
        true => Input::Open(format!(
            "{}\n{}",
            json!({"id": "0", "type": "get_state"}),
            message(ask.prompt)
        )),
    };
    Ok(Plan { args, env: Vec::new(), input, id })
}

/// 1.5.0 and 0.73 ask nobody before a tool runs, so what it may not do it must not have. By default it
/// has a shell and may write anywhere: that is as full as it gets. Its `edit` and `write` reach beyond its
/// directory too.
fn tools(mode: Permission) -> Option<&'static str> {
    match mode {
        Permission::Read => Some("read,grep,find,ls"),
        Permission::Edit => Some("read,grep,find,ls,edit,write"),
        Permission::Default | Permission::Full => None,
    }
}

/// A prompt, as a process with an open input reads it. One that works reads it between two steps.
pub(super) fn message(prompt: &str) -> String {
    let line = json!({"type": "prompt", "message": prompt, "streamingBehavior": "followUp"});
    format!("{line}\n")
}

/// 1.5.0: SIGINT leaves its tools running.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[Signal::Terminate, Signal::Kill]
}
