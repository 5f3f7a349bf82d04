//! From a line of the script to what the model does about it.

use std::time::Duration;

use super::answer::{Beat, Block, Ending, ToolCall, Usage, Wait};
use super::conversation::Tool;
use super::script::Verb;
use super::tools::{self, Reach, Shaped};

/// The size of one delta of a long text.
const PIECE: usize = 1024;

/// What `big` repeats; all ASCII, so that characters are bytes.
const FILLER: &str = "The quick brown fox jumps over the lazy dog, again and again.\n";

/// What the model does with a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reaction {
    /// An HTTP error, `times` times if that is set.
    Refuse {
        /// The status to send.
        status: u16,
        /// How often, before the answer is `recovered`.
        times: Option<u32>,
    },
    /// An answer.
    Speak(Speech),
}

/// An answer without its names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speech {
    /// How long nothing at all is sent, not even the status line.
    pub(crate) silence: Duration,
    /// What is said.
    pub(crate) blocks: Vec<Block>,
    /// What it claims to have cost.
    pub(crate) usage: Usage,
    /// How it ends.
    pub(crate) ending: Ending,
}

impl Speech {
    /// `words`, at once.
    pub(crate) fn text(words: &str) -> Speech {
        Speech::of(vec![said(words)])
    }

    fn beats(beats: Vec<Beat>) -> Speech {
        Speech::of(vec![Block::Text(beats)])
    }

    fn of(blocks: Vec<Block>) -> Speech {
        Speech { silence: Duration::ZERO, blocks, usage: Usage::USUAL, ending: Ending::Complete }
    }
}

/// What `verb` makes the model do for a client that offers `tools`; `id` names the answer. The
/// error says which tool the client should have offered.
pub(crate) fn react(verb: &Verb, tools: &[Tool], id: &str) -> Result<Reaction, String> {
    let one = |shaped: Shaped| shaped.map(|shaped| Speech::of(vec![call(shaped, id, 0)]));
    Ok(Reaction::Speak(match verb {
        Verb::Err { status, times } => {
            return Ok(Reaction::Refuse { status: *status, times: *times });
        }
        Verb::Text(words) => Speech::text(words),
        Verb::Slow(time, words) => Speech::beats(spread(words, *time)),
        Verb::Hang(time) => Speech { silence: *time, ..Speech::text("late") },
        Verb::Stall(time, words) => Speech::beats(halves(words, Wait::For(*time))),
        Verb::Until(file) => {
            let released = Beat::Words("released".into());
            Speech::beats(vec![Beat::Wait(Wait::File(file.clone())), released])
        }
        Verb::Tool(command) => one(tools::shell(tools, command, Reach::Usual))?,
        Verb::Escalate(command) => one(tools::shell(tools, command, Reach::Escalated))?,
        Verb::Call { name, arguments } => one(Ok((name.clone(), arguments.clone())))?,
        Verb::Ask(question) => one(tools::question(tools, question))?,
        Verb::Multi(commands) => multi(commands, tools, id)?,
        Verb::Failed => Speech { ending: Ending::Failed, ..Speech::of(Vec::new()) },
        Verb::Cut => Speech::beats(halves("this answer will be cut off here", Wait::Cut)),
        Verb::Big(kib) => Speech::beats(filler(*kib)),
        Verb::Tokens(input) => {
            let usage = Usage { input: *input, ..Usage::USUAL };
            Speech { usage, ..Speech::text(&format!("used {input} tokens")) }
        }
    }))
}

fn multi(commands: &[String], tools: &[Tool], id: &str) -> Result<Speech, String> {
    let thought = Block::Think("one thing at a time".into());
    let mut blocks = vec![thought, said("running several commands")];
    for (n, command) in commands.iter().enumerate() {
        blocks.push(call(tools::shell(tools, command, Reach::Usual)?, id, n));
    }
    Ok(Speech::of(blocks))
}

fn said(words: &str) -> Block {
    Block::Text(vec![Beat::Words(words.into())])
}

fn call((name, arguments): (String, serde_json::Value), id: &str, n: usize) -> Block {
    let (space, name) = match name.rsplit_once('/') {
        Some((space, name)) => (Some(space.to_owned()), name.to_owned()),
        None => (None, name),
    };
    Block::Call(ToolCall { id: format!("{id}_{n}"), name, space, arguments })
}

/// The words one by one, the time between them even, a wait after each.
fn spread(words: &str, time: Duration) -> Vec<Beat> {
    let pieces: Vec<&str> = words.split_inclusive(' ').collect();
    let pause = time / u32::try_from(pieces.len().max(1)).unwrap_or(u32::MAX);
    let beat = |piece: &str| [Beat::Words(piece.into()), Beat::Wait(Wait::For(pause))];
    pieces.into_iter().flat_map(beat).collect()
}

fn halves(words: &str, wait: Wait) -> Vec<Beat> {
    let middle = words.floor_char_boundary(words.len().div_ceil(2));
    let (first, second) = words.split_at(middle);
    vec![Beat::Words(first.into()), Beat::Wait(wait), Beat::Words(second.into())]
}

fn filler(kib: usize) -> Vec<Beat> {
    let piece: String = FILLER.chars().cycle().take(PIECE).collect();
    vec![Beat::Words(piece); kib]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::answer::whole;

    #[test]
    fn pacing_keeps_the_words_and_the_time() {
        let time = Duration::from_secs(3);
        let beats = spread("a b c", time);
        let waited: Duration = beats
            .iter()
            .map(|beat| match beat {
                Beat::Wait(Wait::For(pause)) => *pause,
                Beat::Wait(_) | Beat::Words(_) => Duration::ZERO,
            })
            .sum();
        assert_eq!((whole(&beats).as_str(), waited), ("a b c", time));
        assert_eq!(whole(&halves("äöü", Wait::Cut)), "äöü");
        assert_eq!(whole(&filler(3)).len(), 3 * 1024);
    }

    #[test]
    fn a_slash_names_a_namespace() {
        let Block::Call(found) = call(("a/b/c".into(), serde_json::Value::Null), "x", 1) else {
            panic!("not a call");
        };
        assert_eq!((found.space.as_deref(), found.name.as_str()), (Some("a/b"), "c"));
        assert_eq!(found.id, "x_1");
    }
}
