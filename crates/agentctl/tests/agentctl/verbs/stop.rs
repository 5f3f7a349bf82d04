//! Stops of several, of stubborn ones, and of processes that are not, or no longer, to be stopped.

use crate::home::{
    Agents, Answer, Home, PROJECT,
    lines::{id, prompt},
    other_user,
    receipts::LAUNCHES,
};
use crate::kills::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, SystemTime},
};

impl Agents {
    /// Launches one in a directory of its own, and returns its session.
    fn one(&self, dir: &str, more: &[&str]) -> String {
        fs::create_dir_all(self.home.work().join(dir)).expect("a folder");
        let words = [&["launch", "claude-code", "-p", "hi", "--json", "--cwd", dir], more].concat();
        let answer = self.home.run(&words);
        assert_eq!(answer.code, Some(0), "{answer:#?}");
        answer.json()["session"]["id"].as_str().expect("an id").to_owned()
    }

    fn live(&self) -> Vec<String> {
        let all = self.home.run(&["list", "--json"]).json()["sessions"].clone();
        let all = all.as_array().expect("a list").clone();
        all.iter().filter_map(|one| Some(one["id"].as_str()?.to_owned())).collect()
    }
}

/// The sessions of certificates, and each signal that ended one of their processes.
fn ended(answer: &Answer) -> Vec<(String, Vec<String>)> {
    let all = answer.json()["stopped"].as_array().expect("certificates are a list").clone();
    let one = |certificate: &Value| {
        assert_eq!((&certificate["already"], &certificate["asked"]), (&json!(false), &Value::Null));
        assert_eq!(certificate["session"]["live"], false, "{certificate:#}");
        let deaths = certificate["deaths"].as_array().expect("deaths are a list").iter();
        let signals = deaths.map(|death| death["signal"].as_str().expect("a signal").to_owned());
        let id = certificate["session"]["id"].as_str().expect("an id").to_owned();
        (id, signals.collect())
    };
    all.iter().map(one).collect()
}

#[test]
fn one_that_fails_does_not_keep_the_others_alive() {
    let agents = Agents::new();
    let (one, two) = (agents.one("a", &[]), agents.one("b", &[]));
    let stopped = agents.home.run(&["stop", &one, &id(9), &two, "--json"]);
    assert_eq!(stopped.code, Some(3), "{stopped:#?}");
    let refused = &stopped.json()["refused"][0];
    assert_eq!(refused["message"], format!("no session {}", id(9)), "{stopped:#?}");
    let int = vec!["SIGINT".to_owned()];
    assert_eq!(ended(&stopped), [(one.clone(), int.clone()), (two, int)]);
    assert_eq!(agents.live(), [""; 0]);
    let again = agents.home.run(&["stop", &one, "--json"]);
    assert_eq!((again.code, &again.json()["stopped"][0]["already"]), (Some(0), &json!(true)));
}

#[test]
fn a_group_is_stopped_and_then_all() {
    let agents = Agents::new();
    let group = [agents.one("a", &["--group", "g"]), agents.one("b", &["--group", "g"])];
    let other = agents.one("c", &["--group", "h"]);
    let stopped = agents.home.run(&["stop", "--all", "--group", "g", "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
    let mut ids: Vec<String> = ended(&stopped).into_iter().map(|(id, _)| id).collect();
    let mut group = group.to_vec();
    ids.sort();
    group.sort();
    assert_eq!((ids, agents.live()), (group, vec![other.clone()]));
    let stopped = agents.home.run(&["stop", "--all", "--json"]);
    assert_eq!((stopped.code, &ended(&stopped)[0].0), (Some(0), &other));
    let nobody = agents.home.run(&["stop", "--all", "--json"]);
    assert_eq!((nobody.code, nobody.json()["stopped"].clone()), (Some(0), json!([])));
}

/// Who is in a group is written in receipts alone.
#[test]
fn a_group_whose_receipt_is_lost_is_not_taken_for_empty() {
    let agents = Agents::new();
    let one = agents.one("a", &["--group", "g"]);
    let dir = agents.home.path(LAUNCHES);
    let receipts = fs::read_dir(&dir).expect("our folder").flatten().map(|entry| entry.path());
    let receipt = receipts.into_iter().find(|path| path.extension().is_some_and(|e| e == "json"));
    fs::write(receipt.expect("a receipt"), "").expect("our file");
    let stopped = agents.home.run(&["stop", "--all", "--group", "g", "--json"]);
    let answer = stopped.json();
    assert_eq!((stopped.code, answer["problems"].as_array().map(Vec::len)), (Some(8), Some(1)));
    assert_eq!(agents.live(), [one]);
    let path = answer["problems"][0]["path"].as_str().expect("a file").to_owned();
    let compared = agents.home.run(&["compare", "g"]);
    assert_eq!(compared.code, Some(8), "{compared:#?}");
    let told = ["no session of group g in what could be read", &path];
    assert!(told.iter().all(|told| compared.stderr.contains(told)), "{compared:#?}");
    assert_eq!(agents.home.run(&["compare", "h"]).code, Some(8), "it may be in the same file");
}

/// Who may be alive is named with whoever may have it, and is not told as stopped; what is printed ends it.
#[test]
fn what_may_be_alive_is_not_passed_over() {
    let home = Home::new();
    let alone = home.stand_in();
    let mut line = prompt("Begin");
    line["cwd"] = home.work().display().to_string().into();
    let path = home.claude(&id(1), &[line]);
    let later = SystemTime::now() + Duration::from_secs(60);
    let file = fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(later)).expect("a time");
    let stopped = home.run(&["stop", "--all"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(5), ""), "{stopped:#?}");
    let told = format!(
        "error: cannot stop {}: nobody can say who has it: may be held by pid {1}\n\
         hint: `agentctl stop pid:{1}` ends whoever may have it\n",
        id(1),
        alone.pid()
    );
    assert_eq!(stopped.stderr, told);
    assert!(!alone.has_ended(), "it was signalled on a suspicion");
    assert_eq!(home.run(&["stop", &alone.name()]).code, Some(0));
    assert!(alone.has_ended());
    let nobody = home.run(&["stop", "--all"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(0), ""), "{nobody:#?}");
}

/// What named no session has no record: that it ended, the kernel says.
#[test]
fn who_named_no_session_is_told_as_stopped() {
    for (more, signal) in [(vec![], "SIGTERM"), (vec!["--force"], "SIGKILL")] {
        let home = Home::new();
        let alone = home.stand_in();
        let name = alone.name();
        let stopped = home.run(&[&["stop", &*name, "--json"], more.as_slice()].concat());
        assert_eq!(stopped.code, Some(0), "{stopped:#?}");
        let one = &stopped.json()["stopped"][0];
        let told = [&one["session"]["live"], &one["session"]["state"], &one["deaths"][0]["signal"]];
        assert_eq!(told, [&json!(false), &json!("stopped"), &json!(signal)], "{one:#}");
        assert!(alone.has_ended());
        assert_eq!(one["session"]["pid"], Value::Null, "nobody has it now: {one:#}");
        let because = one["session"]["because"].as_array().expect("facts").iter();
        let rules: Vec<_> = because.map(|fact| fact["rule"].clone()).collect();
        assert_eq!(rules, ["process-gone", "stopped-by-us"], "{one:#}");
    }
    let home = Home::new();
    let alone = home.stand_in();
    let stopped = home.run(&["stop", &alone.name()]);
    assert!(stopped.stdout.starts_with(&format!("{}  stopped\n", alone.name())), "{stopped:#?}");
}

/// Where not all can be read, nobody can say what became of it; that its process ended is told.
#[test]
fn a_failed_reading_is_not_told_as_stopped() {
    let home = Home::new();
    home.write(".openclaw/agents/main/agent/openclaw-agent.sqlite", "this is no database");
    let alone = home.stand_in();
    let stopped = home.run(&["stop", &alone.name()]);
    assert!(alone.has_ended());
    assert_eq!((stopped.code, &*stopped.stdout), (Some(8), ""), "{stopped:#?}");
    let told = format!("pid {} has ended, but no session {}", alone.pid(), alone.name());
    assert!(stopped.stderr.contains(&told), "{stopped:#?}");
}

#[test]
fn who_heeds_no_signal_is_given_grace_or_none() {
    let agents = Agents::stubborn();
    let one = agents.one("a", &[]);
    let stopped = agents.home.run(&["stop", &one, "--grace", "100ms", "--json"]);
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
    assert_eq!(ended(&stopped), [(one, vec!["SIGKILL".to_owned()])]);
    let two = agents.one("b", &[]);
    let stopped = agents.home.run(&["stop", &two, "--grace", "60s", "--force", "--json"]);
    assert_eq!(ended(&stopped), [(two, vec!["SIGKILL".to_owned()])]);
}

/// By calls that every Unix has, without a pidfd.
#[test]
fn portable_signals_end_it_too() {
    for (agents, signal) in [(Agents::new(), "SIGINT"), (Agents::stubborn(), "SIGKILL")] {
        let one = agents.one("a", &[]);
        let mut stop = agents.home.agentctl(&["stop", &one, "--grace", "300ms", "--json"]);
        let stopped = agents.home.ask(stop.env("AGENTCTL_PORTABLE", "true"));
        assert_eq!(stopped.code, Some(0), "{stopped:#?}");
        assert_eq!(ended(&stopped), [(one, vec![signal.to_owned()])]);
        assert_eq!(agents.live(), [""; 0]);
    }
}

#[test]
fn another_user_s_process_is_refused() {
    let home = Home::new();
    let theirs = home.stand_in_of(other_user());
    let alone = home.stand_in_of(other_user());
    home.claude(&id(1), &[prompt("Begin")]);
    // A file of ours says that they have our session.
    home.register(&theirs, &id(1), json!({"status": "busy"}));
    for name in [&id(1), &theirs.name(), &alone.name()] {
        for portable in ["false", "true"] {
            let mut stop = home.agentctl(&["stop", name, "--force"]);
            let refused = home.ask(stop.env("AGENTCTL_PORTABLE", portable));
            assert_eq!(refused.code, Some(5), "{refused:#?}");
            let told = ["another user's process", "hint:"];
            assert!(told.iter().all(|told| refused.stderr.contains(told)), "{refused:#?}");
        }
    }
    assert!(!theirs.has_ended() && !alone.has_ended());
}

/// Stops an agent; between the look at its process and the grip on it the pid is used again by `$3`.
const SCRIPT: &str = r#"
set -e
ticks() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20; }
"$2" 1000 & old=$!
until test "$(cat /proc/$old/comm)" = claude; do :; done
began=$(ticks $old)
printf '{"pid":%s,"sessionId":"%s","procStart":"%s","startedAt":%s000,"status":"busy"}' \
    $old "$4" $began $(($(date +%s) - 5)) >"$HOME/.claude/sessions/$old.json"
strace -qq -o "$HOME/trace" -e signal=none -e trace=pidfd_open -e inject=pidfd_open:delay_enter=4000000 \
    "$1" stop "$4" --force & stop=$!
held() { test "$(tail -n 1 "$HOME/trace")" = "pidfd_open($old, 0"; } 2>/dev/null
for _ in $(seq 1000); do held && break; sleep 0.01; done
kill -KILL $old
wait $old || true
for _ in 1 2 3 4 5 6 7 8 9; do
    echo $((old - 1)) >/proc/sys/kernel/ns_last_pid
    "$3" 1000 & new=$!
    test $new = $old
    test "$(ticks $new)" = $began || break
    kill -KILL $new
    wait $new || true
done
held || echo 'too late' >&2
code=0
wait $stop || code=$?
kill -KILL $new || echo 'a stranger was ended' >&2
exit $code
"#;

#[test]
fn a_process_with_another_s_pid_is_refused() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Begin")]);
    fs::create_dir_all(home.path(".claude/sessions")).expect("a folder");
    let _ = home.stand_in_command(); // puts the program there
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "script"]);
    unshare.args([&home.program("agentctl"), &home.program("claude"), Path::new("/bin/sleep")]);
    unshare.arg(id(1)).env_clear().env("HOME", home.path("")).env("PATH", "/usr/bin:/bin");
    let answer = home.ask(unshare.current_dir(home.work()));
    assert_eq!(answer.code, Some(5), "{answer:#?}");
    let told = ["its pid was reused", "hint: run `agentctl status`"];
    assert!(told.iter().all(|told| answer.stderr.contains(told)), "{answer:#?}");
    let bad = ["too late", "a stranger"];
    assert!(!bad.iter().any(|bad| answer.stderr.contains(bad)), "{answer:#?}");
}

#[test]
fn what_a_killed_agent_left_running_ends_with_its_session() {
    for by_pid in [false, true] {
        let agents = Agents::with(&Agents::GOOD.replace("exec ", "sleep 1000 &\nexec "));
        let id = agents.one("a", &[]);
        agents.home.write(format!("{PROJECT}/{id}.jsonl"), format!("{}\n", prompt("hi")));
        agents.own();
        let pid = agents.home.run(&["status", &id, "--json"]).json()["session"]["pid"].clone();
        let pid = pid.as_i64().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("a pid");
        kill_process(pid, Signal::KILL).expect("our stand-in");
        let left = until("orphan", || {
            let list = agents.home.run(&["list", "--json"]).json();
            list["orphans"].as_array().and_then(|all| all.first()).cloned()
        });
        assert_eq!((&left["session_id"], &left["command"]), (&json!(id), &json!("sleep")));
        let name = if by_pid { format!("pid:{}", left["process"]["pid"]) } else { id };
        let stopped = agents.home.run(&["stop", &name, "--json"]);
        let death = &stopped.json()["stopped"][0]["deaths"][0];
        assert_eq!((&death["process"], &death["signal"]), (&left["process"], &json!("SIGTERM")));
        assert_eq!(agents.home.run(&["list", "--json"]).json()["orphans"], Value::Null);
    }
}
