//! What a line of each agent's transcript says to people.

use agentctl_core::{
    agent::{Agent, Message, Speaker, Speaker::*},
    agents,
};
use serde_json::{Value, json};

fn agent(name: &str) -> &'static dyn Agent {
    agents::named(name).expect("an agent")
}

/// Who speaks in a line, with what tool, and whether it failed; all at the time of the line.
fn said(name: &str, mut line: Value) -> Vec<(Speaker, Option<String>, bool, String)> {
    let at = "2026-01-02T03:04:05Z";
    line["timestamp"] = at.into();
    let messages = agent(name).messages(line.to_string().as_bytes());
    let told = |one: Message| {
        assert_eq!(one.at, at.parse().ok());
        (one.speaker, one.tool, one.failed, one.text)
    };
    messages.into_iter().map(told).collect()
}

fn plain(speaker: Speaker, text: &str) -> (Speaker, Option<String>, bool, String) {
    (speaker, None, false, text.to_owned())
}

fn failed(speaker: Speaker, text: &str) -> (Speaker, Option<String>, bool, String) {
    (speaker, None, true, text.to_owned())
}

fn call(tool: &str, text: &str) -> (Speaker, Option<String>, bool, String) {
    (Call, Some(tool.to_owned()), false, text.to_owned())
}

#[test]
fn claude_code_s_prompts_answers_and_tools_are_told() {
    let line = |kind: &str, content: Value| json!({"type": kind, "message": {"content": content}});
    let said = |line| said("claude", line);
    assert_eq!(said(line("user", json!("hello"))), [plain(User, "hello")]);
    let stopped = "[Request interrupted by user]";
    assert_eq!(said(line("user", json!(stopped))), [plain(System, stopped)]);
    assert_eq!(said(line("user", json!("<command-name>/x</command-name>"))), []);
    let result = |error| {
        json!([{"type": "tool_result", "content": "ok", "is_error": error},
        {"type": "image"}])
    };
    assert_eq!(said(line("user", result(false))), [plain(Result, "ok")]);
    assert_eq!(said(line("user", result(true))), [failed(Result, "ok")]);
    let blocks = json!([
        {"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": ""},
        {"type": "text", "text": "done"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls", "x": 1}},
        {"type": "tool_use", "name": "Other", "input": {"x": 1}}, {"type": "new"},
    ]);
    let all = [
        plain(Thinking, "hm"),
        plain(Assistant, "done"),
        call("Bash", "ls"),
        call("Other", "{\"x\":1}"),
    ];
    assert_eq!(said(line("assistant", blocks)), all);
    let mut error = line("assistant", json!([{"type": "text", "text": "overloaded"}]));
    error["isApiErrorMessage"] = true.into();
    assert_eq!(said(error), [failed(System, "overloaded")]);
    let mut meta = line("user", json!("hello"));
    meta["isMeta"] = true.into();
    assert_eq!(said(meta), []);
    let limit = json!({"type": "attachment", "attachment": {"type": "max_turns_reached"}});
    assert_eq!(said(limit), [failed(System, "turn limit reached")]);
    assert_eq!(said(json!({"type": "attachment", "attachment": {"type": "file"}})), []);
    let compacted = json!({"type": "system", "subtype": "compact_boundary"});
    assert_eq!(said(compacted), [plain(System, "conversation compacted")]);
    assert_eq!(said(json!({"type": "system", "subtype": "local_command"})), []);
    assert_eq!(said(json!({"type": "summary"})), []);
}

/// 2.1.197 writes a message down as it joins the queue, as its turn begins, or between two steps.
#[test]
fn a_message_has_come_to_claude_code_wherever_it_wrote_it_down() {
    let says = |line: Value| agent("claude").says(line.to_string().as_bytes(), " go on ");
    assert!(says(json!({"type": "user", "message": {"content": "go on\n"}})));
    assert!(says(json!({"type": "queue-operation", "content": "go on"})));
    assert!(says(json!({"type": "attachment", "attachment": {"prompt": "go on"}})));
    assert!(!says(json!({"type": "user", "message": {"content": "stop"}})));
    assert!(!says(json!({"type": "assistant", "message": {"content": "go on"}})));
    let codex = |text: &str| {
        let line =
            json!({"type": "event_msg", "payload": {"type": "user_message", "message": text}});
        agent("codex").says(line.to_string().as_bytes(), "go on")
    };
    assert!(codex(" go on") && !codex("stop"));
}

#[test]
fn codex_s_events_and_items_are_told() {
    let event = |payload: Value| said("codex", json!({"type": "event_msg", "payload": payload}));
    let item = |payload: Value| said("codex", json!({"type": "response_item", "payload": payload}));
    assert_eq!(event(json!({"type": "user_message", "message": "hi"})), [plain(User, "hi")]);
    assert_eq!(
        event(json!({"type": "agent_message", "message": "yes"})),
        [plain(Assistant, "yes")]
    );
    assert_eq!(event(json!({"type": "agent_reasoning", "text": "hm"})), [plain(Thinking, "hm")]);
    assert_eq!(event(json!({"type": "turn_aborted"})), [plain(System, "interrupted")]);
    let error = json!({"type": "task_complete", "error": {"message": "no quota"}});
    assert_eq!(event(error), [failed(System, "no quota")]);
    assert_eq!(event(json!({"type": "task_complete"})), []);
    let completed = |kind: &str| {
        let content = json!([{"type": "text", "text": "words"}]);
        event(json!({"type": "item_completed", "item": {"type": kind, "content": content}}))
    };
    assert_eq!(completed("UserMessage"), [plain(User, "words")]);
    assert_eq!(completed("AgentMessage"), [plain(Assistant, "words")]);
    assert_eq!(completed("ContextCompaction"), [plain(System, "conversation compacted")]);
    assert_eq!(completed("CommandExecution"), []);
    let shell = |arguments: &str| {
        item(json!({"type": "function_call", "name": "shell", "arguments": arguments}))
    };
    assert_eq!(shell("{\"cmd\":\"ls\"}"), [call("shell", "ls")]);
    assert_eq!(shell("{\"command\":[\"ls\",\"-l\"]}"), [call("shell", "ls -l")]);
    assert_eq!(shell("{\"x\":1}"), [call("shell", "{\"x\":1}")]);
    let custom = json!({"type": "custom_tool_call", "name": "patch", "input": "*** Begin"});
    assert_eq!(item(custom), [call("patch", "*** Begin")]);
    let output = |output: Value| item(json!({"type": "function_call_output", "output": output}));
    assert_eq!(output(json!("ok")), [plain(Result, "ok")]);
    assert_eq!(output(json!([{"text": "a"}, {"text": "b"}])), [plain(Result, "a\nb")]);
    assert_eq!(output(json!({"content": "c"})), [plain(Result, "c")]);
    assert_eq!(output(json!({"x": 1})), [plain(Result, "{\"x\":1}")]);
    let thought = json!({"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}]});
    assert_eq!(item(thought), [plain(Thinking, "a\nb")]);
    assert_eq!(item(json!({"type": "reasoning", "summary": []})), []);
    assert_eq!(
        said("codex", json!({"type": "compacted"})),
        [plain(System, "conversation compacted")]
    );
    assert_eq!(said("codex", json!({"type": "turn_context"})), []);
}

#[test]
fn copilot_s_events_are_told_without_those_of_sub_agents() {
    let event = |kind: &str, data: Value| said("copilot", json!({"type": kind, "data": data}));
    assert_eq!(event("user.message", json!({"content": "hi"})), [plain(User, "hi")]);
    assert_eq!(event("assistant.message", json!({"content": "yes"})), [plain(Assistant, "yes")]);
    let started = |arguments: Value| {
        event("tool.execution_start", json!({"toolName": "bash", "arguments": arguments}))
    };
    assert_eq!(started(json!({"command": "ls"})), [call("bash", "ls")]);
    assert_eq!(started(json!({"x": 1})), [call("bash", "{\"x\":1}")]);
    let done = |data: Value| event("tool.execution_complete", data);
    let well = json!({"success": true, "result": {"content": "ok\n"}});
    assert_eq!(done(well), [plain(Result, "ok")]);
    let badly = json!({"success": false, "error": {"message": "no"}});
    assert_eq!(done(badly), [failed(Result, "no")]);
    assert_eq!(done(json!({"success": true})), [plain(Result, "(no text)")]);
    assert_eq!(event("abort", json!({})), [plain(System, "interrupted")]);
    assert_eq!(event("session.error", json!({"message": "no"})), [failed(System, "no")]);
    assert_eq!(event("session.warning", json!({"message": "hm"})), [plain(System, "hm")]);
    assert_eq!(event("session.start", json!({})), []);
    let other = json!({"type": "user.message", "agentId": "x", "data": {"content": "hi"}});
    assert_eq!(said("copilot", other), []);
}

#[test]
fn gemini_s_lines_are_told_once() {
    let said = |line| said("gemini", line);
    assert_eq!(said(json!({"type": "user", "content": "hi"})), [plain(User, "hi")]);
    assert_eq!(said(json!({"type": "user", "content": ""})), []);
    let thoughts = json!([{"description": "hm"}]);
    let answer = json!({"type": "gemini", "model": "m", "content": "yes", "thoughts": thoughts});
    assert_eq!(said(answer), [plain(Thinking, "hm"), plain(Assistant, "yes")]);
    assert_eq!(said(json!({"type": "gemini", "content": "history"})), []);
    let tool = |status: &str, args: Value, response: Value| {
        let result = json!([{"functionResponse": {"response": response}}]);
        let one = json!({"name": "shell", "args": args, "status": status, "result": result});
        said(json!({"type": "gemini", "model": "m", "content": "x", "toolCalls": [one]}))
    };
    let well = tool("success", json!({"command": "ls"}), json!({"output": "ok"}));
    assert_eq!(well, [call("shell", "ls"), plain(Result, "ok")]);
    let badly = tool("error", json!({"x": 1}), json!({"error": "no"}));
    assert_eq!(badly, [call("shell", "{\"x\":1}"), failed(Result, "no")]);
    let silent = tool("success", json!({"command": "ls"}), json!({}));
    assert_eq!(silent[1], plain(Result, "(no text)"));
    assert_eq!(said(json!({"type": "error", "content": "no"})), [failed(System, "no")]);
    assert_eq!(said(json!({"type": "info", "content": "hm"})), [plain(System, "hm")]);
    assert_eq!(said(json!({"type": "warning", "content": "hm"})), [plain(System, "hm")]);
    assert_eq!(
        said(json!({"type": "info", "content": "Request cancelled."})),
        [plain(System, "interrupted")]
    );
}

#[test]
fn pi_s_entries_are_told_with_how_an_answer_ended() {
    let message = |message: Value| said("pi", json!({"type": "message", "message": message}));
    assert_eq!(message(json!({"role": "user", "content": "hi"})), [plain(User, "hi")]);
    assert_eq!(message(json!({"role": "user", "content": []})), [plain(User, "(no text)")]);
    let parts = json!([
        {"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": ""},
        {"type": "text", "text": "yes"}, {"type": "text", "text": ""},
        {"type": "toolCall", "name": "bash", "arguments": {"command": "ls"}},
        {"type": "toolCall", "name": "other", "arguments": {"x": 1}},
    ]);
    let all = [
        plain(Thinking, "hm"),
        plain(Assistant, "yes"),
        call("bash", "ls"),
        call("other", "{\"x\":1}"),
    ];
    assert_eq!(message(json!({"role": "assistant", "content": parts})), all);
    let ended = |reason: &str, why: Option<&str>| {
        let one = json!({"role": "assistant", "content": [], "stopReason": reason,
            "errorMessage": why});
        message(one)
    };
    assert_eq!(ended("stop", None), []);
    assert_eq!(ended("aborted", None), [plain(System, "interrupted")]);
    assert_eq!(ended("error", Some("no quota")), [failed(System, "no quota")]);
    assert_eq!(ended("length", None), [failed(System, "cut at the length limit")]);
    let result = |error: bool| {
        let content = json!([{"type": "text", "text": "ok"}]);
        message(json!({"role": "toolResult", "toolName": "bash", "isError": error,
            "content": content}))
    };
    let tool = |failed| (Result, Some("bash".to_owned()), failed, "ok".to_owned());
    assert_eq!((result(false), result(true)), (vec![tool(false)], vec![tool(true)]));
    let shell = json!({"role": "bashExecution", "command": "ls", "output": "ok"});
    assert_eq!(message(shell), [plain(User, "!ls"), plain(Result, "ok")]);
    assert_eq!(
        said("pi", json!({"type": "compaction"})),
        [plain(System, "conversation compacted")]
    );
    let branch = json!({"type": "branch_summary"});
    assert_eq!(said("pi", branch), [plain(System, "another branch was summarised")]);
    assert_eq!(said("pi", json!({"type": "session"})), []);
}

/// What `doctor` compares with what is known.
#[test]
fn a_line_has_a_type_and_fields() {
    let shape = |name: &str, line: Value| agent(name).shape(line.to_string().as_bytes());
    let found = shape("claude", json!({"type": "user", "uuid": "x"})).expect("a line");
    assert_eq!((found.kind.as_str(), found.fields.join(" ")), ("user", "type uuid".to_owned()));
    assert_eq!(shape("claude", json!({"uuid": "x"})), None);
    let strange = |line: Value| {
        let shape = shape("claude", line).expect("a line");
        agent("claude").card().strange(&shape)
    };
    assert_eq!(agent("claude").card().strange(&found), [""; 0]);
    assert_eq!(
        strange(json!({"type": "user", "uuid": "x", "mood": 1})),
        ["field `mood` of `user`"]
    );
    assert_eq!(strange(json!({"type": "dream", "uuid": "x"})), ["line type `dream`"]);
}
