//! Hooks that take too long, or leave something running.

use super::{Hall, id};
use crate::kills::until;
use std::{fs, time::Instant};

impl Hall {
    fn limited(limit: &str) -> Self {
        let hall = Self::new();
        let config = format!("[hooks]\ntimeout = '{limit}'\n");
        hall.agents.home.write(".config/agentctl/config.toml", config);
        hall.agents.own();
        hall
    }

    fn lives(&self, file: &str) -> bool {
        let pid = self.lines(file, 1).remove(0);
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    }
}

/// Whoever heeds no signal is killed, with all of its group.
#[test]
fn a_hook_whose_time_is_over_is_ended_with_all_that_it_started() {
    let hall = Hall::limited("300ms");
    let hook = "PATH=/usr/bin:/bin; trap '' TERM; sleep 1000 & echo $! > $HOME/child; \
                echo $$ > $HOME/hook; wait; sleep 1000";
    let session = hall.launch(&["--on-complete", hook]);
    hall.end(0);
    hall.becomes(&id(&session), "timed_out");
    for one in ["hook", "child"] {
        until(&format!("end of {one}"), || (!hall.lives(one)).then_some(()));
    }
    let shown = hall.run(&["status", &id(&session)]).stdout;
    assert!(shown.contains("on-complete: timed out, and was ended\n"), "{shown}");
    assert_eq!(hall.session(&id(&session))["state"], "done");
}

#[test]
fn an_on_create_whose_time_is_over_is_a_problem() {
    let hall = Hall::limited("200ms");
    let answer = hall.try_launch(&["--on-create", "PATH=/usr/bin:/bin; sleep 1000"]);
    assert_eq!(answer.code, Some(8), "{answer:#?}");
    assert_eq!(answer.json()["session"]["hooks"][0]["outcome"], "timed_out", "{answer:#?}");
}

/// What a hook puts into the background goes on, holds up nobody, and is nobody's leftover.
#[test]
fn a_hook_may_leave_something_running() {
    let hall = Hall::new();
    let hook = "PATH=/usr/bin:/bin; sleep 1000 & echo $! > $HOME/child";
    let began = Instant::now();
    let session = hall.launch(&["--on-create", hook]);
    assert!(began.elapsed().as_secs() < 60, "it held up the launch");
    assert!(hall.lives("child"));
    fs::remove_file(hall.path("child")).expect("our file");
    hall.end(0);
    until("end of the agent", || (hall.session(&id(&session))["live"] == false).then_some(()));
    let again = hall.launch(&["--on-complete", hook]);
    hall.becomes(&id(&again), "succeeded");
    assert!(hall.lives("child"));
    until("end of the shim", || {
        let shims = hall.agents.alive().into_iter().filter(|pid| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.contains("__shim")
        });
        (shims.count() == 0).then_some(())
    });
    let list = hall.run(&["list", "--json"]).json();
    assert!(list["orphans"].is_null(), "{list:#}");
}
