//! How Copilot is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Permission, Plan, Signal},
};

/// None of its variables changes it.
pub(super) static INHERITED: &[&str] = &[];

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    if ask.steerable {
        return Err("Copilot reads one prompt; it cannot be steered".to_owned());
    }
    if ask.system.is_some() {
        return Err(
            "Copilot has no flag for more instructions; put them into the prompt".to_owned()
        );
    }
    let chosen = match ask.earlier {
        Some(earlier) if earlier.fork => {
            return Err("Copilot cannot copy a conversation".to_owned());
        }
        Some(earlier) => earlier.id,
        None => ask.id,
    };
    let mut args = vec!["--session-id".to_owned(), chosen.to_owned()];
    args.extend(["--output-format".to_owned(), "json".to_owned()]);
    for (flag, value) in [("--model", ask.model), ("--name", ask.name)] {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
    }
    args.extend(permission(ask.permission).iter().map(|&word| word.to_owned()));
    // 1.0.102 takes what is piped to it for its prompt, of any size and beginning.
    let input = Input::Text(ask.prompt.to_owned());
    Ok(Plan { args, env: Vec::new(), input, id: Id::Chosen(chosen.to_owned()) })
}

fn permission(mode: Permission) -> &'static [&'static str] {
    match mode {
        Permission::Read => &["--deny-tool", "shell", "--deny-tool", "write"],
        Permission::Default => &[],
        Permission::Edit => &["--allow-tool", "write"],
        Permission::Full => &["--allow-all-tools", "--allow-all-paths"],
    }
}

/// 1.0.102: the worker closes its session on SIGTERM; the launcher before it only goes.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[Signal::Terminate, Signal::Kill]
}
