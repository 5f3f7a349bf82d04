//! A scripted model: a loopback server that speaks four model APIs and does what the prompt says.
//!
//! The real agents are pointed at it, so that a test decides what "the model" answers, when, and
//! with what fault. Nothing here knows an agent; only the wire dialects of their models:
//! Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini, streamed or whole.
//!
//! # The script
//!
//! A script is the lines `MOCK:<verb> <argument>` of the last user message that has any. The n-th
//! model call after that message performs the n-th line; when the lines run out the answer is
//! `done`. Calls are counted from the history the agent sends (one run of assistant items is one
//! call), so a call that failed is simply performed again by a retry, and a restarted server goes
//! on where the old one stopped. Without a script the answer is `ok`. A call that offers no tools
//! while a script stands is a side call (a title, a summary): it gets `ok` and uses up no line.
//!
//! | line | what the model does |
//! | --- | --- |
//! | `text WORDS` | says WORDS at once (`ok` when there are none) |
//! | `slow SECS [WORDS]` | spreads WORDS evenly over SECS; without WORDS `tick1 tick2 …`, two a second |
//! | `hang SECS` | sends nothing, not even a status line, for SECS; then says `late` |
//! | `stall SECS [WORDS]` | says the first half, pauses for SECS, says the rest (`first half, second half`) |
//! | `until FILE` | sends the headers and opens the answer, then holds it until FILE exists (at most 120 s); then says `released` |
//! | `tool CMD` | calls the client's shell tool, whatever its name, with arguments as its schema wants them |
//! | `escalate CMD` | the same, asking to leave the sandbox where the tool has such an argument (Codex) |
//! | `call NAME {JSON}` | calls the tool NAME; `SPACE/NAME` for a namespaced tool of the Responses dialect |
//! | `ask QUESTION` | calls the client's question tool with the options `Yes` and `No` |
//! | `multi CMD1 \| CMD2` | one message: thinking, text, and a shell call for each command |
//! | `err STATUS [N]` | answers with that HTTP status; with N only the first N times, then says `recovered` |
//! | `failed` | starts an answer that ends in an error event (`response.failed` and its cousins) |
//! | `cut` | says half a sentence and drops the connection |
//! | `big KIB` | says exactly KIB × 1024 characters |
//! | `tokens N` | says `used N tokens` and reports N input tokens |
//!
//! A line that cannot be read is answered with HTTP 400 and the reason: a test with a mistyped
//! script fails at once. So is `tool` or `ask` answered when the client offers no such tool.
//!
//! # Tokens
//!
//! Every answer, side calls included, reports the same [`Usage`] ([`Usage::USUAL`]), so that a sum
//! is a count times a constant; only `tokens N` replaces its `input`. How a dialect spells it:
//!
//! | dialect | reported |
//! | --- | --- |
//! | Anthropic | `input_tokens` 1000, `cache_read_input_tokens` 200, `cache_creation_input_tokens` 50, `output_tokens` 10 |
//! | Responses | `input_tokens` 1000 (200 of them cached), `output_tokens` 10 (4 of them reasoning), `total_tokens` 1010 |
//! | Chat | `prompt_tokens` 1000 (200 cached), `completion_tokens` 10 (4 reasoning), `total_tokens` 1010 |
//! | Gemini | `promptTokenCount` 1000, `cachedContentTokenCount` 200, `candidatesTokenCount` 6, `thoughtsTokenCount` 4, `totalTokenCount` 1010 |

mod answer;
mod compose;
mod conversation;
mod dialects;
mod halt;
mod http;
mod journal;
mod lock;
mod routes;
mod script;
mod server;
mod tools;

pub use answer::Usage;
pub use dialects::Dialect;
pub use journal::Request;
pub use server::{Model, Options};
