//! Says what state a session is in. Pure and total: the same evidence has the same answer, always.

use crate::{
    evidence::{
        Ending, Evidence, Ground, Holder, Need, Pending, Reading, Role, Say, Suspect, Tool, Turn,
    },
    proof::{Fact, Rule, Source},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A session's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Loaded in a live process, and a turn runs.
    Working,
    /// Loaded, and it waits for a person.
    Waiting(Need),
    /// Loaded, and no turn runs.
    Idle(Idle),
    /// No process; the last turn completed, or there was none.
    Done,
    /// No process; the last turn failed, in the agent's words.
    Failed(String),
    /// No process; the last turn was interrupted.
    Stopped,
    /// No process, and nobody closed the turn: killed, crashed, or out of memory.
    Died,
    /// It cannot be told, and why.
    Unknown(String),
}

/// Why a loaded session is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Idle {
    /// It was never prompted.
    Fresh,
    /// Its last turn ended.
    BetweenTurns,
    /// An open turn is older than the process: it died with an earlier one.
    StaleTurn,
}

/// The answer, and what it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer.
    pub state: State,
    /// A live process has the session loaded.
    pub live: bool,
    /// What it follows from, strongest first.
    pub because: Vec<Fact>,
}

/// Works out the state of one session.
pub fn derive(seen: &Evidence) -> Verdict {
    let mut because = Vec::new();
    let live = !seen.holders.is_empty();
    let state = match live {
        true => held(seen, &mut because),
        false => unheld(seen, &mut because),
    };
    Verdict { state, live, because }
}

fn held(seen: &Evidence, because: &mut Vec<Fact>) -> State {
    // Each process once, and in an order of their own: which was found first tells nothing.
    let mut holders: Vec<&Holder> = seen.holders.iter().collect();
    holders.sort_by(|one, other| one.key.cmp(&other.key));
    holders.dedup();
    for holder in &holders {
        because.push(
            Fact::new(
                Rule::HolderAlive,
                format!("{} is alive", holder.key),
                Source::Alive { process: holder.key.clone() },
            )
            .at(began(holder)),
        );
        let inferred = matches!(holder.trail, Source::Inference { .. });
        let (rule, what) = match (&seen.id, holder.shared) {
            (None, _) => (Rule::Unnamed, "names no session"),
            (Some(_), _) if inferred => (Rule::Inferred, "alone can have the session loaded"),
            (Some(_), false) => (Rule::HolderAlive, "has the session loaded"),
            (Some(_), true) => (Rule::SharedHolder, "has the session loaded, among others"),
        };
        because.push(Fact::new(rule, format!("it {what}"), holder.trail.clone()));
        because.extend(holder.halted.then(|| {
            let source = Source::Halted { process: holder.key.clone() };
            Fact::new(Rule::Halted, "a signal halted it".to_owned(), source)
        }));
    }
    if let [first, _, ..] = holders.as_slice() {
        let count = holders.len();
        because.push(Fact::new(
            Rule::SeveralHolders,
            format!("{count} live processes have it loaded at once"),
            first.trail.clone(),
        ));
    }
    // Of several holders, the one that needs a person is what a person must see.
    let mut answers: Vec<(State, Vec<Fact>)> = holders.iter().map(|h| one(seen, h)).collect();
    answers.sort_by(|(a, _), (b, _)| urgency(a).cmp(&urgency(b)));
    let (state, facts) = answers.swap_remove(0);
    because.extend(facts);
    state
}

/// Total, so that the order in which holders were found changes nothing.
fn urgency(state: &State) -> (u8, &str) {
    match state {
        State::Waiting(Need::Approval) => (0, ""),
        State::Waiting(Need::Answer) => (1, ""),
        State::Working => (2, ""),
        State::Unknown(why) => (3, why),
        State::Idle(Idle::BetweenTurns) => (4, ""),
        State::Idle(Idle::StaleTurn) => (5, ""),
        State::Idle(Idle::Fresh) => (6, ""),
        State::Done | State::Failed(_) | State::Stopped | State::Died => (7, ""),
    }
}

/// The state as this holder shows it.
fn one(seen: &Evidence, holder: &Holder) -> (State, Vec<Fact>) {
    if seen.id.is_none() {
        return (State::Unknown("its process has named no session".into()), Vec::new());
    }
    if let Some((say, source)) = &holder.says {
        if let Some(answer) = asks(seen, *say) {
            return answer;
        }
        let (state, words) = match say {
            Say::Busy => (State::Working, "busy"),
            Say::Waiting(Need::Approval) => {
                (State::Waiting(Need::Approval), "waiting for approval")
            }
            Say::Waiting(Need::Answer) => (State::Waiting(Need::Answer), "waiting for an answer"),
            Say::Idle => (State::Idle(Idle::BetweenTurns), "idle"),
        };
        let fact = Fact::new(Rule::AgentSays, format!("it says it is {words}"), source.clone());
        return (state, vec![fact]);
    }
    match &seen.record {
        Reading::Failed { why, source } => {
            let why = unread(why);
            let fact = Fact::new(Rule::Unreadable, why.clone(), source.clone());
            (State::Unknown(why), vec![fact])
        }
        // Only a turn has tools: what is recorded of it stands elsewhere, or nowhere.
        Reading::Absent if matches!(holder.trail, Source::Variable { .. }) => {
            let why = "its records are not in the usual place";
            let fact = Fact::new(Rule::ToolRunning, "a tool carries its id", holder.trail.clone());
            (State::Unknown(why.into()), vec![fact])
        }
        Reading::Absent => by_turn(seen, holder, &Turn::None),
        Reading::Read(record) => by_turn(seen, holder, &record.turn),
    }
}

/// Claude Code 2.1.197 calls every dialog a permission prompt; its transcript knows a question.
fn asks(seen: &Evidence, say: Say) -> Option<(State, Vec<Fact>)> {
    let Reading::Read(record) = &seen.record else { return None };
    match (say, &record.turn) {
        (Say::Waiting(_), Turn::Open { pending: Pending::Answer, line, alive }) => {
            let fact = "it waits, and its newest turn has asked a question";
            let fact = Fact::new(Rule::AgentSays, fact, line.clone()).at(*alive);
            Some((State::Waiting(Need::Answer), vec![fact]))
        }
        (
            Say::Waiting(_) | Say::Busy | Say::Idle,
            Turn::None | Turn::Open { .. } | Turn::Ended { .. },
        ) => None,
    }
}

fn by_turn(seen: &Evidence, holder: &Holder, turn: &Turn) -> (State, Vec<Fact>) {
    let one_shot = holder.role == Some(Role::Headless);
    // A prompt that was given to it and may not be written down yet.
    let due = if one_shot { Some(one_shot_works(holder)) } else { prompt_given(seen, holder) };
    match turn {
        Turn::None if let Some(due) = due => (State::Working, vec![due]),
        Turn::None => {
            let fact = "no turn is recorded for it";
            let fact = Fact::new(Rule::NeverPrompted, fact, holder.trail.clone());
            (State::Idle(Idle::Fresh), vec![fact])
        }
        Turn::Ended { at, line, .. }
            if *at < holder.since
                && let Some(due) = due =>
        {
            let fact = "its newest recorded turn ended before the process began";
            let fact = Fact::new(due.rule, fact, line.clone()).at(*at);
            (State::Working, vec![fact, due])
        }
        // An answer may come with a call that is not written down before it has run.
        Turn::Ended { at, line, .. } if let Tool::Runs(source) = &seen.tool => {
            let answer = "its newest answer stands in the store";
            let answer = Fact::new(Rule::TurnOpen, answer, line.clone()).at(*at);
            (State::Working, vec![answer, tool_runs(source)])
        }
        Turn::Ended { at, how, line } => {
            let fact = Fact::new(Rule::TurnEnded, ended(how), line.clone()).at(*at);
            (State::Idle(Idle::BetweenTurns), vec![fact])
        }
        Turn::Open { alive, line, .. } if *alive < holder.since => {
            let fact = "its open turn was last seen before the process began";
            let fact = Fact::new(Rule::TurnOlderThanHolder, fact, line.clone()).at(*alive);
            match due {
                Some(due) => (State::Working, vec![fact, due]),
                None => (State::Idle(Idle::StaleTurn), vec![fact]),
            }
        }
        Turn::Open { alive, pending, line } => {
            let open = Fact::new(Rule::TurnOpen, "its newest turn has no end", line.clone());
            // Whoever answers one prompt has nobody to ask: it goes on without leave, or not at all.
            let asks =
                !matches!((pending, &seen.tool), (Pending::Retry(_), _) | (_, Tool::Runs(_)));
            let pending = if one_shot && asks { &Pending::Nothing } else { pending };
            let (state, more) = pending_state(pending, &seen.tool);
            (state, [Some(open.at(*alive)), more].into_iter().flatten().collect())
        }
    }
}

fn one_shot_works(holder: &Holder) -> Fact {
    let fact = "the process answers one prompt and has not ended its turn";
    Fact::new(Rule::OneShotWorks, fact, Source::Alive { process: holder.key.clone() })
        .at(began(holder))
}

fn prompt_given(seen: &Evidence, holder: &Holder) -> Option<Fact> {
    let (_, source) = seen.prompted.as_ref().filter(|(key, _)| *key == holder.key)?;
    let fact = "agentctl launched it with a prompt, of which nothing is recorded yet";
    Some(Fact::new(Rule::PromptGiven, fact, source.clone()).at(began(holder)))
}

/// When it began, as it is shown.
pub(crate) fn began(holder: &Holder) -> Timestamp {
    whole_second(holder.since)
}

/// Finer than that, a start that is counted from the boot differs from one look to the next.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::new(at.as_second(), 0).unwrap_or(at)
}

fn tool_runs(source: &Source) -> Fact {
    Fact::new(Rule::ToolRunning, "a process runs its tool call", source.clone())
}

fn pending_state(pending: &Pending, tool: &Tool) -> (State, Option<Fact>) {
    match (pending, tool) {
        (Pending::Answer, _) => (State::Waiting(Need::Answer), None),
        (Pending::Approval, _) => (State::Waiting(Need::Approval), None),
        (Pending::Retry(why), _) => {
            (State::Unknown(format!("it may be trying again after: {why}")), None)
        }
        (Pending::Nothing, _)
        | (Pending::ApprovalUnless { .. } | Pending::Unnamed, Tool::NotAsked) => {
            (State::Working, None)
        }
        (Pending::ApprovalUnless { .. } | Pending::Unnamed, Tool::Runs(source)) => {
            (State::Working, Some(tool_runs(source)))
        }
        (Pending::Unnamed, Tool::Absent(source)) => {
            let why = "a tool runs inside its process, or waits for a person";
            let fact = "its tool call has no process of its own";
            let fact = Fact::new(Rule::ToolUnseen, fact, source.clone());
            (State::Unknown(why.into()), Some(fact))
        }
        (Pending::ApprovalUnless { .. }, Tool::Absent(source)) => {
            let fact = "its tool call is written down and runs nowhere";
            let fact = Fact::new(Rule::ToolNotRunning, fact, source.clone());
            (State::Waiting(Need::Approval), Some(fact))
        }
        (Pending::ApprovalUnless { .. } | Pending::Unnamed, Tool::CannotTell(why)) => {
            let fact = format!("whether its tool call runs cannot be told: {why}");
            (State::Working, Some(Fact::new(Rule::Unreadable, fact, Source::Blind)))
        }
    }
}

fn unheld(seen: &Evidence, because: &mut Vec<Fact>) -> State {
    for source in &seen.lost {
        let fact = match source {
            Source::Gone { process } => format!("{process}, which had it loaded, is gone"),
            Source::File { .. } => "its process was written down before this boot".into(),
            _ => "what claimed it is held by nobody".into(),
        };
        because.push(Fact::new(Rule::ProcessGone, fact, source.clone()));
    }
    if let Some(why) = &seen.blind {
        because.push(Fact::new(Rule::Unreadable, why.clone(), Source::Blind));
        return State::Unknown(why.clone());
    }
    let first = seen.suspects.iter().min_by_key(|suspect| (&suspect.key, &suspect.silent));
    if let Some(first) = first {
        for suspect in &seen.suspects {
            because.push(may_hold(suspect));
        }
        let mut pids: Vec<u32> = seen.suspects.iter().map(|suspect| suspect.key.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let held = format!("may be held by pid {}", pids.join(" or "));
        return State::Unknown(match &first.silent {
            Some(silent) => format!("{silent}: {held}"),
            None => held,
        });
    }
    if let Some(source) = &seen.absence {
        let fact = format!("no live {} process holds it, or could", seen.agent);
        because.push(Fact::new(Rule::NobodyHolds, fact, source.clone()));
    }
    ended_state(seen, because)
}

fn may_hold(suspect: &Suspect) -> Fact {
    let key = &suspect.key;
    let why = match suspect.ground {
        Ground::Wrote => "it left no trail, and runs since before the last write",
        Ground::Named => "its arguments named it",
        Ground::Resumed => "it left no trail, and was started where this was the newest",
        Ground::Untold => "what it says of itself cannot be read",
    };
    let fact = format!("{key} could hold it: {why}");
    let source = Source::Alive { process: key.clone() };
    Fact::new(Rule::MayBeHeld, fact, source).at(whole_second(suspect.since))
}

fn ended_state(seen: &Evidence, because: &mut Vec<Fact>) -> State {
    match &seen.record {
        Reading::Absent if let Some((at, receipt)) = &seen.stop => {
            because.push(stopped_by_us(*at, receipt));
            State::Stopped
        }
        Reading::Absent => {
            let why = "the store has no record of it";
            because.push(Fact::new(Rule::Unreadable, why, Source::Blind));
            State::Unknown(why.into())
        }
        Reading::Failed { why, source } => {
            let why = unread(why);
            because.push(Fact::new(Rule::Unreadable, why.clone(), source.clone()));
            State::Unknown(why)
        }
        Reading::Read(record) => match &record.turn {
            Turn::None => State::Done,
            Turn::Open { .. } | Turn::Ended { how: Ending::Interrupted, .. }
                if let Some(line) = &seen.answered =>
            {
                because.push(Fact::new(Rule::TurnEnded, ended(&Ending::Completed), line.clone()));
                State::Done
            }
            Turn::Open { alive, pending: Pending::Retry(why), line } => {
                let fact = ended(&Ending::Failed(why.clone()));
                because.push(Fact::new(Rule::TurnEnded, fact, line.clone()).at(*alive));
                State::Failed(why.clone())
            }
            Turn::Open { alive, line, .. }
                if let Some((at, receipt)) = seen.stop.as_ref().filter(|(at, _)| at >= alive) =>
            {
                let fact = "its newest turn has no end";
                because.push(Fact::new(Rule::TurnLeftOpen, fact, line.clone()).at(*alive));
                because.push(stopped_by_us(*at, receipt));
                State::Stopped
            }
            Turn::Open { alive, line, .. } => {
                let fact = "its newest turn has no end";
                because.push(Fact::new(Rule::TurnLeftOpen, fact, line.clone()).at(*alive));
                State::Died
            }
            Turn::Ended { at, how, line } => {
                because.push(Fact::new(Rule::TurnEnded, ended(how), line.clone()).at(*at));
                match how {
                    Ending::Completed => State::Done,
                    Ending::Failed(why) => State::Failed(why.clone()),
                    Ending::Interrupted => State::Stopped,
                }
            }
        },
    }
}

fn stopped_by_us(at: Timestamp, receipt: &Source) -> Fact {
    Fact::new(Rule::StoppedByUs, "its process was stopped by agentctl", receipt.clone()).at(at)
}

fn unread(why: &str) -> String {
    format!("cannot read its record: {why}")
}

fn ended(how: &Ending) -> String {
    match how {
        Ending::Completed => "its newest turn completed".into(),
        Ending::Failed(why) => format!("its newest turn failed: {why}"),
        Ending::Interrupted => "its newest turn was interrupted".into(),
    }
}
