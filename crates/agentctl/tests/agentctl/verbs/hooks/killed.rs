//! Whoever runs a hook may be killed: it is run at most once, and what is not known is told.

use super::{Hall, id, tells};
use crate::kills::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{fs, thread};

/// A hook that says that it runs, and goes on when it is let.
const SLOW: &str = "PATH=/usr/bin:/bin; echo $$ >> $HOME/ran; \
                    until [ -e $HOME/go ]; do sleep 0.02; done";

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it is there");
    let lives = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    until("its death", || (lives().is_empty() || lives().contains(") Z ")).then_some(()));
}

impl Hall {
    /// The agent has ended, and nobody was there to see it.
    fn unseen(&self, more: &[&str]) -> String {
        let session = self.launch(more);
        kill(self.shim(&session));
        let id = id(&session);
        let refused = self.run(&["hook", "run", &id]);
        assert_eq!(refused.code, Some(5), "{refused:#?}");
        assert!(refused.stderr.contains("its agent is alive"), "{refused:#?}");
        self.end(3);
        until("end of the agent", || (self.session(&id)["live"] == false).then_some(()));
        id
    }

    fn ran(&self) -> usize {
        fs::read_to_string(self.path("ran")).unwrap_or_default().lines().count()
    }
}

#[test]
fn what_a_killed_shim_did_not_run_is_told_and_can_be_run_once() {
    let hall = Hall::new();
    let hook = format!("echo x >> $HOME/ran; {}", tells("completed"));
    let id = hall.unseen(&["--on-complete", &hook]);
    let shown = hall.run(&["status", &id]).stdout;
    assert!(shown.contains(&format!("on-complete: not run; `agentctl hook run {id}`")), "{shown}");
    assert!(hall.run(&["explain", &id]).stdout.contains("on-complete: not run"));
    let all = hall.run(&["list", "--all", "--json"]).json();
    let own = |one: &&Value| one["id"] == *id;
    let row = all["sessions"].as_array().and_then(|all| all.iter().find(own)).cloned();
    assert_eq!(row.unwrap_or_default()["hooks"][0]["outcome"], "not_run", "{all:#}");
    let done = hall.run(&["hook", "run", &id]);
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert_eq!(done.stdout, format!("{id}  on-complete: succeeded\n"));
    let told = hall.lines("completed", 10);
    assert!(told.contains(&"AGENTCTL_EXIT_CODE=".to_owned()), "nobody saw it: {told:#?}");
    assert!(told.contains(&"AGENTCTL_STATE=done".to_owned()), "{told:#?}");
    let again = hall.run(&["hook", "run", &id, "--json"]);
    assert_eq!((again.code, hall.ran()), (Some(5), 1), "{again:#?}");
    let error = again.json()["error"].clone();
    assert_eq!(error["message"], format!("cannot run on-complete of {id}: it was run before"));
    let forced = hall.run(&["hook", "run", &id, "--force", "--json"]);
    assert_eq!((forced.code, hall.ran()), (Some(0), 2), "{forced:#?}");
    assert_eq!(forced.json()["hook"]["outcome"], "succeeded");
}

/// Its record says that its turn was completed; how its process ended, nobody saw.
#[test]
fn an_end_that_nobody_saw_is_not_told_as_a_good_one() {
    let hall = Hall::new();
    let id = hall.unseen(&["--on-complete", "true"]);
    let waited = hall.run(&["wait", &id]);
    assert_eq!(waited.code, Some(8), "{waited:#?}");
    assert!(waited.stdout.starts_with(&format!("{id}  done: completed\n")), "{waited:#?}");
    assert!(waited.stderr.contains("its exit code is not known"), "{}", waited.stderr);
    let problems = hall.run(&["wait", &id, "--json"]).json()["problems"].clone();
    let file = problems[0]["path"].as_str().expect("a file");
    assert!(file.ends_with(".exit") && problems[1].is_null(), "{problems:#}");
}

/// A halted parent writes nothing down.
#[test]
fn an_exit_that_is_not_written_down_yet_is_not_told_as_a_good_one() {
    let hall = Hall::new();
    let sessions = ["a", "b"].map(|dir| {
        fs::create_dir_all(hall.agents.home.work().join(dir)).expect("a folder");
        hall.launch(&["--cwd", dir])
    });
    let shims = sessions.each_ref().map(|session| hall.shim(session));
    let signal = |signal| {
        for pid in shims {
            kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("it is there");
        }
    };
    signal(Signal::STOP);
    hall.end(3);
    let ids = sessions.each_ref().map(id);
    for id in &ids {
        until("end of the agent", || (hall.session(id)["live"] == false).then_some(()));
    }
    let words = [&["wait", "--json"], ids.each_ref().map(String::as_str).as_slice()].concat();
    let waited = hall.run(&words);
    signal(Signal::CONT);
    assert_eq!(waited.code, Some(8), "{waited:#?}");
    let problems = waited.json()["problems"].as_array().expect("problems").clone();
    let late =
        |one: &Value| one["message"].as_str().is_some_and(|it| it.contains("not written down yet"));
    assert!(problems.len() == 2 && problems.iter().all(late), "{problems:#?}");
    let told = until("exit code", || {
        let one = hall.session(&ids[0]);
        (!one["exit_code"].is_null()).then_some(one)
    });
    assert_eq!(told["exit_code"], 3);
    assert_eq!(hall.run(&["wait", &ids[0]]).code, Some(0));
}

/// Of many who try at once, one runs it.
#[test]
fn of_many_who_run_a_hook_at_once_one_does() {
    let hall = Hall::new();
    let id = hall.unseen(&["--on-complete", SLOW]);
    for force in [&[][..], &["--force"]] {
        let before = hall.ran();
        let words = [&["hook", "run", &*id], force].concat();
        let mut codes: Vec<_> = thread::scope(|scope| {
            let calls: Vec<_> = (0..6).map(|_| scope.spawn(|| hall.run(&words).code)).collect();
            hall.lines("ran", before + 1);
            until("refusal of the others", || {
                (calls.iter().filter(|call| call.is_finished()).count() == 5).then_some(())
            });
            fs::write(hall.path("go"), "").expect("a gate");
            calls.into_iter().map(|call| call.join().expect("an answer")).collect()
        });
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(5), Some(5), Some(5), Some(5), Some(5)], "{force:?}");
        assert_eq!(hall.ran(), before + 1, "{force:?}");
        fs::remove_file(hall.path("go")).expect("our gate");
    }
}

/// The shim and those who do not wait for it: one of them runs it.
#[test]
fn of_the_shim_and_others_one_runs_a_hook() {
    for round in 0..4 {
        let hall = Hall::new();
        let id = id(&hall.launch(&["--on-complete", "echo x >> $HOME/ran"]));
        let answers: Vec<_> = thread::scope(|scope| {
            let call = || (0..8).map(|_| hall.run(&["hook", "run", &id]).code).collect::<Vec<_>>();
            let calls: Vec<_> = (0..3).map(|_| scope.spawn(call)).collect();
            hall.end(0);
            calls.into_iter().flat_map(|call| call.join().expect("answers")).collect()
        });
        hall.becomes(&id, "succeeded");
        let won = answers.iter().filter(|code| **code == Some(0)).count();
        assert!(answers.iter().all(|code| matches!(code, Some(0 | 5))), "{answers:?}");
        assert!(won <= 1, "{answers:?}");
        assert_eq!(hall.ran(), 1, "round {round}: {answers:?}");
    }
}

/// The shim was killed while it ran the hook: nobody knows how that ended.
#[test]
fn a_shim_that_is_killed_in_the_hook_leaves_it_unknown() {
    let hall = Hall::new();
    let session = hall.launch(&["--on-complete", SLOW]);
    let (id, shim) = (id(&session), hall.shim(&session));
    hall.end(0);
    hall.lines("ran", 1);
    hall.becomes(&id, "running");
    let refused = hall.run(&["hook", "run", &id, "--force"]);
    assert_eq!(refused.code, Some(5), "{refused:#?}");
    assert!(refused.stderr.contains("it runs right now"), "{refused:#?}");
    kill(shim);
    hall.becomes(&id, "unknown");
    let shown = hall.run(&["status", &id]).stdout;
    assert!(shown.contains("on-complete: begun, its outcome is unknown"), "{shown}");
    assert_eq!(hall.session(&id)["state"], "done");
    assert_eq!(hall.session(&id)["exit_code"], 0);
    let refused = hall.run(&["hook", "run", &id]);
    assert_eq!((refused.code, hall.ran()), (Some(5), 1), "{refused:#?}");
    fs::write(hall.path("go"), "").expect("a gate");
    let forced = hall.run(&["hook", "run", &id, "--force"]);
    assert_eq!((forced.code, hall.ran()), (Some(0), 2), "{forced:#?}");
}

/// The hook itself was killed: that is an end like any other.
#[test]
fn a_hook_that_is_killed_has_failed() {
    let hall = Hall::new();
    let session = hall.launch(&["--on-complete", SLOW]);
    hall.end(0);
    let pid = hall.lines("ran", 1).remove(0);
    kill(pid.parse().expect("a pid"));
    let hook = hall.becomes(&id(&session), "failed");
    assert_eq!(hook["signal"], 9, "{hook:#}");
}

/// The launcher is killed while it runs on-create: the rest goes on.
#[test]
fn a_launcher_that_is_killed_in_its_hook_leaves_the_session_and_its_end() {
    let hall = Hall::new();
    let last = "echo completed >> $HOME/order";
    let words = ["launch", "-p", "hi", "--on-create", SLOW, "--on-complete", last];
    let mut call = hall.agents.home.agentctl(&words);
    let mut launcher = call.stdout(std::process::Stdio::null()).spawn().expect("it starts");
    hall.lines("ran", 1);
    launcher.kill().expect("our child");
    launcher.wait().expect("our child");
    let started = hall.lines("started", 1).remove(0);
    let hook = hall.becomes(&started, "unknown");
    assert_eq!(hook["name"], "on-create");
    hall.end(0);
    assert_eq!(hall.lines("order", 1), ["completed"]);
    fs::write(hall.path("go"), "").expect("a gate");
    let again = hall.run(&["hook", "run", &started, "--name", "on-create", "--force"]);
    assert_eq!(again.code, Some(0), "{again:#?}");
}

#[test]
fn what_has_no_hook_is_refused() {
    let hall = Hall::new();
    hall.end(0);
    let none = id(&hall.launch(&["--on-create", "true"]));
    let refused = hall.run(&["hook", "run", &none]);
    assert_eq!(refused.code, Some(5), "{refused:#?}");
    assert!(refused.stderr.contains("it was launched without one"), "{refused:#?}");
    let foreign = hall.run(&["hook", "run", crate::home::GOOD_CLAUDE]);
    assert_eq!(foreign.code, Some(5), "{foreign:#?}");
    assert!(foreign.stderr.contains("no launch of ours is known for it"), "{foreign:#?}");
    assert_eq!(hall.run(&["hook", "run", "nobody"]).code, Some(3));
}
