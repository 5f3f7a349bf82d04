//! What is told of OpenCode, whose records are in a database.

use rustix::process::Signal;

use super::serve::Server;
use crate::{
    home::Stream,
    support::{LIMIT, Stage, signal},
};

#[test]
fn every_step_of_a_conversation_is_told_once() {
    let stage = Stage::opencode("ask");
    let mut events = stage.watch();
    let terminal = stage.terminal();
    let gate = stage.sandbox.gate("answer");
    terminal.send(&gate.until());
    stage.asked("until");
    let id = stage.only();
    assert_eq!(events.told(&id), "session.started: - idle");
    assert_eq!(events.told(&id), "session.working: idle working");
    gate.open();
    assert_eq!(events.told(&id), "session.idle: working idle");

    let tool = stage.sandbox.gate("tool");
    terminal.send(&format!("MOCK:tool {}", tool.tool()));
    terminal.shows("Permission required");
    events.becomes(&id, &["working"], "waiting");
    terminal.press(&["Enter"]);
    tool.open();
    events.becomes(&id, &["working"], "idle");

    let never = stage.sandbox.gate("never");
    terminal.send(&never.until());
    assert_eq!(events.told(&id), "session.working: idle working");
    stage.asked(&format!("until {}", never.path().display()));
    signal(Signal::KILL, terminal.pid());
    assert_eq!(events.told(&id), "session.ended: working died");
    events.are_unique();
}

/// Waits until a watcher listens to a server: it has a connection to it though it asks nothing.
fn listens(stage: &Stage, events: &Stream, server: &Server) {
    let (_, port) = server.address.rsplit_once(':').expect("an address");
    let port: u16 = port.parse().expect("a port");
    let to = format!(":{port:04X} 01 ");
    stage.sandbox.wait_for("line to the server", LIMIT, || {
        let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has one");
        let inodes = table.lines().filter(|line| line.contains(&to));
        let sockets: Vec<String> = inodes
            .filter_map(|line| Some(format!("socket:[{}]", line.split_whitespace().nth(9)?)))
            .collect();
        let files = std::fs::read_dir(format!("/proc/{}/fd", events.pid())).expect("it lives");
        let mut files = files.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
        files.any(|file| sockets.iter().any(|one| file.as_os_str() == one.as_str())).then_some(())
    });
}

/// The next state of a session is this one. A busy server may answer too late at any moment: then what it
/// runs is unknown for a while, or as it was before that.
fn comes_to(events: &mut Stream, id: &str, state: &str) {
    loop {
        let told = events.told(id);
        let (_, states) = told.split_once(": ").expect("an event has states");
        match states.split_once(' ') {
            Some((_, after)) if after == state => return,
            Some((before, after)) => assert!(before == "unknown" || after == "unknown", "{told}"),
            None => panic!("{told}"),
        }
    }
}

/// A server is listened to with its password, and so is the one that comes after it.
#[test]
fn servers_are_listened_to() {
    let stage = Stage::opencode("ask");
    let mut events = stage.watch();
    let work = stage.sandbox.work();
    for (number, password) in [(1, None), (2, Some(("OPENCODE_SERVER_PASSWORD", "open sesame")))] {
        let server = Server::start(&stage, password.as_slice());
        listens(&stage, &events, &server);
        server.loads(&stage, &work);
        let id = server.session(&work);
        let tool = stage.sandbox.gate(&format!("tool-{number}"));
        server.prompt(&id, &work, &format!("MOCK:tool {}", tool.tool()));
        // Before it is prompted it is nobody's, and has ended.
        while !events.told(&id).ends_with(" waiting") {}
        let approved = stage.sandbox.agentctl(&["approve", &id]);
        assert_eq!(approved.code, Some(0), "{approved:?}");
        comes_to(&mut events, &id, "working");
        signal(Signal::KILL, server.opencode.pid());
        server.opencode.wait(LIMIT);
        comes_to(&mut events, &id, "died");
    }
}
