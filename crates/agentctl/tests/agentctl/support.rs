//! What the tests with real agents have in common: a sandbox, and what `agentctl` says of it.
//!
//! Every look compares the faces with each other: `list` and `status` must agree on every session,
//! and the portable kernel may know less, but never call a live session ended.

use std::fs;
use std::time::Duration;

use agentctl_testkit::sandbox::{Answer, Sandbox, Started};
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::home::Stream;

/// How long an agent may take for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);

/// A sandbox with `agentctl` in it.
pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { sandbox: Sandbox::new(env!("CARGO_BIN_EXE_agentctl")) }
    }

    /// What `agentctl list` says with these arguments, of this sandbox only: agents of other tests
    /// that run at the same time belong to the same user and are listed too.
    pub(crate) fn list(&self, args: &[&str]) -> Vec<Value> {
        let args = [&["list", "--json", "--timeout", "none"], args].concat();
        self.own(&self.sandbox.agentctl(&args))
    }

    /// The same through portable calls only.
    fn list_portable(&self) -> Vec<Value> {
        let portable = [("AGENTCTL_PORTABLE", "true")];
        self.own(&self.sandbox.agentctl_with(&portable, &["list", "--all", "--json"]))
    }

    fn own(&self, answer: &Answer) -> Vec<Value> {
        let all = answer.json();
        let root = self.sandbox.root().to_string_lossy().into_owned();
        let own = |field: &str| -> Vec<Value> {
            let all = all[field].as_array().expect("it is a list").iter();
            all.filter(|one| one.to_string().contains(&root)).cloned().collect()
        };
        let problems = own("problems");
        assert!(problems.is_empty(), "`{}` has problems: {problems:#?}", answer.call);
        own("sessions")
    }

    /// A watcher of events that watches by now.
    pub(crate) fn watch(&self) -> Stream {
        let once = self.sandbox.agentctl(&["events", "--once", "--json"]);
        let last = once.stdout.lines().last().expect("a cursor");
        let last: Value = serde_json::from_str(last).expect("JSON");
        let cursor = last["cursor"].as_str().expect("a cursor");
        let mut command = self.sandbox.command(self.sandbox.program());
        let mut stream = Stream::of(command.args(["events", "--json", "--since", cursor]));
        assert_eq!(stream.next()["type"], "gap");
        stream
    }

    /// What `status`, `explain` or another command on one session says.
    pub(crate) fn one(&self, command: &str, name: &str) -> Option<Value> {
        let answer = self.sandbox.agentctl(&[command, name, "--json"]);
        matches!(answer.code, Some(0 | 8)).then(|| answer.json()["session"].clone())
    }

    /// Every session, after `list` and `status` were seen to agree on each.
    pub(crate) fn agreed(&self) -> Vec<Value> {
        self.sandbox.wait_for("moment at which nothing changes", LIMIT, || {
            let before = self.list(&["--all"]);
            let one = |session: &Value| self.one("status", &name(session)).map(without_usage);
            let alone: Option<Vec<Value>> = before.iter().map(one).collect();
            let live = self.list(&[]);
            if !same(&json!(self.list(&["--all"])), &json!(before)) {
                return None;
            }
            let (alone, all) = (json!(alone), json!(before));
            assert!(same(&alone, &all), "`status` says {alone:#}\n`list` says {all:#}");
            let open = |session: &&Value| session["live"] == true || session["state"] == "unknown";
            let open: Vec<&Value> = before.iter().filter(open).collect();
            assert!(
                same(&json!(live), &json!(open)),
                "`list` shows {:#}, not {:#}",
                json!(live),
                json!(open)
            );
            self.portable_agrees(&before);
            Some(before)
        })
    }

    /// Without locks and exact start times less can be told, but nothing wrong may be said: a live
    /// session is alive there too, or unknown, or at least its process is listed without a name.
    fn portable_agrees(&self, native: &[Value]) {
        let portable = self.list_portable();
        for session in native.iter().filter(|session| session["live"] == true) {
            let named = portable.iter().filter(|row| row["id"] == session["id"]);
            let unnamed = portable.iter().filter(|row| row["id"].is_null());
            let named: Vec<&Value> = named.filter(|row| !row["id"].is_null()).collect();
            let unnamed = unnamed.filter(|row| row["pid"] == session["pid"]);
            // A process and the only session that it can have are one row.
            let joined = format!("may be held by pid {}", session["pid"]);
            let fits = match named.as_slice() {
                [] => unnamed.count() == 1 || portable.iter().any(|row| row["reason"] == joined),
                [one] => one["live"] == true || one["state"] == "unknown",
                _ => false,
            };
            let still = || self.list(&["--all"]).iter().any(|now| same(now, session));
            assert!(fits || !still(), "{session:#} is portably {:#}", json!(portable));
        }
    }

    /// Waits until the session looks as expected, field by field; on the way it may only be absent,
    /// without a name, or in one of these states. What is written at this moment is never told: neither to a transcript nor,
    /// a moment before the first line of one, to what names its process.
    pub(crate) fn becomes(&self, id: &str, through: &[&str], expected: &Value) -> Value {
        let what = format!("session {id} with {expected:#}");
        let mut seen = false;
        self.sandbox.wait_for(&what, LIMIT, || {
            let all = self.list(&["--all"]);
            let found: Vec<&Value> = all.iter().filter(|one| one["id"] == id).collect();
            assert!(found.len() < 2, "listed twice: {:#}", json!(all));
            let state = found.first()?["state"].as_str().expect("a session has a state");
            let fits = fits(found[0], expected);
            let reason = found[0]["reason"].as_str().unwrap_or_default();
            let unnamed = found[0]["agent"] == "claude-code" && !seen;
            let late = reason == "written to while processes were read"
                || (unnamed && reason.starts_with("may be held by pid "));
            seen |= !late;
            assert!(
                fits || late || through.contains(&state),
                "wanted {expected:#}, not {:#}",
                found[0]
            );
            fits.then_some(())
        });
        let agreed = self.agreed();
        let found = agreed.into_iter().find(|one| one["id"] == id).expect("it was just there");
        assert!(fits(&found, expected), "wanted {expected:#}, not {found:#}");
        found
    }

    /// Waits until the model was asked for this line of a script.
    pub(crate) fn asked(&self, directive: &str) {
        let is_it = |asked: Option<&str>| asked.is_some_and(|asked| asked.starts_with(directive));
        let asked = self.sandbox.model().wait_for(
            |requests| requests.iter().any(|request| is_it(request.directive.as_deref())),
            LIMIT,
        );
        assert!(asked, "the model was not asked for `{directive}`\n{}", self.sandbox.scene());
    }

    /// Runs every check of `explain`, all of which must hold as long as it explains the same, and
    /// returns those of a live process.
    pub(crate) fn proved(&self, id: &str) -> Vec<String> {
        self.sandbox.wait_for("moment at which nothing changes", LIMIT, || {
            let session = self.one("explain", id).expect("the session is there");
            let because = session["because"].as_array().expect("facts are a list");
            assert!(!because.is_empty(), "{session:#} follows from nothing");
            let check = |fact: &Value| fact["check"].as_str().map(str::to_owned);
            let failed = |fact: &&Value| !check(fact).is_some_and(|check| self.holds(&check));
            let failed: Vec<&Value> = because.iter().filter(failed).collect();
            if !self.one("explain", id).is_some_and(|later| same(&later, &session)) {
                return None;
            }
            assert!(failed.is_empty(), "these checks fail: {:#}", json!(failed));
            let alive = because.iter().filter(|fact| fact["source"]["kind"] == "alive");
            Some(alive.filter_map(check).collect())
        })
    }

    /// Whether a check's command exits 0.
    pub(crate) fn holds(&self, check: &str) -> bool {
        let output = self.sandbox.command("sh").args(["-c", check]).output();
        output.expect("there is a shell").status.success()
    }

    /// Follows the messages of a session.
    pub(crate) fn follow(&self, id: &str) -> Follow {
        let agentctl = self.sandbox.program().to_string_lossy();
        Follow { program: self.sandbox.run(&[&agentctl, "logs", "-f", "--json", id]).spawn() }
    }

    /// What `agentctl launch` answers with these arguments.
    pub(crate) fn launch(&self, args: &[&str]) -> Value {
        let answer = self.sandbox.agentctl(&[&["launch", "--json"], args].concat());
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.json()
    }

    /// What `agentctl send` answers, once the agent shows the message.
    pub(crate) fn send(&self, id: &str, text: &str) -> Value {
        let answer = self.sandbox.agentctl(&["send", id, text, "--json", "--timeout", "30s"]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        let check = answer.json()["proof"]["check"].as_str().map(str::to_owned);
        assert!(check.is_some_and(|check| self.holds(&check)), "{answer:?}");
        answer.json()
    }

    /// The parent of a process.
    pub(crate) fn parent(&self, pid: u32) -> u32 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("it has one");
        line.trim().parse().expect("a number")
    }

    /// The tokens that `status` shows.
    pub(crate) fn tokens(&self, id: &str) -> Value {
        self.one("status", id).expect("the session is there")["tokens"].clone()
    }
}

/// A running `agentctl logs -f`.
pub(crate) struct Follow {
    pub(crate) program: Started,
}

impl Follow {
    /// Who has spoken so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        let speaker = |line: &str| {
            let message: Value = serde_json::from_str(line).expect("a line is a message");
            message["speaker"].as_str().expect("somebody speaks").to_owned()
        };
        // The last line may not be whole yet.
        self.program
            .stdout()
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(speaker)
            .collect()
    }
}

/// What to call a session on the command line.
fn name(session: &Value) -> String {
    match session["id"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("pid:{}", session["pid"]),
    }
}

/// `list` shows these only when asked for them, the origin of a Claude Code session among them: it takes
/// a look into all its neighbours.
fn without_usage(mut session: Value) -> Value {
    let claude = session["agent"] == "claude-code";
    let fields = session.as_object_mut().expect("a session is an object");
    fields.retain(|name, _| !(claude && name == "forked_from"));
    fields.remove("tokens");
    fields.remove("cost_usd");
    if let Some(budget) = fields.get_mut("budget").and_then(Value::as_object_mut) {
        budget.remove("used");
    }
    session
}

/// Equal, but for the start of a process: the kernel counts it from the boot, and each look works
/// out anew when that was.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let field = |(key, value)| other.get(key).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(field)
        }
        (Value::String(one), Value::String(other)) => one == other || same_moment(one, other),
        _ => one == other,
    }
}

/// Starts are counted from the boot and shown to the second: two looks may round them differently.
fn same_moment(one: &str, other: &str) -> bool {
    let (Ok(one), Ok(other)) = (one.parse::<Timestamp>(), other.parse::<Timestamp>()) else {
        return false;
    };
    one.duration_since(other).abs() <= SignedDuration::from_secs(1)
}

/// Every field that is expected is there and equal; `null` means absent.
pub(crate) fn fits(session: &Value, expected: &Value) -> bool {
    let expected = expected.as_object().expect("fields are expected");
    expected.iter().all(|(field, value)| session[field] == *value)
}

/// Asserts that the session's process runs the agent's own executable from the pinned install.
pub(crate) fn is_real(session: &Value, file: &str) -> u32 {
    let pid = session["pid"].as_u64().unwrap_or_else(|| panic!("{session:#} has no pid"));
    let exe = fs::read_link(format!("/proc/{pid}/exe")).expect("its process is alive");
    assert!(exe.ends_with(file), "{} is not {file}", exe.display());
    u32::try_from(pid).expect("pids are small")
}

/// A fresh UUID.
pub(crate) fn uuid() -> String {
    let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").expect("Linux makes UUIDs");
    uuid.trim().to_owned()
}

/// The fields of a session whose process lives.
pub(crate) fn alive(state: &str, kind: &str) -> Value {
    let status = if state == "idle" { "idle" } else { "running" };
    json!({"state": state, "status": status, "live": true, "kind": kind, "outcome": null})
}

/// The fields of a session that has ended.
pub(crate) fn ended(state: &str, outcome: &str) -> Value {
    let status = if matches!(state, "done" | "stopped") { "stopped" } else { "error" };
    json!({"state": state, "status": status, "live": false, "outcome": outcome, "pid": null})
}

/// Sends a signal to a process that a session names, and that was just seen to be the agent's.
pub(crate) fn signal(signal: Signal, pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process has a pid");
    let sent = kill_process(pid, signal);
    assert!(sent.is_ok(), "cannot send {signal:?} to {pid:?}: {sent:?}");
}
