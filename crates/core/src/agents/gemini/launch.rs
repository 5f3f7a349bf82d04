//! How Gemini is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Permission, Plan, Signal},
};

/// What its tools carry.
pub(super) static INHERITED: &[&str] = &["GEMINI_CLI"];

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    if ask.steerable {
        return Err("Gemini reads one prompt; it cannot be steered".to_owned());
    }
    if ask.system.is_some() {
        return Err("Gemini has no flag for more instructions; put them into the prompt".to_owned());
    }
    let mut args = vec!["--output-format".to_owned(), "stream-json".to_owned()];
    args.extend(ask.model.into_iter().flat_map(|model| ["-m".to_owned(), model.to_owned()]));
    let mode = match ask.permission {
        Permission::Read => Some("plan"),
        Permission::Default => None,
        Permission::Edit => Some("auto_edit"),
        Permission::Full => Some("yolo"),
    };
    args.extend(mode.into_iter().flat_map(|mode| ["--approval-mode".to_owned(), mode.to_owned()]));
    let chosen = match ask.earlier {
        Some(earlier) if earlier.fork => return Err("Gemini cannot copy a conversation".to_owned()),
        Some(earlier) => {
            args.extend(["--resume".to_owned(), earlier.id.to_owned()]);
            earlier.id
        }
        None => {
            args.extend(["--session-id".to_owned(), ask.id.to_owned()]);
            ask.id
        }
    };
    // 0.61 starts itself anew with more memory, and only the second process heeds signals.
    let env = vec![("GEMINI_CLI_NO_RELAUNCH", "true".to_owned())];
    let input = Input::Text(ask.prompt.to_owned());
    Ok(Plan { args, env, input, id: Id::Chosen(chosen.to_owned()) })
}

/// 0.61: its tools survive it whatever ends it.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[Signal::Terminate, Signal::Kill]
}
