//! Real agents: launched and held by the scripted model, started by hand, or on a terminal, and ended in every way.

use super::{
    LIMIT, Soak,
    chance::Chance,
    record::{Grip, Life, Way},
    until,
};
use crate::{driven::path, kills::Process, real_opencode, real_pi, support::uuid};
use agentctl_testkit::sandbox::{Gate, Terminal};
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, thread, time::Duration};

/// An agent that can be launched, and the variables it needs.
type Cast = (&'static str, Vec<(&'static str, String)>);

fn cast(soak: &Soak<'_>) -> [Cast; 4] {
    let agents = path("AGENTCTL_TEST_AGENTS");
    let opencode = [vec![path("AGENTCTL_TEST_OPENCODE")], real_opencode::quiet()].concat();
    [
        ("claude-code", vec![agents.clone(), ("IS_SANDBOX", "1".to_owned())]),
        ("codex", vec![agents]),
        ("pi", soak.stage.pi_set(&real_pi::NEW)),
        ("opencode", opencode),
    ]
}

/// One launch after the other, all agents in turn.
pub(super) fn launched(soak: &Soak<'_>) {
    let mut chance = soak.chance(10);
    let cast = cast(soak);
    for number in 0.. {
        if soak.over.is_over() {
            return;
        }
        let at = usize::try_from(chance.below(4)).expect("a few");
        launch(soak, &mut chance, &cast[at], number);
    }
}

fn launch(soak: &Soak<'_>, chance: &mut Chance, (agent, set): &Cast, number: u32) {
    let began = Timestamp::now();
    let gate = soak.stage.sandbox.gate(&format!("launched-{number}"));
    let dir = soak.stage.sandbox.dir(&format!("launched-{number}"));
    let quick = chance.once_in(5);
    let prompt = if quick { "MOCK:text quick".to_owned() } else { gate.until() };
    let at = dir.to_string_lossy();
    let words = ["launch", agent, "--json", "-p", &prompt, "--cwd", &at];
    let set: Vec<(&str, &str)> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = soak.stage.sandbox.agentctl_with(&set, &words);
    if answer.code == Some(6) {
        return soak.record.refused(answer.stdout); // OpenCode 1.18.33 may find its database locked
    }
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let session = answer.json()["session"].clone();
    let id = session["id"].as_str().expect("it has an id").to_owned();
    let process = process(&session);
    let grip = process.filter(|_| !quick).map(Grip::of);
    let mut life = Life {
        agent,
        launched: true,
        id: id.clone(),
        began,
        way: Way::Done,
        gone: None,
        record: None,
        asked: Vec::new(),
    };
    thread::scope(|scope| {
        let watch = grip.as_ref().map(|grip| scope.spawn(|| grip.gone(&soak.over)));
        if let Some(process) = process.filter(|_| !quick) {
            held(soak, &gate, &id);
            soak.over.pause(chance.between(0, 2500));
            life.way = end(soak, chance, &gate, (&id, process));
        }
        life.gone = watch.and_then(|watch| watch.join().expect("it is watched"));
    });
    let waited = soak.ask(&["wait", &id, "--timeout", "200s"]);
    assert!(matches!(waited.code, Some(0 | 1)), "{waited:?}");
    soak.record.life(life);
}

/// The process of a session that lives.
fn process(session: &Value) -> Option<Process> {
    let pid = session["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())?;
    Process::of(pid)
}

/// Waits until the model holds it and its prompt is written down.
fn held(soak: &Soak<'_>, gate: &Gate, id: &str) {
    let name = gate.path().display().to_string();
    let line = format!("until {name}");
    let is_it = |asked: Option<&str>| asked.is_some_and(|asked| asked.starts_with(&line));
    let asked = soak.stage.sandbox.model().wait_for(
        |requests| requests.iter().any(|request| is_it(request.directive.as_deref())),
        LIMIT,
    );
    assert!(asked, "the model was not asked for `{line}`");
    until("recorded prompt", || soak.ask(&["logs", id]).stdout.contains(&name).then_some(()));
}

/// Ends it, and says how.
fn end(soak: &Soak<'_>, chance: &mut Chance, gate: &Gate, (id, process): (&str, Process)) -> Way {
    let way = chance.one(&[Way::Done, Way::Done, Way::Stop, Way::Kill, Way::Kill, Way::Term]);
    match way {
        Way::Done => gate.open(),
        Way::Stop => {
            let stopped = soak.ask(&["stop", id, "--json"]);
            assert_eq!(stopped.code, Some(0), "{stopped:?}");
        }
        Way::Kill => process.signal(Signal::KILL),
        Way::Term => process.signal(Signal::TERM),
    }
    way
}

/// One Claude Code after the other, by hand: with one prompt, or on a terminal.
pub(super) fn by_hand(soak: &Soak<'_>) {
    let mut chance = soak.chance(11);
    for number in 0.. {
        if soak.over.is_over() {
            return;
        }
        match chance.once_in(2) {
            true => print(soak, &mut chance, number),
            false => talk(soak, &mut chance, number),
        }
        soak.over.pause(chance.between(0, 3000));
    }
}

fn print(soak: &Soak<'_>, chance: &mut Chance, number: u32) {
    let (began, id) = (Timestamp::now(), uuid());
    let gate = soak.stage.sandbox.gate(&format!("by-hand-{number}"));
    let dir = soak.stage.sandbox.dir(&format!("by-hand-{number}"));
    let more = ["--session-id", &id];
    let child = soak.stage.printing(&more, &gate.until()).within(&dir).spawn();
    let process = until("process that is there", || Process::of(child.pid()));
    let grip = Grip::of(process);
    let (way, gone) = thread::scope(|scope| {
        let watch = scope.spawn(|| grip.gone(&soak.over));
        held(soak, &gate, &id);
        soak.over.pause(chance.between(0, 2500));
        let way = end(soak, chance, &gate, (&id, process));
        (way, watch.join().expect("it is watched"))
    });
    child.wait(LIMIT);
    let agent = "claude-code";
    let (launched, record, asked) = (false, None, Vec::new());
    soak.record.life(Life { agent, launched, id, began, way, gone, record, asked });
}

/// Waits until it stands on the screen.
fn shows(terminal: &Terminal<'_>, text: &str) {
    until(text, || terminal.screen().contains(text).then_some(()));
}

/// The session that Claude Code has loaded in this process.
fn loaded(soak: &Soak<'_>, pid: u32) -> String {
    let registry = soak.stage.sandbox.home().join(format!(".claude/sessions/{pid}.json"));
    until("registered session", || {
        let file: Value = serde_json::from_slice(&fs::read(&registry).ok()?).ok()?;
        file["sessionId"].as_str().map(str::to_owned)
    })
}

fn talk(soak: &Soak<'_>, chance: &mut Chance, number: u32) {
    let began = Timestamp::now();
    let dir = soak.stage.sandbox.dir(&format!("terminal-{number}"));
    let terminal = soak.stage.sandbox.run(&["claude"]).within(&dir).on_terminal();
    shows(&terminal, "? for shortcuts");
    let id = loaded(soak, terminal.pid());
    let process = Process::of(terminal.pid()).expect("it is there");
    let grip = Grip::of(process);
    let mut life = Life {
        agent: "claude-code",
        launched: false,
        id: id.clone(),
        began,
        way: Way::Kill,
        gone: None,
        record: None,
        asked: Vec::new(),
    };
    thread::scope(|scope| {
        let watch = scope.spawn(|| grip.gone(&soak.over));
        for turn in 0..1 + chance.below(2) {
            let done = dir.join(format!("touched-{turn}"));
            terminal.send(&format!("MOCK:tool touch {}", done.display()));
            shows(&terminal, "Do you want");
            let asks = Timestamp::now();
            soak.over.pause(Duration::from_millis(1500));
            life.asked.push((asks, Timestamp::now()));
            terminal.press(&["Enter"]);
            until("tool that was run", || done.exists().then_some(()));
            // What is typed while a turn runs is no prompt.
            until("end of the turn", || {
                let shown = soak.stage.one("status", &id)?;
                (shown["state"] == "idle").then_some(())
            });
        }
        let gate = soak.stage.sandbox.gate(&format!("terminal-{number}"));
        terminal.send(&gate.until());
        held(soak, &gate, &id);
        soak.over.pause(chance.between(0, 1500));
        // On a terminal the end of a turn is not its own end.
        let stops = chance.once_in(2);
        life.way = if stops { Way::Stop } else { Way::Kill };
        match stops {
            true => assert_eq!(soak.ask(&["stop", &id]).code, Some(0)),
            false => process.signal(Signal::KILL),
        }
        life.gone = watch.join().expect("it is watched");
    });
    soak.record.life(life);
}
