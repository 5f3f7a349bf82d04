//! What the model is about to say, before any dialect spells it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

/// The tokens an answer reports; [`Dialect`](super::Dialect) decides how they are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens as the dialect's main field reports them (the OpenAI dialects and Gemini count
    /// `cached` in, Anthropic does not).
    pub input: u64,
    /// Input tokens read from a cache.
    pub cached: u64,
    /// Input tokens written to a cache; only Anthropic reports them.
    pub written: u64,
    /// Output tokens, `reasoning` included.
    pub output: u64,
    /// The part of the output that was thinking.
    pub reasoning: u64,
}

impl Usage {
    /// What every answer reports unless a script says `tokens N`.
    pub const USUAL: Usage =
        Usage { input: 1000, cached: 200, written: 50, output: 10, reasoning: 4 };

    /// Input and output together, as the OpenAI dialects and Gemini report it.
    pub fn total(&self) -> u64 {
        self.input + self.output
    }
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Unique among all answers of all servers, also across restarts: agents tell records apart by it.
    pub(crate) id: String,
    /// The model name the client asked for.
    pub(crate) model: String,
    /// In the order they are sent.
    pub(crate) blocks: Vec<Block>,
    /// What the answer claims to have cost.
    pub(crate) usage: Usage,
    /// How it ends.
    pub(crate) ending: Ending,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// Thinking, sent in one piece.
    Think(String),
    /// Visible text.
    Text(Vec<Beat>),
    /// A tool call.
    Call(ToolCall),
}

/// A piece of a text, or what comes between two pieces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Beat {
    /// Sent at once, as one delta.
    Words(String),
    /// Nothing is sent for a while.
    Wait(Wait),
}

/// Why nothing is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wait {
    /// Time passes.
    For(Duration),
    /// A file is awaited.
    File(PathBuf),
    /// The connection is dropped: nothing after this is ever sent.
    Cut,
}

/// A call of one of the client's tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    /// Unique like [`Answer::id`].
    pub(crate) id: String,
    /// As the client named the tool.
    pub(crate) name: String,
    /// The namespace the tool lives in; only the Responses dialect knows such.
    pub(crate) space: Option<String>,
    /// An object, unless a script's `call` says otherwise.
    pub(crate) arguments: Value,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Complete,
    /// With an error event after the blocks.
    Failed,
}

/// What is done on the connection, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cue {
    /// Send this piece of the stream.
    Send(String),
    /// Send nothing for a while.
    Wait(Wait),
}

impl Answer {
    /// Whether the client is expected to run something and come back.
    pub(crate) fn has_calls(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Call(_)))
    }

    /// Every wait of the answer, for a client that wants it whole.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        for block in &self.blocks {
            if let Block::Text(beats) = block {
                waits.extend(beats.iter().filter_map(|beat| match beat {
                    Beat::Words(_) => None,
                    Beat::Wait(wait) => Some(wait.clone()),
                }));
            }
        }
        waits
    }
}

/// All words of a text, without its waits.
pub(crate) fn whole(beats: &[Beat]) -> String {
    beats
        .iter()
        .map(|beat| match beat {
            Beat::Words(words) => words.as_str(),
            Beat::Wait(_) => "",
        })
        .collect()
}
