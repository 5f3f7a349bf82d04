//! Calls of the client's own tools, shaped by the schemas the client sent.

use serde_json::{Map, Value, json};

use super::conversation::Tool;

/// Shell tools by name, as the agents call them: Claude Code, OpenCode and Pi, Codex (three
/// generations), Gemini, OpenClaw, and some others.
const SHELLS: [&str; 9] = [
    "Bash",
    "bash",
    "exec_command",
    "shell_command",
    "shell",
    "run_shell_command",
    "exec",
    "execute_command",
    "run_terminal_cmd",
];

/// How much a shell call may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What the client allows by itself.
    Usual,
    /// More than that: the client must ask a person, where its tool has an argument for it.
    Escalated,
}

/// A tool's name and the arguments to call it with; the error says what was missing.
pub(crate) type Shaped = Result<(String, Value), String>;

/// A call of whichever shell tool is offered.
pub(crate) fn shell(tools: &[Tool], command: &str, reach: Reach) -> Shaped {
    let tool = first(tools, &SHELLS, "shell")?;
    let properties = &tool.schema["properties"];
    let mut arguments = Map::new();
    let key = if properties["cmd"].is_object() { "cmd" } else { "command" };
    let is_list = properties[key]["type"] == "array";
    arguments
        .insert(key.into(), if is_list { json!(["bash", "-lc", command]) } else { json!(command) });
    // Codex moves a command to the background when it takes longer than this.
    fill(&mut arguments, properties, ("yield_time_ms", json!(120_000)));
    fill(&mut arguments, properties, ("timeout_ms", json!(600_000)));
    fill(&mut arguments, properties, ("description", json!("scripted command")));
    if reach == Reach::Escalated {
        fill(&mut arguments, properties, ("sandbox_permissions", json!("require_escalated")));
        fill(&mut arguments, properties, ("justification", json!("the script asks for it")));
    }
    for name in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            arguments.insert(name.into(), anything(&properties[name]));
        }
    }
    Ok((tool.name.clone(), arguments.into()))
}

/// A call of whichever tool is offered for asking the user something.
pub(crate) fn question(tools: &[Tool], text: &str) -> Shaped {
    let names = ["request_user_input", "AskUserQuestion", "question", "ask_user"];
    let tool = first(tools, &names, "question")?;
    let options = json!([
        {"label": "Yes", "description": "Go on"},
        {"label": "No", "description": "Leave it"},
    ]);
    let mut question = json!({"question": text, "header": "Scripted", "options": options});
    match tool.name.as_str() {
        "request_user_input" => question["id"] = json!("scripted"),
        "AskUserQuestion" => question["multiSelect"] = json!(false),
        "ask_user" => question["type"] = json!("choice"),
        _ => {}
    }
    Ok((tool.name.clone(), json!({"questions": [question]})))
}

fn first<'a>(tools: &'a [Tool], names: &[&str], what: &str) -> Result<&'a Tool, String> {
    let found = names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name));
    found.ok_or_else(|| {
        let offered: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        format!("no {what} tool among: {}", offered.join(", "))
    })
}

fn fill(arguments: &mut Map<String, Value>, properties: &Value, (key, value): (&str, Value)) {
    if properties[key].is_object() {
        arguments.insert(key.into(), value);
    }
}

/// Some value that `schema` allows, for an argument that is required but does not matter here.
fn anything(schema: &Value) -> Value {
    if let Some(value) = schema["enum"].get(0) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(60),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("scripted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, properties: Value, required: Value) -> Tool {
        let schema = json!({"properties": properties, "required": required});
        Tool { name: name.into(), schema }
    }

    #[test]
    fn arguments_follow_the_schema() {
        let text = json!({"type": "string"});
        let bash = tool("Bash", json!({"command": text, "description": text}), json!(["command"]));
        let codex = tool(
            "exec_command",
            json!({"cmd": text, "sandbox_permissions": text, "justification": text}),
            json!(["cmd"]),
        );
        let list = tool("shell", json!({"command": {"type": "array"}}), json!(["command"]));
        let strict = tool(
            "bash",
            json!({"command": text, "mode": {"enum": ["sync", "async"]}, "wait": {"type": "integer"}}),
            json!(["command", "mode", "wait"]),
        );
        let cases = [
            (bash, json!({"command": "ls", "description": "scripted command"})),
            (
                codex,
                json!({"cmd": "ls", "sandbox_permissions": "require_escalated",
                       "justification": "the script asks for it"}),
            ),
            (list, json!({"command": ["bash", "-lc", "ls"]})),
            (strict, json!({"command": "ls", "mode": "sync", "wait": 60})),
        ];
        for (tool, arguments) in cases {
            let name = tool.name.clone();
            assert_eq!(shell(&[tool], "ls", Reach::Escalated), Ok((name, arguments)));
        }
    }

    #[test]
    fn a_missing_tool_is_named() {
        let tools = [tool("read", json!({}), json!([]))];
        let why = Err("no shell tool among: read".to_owned());
        assert_eq!(shell(&tools, "ls", Reach::Usual), why);
    }
}
