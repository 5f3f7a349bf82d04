//! JSON is as the schemas say, and the schemas say everything.

use crate::home::{
    Agents, GOOD_CLAUDE, GOOD_CODEX, Home,
    lines::{id, prompt, reply},
};
use serde_json::{Value, json};
use std::{cmp::Ordering, fs, os::unix::fs::symlink};

fn schema(name: &str) -> Value {
    let path = format!("{}/../../docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON")
}

/// Words of JSON Schema that [`errors`] knows, or that say nothing of what is valid.
const KNOWN: &[&str] = &[
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "title",
    "type",
];

/// Where a value is not as its schema says. Fields that the schema does not name are errors.
fn errors(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let Some(schema) = schema.as_object() else { return Vec::new() };
    if let Some(word) = schema.keys().find(|word| !KNOWN.contains(&word.as_str())) {
        return vec![format!("{at}: the schema uses `{word}`, which this test does not know")];
    }
    let mut found = Vec::new();
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(name.trim_start_matches('#')).expect("a definition");
        found.extend(errors(root, target, value, at));
    }
    if let Some(types) = schema.get("type") {
        let is = |kind: &Value| is_of(kind.as_str().unwrap_or_default(), value);
        let fits = types.as_array().map_or_else(|| is(types), |types| types.iter().any(is));
        found.extend((!fits).then(|| format!("{at}: not {types}: {value}")));
    }
    if let Some(constant) = schema.get("const").filter(|constant| *constant != value) {
        found.push(format!("{at}: not {constant}: {value}"));
    }
    for word in ["oneOf", "anyOf"] {
        let Some(ways) = schema.get(word).and_then(Value::as_array) else { continue };
        let fit = ways.iter().filter(|way| errors(root, way, value, at).is_empty()).count();
        let fits = if word == "oneOf" { fit == 1 } else { fit > 0 };
        found.extend((!fits).then(|| format!("{at}: {fit} of {word} fit: {value}")));
    }
    if let Some(items) = schema.get("items") {
        let each = value.as_array().into_iter().flatten().enumerate();
        found.extend(each.flat_map(|(n, item)| errors(root, items, item, &format!("{at}/{n}"))));
    }
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        let each = value.as_array().into_iter().flatten().zip(items).enumerate();
        let check = |(n, (item, schema))| errors(root, schema, item, &format!("{at}/{n}"));
        found.extend(each.flat_map(check));
    }
    for (word, is_off) in [("minItems", Ordering::Less), ("maxItems", Ordering::Greater)] {
        let Some((limit, items)) = schema.get(word).zip(value.as_array()) else { continue };
        let off = (items.len() as u64).cmp(&limit.as_u64().unwrap_or_default());
        found.extend((off == is_off).then(|| format!("{at}: {word} is {limit}: {value}")));
    }
    found.extend(of_fields(root, schema, value, at));
    found
}

fn of_fields(
    root: &Value,
    schema: &serde_json::Map<String, Value>,
    value: &Value,
    at: &str,
) -> Vec<String> {
    let Some(object) = value.as_object() else { return Vec::new() };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).filter(|name| !object.contains_key(*name));
    let mut found: Vec<String> = missing.map(|name| format!("{at}: no {name}")).collect();
    let fields = schema.get("properties").and_then(Value::as_object);
    let Some(fields) = fields else { return found };
    for (name, value) in object {
        let place = format!("{at}/{name}");
        match fields.get(name) {
            Some(schema) => found.extend(errors(root, schema, value, &place)),
            None => found.push(format!("{place}: not in the schema")),
        }
    }
    found
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

fn valid(home: &Home, name: &str, args: &[&str]) {
    is_valid(name, &home.run(args).json());
}

fn is_valid(name: &str, value: &Value) {
    let schema = schema(name);
    assert_eq!(errors(&schema, &schema, value, ""), [""; 0], "{name}: {value:#}");
}

/// A home with something of everything: live and dead, two holders, problems, strange lines.
fn full() -> (Home, [crate::home::StandIn; 3]) {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    home.claude(&id(2), &[prompt("Begin"), reply("Done"), json!({"type": "unheard-of"})]);
    symlink("gone", home.path(".claude/projects/dangling")).expect("a link");
    let processes = [home.stand_in(), home.stand_in(), home.stand_in()];
    home.register(&processes[0], &id(2), json!({"status": "busy", "name": "given"}));
    home.register(&processes[1], &id(2), json!({"status": "waiting"}));
    (home, processes)
}

#[test]
fn answers_are_as_their_schemas_say() {
    let (home, processes) = full();
    valid(&home, "list", &["list", "--json"]);
    valid(&home, "list", &["list", "--since", "all", "--usage", "--json"]);
    let unnamed = processes[2].name();
    for name in [&id(1), &id(2), GOOD_CLAUDE, GOOD_CODEX, &unnamed] {
        valid(&home, "status", &["status", name, "--json"]);
        valid(&home, "status", &["explain", name, "--json"]);
        valid(&home, "logs", &["logs", name, "--json"]);
        valid(&home, "logs", &["peek", name, "--json"]);
    }
    valid(&home, "doctor", &["doctor", "--json"]);
    home.write(".local/state/agentctl/intents/locks/%2flocked.json", "{");
    valid(&home, "locks", &["locks", "--json"]);
    home.write(".agentctl/state.json", "{}");
    valid(&home, "doctor", &["doctor", "--json"]);
    valid(&home, "prune", &["prune", "--legacy", "--json"]);
    valid(&home, "prune", &["prune", "--dry-run", "--json"]);
}

/// What `launch`, `send`, `locks` and `stop` answer of a session that takes messages.
#[test]
fn answers_about_a_launch_are_as_their_schemas_say() {
    let agents = Agents::new();
    let home = &agents.home;
    let launch = |more: &[&'static str]| {
        [&["launch", "claude-code", "-p", "hi", "--env", "A=b", "--json"], more].concat()
    };
    valid(home, "dry-run", &launch(&["--dry-run"]));
    valid(home, "dry-run", &launch(&["--dry-run", "--steerable", "--permission", "full"]));
    let launched = home.run(&launch(&["--steerable", "--group", "g", "--label", "a=b"])).json();
    is_valid("launch", &launched);
    let id = launched["session"]["id"].as_str().expect("an id");
    valid(home, "status", &["status", id, "--json"]);
    valid(home, "send", &["send", id, "words", "--timeout", "100ms", "--json"]);
    valid(home, "locks", &["locks", "--json"]);
    valid(home, "locks", &["lock", "/elsewhere", "--by", "ada", "--reason", "why", "--json"]);
    valid(home, "locks", &["locks", "--json"]);
    valid(home, "locks", &["unlock", "/elsewhere", "--json"]);
    for _ in 0..2 {
        valid(home, "stop", &["stop", id, "--json"]);
    }
    valid(home, "list", &["wait", id, "--json"]);
    home.write(".local/state/agentctl/stops/strange.json", "{");
    home.write(".agentctl/state.json", "{}");
    agents.own();
    valid(home, "prune", &["prune", "--json"]);
    valid(home, "prune", &["prune", "--legacy", "--yes", "--json"]);
}

/// What fuses, events and the daemon answer.
#[test]
fn answers_about_fuses_and_the_daemon_are_as_their_schemas_say() {
    let agents = Agents::new();
    let home = &agents.home;
    let cursor = home.cursor();
    valid(home, "daemon", &["daemon", "status", "--json"]);
    let set = |more: &[&str]| {
        let answer = home.run(&[&["fuse", "set", ".", "--json"], more].concat()).json();
        is_valid("fuses", &answer);
        answer["fuses"][0]["id"].as_str().expect("an id").to_owned()
    };
    let one = set(&["--ttl", "1h", "--label", "x", "--on-expire", "script", "--script", "true"]);
    let other = set(&["--ttl", "1h", "--on-expire", "stop"]);
    set(&["--ttl", "1ms", "--on-expire", "script", "--script", "exit 1"]);
    valid(home, "fuses", &["fuse", "extend", &one, "--ttl", "2h", "--json"]);
    valid(home, "fuses", &["fuse", "cancel", &other, "--json"]);
    home.write(".local/state/agentctl/intents/fuses/f-broken.json", "{");
    agents.own();
    let _daemon = home.daemon();
    valid(home, "daemon", &["daemon", "status", "--json"]);
    let all = || home.run(&["fuses", "-a", "--json"]);
    crate::home::until("a fuse that fired", || all().stdout.contains("\"fired\"").then_some(()));
    is_valid("fuses", &all().json());
    let lines = home.run(&["events", "--once", "--json", "--since", &cursor]).stdout;
    assert!(lines.lines().count() > 5, "{lines}");
    for line in lines.lines() {
        is_valid("event", &serde_json::from_str(line).expect("JSON"));
    }
}

/// What budgets, and sessions that have one, are answered with.
#[test]
fn answers_about_budgets_are_as_their_schemas_say() {
    let agents = Agents::new();
    let home = &agents.home;
    let cursor = home.cursor();
    let limits = ["--max-tokens", "9", "--max-turns", "9", "--idle-timeout", "500ms"];
    let words = [&["launch", "-p", "hi", "--json", "--on-budget", "hold"], &limits[..]].concat();
    let launched = home.run(&words).json();
    is_valid("launch", &launched);
    let id = launched["session"]["id"].as_str().expect("an id");
    valid(home, "budgets", &["budget", "list", "--json"]);
    let _daemon = home.daemon();
    let held = || home.run(&["status", id, "--json"]);
    crate::home::until("a session that is held", || {
        (held().json()["session"]["halted"] == true).then_some(())
    });
    is_valid("status", &held().json());
    valid(home, "status", &["explain", id, "--json"]);
    valid(home, "list", &["list", "--json"]);
    valid(home, "budgets", &["budget", "set", id, "--max-turns", "7", "--json"]);
    valid(home, "status", &["budget", "release", id, "--json"]);
    valid(home, "budgets", &["budget", "cancel", id, "--json"]);
    valid(home, "budgets", &["budget", "list", "-a", "--json"]);
    let filter = ["--filter", "type=budget.crossed"];
    let words = [&["events", "--once", "--json", "--since", &cursor], &filter[..]].concat();
    let lines = home.run(&words).stdout;
    assert!(lines.contains("budget.crossed"), "{lines}");
    for line in lines.lines() {
        is_valid("event", &serde_json::from_str(line).expect("JSON"));
    }
}

/// What `launch`, `hook` and `config` answer where something is run and set.
#[test]
fn answers_about_hooks_and_settings_are_as_their_schemas_say() {
    let agents = Agents::new();
    let home = &agents.home;
    let text = "trust = ['/x']\n[launch]\nmodelx = 1\nsteerable = false\nlabels.a = 'b'\n";
    home.write(".config/agentctl/config.toml", text);
    agents.own();
    valid(home, "config", &["config", "show", "--json"]);
    valid(home, "config-path", &["config", "path", "--json"]);
    let words = ["launch", "-p", "hi", "--json", "--on-create", "exit 1", "--on-complete", "true"];
    valid(home, "dry-run", &[&words[..], &["--dry-run"]].concat());
    let launched = home.run(&[&words[..], &["--callback-agent", "a"]].concat()).json();
    is_valid("launch", &launched);
    assert_eq!(launched["problems"][0]["message"], "on-create: failed: exit code 1");
    let id = launched["session"]["id"].as_str().expect("an id");
    valid(home, "status", &["status", id, "--json"]);
    valid(home, "hook", &["hook", "run", id, "--name", "on-create", "--force", "--json"]);
    home.write(".config/agentctl/config.toml", "webhook.x.secret = 'x'\nnotify.desktop = true\n");
    agents.own();
    valid(home, "webhook-list", &["webhook", "list", "--json"]);
    valid(home, "webhook-test", &["webhook", "test", "--json"]);
    valid(home, "webhook-retry", &["webhook", "retry", "--json"]);
    home.write(".config/agentctl/config.toml", "[");
    agents.own();
    valid(home, "config-path", &["config", "path", "--json"]);
}

/// What is answered about worktrees, and about what sessions changed in them.
#[test]
fn answers_about_worktrees_are_as_their_schemas_say() {
    let agents = Agents::new();
    let home = &agents.home;
    symlink("/usr/bin/git", home.path("bin/git")).expect("a link");
    agents.own();
    let git = |words: &[&str]| {
        let mut git = home.command("/usr/bin/git");
        git.args(["-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b.example"]).args(words);
        assert!(git.status().expect("git is there").success(), "{words:?}");
    };
    fs::create_dir(home.work().join("repo")).expect("a folder");
    agents.own();
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let launch =
        ["launch", "claude-code", "-p", "hi", "--json", "--worktree", "repo", "--group", "g"];
    valid(home, "dry-run", &[&launch[..], &["--dry-run"]].concat());
    let launched = home.run(&launch).json();
    is_valid("launch", &launched);
    let id = launched["session"]["id"].as_str().expect("an id");
    let tree = launched["session"]["cwd"].as_str().expect("a path");
    fs::write(format!("{tree}/new"), "words\n").expect("a file");
    git(&["worktree", "add", "-q", "--detach", "../other"]);
    git(&["worktree", "lock", "../other"]);
    valid(home, "worktree-list", &["worktree", "list", "repo", "--json"]);
    valid(home, "worktree-clean", &["worktree", "clean", tree, "./other", "x", "repo", "--json"]);
    for more in [&[][..], &["--stat"]] {
        valid(home, "diff", &[&["diff", id, "--json"], more].concat());
    }
    valid(home, "compare", &["compare", "g", "--json"]);
    valid(home, "error", &["compare", "nobody", "--json"]);
    valid(home, "error", &["launch", "--model", "--json"]);
    let several = ["launch", "-p", "hi", "--json", "--cwd", "repo", "--adapter", "pi", "--adapter"];
    let several = [&several[..], &["claude-code"]].concat();
    is_valid("launches", &home.run(&several).json());
    let several = [&several[..], &["--adapter", "claude-code", "--dry-run"]].concat();
    is_valid("dry-runs", &home.run(&several).json());
}

#[test]
fn events_are_as_their_schema_says() {
    let (home, _processes) = full();
    let told = home.run(&["events", "--once", "--since", "2026-01-01", "--json"]).stdout;
    let told: Vec<Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let kinds: Vec<&str> = told.iter().filter_map(|event| event["type"].as_str()).collect();
    for kind in ["gap", "session.started", "session.working", "session.ended", "cursor"] {
        assert!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }
    told.iter().for_each(|event| is_valid("event", event));
}

#[test]
fn the_way_to_a_session_is_as_its_schema_says() {
    let home = Home::new();
    let process = home.stand_in();
    home.register(&process, &id(1), json!({"status": "idle", "kind": "bg"}));
    valid(&home, "attach", &["attach", &id(1), "--json"]);
}

/// The check above finds what it should find.
#[test]
fn answers_that_are_not_are_found() {
    let (home, _processes) = full();
    let schema = schema("list");
    let list = home.run(&["list", "--since", "all", "--json"]).json();
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut list = list.clone();
        change(&mut list);
        errors(&schema, &schema, &list, "").len()
    };
    assert_eq!(wrong(&|_| ()), 0);
    assert_eq!(wrong(&|list| list["sessions"][0]["state"] = "asleep".into()), 1);
    assert_eq!(wrong(&|list| list["sessions"][0]["renamed"] = 1.into()), 1);
    assert_eq!(wrong(&|list| list["schema"] = "1".into()), 1);
    assert_eq!(
        wrong(&|list| drop(list["sessions"][0].as_object_mut().map(|one| one.remove("agent")))),
        1
    );
    assert_eq!(wrong(&|list| list["sessions"][0]["because"][0]["source"]["kind"] = 0.into()), 1);
}
