//! Receipts of hooks, or of their launch, that somebody destroyed: named, and never taken for a hook that was not run.

use super::{Hall, id};
use crate::home::receipts::LAUNCHES;
use std::{fs, path::PathBuf};

const HOOK: &str = "echo x >> $HOME/ran";

impl Hall {
    /// A session that has ended, with its hook; its id, and the file of its launch that ends so.
    fn over(&self, kind: &str) -> (String, PathBuf) {
        self.end(0);
        let session = self.launch(&["--on-complete", HOOK]);
        self.becomes(&id(&session), "succeeded");
        let launch = session["launch_id"].as_str().expect("a launch");
        (id(&session), self.path(&format!("{LAUNCHES}/{launch}.{kind}")))
    }

    fn count(&self) -> usize {
        fs::read_to_string(self.path("ran")).unwrap_or_default().lines().count()
    }
}

#[test]
fn a_spoiled_receipt_of_a_hook_is_named_and_not_taken_for_none() {
    for text in ["", "\u{1}garbage", "{}", "{\"schema\":9}"] {
        let hall = Hall::new();
        let (id, file) = hall.over("on-complete");
        fs::write(&file, text).expect("a file");
        let name = file.to_string_lossy().into_owned();
        let hook = hall.session(&id)["hooks"][0].clone();
        assert_eq!(hook["outcome"], "unknown", "{text:?}: {hook:#}");
        assert!(hook["message"].as_str().is_some_and(|why| why.contains(&name)), "{hook:#}");
        for words in [["status", &id], ["explain", &id], ["wait", &id]] {
            let shown = hall.run(&words).stdout;
            assert!(shown.contains("on-complete: unknown whether it was run"), "{shown}");
            assert!(shown.contains(&name), "{shown}");
            let way = format!("`agentctl hook run {id} --force` runs it");
            assert!(shown.contains(&way), "{shown}");
        }
        let refused = hall.run(&["hook", "run", &id]);
        assert_eq!(refused.code, Some(5), "{refused:#?}");
        assert!(refused.stderr.contains(&format!("{name} cannot be read")), "{refused:#?}");
        assert!(refused.stderr.contains("--force"), "{refused:#?}");
        assert_eq!(hall.count(), 1, "nobody ran it again");
        let forced = hall.run(&["hook", "run", &id, "--force"]);
        assert_eq!((forced.code, hall.count()), (Some(0), 2), "{forced:#?}");
        assert_eq!(hall.session(&id)["hooks"][0]["outcome"], "succeeded");
    }
}

#[test]
fn a_spoiled_receipt_of_a_launch_is_named_where_its_hook_is_to_be_run() {
    for text in ["", "\u{1}garbage"] {
        let hall = Hall::new();
        let (id, file) = hall.over("json");
        fs::write(&file, text).expect("a file");
        let refused = hall.run(&["hook", "run", &id, "--force"]);
        assert_eq!((refused.code, hall.count()), (Some(5), 1), "{refused:#?}");
        assert!(refused.stderr.contains(&*file.to_string_lossy()), "{refused:#?}");
        assert!(refused.stderr.contains("its hooks are lost"), "{refused:#?}");
    }
}
