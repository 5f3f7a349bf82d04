//! How OpenCode is started, and ended.

use crate::{
    evidence::Role,
    launch::{Ask, Id, Input, Mark, Permission, Plan, Signal},
};

/// None of its variables changes it.
pub(super) static INHERITED: &[&str] = &[];

pub(super) fn plan(ask: &Ask<'_>) -> Result<Plan, String> {
    if ask.steerable {
        return Err(
            "`opencode run` reads nothing more; start `opencode serve` to steer it".to_owned()
        );
    }
    if ask.system.is_some() {
        return Err(
            "OpenCode has no flag for more instructions; put them into the prompt".to_owned()
        );
    }
    if ask.model.is_some_and(|model| !model.contains('/')) {
        return Err("OpenCode wants a model as PROVIDER/MODEL".to_owned());
    }
    let cwd = ask.cwd.to_string_lossy().into_owned();
    let mut args: Vec<String> =
        ["run", "--print-logs", "--format", "json"].map(str::to_owned).to_vec();
    args.extend(["--dir".to_owned(), cwd.clone()]);
    for (flag, value) in [("--model", ask.model), ("--title", ask.name)] {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
    }
    // 1.18.33: `run` believes this variable, however stale.
    let mut env = vec![("PWD", cwd)];
    // 1.18.33: this variable is laid over its settings. Its agent `plan` alone runs any command that
    // those allow.
    let mut rules = |rules: &str| env.push(("OPENCODE_PERMISSION", rules.to_owned()));
    match ask.permission {
        Permission::Read => {
            args.extend(["--agent".to_owned(), "plan".to_owned()]);
            rules(r#"{"edit":"deny","bash":"deny"}"#);
        }
        Permission::Default => {}
        Permission::Edit => rules(r#"{"edit":"allow"}"#),
        Permission::Full => args.push("--auto".to_owned()),
    }
    let mut id = Id::Told(Mark { after: "message=created id=".into(), also: "_".into() });
    if let Some(earlier) = ask.earlier {
        args.extend(["--session".to_owned(), earlier.id.to_owned()]);
        match earlier.fork {
            true => args.push("--fork".to_owned()),
            false => id = Id::Chosen(earlier.id.to_owned()),
        }
    }
    Ok(Plan { args, env, input: Input::Text(ask.prompt.to_owned()), id })
}

/// 1.18.33: `run` and `serve` die of any signal at once; a terminal aborts its turn first.
pub(super) fn ends_by(_: Option<Role>) -> &'static [Signal] {
    &[Signal::Terminate, Signal::Kill]
}
