//! What is configured: layers, where each value comes from, what is wrong, and whom is trusted.

use crate::home::{Agents, Answer};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::PathBuf,
    process::Command,
};

const USER: &str = ".config/agentctl/config.toml";
const SYSTEM: &str = "system.toml";

impl Agents {
    /// A call with the system's file in this home.
    fn configured(&self, args: &[&str]) -> Command {
        let mut command = self.home.agentctl(args);
        command.env("AGENTCTL_SYSTEM_CONFIG", self.home.path(SYSTEM));
        command
    }

    fn ask(&self, args: &[&str]) -> Answer {
        self.home.ask(&mut self.configured(args))
    }

    /// Writes the file of the project that is worked in.
    fn project(&self, text: &str) -> PathBuf {
        let path = self.home.work().join(".agentctl.toml");
        fs::write(&path, text).expect("a file");
        self.own();
        path
    }

    fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.home.write(below, text);
        self.own();
        path
    }

    /// What a key is set to, by which layer, and where.
    fn set(&self, key: &str) -> Value {
        let answer = self.ask(&["config", "show", "--json"]);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        let all = answer.json()["settings"].as_array().expect("a list").clone();
        all.into_iter().find(|one| one["key"] == key).unwrap_or_default()
    }

    /// How an agent would be started.
    fn dry(&self, args: &[&str]) -> Value {
        let answer = self.ask(&[&["launch", "-p", "hi", "--dry-run", "--json"], args].concat());
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()
    }
}

/// Settings that are out of reach are not absent: nothing is launched without them.
#[test]
fn a_link_that_leads_nowhere_is_told() {
    let agents = Agents::new();
    for link in [USER, ".config"] {
        let path = agents.home.path(link);
        let _ = fs::remove_dir_all(agents.home.path(".config"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        symlink("/nowhere", &path).expect("a link");
        agents.own();
        for words in [&["config", "show"][..], &["launch", "-p", "hi", "--dry-run"]] {
            let answer = agents.ask(words);
            assert_eq!(answer.code, Some(2), "{answer:#?}");
            let why = format!("{} is a link that leads nowhere", path.display());
            let told = format!("{}: cannot be read: {why}", agents.home.path(USER).display());
            assert!(answer.stderr.contains(&told), "{answer:#?}");
        }
        let shown = agents.ask(&["config", "path", "--json"]).json();
        let files = shown["files"].as_array().expect("files").clone();
        let own = files.iter().find(|file| file["path"] == json!(agents.home.path(USER)));
        assert_eq!(own.expect("it is shown")["state"], "wrong", "{shown:#}");
        fs::remove_file(path).expect("our link");
    }
}

fn has(dry: &Value, words: &[&str]) -> bool {
    let argv: Vec<&str> =
        dry["argv"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    argv.windows(words.len()).any(|window| window == words)
}

/// Each layer goes over the one before, and a flag over all.
#[test]
fn layers_go_over_each_other_in_order() {
    let agents = Agents::new();
    let model = |layer: &str, path: Option<PathBuf>, line: Option<u32>| {
        let mut value = json!({"key": "launch.model", "value": layer, "layer": layer});
        let fields = value.as_object_mut().expect("fields");
        fields.extend(path.map(|path| ("path".to_owned(), json!(path))));
        fields.extend(line.map(|line| ("line".to_owned(), json!(line))));
        value
    };
    assert_eq!(agents.set("launch.model"), Value::Null);
    assert_eq!(agents.set("launch.agent")["layer"], "default");
    let system = agents.write(SYSTEM, "\nlaunch.model = 'system'\n");
    assert_eq!(agents.set("launch.model"), model("system", Some(system), Some(2)));
    let user = agents.write(USER, "[launch]\n# words\nmodel = 'user'\n");
    assert_eq!(agents.set("launch.model"), model("user", Some(user.clone()), Some(3)));
    let project = agents.project("[launch]\nmodel = 'project'\n");
    assert_eq!(agents.set("launch.model"), model("project", Some(project), Some(2)));
    assert!(has(&agents.dry(&[]), &["--model", "project"]));
    let mut call = agents.configured(&["config", "show", "--origin"]);
    let shown = agents.home.ask(call.env("AGENTCTL_LAUNCH_MODEL", "environment")).stdout;
    let line = shown.lines().find(|line| line.starts_with("launch.model"));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let expected =
        ["launch.model", "=", "\"environment\"", "#", "environment:", "AGENTCTL_LAUNCH_MODEL"];
    assert_eq!(words, expected, "{shown}");
    assert!(has(&agents.dry(&["--model", "flag"]), &["--model", "flag"]));
    // What hooks are told is no order.
    let told = agents.home.ask(agents.configured(&["config", "show"]).env("AGENTCTL_MODEL", "x"));
    assert!(told.stdout.contains("launch.model = \"project\"\n"), "{told:#?}");
}

#[test]
fn tables_are_joined_name_by_name_and_flags_add_to_them() {
    let agents = Agents::new();
    agents.write(USER, "[launch.labels]\na = 'user'\nb = 'user'\n[launch.env]\nX = '1'\nY = '2'\n");
    agents.project("launch.labels.b = 'project'\n");
    let shown = agents.ask(&["config", "show"]).stdout;
    assert!(
        shown.contains("launch.labels.a = \"user\"\nlaunch.labels.b = \"project\"\n"),
        "{shown}"
    );
    let dry = agents.dry(&["--env", "Y=3"]);
    let env: Vec<&Value> = dry["env"].as_array().expect("pairs").iter().rev().take(2).collect();
    assert_eq!(env, [&json!(["Y", "***"]), &json!(["X", "***"])]);
    let launched = agents.ask(&["launch", "-p", "hi", "--json", "--label", "c=flag"]);
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    let labels = json!({"a": "user", "b": "project", "c": "flag"});
    assert_eq!(launched.json()["session"]["labels"], labels);
}

/// What is shown can be written into a file as it is.
#[test]
fn what_is_shown_is_a_file() {
    let agents = Agents::new();
    let text = "trust = [\"~/a \\\"b\\\"\"]\nlaunch.labels.\"odd \\u001b name\" = \"x\\ny\"\n";
    agents.write(USER, text);
    let first = agents.ask(&["config", "show"]);
    assert_eq!(first.code, Some(0), "{first:#?}");
    agents.write(USER, &first.stdout);
    assert_eq!(agents.ask(&["config", "show"]).stdout, first.stdout);
}

#[test]
fn a_model_is_for_the_agent_that_it_was_set_with() {
    let agents = Agents::new();
    let codex = agents.home.write("bin/codex", "#!/bin/sh\n");
    fs::set_permissions(codex, Permissions::from_mode(0o755)).expect("our file");
    agents.write(USER, "[launch]\nagent = 'claude-code'\nmodel = 'opus'\npermission = 'read'\n");
    assert!(has(&agents.dry(&["claude-code"]), &["--model", "opus"]));
    assert!(!agents.dry(&["codex"]).to_string().contains("opus"));
    agents.write(USER, "[launch]\nagent = 'codex'\nmodel = 'gpt'\n");
    let dry = agents.dry(&[]);
    assert!(dry["argv"][0].as_str().is_some_and(|word| word.ends_with("/codex")), "{dry:#}");
    assert!(dry.to_string().contains("gpt"), "{dry:#}");
}

/// Whatever is wrong, it is told where, nothing is started, and nobody else is kept from working.
#[test]
fn what_is_wrong_is_told_with_its_place_and_stands_only_in_the_way_of_launches() {
    let agents = Agents::new();
    let cases: &[(&str, &[u8], &str)] = &[
        (USER, b"[launch]\ntimeout = 90\n", ":2:11: launch.timeout: it holds a duration in quotes"),
        (USER, b"[launch\n", ":1:8: "),
        (USER, b"a = 1\n\xff\n", ": 2:1: it is no text: not UTF-8"),
        (SYSTEM, b"launch.agent = 'clod'", ":1:16: launch.agent: there is no agent \"clod\""),
        (".agentctl/config.json", b"{\"timeout\": \"soon\"}", ":1:2: timeout: "),
    ];
    for (file, bytes, told) in cases {
        let path = agents.home.write(file, bytes);
        agents.own();
        for call in [&["launch", "-p", "hi"][..], &["config", "show"]] {
            let answer = agents.ask(call);
            assert_eq!(answer.code, Some(2), "{answer:#?}");
            let place = format!("error: {}{told}", path.display());
            assert!(answer.stderr.contains(&place), "{place}: {answer:#?}");
            assert!(answer.stderr.contains("hint: mend it"), "{answer:#?}");
        }
        let shown = agents.ask(&["config", "path"]);
        assert_eq!(shown.code, Some(0), "{shown:#?}");
        assert!(shown.stdout.contains(&format!("{} (wrong: ", path.display())), "{shown:#?}");
        for call in ["list", "locks", "prune", "doctor"] {
            let answer = agents.ask(&[call]);
            assert_eq!(
                (answer.code, answer.stderr.contains(file)),
                (Some(0), false),
                "{answer:#?}"
            );
        }
        fs::remove_file(path).expect("our file");
    }
    let bad = agents
        .home
        .ask(agents.configured(&["launch", "-p", "x"]).env("AGENTCTL_LAUNCH_TIMEOUT", "9"));
    assert_eq!(bad.code, Some(2), "{bad:#?}");
    assert!(bad.stderr.contains("AGENTCTL_LAUNCH_TIMEOUT: it has no unit"), "{bad:#?}");
    assert_eq!(agents.started(), 0);
}

#[test]
fn a_file_that_everybody_may_write_or_that_is_none_is_not_believed() {
    let agents = Agents::new();
    let path = agents.write(USER, "hooks.on_create = 'true'\n");
    fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("our file");
    let answer = agents.ask(&["config", "show"]);
    assert_eq!(answer.code, Some(2), "{answer:#?}");
    assert!(answer.stderr.contains("everybody may write to it; take that away"), "{answer:#?}");
    fs::remove_file(&path).expect("our file");
    fs::create_dir(&path).expect("a folder");
    agents.own();
    assert_eq!(agents.ask(&["config", "show"]).code, Some(2));
    fs::remove_dir(&path).expect("our folder");
    // Dotfiles are often links.
    symlink(agents.write("dotfiles.toml", "launch.group = 'linked'\n"), &path).expect("a link");
    assert_eq!(agents.set("launch.group")["value"], "linked");
}

#[test]
fn a_name_that_nobody_knows_is_a_warning_with_the_nearest() {
    let agents = Agents::new();
    let path = agents.write(USER, "[launch]\nmodelx = 'x'\n[fleet]\nhosts = []\n");
    let answer = agents.ask(&["launch", "-p", "hi", "--json"]);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    let path = path.display();
    let expected = format!(
        "warning: {path}:3: unknown key fleet\n\
         warning: {path}:2: unknown key launch.modelx; did you mean launch.model?\n"
    );
    assert_eq!(answer.stderr, expected);
    let shown = agents.ask(&["config", "show", "--json"]).json();
    assert_eq!(shown["problems"].as_array().map(Vec::len), Some(2), "{shown:#}");
}

/// Somebody else's repository runs nothing and allows nothing.
#[test]
fn a_project_that_nobody_trusts_runs_nothing_and_allows_nothing() {
    let agents = Agents::new();
    let mark = agents.home.path("ran");
    let hostile = format!(
        "trust = ['/']\n[launch]\nmodel = 'theirs'\nagent = 'codex'\npermission = 'full'\n\
         env = {{ LD_PRELOAD = '/x' }}\ncwd = '/'\n[hooks]\non_create = 'touch {0}'\n\
         on_complete = 'touch {0}'\ntimeout = '1h'\n",
        mark.display()
    );
    let path = agents.project(&hostile);
    let dry = agents.dry(&[]);
    assert!(has(&dry, &["--model", "theirs"]), "{dry:#}");
    assert!(!dry.to_string().contains("LD_PRELOAD") && dry["hooks"].is_null(), "{dry:#}");
    assert!(!dry.to_string().contains("dangerously"), "{dry:#}");
    let launched = agents.ask(&["launch", "-p", "hi", "--json"]);
    assert_eq!(launched.code, Some(0), "{launched:#?}");
    assert_eq!(launched.json()["session"]["agent"], "claude-code");
    assert!(!mark.exists());
    let told = &launched.stderr;
    let way = format!(
        "warning: {}:4: ignored: launch.agent, launch.permission, launch.env, hooks.on_create, \
         hooks.on_complete, hooks.timeout: you do not trust this project; to do so, write trust = \
         [\"{}\"] in {}\n",
        path.display(),
        agents.home.work().display(),
        agents.home.path(USER).display(),
    );
    assert!(told.contains(&way), "{way}: {told}");
    assert!(told.contains(":1: trust is ignored: nobody can vouch for themselves"), "{told}");
    assert!(told.contains(":7: launch.cwd is ignored: it counts for launches in"), "{told}");
    assert_eq!(told.lines().count(), 3, "{told}");
}

#[test]
fn a_project_that_is_trusted_may_set_all_but_trust() {
    let agents = Agents::new();
    agents.project("launch.permission = 'full'\n[hooks]\non_create = 'true'\n");
    let top = agents.home.root();
    for trust in [agents.home.work(), top.clone()] {
        agents.write(USER, &format!("trust = ['{}']\n", trust.display()));
        assert_eq!(agents.set("launch.permission")["layer"], "project");
        assert_eq!(agents.set("hooks.on_create")["value"], "true");
    }
    agents.write(USER, &format!("trust = ['{}/workshop']\n", top.display()));
    assert_eq!(agents.set("launch.permission")["layer"], "default");
}

/// Above what is ours, others may write: their word counts for nothing.
#[test]
fn a_file_of_another_user_above_is_ignored() {
    let agents = Agents::new();
    let Some(user) = agents.home.user() else { return };
    fs::create_dir(agents.home.work().join("mine")).expect("a folder");
    let path = agents.project("launch.model = 'theirs'\n");
    chown(&path, Some(user + 1), None).expect("our file");
    let call = ["config", "show", "--cwd", "mine"];
    let answer = agents.ask(&call);
    assert!(!answer.stdout.contains("theirs"), "{answer:#?}");
    assert!(answer.stderr.contains("it belongs to another user, and is ignored"), "{answer:#?}");
    fs::remove_file(&path).expect("our file");
    symlink("/etc/passwd", &path).expect("a link");
    agents.own();
    let answer = agents.ask(&call);
    assert_eq!(answer.code, Some(0), "{answer:#?}");
    assert!(answer.stderr.contains(".agentctl.toml: cannot be read: "), "{answer:#?}");
    assert!(!answer.stderr.contains("root:"), "{answer:#?}");
}

/// A repository may come from anybody: what is wrong with its file keeps nobody from launching there.
#[test]
fn what_is_wrong_in_a_file_that_nobody_trusts_is_ignored() {
    let agents = Agents::new();
    for text in ["launch.model = '--yolo'\n", "launch.timeout = []\n", "[launch\n"] {
        agents.project(text);
        let answer = agents.ask(&["launch", "-p", "hi", "--force"]);
        assert_eq!(answer.code, Some(0), "{text}: {answer:#?}");
        assert!(answer.stderr.contains(".agentctl.toml:1:"), "{text}: {answer:#?}");
        assert!(answer.stderr.contains("; it is ignored\n"), "{text}: {answer:#?}");
    }
    let trust = format!("trust = ['{}']\n", agents.home.work().display());
    agents.write(USER, &trust);
    assert_eq!(agents.ask(&["launch", "-p", "hi", "--force"]).code, Some(2));
}

#[test]
fn the_file_of_1_x_counts_where_there_is_no_newer_one() {
    let agents = Agents::new();
    let text = "{\n  \"adapter\": \"claude-code\",\n  \"model\": \"old\",\n  \"timeout\": 90,\n  \
                \"webhook_url\": \"https://example.org\"\n}\n";
    let path = agents.write(".agentctl/config.json", text);
    let timeout =
        json!({"key": "launch.timeout", "value": "90s", "layer": "user", "path": path, "line": 4});
    assert_eq!(agents.set("launch.timeout"), timeout);
    let launched = agents.ask(&["launch", "-p", "hi", "--json"]);
    assert_eq!((launched.code, launched.stderr.as_str()), (Some(0), ""), "{launched:#?}");
    assert!(launched.json()["session"]["deadline"].is_string());
    let url = agents.set("webhook.default.url");
    assert_eq!((&url["value"], &url["line"]), (&json!("https://example.org"), &json!(5)));
    agents.write(USER, "");
    assert_eq!(agents.set("launch.timeout"), Value::Null);
    let files = agents.ask(&["config", "path", "--json"]).json()["files"].clone();
    let state = |one: &Value| (one["layer"].clone(), one["state"].clone());
    let states: Vec<_> = files.as_array().expect("a list").iter().map(state).collect();
    let expected = [("system", "absent"), ("user", "read"), ("project", "absent")];
    assert_eq!(states, expected.map(|(layer, state)| (json!(layer), json!(state))));
}

#[test]
fn a_home_of_our_own_and_the_base_directories_say_where_the_file_is() {
    let agents = Agents::new();
    for (variable, below) in
        [("AGENTCTL_HOME", "config.toml"), ("XDG_CONFIG_HOME", "agentctl/config.toml")]
    {
        agents.write(&format!("{variable}/{below}"), "launch.group = 'there'\n");
        let mut call = agents.configured(&["config", "show"]);
        let shown = agents.home.ask(call.env(variable, agents.home.path(variable)));
        assert!(shown.stdout.contains("launch.group = \"there\"\n"), "{shown:#?}");
    }
}

/// `--wait` on a session that stays for more prompts would never end.
#[test]
fn switches_and_limits_are_heeded_and_undone() {
    let agents = Agents::new();
    agents.write(USER, "[launch]\nsteerable = true\ntimeout = '1h'\ngroup = 'g'\n");
    assert_eq!(agents.dry(&[])["input"], "the prompt, and then what is sent to it");
    assert_eq!(agents.dry(&["--wait"])["input"], "the prompt");
    let mut call = agents.configured(&["launch", "-p", "hi", "--json"]);
    call.envs([("AGENTCTL_LAUNCH_STEERABLE", "false"), ("AGENTCTL_LAUNCH_TIMEOUT", "none")]);
    let session = agents.home.ask(&mut call).json()["session"].clone();
    assert_eq!((&session["deadline"], &session["group"]), (&Value::Null, &json!("g")));
    assert_eq!(session["kind"], "headless");
}

/// The example of the documentation is one.
#[test]
fn the_example_of_the_documentation_is_understood_as_a_whole() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CONFIG.md");
    let page = fs::read_to_string(page).expect("the page");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let agents = Agents::new();
    let path = agents.write(USER, example.expect("an example"));
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("our file");
    let answer = agents.ask(&["config", "show", "--json"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{answer:#?}");
    let shown = answer.json();
    assert_eq!(shown["problems"], json!([]));
    for one in shown["settings"].as_array().expect("a list") {
        let key = one["key"].as_str().expect("a name");
        assert_eq!(one["layer"], "user", "the example does not set {key}");
        let table = ["launch.labels", "launch.env"].into_iter().find(|name| key.starts_with(name));
        let name = format!("`{}`", table.unwrap_or(key));
        assert!(page.contains(&name), "{name} is not described");
    }
}
