//! Every rule of [`derive`] by an example: the state, and each fact that it follows from, with its moment.
//! Properties say what never happens; only these say what does.

use agentctl_core::{
    derive::{Idle, State, derive},
    evidence::{
        Ending, Evidence, Ground, Holder, Need, Pending, Reading, Record, Role, Say, Suspect, Tool,
        Turn,
    },
    ident::ProcKey,
    proof::Source,
};
use jiff::Timestamp;

/// The beginning of every reason of a session that process 7 holds.
const HELD: [&str; 2] =
    ["HolderAlive@10 pid 7 (start 1) is alive", "HolderAlive it has the session loaded"];
const ASKED: State = State::Waiting(Need::Answer);
const LEAVE: State = State::Waiting(Need::Approval);
const RESTS: State = State::Idle(Idle::BetweenTurns);

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(second * 1000 + 500).expect("a small number of seconds")
}

fn key(pid: u32) -> ProcKey {
    ProcKey { pid, start: 1, boot: "boot".into() }
}

fn somewhere() -> Source {
    Source::Lock { path: "/lock".into(), pid: 7 }
}

/// A person's process, since ten and a half.
fn holder() -> Holder {
    Holder {
        key: key(7),
        since: at(10),
        role: Some(Role::Interactive),
        shared: false,
        halted: false,
        trail: somewhere(),
        says: None,
    }
}

fn says(say: Say) -> Holder {
    Holder { says: Some((say, somewhere())), ..holder() }
}

fn one_shot() -> Holder {
    Holder { role: Some(Role::Headless), ..holder() }
}

fn open(second: i64, pending: Pending) -> Turn {
    Turn::Open { alive: at(second), pending, line: somewhere() }
}

fn ended(second: i64, how: Ending) -> Turn {
    Turn::Ended { at: at(second), how, line: somewhere() }
}

fn failed(why: &str) -> Ending {
    Ending::Failed(why.into())
}

fn unless() -> Pending {
    Pending::ApprovalUnless { variable: "CALL".into(), values: vec!["1".into()] }
}

fn torn() -> Reading {
    Reading::Failed { why: "torn".into(), source: somewhere() }
}

fn record(turn: Turn) -> Evidence {
    let record = Reading::Read(Box::new(Record::of(turn)));
    Evidence { record, ..Evidence::none("pi", Some("id".into())) }
}

fn held(holder: Holder, turn: Turn) -> Evidence {
    Evidence { holders: vec![holder], ..record(turn) }
}

fn unknown(why: &str) -> State {
    State::Unknown(why.into())
}

/// Compares the state, and the facts; behind those of [`HELD`] if anybody holds it.
#[track_caller]
fn follows(seen: &Evidence, state: State, facts: &[&str]) {
    let verdict = derive(seen);
    let told = verdict.because.iter().map(|because| {
        let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1000.0;
        let moment = because.at.map_or(String::new(), |at| format!("@{}", seconds(at)));
        format!("{:?}{moment} {}", because.rule, because.fact)
    });
    let held: &[&str] = if seen.holders.is_empty() { &[] } else { &HELD };
    let expected = held.iter().chain(facts).map(|fact| (*fact).to_owned());
    assert_eq!((verdict.state, told.collect()), (state, expected.collect::<Vec<String>>()));
}

#[test]
fn who_holds_it_and_how_that_is_known() {
    let of = |holder| derive(&held(holder, Turn::None)).because[1].clone();
    let told = |holder| {
        let because = of(holder);
        format!("{:?} {}", because.rule, because.fact)
    };
    assert_eq!(told(holder()), "HolderAlive it has the session loaded");
    let shared = Holder { shared: true, ..holder() };
    assert_eq!(told(shared.clone()), "SharedHolder it has the session loaded, among others");
    let inferred = Holder { trail: Source::Inference { process: key(7) }, ..shared };
    assert_eq!(told(inferred), "Inferred it alone can have the session loaded");
    let nameless = Evidence { id: None, ..held(says(Say::Busy), Turn::None) };
    let verdict = derive(&nameless);
    assert_eq!(verdict.state, unknown("its process has named no session"));
    assert_eq!(verdict.because[1].fact, "it names no session");

    let fresh = "NeverPrompted no turn is recorded for it";
    let halted = Holder { halted: true, ..holder() };
    let seen = held(halted, Turn::None);
    follows(&seen, State::Idle(Idle::Fresh), &["Halted a signal halted it", fresh]);
    let other = Holder { key: key(8), ..holder() };
    let both = Evidence { holders: vec![holder(), other], ..record(Turn::None) };
    let (eight, held) = ("HolderAlive@10 pid 8 (start 1) is alive", HELD[1]);
    let several = "SeveralHolders 2 live processes have it loaded at once";
    follows(&both, State::Idle(Idle::Fresh), &[eight, held, several, fresh]);
}

#[test]
fn what_it_says_of_itself_comes_before_its_record() {
    let table = [
        (Say::Busy, State::Working, "busy"),
        (Say::Waiting(Need::Approval), LEAVE, "waiting for approval"),
        (Say::Waiting(Need::Answer), ASKED, "waiting for an answer"),
        (Say::Idle, RESTS, "idle"),
    ];
    let question = "AgentSays@20.5 it waits, and its newest turn has asked a question";
    for (say, state, words) in table {
        let words = format!("AgentSays it says it is {words}");
        follows(&held(says(say), open(20, Pending::Nothing)), state.clone(), &[&words]);
        let asked = held(says(say), open(20, Pending::Answer));
        match say {
            Say::Waiting(_) => follows(&asked, ASKED, &[question]),
            Say::Busy | Say::Idle => follows(&asked, state, &[&words]),
        }
    }
}

#[test]
fn of_several_holders_the_most_urgent_counts() {
    let [leave, asked] = [Need::Approval, Need::Answer].map(|need| says(Say::Waiting(need)));
    let holders = [leave, asked, says(Say::Busy), holder(), says(Say::Idle)];
    let unread = unknown("cannot read its record: torn");
    for (place, state) in [LEAVE, ASKED, State::Working, unread, RESTS].iter().enumerate() {
        for other in &holders[place..] {
            for both in [[&holders[place], other], [other, &holders[place]]] {
                let holders = both.map(Clone::clone).to_vec();
                let seen = Evidence { holders, record: torn(), ..record(Turn::None) };
                assert_eq!(derive(&seen).state, *state);
            }
        }
    }
}

#[test]
fn without_a_word_of_its_own_its_record_speaks() {
    let unread = "cannot read its record: torn";
    let seen = Evidence { record: torn(), ..held(holder(), Turn::None) };
    follows(&seen, unknown(unread), &[&format!("Unreadable {unread}")]);
    let absent = |holder| Evidence { record: Reading::Absent, ..held(holder, Turn::None) };
    let fresh = State::Idle(Idle::Fresh);
    follows(&absent(holder()), fresh, &["NeverPrompted no turn is recorded for it"]);
    let trail = Source::Variable { variable: "ID=id".into(), pid: 9 };
    let elsewhere = unknown("its records are not in the usual place");
    let tool = Holder { trail, ..holder() };
    follows(&absent(tool), elsewhere, &["ToolRunning a tool carries its id"]);
}

#[test]
fn a_turn_that_ended_rests_unless_more_is_due() {
    let rests = |second, fact| {
        let fact = format!("TurnEnded@{second}.5 its newest turn {fact}");
        move |seen: &Evidence| follows(seen, RESTS, &[&fact])
    };
    rests(5, "completed")(&held(holder(), ended(5, Ending::Completed)));
    rests(20, "failed: 503")(&held(holder(), ended(20, failed("503"))));
    rests(20, "was interrupted")(&held(holder(), ended(20, Ending::Interrupted)));
    // One that ended just as its process began is its own.
    rests(10, "completed")(&held(one_shot(), ended(10, Ending::Completed)));
    let before = "OneShotWorks@5.5 its newest recorded turn ended before the process began";
    let due = "OneShotWorks@10 the process answers one prompt and has not ended its turn";
    let early = held(one_shot(), ended(5, Ending::Completed));
    follows(&early, State::Working, &[before, due]);
    follows(&held(one_shot(), Turn::None), State::Working, &[due]);
    let calls =
        Evidence { tool: Tool::Runs(somewhere()), ..held(holder(), ended(20, Ending::Completed)) };
    let answer = "TurnOpen@20.5 its newest answer stands in the store";
    follows(&calls, State::Working, &[answer, "ToolRunning a process runs its tool call"]);
}

#[test]
fn a_prompt_of_ours_counts_for_the_process_that_has_it() {
    let prompted = |pid| {
        let prompted = Some((key(pid), somewhere()));
        Evidence { prompted, ..held(holder(), open(5, Pending::Nothing)) }
    };
    let old = "TurnOlderThanHolder@5.5 its open turn was last seen before the process began";
    let given =
        "PromptGiven@10 agentctl launched it with a prompt, of which nothing is recorded yet";
    follows(&prompted(7), State::Working, &[old, given]);
    follows(&prompted(8), State::Idle(Idle::StaleTurn), &[old]);
}

#[test]
fn an_open_turn_is_its_process_own_or_older() {
    let no_end = |second: i64| format!("TurnOpen@{second}.5 its newest turn has no end");
    for second in [10, 20] {
        let seen = held(holder(), open(second, Pending::Nothing));
        follows(&seen, State::Working, &[&no_end(second)]);
    }
    let old = "TurnOlderThanHolder@5.5 its open turn was last seen before the process began";
    let stale = held(holder(), open(5, Pending::Answer));
    follows(&stale, State::Idle(Idle::StaleTurn), &[old]);
}

/// What an open turn hangs on, whether its tool runs, and what that means for a person's process and for
/// one that has nobody to ask.
#[test]
fn what_an_open_turn_hangs_on() {
    let (runs, absent) = (Tool::Runs(somewhere()), Tool::Absent(somewhere()));
    let cannot = Tool::CannotTell("denied".into());
    let works = || (State::Working, None);
    let tool = || (State::Working, Some("ToolRunning a process runs its tool call"));
    let blind = "Unreadable whether its tool call runs cannot be told: denied";
    let blind = || (State::Working, Some(blind));
    let again = || (unknown("it may be trying again after: 503"), None);
    let nowhere = Some("ToolNotRunning its tool call is written down and runs nowhere");
    let unseen = Some("ToolUnseen its tool call has no process of its own");
    let inside = unknown("a tool runs inside its process, or waits for a person");
    let retry = Pending::Retry("503".into());
    let table = [
        (Pending::Nothing, &runs, works(), works()),
        (Pending::Answer, &absent, (ASKED, None), works()),
        (Pending::Approval, &absent, (LEAVE, None), works()),
        (retry.clone(), &absent, again(), again()),
        (retry, &runs, again(), again()),
        (Pending::Unnamed, &Tool::NotAsked, works(), works()),
        (Pending::Unnamed, &runs, tool(), tool()),
        (Pending::Unnamed, &absent, (inside, unseen), works()),
        (Pending::Unnamed, &cannot, blind(), works()),
        (unless(), &Tool::NotAsked, works(), works()),
        (unless(), &runs, tool(), tool()),
        (unless(), &absent, (LEAVE, nowhere), works()),
        (unless(), &cannot, blind(), works()),
    ];
    for (pending, tool, asked, alone) in table {
        for (holder, (state, more)) in [(holder(), asked), (one_shot(), alone)] {
            let seen = Evidence { tool: tool.clone(), ..held(holder, open(20, pending.clone())) };
            let facts = [Some("TurnOpen@20.5 its newest turn has no end"), more];
            follows(&seen, state, &facts.into_iter().flatten().collect::<Vec<_>>());
        }
    }
}

#[test]
fn who_might_hold_it_is_named() {
    let suspect = |pid, silent: Option<&str>| Suspect {
        key: key(pid),
        since: at(3),
        silent: silent.map(Into::into),
        ground: Ground::Wrote,
    };
    let seen = |suspects| Evidence { suspects, ..record(ended(2, Ending::Completed)) };
    let may = |pid: u32| {
        format!(
            "MayBeHeld@3 pid {pid} (start 1) could hold it: it left no trail, and runs since before the last write"
        )
    };
    let one = seen(vec![suspect(9, None)]);
    follows(&one, unknown("may be held by pid 9"), &[&may(9)]);
    let two = seen(vec![suspect(9, None), suspect(8, Some("no answer"))]);
    follows(&two, unknown("no answer: may be held by pid 8 or 9"), &[&may(9), &may(8)]);
    let grounds = [
        (Ground::Named, "its arguments named it"),
        (Ground::Resumed, "it left no trail, and was started where this was the newest"),
        (Ground::Untold, "what it says of itself cannot be read"),
    ];
    for (ground, why) in grounds {
        let one = seen(vec![Suspect { ground, ..suspect(9, None) }]);
        let fact = format!("MayBeHeld@3 pid 9 (start 1) could hold it: {why}");
        follows(&one, unknown("may be held by pid 9"), &[&fact]);
    }
    let blind = Evidence { blind: Some("no table".into()), ..two };
    follows(&blind, unknown("no table"), &["Unreadable no table"]);
}

#[test]
fn what_nobody_holds_ended_as_its_record_says() {
    let gone = Evidence {
        lost: vec![
            Source::Gone { process: key(9) },
            Source::File { path: "/registry".into(), shows: "9".into() },
            Source::NoLock { path: "/lock".into() },
        ],
        absence: Some(Source::Absence { check: "true".into() }),
        ..record(Turn::None)
    };
    let facts = [
        "ProcessGone pid 9 (start 1), which had it loaded, is gone",
        "ProcessGone its process was written down before this boot",
        "ProcessGone what claimed it is held by nobody",
        "NobodyHolds no live pi process holds it, or could",
    ];
    follows(&gone, State::Done, &facts);
    let table = [
        (Ending::Completed, State::Done, "completed"),
        (failed("503"), State::Failed("503".into()), "failed: 503"),
        (Ending::Interrupted, State::Stopped, "was interrupted"),
    ];
    for (how, state, words) in table {
        let fact = format!("TurnEnded@5.5 its newest turn {words}");
        follows(&record(ended(5, how)), state, &[&fact]);
    }
    // Its own last word outweighs a record that lacks the answer, and nothing else.
    let answered = |turn| Evidence { answered: Some(somewhere()), ..record(turn) };
    let completed = ["TurnEnded its newest turn completed"];
    follows(&answered(ended(5, Ending::Interrupted)), State::Done, &completed);
    follows(&answered(open(5, Pending::Nothing)), State::Done, &completed);
    let failed = answered(ended(5, failed("503")));
    follows(&failed, State::Failed("503".into()), &["TurnEnded@5.5 its newest turn failed: 503"]);
    let unread = "cannot read its record: torn";
    let seen = Evidence { record: torn(), ..record(Turn::None) };
    follows(&seen, unknown(unread), &[&format!("Unreadable {unread}")]);
}

#[test]
fn a_turn_left_open_died_unless_we_stopped_it_since() {
    let left = |stop: Option<i64>, pending| {
        let stop = stop.map(|second| (at(second), somewhere()));
        Evidence { stop, ..record(open(5, pending)) }
    };
    let open = "TurnLeftOpen@5.5 its newest turn has no end";
    let ours = |second: i64| format!("StoppedByUs@{second}.5 its process was stopped by agentctl");
    follows(&left(None, Pending::Nothing), State::Died, &[open]);
    follows(&left(Some(4), Pending::Nothing), State::Died, &[open]);
    for second in [5, 6] {
        let seen = left(Some(second), Pending::Nothing);
        follows(&seen, State::Stopped, &[open, &ours(second)]);
    }
    let retry = left(Some(6), Pending::Retry("503".into()));
    let fact = "TurnEnded@5.5 its newest turn failed: 503";
    follows(&retry, State::Failed("503".into()), &[fact]);
    let absent = |seen| Evidence { record: Reading::Absent, ..seen };
    let nothing = "the store has no record of it";
    let fact = format!("Unreadable {nothing}");
    follows(&absent(left(None, Pending::Nothing)), unknown(nothing), &[&fact]);
    follows(&absent(left(Some(6), Pending::Nothing)), State::Stopped, &[&ours(6)]);
}
