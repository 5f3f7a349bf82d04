//! What a target hears, and what becomes of what it does not take.

use super::{
    super::{
        Notice, Post,
        message::{Words, message},
        outbox::Limits,
        post::{Step, lane},
        send::{Address, Outcome, send},
        tries::{REFUSALS, Tries},
    },
    at, ended, event, fuse, notices,
    server::{Does, Server},
    session, target,
};
use crate::config::{Format, Secret, Webhook};
use agentctl_core::{
    event::Filter,
    fuse::Target,
    wire::{Doing, EventKind, Problem, Session, Stall, StateName},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(5);

#[test]
fn the_words_of_1_x_are_kept() {
    let told = message(&ended("e1", "s1"), Words::Format(Format::Old));
    let summary: String = session("s1").prompt.expect("a prompt").chars().take(200).collect();
    let expected = json!({
        "hook_type": "session.stopped",
        "session_id": "s1",
        "cwd": "/work/a b",
        "adapter": "codex",
        "duration_seconds": 90,
        "exit_status": "error",
        "summary": summary,
        "meta": {
            "openclaw_callback_session_key": "key",
            "openclaw_callback_agent_id": "main",
            "group": "g",
        },
        "timestamp": "1970-01-01T00:18:10Z",
    });
    assert_eq!(serde_json::from_str::<Value>(&told.body).expect("JSON"), expected);
}

#[test]
fn the_new_words_are_those_of_events_without_what_lives_elsewhere() {
    let event = ended("e1", "s1");
    let told = message(&event, Words::Format(Format::Event));
    let mut expected = json!(event);
    expected.as_object_mut().and_then(|fields| fields.remove("cursor")).expect("events have one");
    assert_eq!(serde_json::from_str::<Value>(&told.body).expect("JSON"), expected);
    assert_eq!((told.kind.as_str(), told.urgent), ("session.ended", true));
}

#[test]
fn people_are_told_in_a_line_that_orders_nothing() {
    let line = message(&ended("e1", "s1"), Words::Desktop).body;
    let expected = "codex s1 ended: failed, exit 3, in /work/a b: mend <!channel> & [31m xxx";
    assert!(line.starts_with(expected), "{line:?}");
    let slack = message(&ended("e1", "s1"), Words::Format(Format::Slack)).body;
    let slack: Value = serde_json::from_str(&slack).expect("JSON");
    let text = slack["text"].as_str().expect("text");
    assert!(text.contains("mend &lt;!channel&gt; &amp; [31m"), "{text}");
}

#[test]
fn a_stall_is_told_as_one() {
    let stall = Stall { since: at(0), doing: Doing::Quiet, after: None };
    let one = Session { state: StateName::Working, ..session("s1") };
    let line = |session| message(&event(EventKind::Changed, "e1", Some(session)), Words::Desktop);
    assert!(line(one.clone()).body.starts_with("codex s1 session.changed, in /work"));
    let slow = Session { stall: Some(stall), ..one.clone() };
    let mut filter = Filter::default();
    filter.add("stalled=true").expect("a filter");
    let keeps =
        |session: &Session| filter.keeps(&event(EventKind::Changed, "e1", Some(session.clone())));
    assert!(keeps(&slow) && !keeps(&one));
    assert!(!filter.keeps(&fuse(EventKind::FuseSet, Target::Directory("/work".into()))));
    let stalled = line(slow).body;
    let expected = "codex s1 is working, stalled: quiet since 1970-01-01 00:00:00Z, in /work/a b:";
    assert!(stalled.starts_with(expected), "{stalled}");
    let halted = line(Session { halted: true, ..one }).body;
    assert!(halted.starts_with("codex s1 is working, halted, in /work"), "{halted}");
}

#[test]
fn gaps_are_for_programs_and_fuses_for_all() {
    let gap = event(EventKind::Gap, "g", None);
    let cursor = event(EventKind::Cursor, "c", None);
    let wants = |event, to_all, format| {
        target("http://127.0.0.1/", format).wants(&Notice { event, to_all })
    };
    assert!(wants(&gap, false, Format::Event) && !wants(&gap, true, Format::Old));
    assert!(!wants(&cursor, true, Format::Event));

    let mut filter = Filter::default();
    filter.add("type=session.waiting").expect("a filter");
    let (name, told, url) = ("a".to_owned(), String::new(), Secret::new("http://127.0.0.1/"));
    let webhook = Webhook { name, url, secret: None, filter, told, format: Format::Old };
    let narrow = super::Target::from(webhook);
    let of = |kind| fuse(kind, Target::Directory("/work".into()));
    assert!(narrow.wants(&Notice::of(&of(EventKind::FuseFired))));
    assert!(!narrow.wants(&Notice::of(&of(EventKind::FuseSet))));
    assert!(!narrow.wants(&Notice::of(&ended("e1", "s1"))));
}

#[test]
fn what_is_about_a_session_comes_in_its_order() {
    let about = |target| lane(&fuse(EventKind::FuseFired, target));
    let session = Target::Session { agent: "codex".to_owned(), id: "s1".to_owned() };
    assert_eq!(about(session), lane(&ended("e1", "s1")));
    assert_eq!(about(Target::Directory("/work".into())), "/work");
    assert_eq!(lane(&event(EventKind::Gap, "g", None)), "");
}

/// All that is sent, with a signature for each who checks one.
#[test]
fn a_request_is_signed_and_names_its_event() {
    let server = Server::new(&[]);
    let (url, secret) = (Secret::new(server.url()), Secret::new("s3cret-word"));
    let to = |format| Address { url: &url, secret: Some(&secret), format, patience: PATIENCE };
    let told = message(&ended("e1", "s1"), Words::Format(Format::Event));
    assert_eq!(send(&to(Format::Event), "e1", &told), Outcome::Heard(Some(200)));
    let heard = server.heard.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(heard.body, told.body);
    let header = |name: &str| heard.header(name).unwrap_or_default().to_owned();
    assert_eq!(header("X-Agentctl-Event"), "session.ended");
    assert_eq!(header("X-Agentctl-Delivery"), "e1");
    assert_eq!(header("Content-Type"), "application/json");
    let signature = header("X-Agentctl-Signature");
    assert_eq!((signature.len(), header("X-Signature")), (64, signature.clone()));
    assert_eq!(header("X-Hub-Signature-256"), format!("sha256={signature}"));
    assert!(header("X-Agentctl-Timestamp").parse::<i64>().is_ok());
    assert_eq!(header("X-Agentctl-Signature-Timestamped").len(), 64);
    assert!(!format!("{heard:?}").contains("s3cret-word"));

    let told = message(&ended("e1", "s1"), Words::Format(Format::Ntfy));
    assert_eq!(send(&to(Format::Ntfy), "e1", &told), Outcome::Heard(Some(200)));
    let heard = server.heard.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(heard.header("Title"), Some("codex session.ended"));
    assert_eq!((heard.header("Priority"), &heard.body), (Some("high"), &told.body));
}

#[test]
fn whoever_misbehaves_is_tried_later_and_named_without_secrets() {
    let cases = [
        (Does::Closes, ""),
        (Does::Slams, ""),
        (Does::Hangs, "no answer within 300ms"),
        (Does::Trickles, "no answer within 300ms"),
        (Does::Bytes("words\r\n\r\n"), "the request failed"),
        (Does::Bytes("HTTP/1.1 200"), ""),
        (Does::Says(503), "it answers 503"),
    ];
    for (does, told) in cases {
        let server = Server::new(&[does]);
        let url = Secret::new(server.url());
        let patience = match does {
            Does::Hangs | Does::Trickles => Duration::from_millis(300),
            Does::Says(_) | Does::Bytes(_) | Does::Closes | Does::Slams => PATIENCE,
        };
        let to = Address { url: &url, secret: None, format: Format::Event, patience };
        let outcome = send(&to, "e1", &message(&ended("e1", "s1"), Words::Format(Format::Event)));
        let Outcome::Later(why, None) = outcome else { panic!("{does:?}: {outcome:?}") };
        assert!(why.starts_with(told) && !why.contains("t0ken"), "{does:?}: {why}");
    }
    let nobody = Secret::new("http://127.0.0.1:9/t0ken");
    let to = Address { url: &nobody, secret: None, format: Format::Event, patience: PATIENCE };
    let outcome = send(&to, "e1", &message(&ended("e1", "s1"), Words::Format(Format::Event)));
    assert!(
        matches!(&outcome, Outcome::Later(why, None) if why.contains("refused")),
        "{outcome:?}"
    );
}

#[test]
fn no_redirection_is_followed() {
    let other = Server::new(&[]);
    let place = other.url();
    let answer = format!(
        "HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let server = Server::new(&[Does::Bytes(answer.leak())]);
    let url = Secret::new(server.url());
    let to = Address { url: &url, secret: None, format: Format::Event, patience: PATIENCE };
    let outcome = send(&to, "e1", &message(&ended("e1", "s1"), Words::Format(Format::Event)));
    assert!(matches!(&outcome, Outcome::Refused(why) if why.contains("302")), "{outcome:?}");
    assert!(server.is_through() && server.heard.try_iter().count() == 1);
    assert_eq!(other.heard.try_iter().count(), 0);
}

/// Everything below a directory, as text.
fn all_text(dir: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        text.push_str(&entry.path().to_string_lossy());
        match entry.path().is_dir() {
            true => text.push_str(&all_text(&entry.path())),
            false => {
                text.push_str(&String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()))
            }
        }
    }
    text
}

/// From the file to the server, by the loop that the daemon runs.
#[test]
fn what_is_put_in_is_told_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::new(&[Does::Says(503), Does::Says(200), Does::Closes]);
    let post = Arc::new(Post::open(folder.path(), target(&server.url(), Format::Event)));
    let events = [ended("e1", "s1"), ended("e2", "s1"), ended("e3", "s1"), ended("e1", "s1")];
    assert_eq!(post.put(&notices(&events)).expect("a disk"), []);
    let text = all_text(folder.path());
    assert!(!text.contains("s3cret-word") && !text.contains("t0ken"), "{text}");
    let over = Arc::new(AtomicBool::new(false));
    let (loops, ends) = (Arc::clone(&post), Arc::clone(&over));
    let told = thread::spawn(move || {
        let mut problems: Vec<Problem> = Vec::new();
        loops.deliver(|| ends.load(Ordering::SeqCst), |problem| problems.push(problem));
        problems
    });
    let patience = Duration::from_secs(30);
    let next = || server.heard.recv_timeout(patience).expect("a request");
    let ids: Vec<String> = (0..5)
        .map(|_| next().header("X-Agentctl-Delivery").unwrap_or_default().to_owned())
        .collect();
    assert_eq!(ids, ["e1", "e1", "e2", "e2", "e3"]);
    while !post.put(&notices(&events)).expect("a disk").is_empty() || waits(&post) {
        thread::yield_now();
    }
    over.store(true, Ordering::SeqCst);
    post.ring();
    let problems = told.join().expect("no bug");
    assert!(!problems.is_empty() && problems.iter().all(|one| one.message.contains("tried again")));
    assert!(!format!("{problems:?}").contains("t0ken"), "{problems:?}");
    assert_eq!(server.heard.try_iter().count(), 0, "it was told twice");
}

fn waits(post: &Post) -> bool {
    post.summary().waiting > 0
}

#[test]
fn what_they_refuse_is_given_up_and_can_be_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Event), Limits::USUAL);
    post.put(&notices(&[ended("bad", "s1"), ended("next", "s1"), ended("other", "s2")]))
        .expect("a disk");
    let (mut tries, mut heard, mut problems) = (Tries::default(), Vec::new(), Vec::new());
    let mut now = at(0);
    loop {
        let mut send = |id: &str, _: &_| match id {
            "bad" => Outcome::Refused("it answers 400".to_owned()),
            _ => {
                heard.push(id.to_owned());
                Outcome::Heard(Some(200))
            }
        };
        match post.step(&mut tries, now, &mut send, &mut |one| problems.push(one)).expect("a disk")
        {
            Step::On => {}
            Step::Until(Some(until)) => now = until,
            Step::Until(None) => break,
        }
    }
    assert_eq!(heard, ["other", "next"]);
    let last = problems.last().expect("a problem").message.clone();
    assert!(last.contains(&format!("event bad is given up after {REFUSALS} tries")), "{last}");
    assert_eq!((post.summary().waiting, post.summary().failed), (0, 1));
    post.put(&notices(&[ended("bad", "s1")])).expect("a disk");
    assert_eq!(post.summary().waiting, 0, "what was given up comes back by itself");
    assert_eq!(
        super::super::retry(folder.path(), vec![target("http://127.0.0.1/", Format::Event)])
            .retried,
        1
    );
    assert_eq!((post.summary().waiting, post.summary().failed), (1, 0));
}

#[test]
fn what_was_heard_and_cannot_be_written_down_is_not_sent_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = Post::with(folder.path(), target("http://127.0.0.1/", Format::Event), Limits::USUAL);
    post.put(&notices(&[ended("e1", "s1")])).expect("a disk");
    let done = folder.path().join("outbox/--url/done");
    fs::remove_dir(&done).and_then(|()| fs::write(&done, "in the way")).expect("a disk");
    let (mut tries, mut heard) = (Tries::default(), 0);
    let mut step = || {
        let mut send = |_: &str, _: &_| {
            heard += 1;
            Outcome::Heard(Some(200))
        };
        post.step(&mut tries, at(0), &mut send, &mut |_| {}).ok()
    };
    assert_eq!([step(), step()], [None, None]);
    fs::remove_file(&done).expect("a disk");
    assert_eq!([step(), step()], [Some(Step::On), Some(Step::Until(None))]);
    assert_eq!(heard, 1);
    assert_eq!(post.summary().waiting, 0);
}

#[test]
fn waits_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Post::open(folder.path(), target("http://127.0.0.1/", Format::Event));
    open().put(&notices(&[ended("e1", "s1")])).expect("a disk");
    let mut down = |_: &str, _: &_| Outcome::Later("down".to_owned(), None);
    let mut tries = Tries::default();
    let step = open().step(&mut tries, at(100), &mut down, &mut |_| {});
    assert_eq!(step.expect("a disk"), Step::On);
    let mut again = open().tries();
    let step = open().step(&mut again, at(100), &mut |_, _| panic!("it is too early"), &mut |_| {});
    assert!(matches!(step.expect("a disk"), Step::Until(Some(until)) if until > at(100)));
}
