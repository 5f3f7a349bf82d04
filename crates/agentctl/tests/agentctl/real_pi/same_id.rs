//! Ids are unique only per directory: the same one twice is two sessions.

use serde_json::json;

use super::NEW;
use crate::support::{LIMIT, Stage, uuid};

#[test]
fn the_same_id_in_two_directories_is_two_sessions() {
    for id in [uuid(), "nightly".to_owned()] {
        let stage = Stage::new();
        let dirs = ["one", "two"].map(|name| stage.sandbox.dir(name));
        let gate = stage.sandbox.gate("answer");
        let words = ["-p", "--session-id", &id, "MOCK:text in the first"];
        let first = stage.pi(&NEW, &words).within(&dirs[0]).spawn();
        assert!(first.wait(LIMIT).success(), "{first}");
        let words = ["-p", "--session-id", &id, &gate.until()];
        let second = stage.pi(&NEW, &words).within(&dirs[1]).spawn();
        stage.asked("until");
        stage.sandbox.wait_for("second session", LIMIT, || {
            let all = stage.list(&["--all"]);
            let at = |dir| all.iter().find(|one| one["cwd"] == json!(dir) && one["id"] == *id);
            let (one, two) = (at(&dirs[0])?, at(&dirs[1])?);
            assert_eq!((one["state"].as_str(), all.len()), (Some("done"), 2), "{all:#?}");
            (two["state"] == "working").then_some(())
        });
        let alone = stage.sandbox.agentctl(&["status", &id]);
        assert_eq!(alone.code, Some(4), "{alone:#?}");
        let states = [(&dirs[0], "done"), (&dirs[1], "working")];
        for (dir, state) in states {
            let name = format!("{id}@{}", dir.display());
            let session = stage.one("status", &name).expect("it is there");
            assert_eq!((&session["state"], &session["cwd"]), (&json!(state), &json!(dir)));
            stage.proved(&name);
        }
        let second_one = stage.one("status", &format!("{id}@{}", dirs[1].display()));
        NEW.is_real(&second_one.expect("it is there"));
        let logs = stage.sandbox.agentctl(&["logs", &format!("{id}@{}", dirs[0].display())]);
        assert!(logs.stdout.contains("in the first"), "{logs:#?}");
        gate.open();
        assert!(second.wait(LIMIT).success(), "{second}");
    }
}
