//! Sessions in files, as OpenCode up to 1.1.65 wrote them. SYNTHETIC: a stand-in is the process, and the
//! test writes in its place.

use super::*;
use crate::support::alive;

const ID: &str = "ses_e1f7a6581ffeNmmY5hUgtB6AWD";

/// `storage/` of a home.
struct Files<'a>(&'a Stage);

impl Files<'_> {
    fn write(&self, path: &str, value: &Value) {
        let top = self.0.sandbox.home().join(".local/share/opencode/storage");
        let path = top.join(format!("{path}.json"));
        fs::create_dir_all(path.parent().expect("it is below the top")).expect("the home is ours");
        fs::write(path, value.to_string()).expect("the home is ours");
    }

    fn message(&self, id: &str, role: &str) {
        let value = json!({"id": id, "sessionID": ID, "role": role, "time": {"created": now()}});
        self.write(&format!("message/{ID}/{id}"), &value);
    }

    fn part(&self, message: &str, id: &str, text: &str) {
        let time = json!({"start": now(), "end": now()});
        let value =
            json!({"id": id, "messageID": message, "type": "text", "text": text, "time": time});
        self.write(&format!("part/{message}/{id}"), &value);
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[test]
fn a_session_in_files_is_followed() {
    let stage = Stage::new();
    let program = stage.sandbox.dir("bin").join("opencode");
    fs::copy("/bin/sleep", &program).expect("a program");
    let work = stage.sandbox.work();
    let process = stage.sandbox.run(&[&*program.to_string_lossy(), "1000"]).within(&work).spawn();

    stage.sandbox.wait_for("process in the list", LIMIT, || {
        stage.list(&[]).iter().any(|row| row["pid"] == process.pid()).then_some(())
    });
    // What is written in the very moment of a start may be another process's: starts are told in
    // hundredths of a second, and times of files in less.
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid())).expect("it is alive");
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
    let start: f64 = start.and_then(|start| start.parse().ok()).expect("a start");
    stage.sandbox.wait_for("moment behind its start", LIMIT, || {
        let told = fs::read_to_string("/proc/uptime").expect("Linux tells it");
        let uptime: f64 = told.split(' ').next()?.parse().ok()?;
        (uptime * 100.0 > start + 3.0).then_some(())
    });
    let files = Files(&stage);
    let time = json!({"created": now(), "updated": now()});
    let session = json!({"id": ID, "version": "1.1.65", "directory": work, "time": time});
    files.write(&format!("session/global/{ID}"), &session);
    files.message("msg_1", "user");
    files.part("msg_1", "prt_1", "hello");
    stage.becomes(ID, &["unknown", "working"], &alive("working", "interactive"));
    let logs = stage.follow(ID);
    stage.sandbox.wait_for("prompt in the log", LIMIT, || (logs.heard() == ["user"]).then_some(()));

    files.message("msg_2", "assistant");
    files.part("msg_2", "prt_2", "one");
    files.part("msg_2", "prt_3", "two");
    let heard = ["user", "assistant", "assistant"];
    stage.sandbox.wait_for("answer in the log", LIMIT, || (logs.heard() == heard).then_some(()));
    process.signal(rustix::process::Signal::KILL);
    process.wait(LIMIT);
    assert!(logs.program.wait(LIMIT).success(), "{}", logs.program);
    assert_eq!(logs.heard(), heard, "nothing is told twice");
}
