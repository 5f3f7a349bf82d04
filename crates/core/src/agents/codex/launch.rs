//! How Codex is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Mark, Permission, Plan, Signal},
};

/// What its tools carry.
pub(super) static INHERITED: &[&str] =
    &["CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_CI"];

/// Prompts beyond this are refused by 0.166.
const LONGEST: usize = 1 << 20;

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    if ask.steerable {
        return Err("`codex exec` loses what it is sent; use its own daemon to steer it".to_owned());
    }
    if ask.system.is_some() {
        return Err("Codex has no flag for more instructions; put them into the prompt".to_owned());
    }
    if ask.prompt.chars().count() > LONGEST {
        return Err("Codex takes prompts of at most 1,048,576 characters".to_owned());
    }
    let cwd = ask.cwd.to_string_lossy().into_owned();
    let mut args: Vec<String> =
        ["exec", "--json", "--skip-git-repo-check", "-C"].map(str::to_owned).to_vec();
    args.push(cwd);
    args.extend(ask.model.into_iter().flat_map(|model| ["-m".to_owned(), model.to_owned()]));
    args.extend(permission(ask.permission).iter().map(|&word| word.to_owned()));
    // 0.166 keeps it with a session that it makes, and takes it anywhere.
    args.extend(["--thread-source".into(), format!("agentctl:{}", ask.launch)]);
    match ask.earlier {
        // 0.166: anything but a whole id begins a new session, and says nothing.
        Some(earlier) if earlier.fork => args.extend(["fork".into(), earlier.id.to_owned()]),
        Some(earlier) => args.extend(["resume".into(), earlier.id.to_owned()]),
        None => {}
    }
    args.push("-".into());
    let id = match ask.earlier {
        Some(earlier) if !earlier.fork => Id::Chosen(earlier.id.to_owned()),
        _ => Id::Told(Mark { after: "\"thread_id\":\"".into(), also: "-".into() }),
    };
    Ok(Plan { args, env: Vec::new(), input: Input::Text(ask.prompt.to_owned()), id })
}

fn permission(mode: Permission) -> &'static [&'static str] {
    match mode {
        Permission::Read => &["-s", "read-only"],
        Permission::Default => &[],
        Permission::Edit => &["-s", "workspace-write"],
        Permission::Full => &["--dangerously-bypass-approvals-and-sandbox"],
    }
}

/// 0.166: only SIGINT ends a turn in order, kills its tools and gives the lock back.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[Signal::Interrupt, Signal::Terminate, Signal::Kill]
}
