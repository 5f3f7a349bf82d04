//! What one entry of a Pi transcript says. OpenClaw keeps the same entries.

use crate::{
    agents::json::{self, Part, Pick},
    evidence::{Ending, Tokens},
    text,
};
use serde_json::Value;

/// What an entry tells of the newest turn, if it is the newest that tells.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agents) enum Step {
    /// The turn goes on: a prompt, a call, or the result of one.
    Open,
    /// It ended.
    Ended(Ending),
    /// A try failed; the entry does not say whether it is made again.
    Failed(String),
}

/// What an entry tells of the turn; `None` where it tells nothing.
pub(in crate::agents) fn step(entry: &Value) -> Option<Step> {
    let message = message(entry)?;
    match json::text(message, "role")? {
        "user" | "toolResult" => Some(Step::Open),
        "assistant" => Some(answer(message)),
        _ => None, // `system`, `bashExecution` and what extensions add belong to no turn
    }
}

fn answer(message: &Value) -> Step {
    let why = json::text(message, "errorMessage").map(text::one_line);
    let why = why.filter(|why| !why.is_empty());
    match json::text(message, "stopReason").unwrap_or_default() {
        "toolUse" => Step::Open,
        "aborted" => Step::Ended(Ending::Interrupted),
        // 1.5.0 writes an abort in the midst of a tool as an error in these words.
        "error" if why.as_deref().is_some_and(is_abort) => Step::Ended(Ending::Interrupted),
        "error" => failed(message, why.unwrap_or_else(|| "error".into())),
        "length" => {
            let why = why.unwrap_or_else(|| "the answer was cut at its length limit".into());
            Step::Ended(Ending::Failed(why))
        }
        _ => Step::Ended(Ending::Completed),
    }
}

fn is_abort(why: &str) -> bool {
    ["This operation was aborted", "Request was aborted"].contains(&why.trim_end_matches('.'))
}

/// 1.x says by a `context_edit` that it tries again, so that an error without one is the end.
fn failed(message: &Value, why: String) -> Step {
    match message.get("durationMs").is_some() || !may_retry(&why) {
        true => Step::Ended(Ending::Failed(why)),
        false => Step::Failed(why),
    }
}

/// What 0.73.1 tries again after, in short: overload, limits, and whatever breaks on the way.
fn may_retry(why: &str) -> bool {
    const SIGNS: &str = "overloaded|returned error|rate limit|rate_limit|too many requests|429|500|\
        502|503|504|unavailable|server error|server_error|internal error|internal_error|network|\
        connection|websocket|other side closed|fetch failed|upstream|reset before headers|\
        socket hang up|ended without|http2|timed out|timeout|terminated|retry delay";
    let why = why.to_ascii_lowercase();
    SIGNS.split('|').any(|sign| why.contains(sign))
}

/// The message an entry carries.
pub(in crate::agents) fn message(entry: &Value) -> Option<&Value> {
    let is_message = json::text(entry, "type") == Some("message");
    entry.get("message").filter(|message| is_message && message.is_object())
}

/// The text of a message, its parts joined; `None` where there is none.
pub(in crate::agents) fn said(message: &Value) -> Option<String> {
    let content = &message["content"];
    let parts = || {
        let parts = content.as_array()?.iter();
        let texts = parts.filter(|part| json::text(part, "type") == Some("text"));
        Some(texts.filter_map(|part| json::text(part, "text")).collect::<Vec<_>>().join("\n"))
    };
    let text = content.as_str().map(str::to_owned).or_else(parts);
    text.filter(|text| !text.is_empty())
}

/// What [`spent`] looks at in a bill.
pub(in crate::agents) static USAGE: &[Pick] = &[
    Pick::Field("input"),
    Pick::Field("output"),
    Pick::Field("cacheRead"),
    Pick::Field("cacheWrite"),
    Pick::Within("cost", &[Pick::Field("total")]),
];

/// What an entry was billed: an answer, a tool that asks a model, a summary, or `usage` itself.
pub(in crate::agents) fn spent(entry: &Value) -> Option<(Tokens, f64)> {
    let place = place_of(json::text(entry, "type")?)?;
    let usage = place.iter().fold(entry, |at, name| &at[name]);
    let bill = || bill(|name| json::count(usage, name), usage["cost"]["total"].as_f64());
    usage.is_object().then(bill)
}

/// The same of an entry of which only that was picked.
pub(in crate::agents) fn billed(entry: &Part<'_>) -> Option<(Tokens, f64)> {
    let place = place_of(entry.text("type")?)?;
    let usage = place.iter().fold(entry, |at, name| at.get(name));
    let bill = || bill(|name| usage.count(name), usage.get("cost").number("total"));
    usage.is_object().then(bill)
}

/// Where an entry of this type says it.
fn place_of(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "message" => Some(&["message", "usage"]),
        "usage" | "compaction" | "branch_summary" => Some(&["usage"]),
        _ => None,
    }
}

fn bill(count: impl Fn(&str) -> u64, cost: Option<f64>) -> (Tokens, f64) {
    let tokens = Tokens {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
    };
    (tokens, cost.filter(|cost| cost.is_finite()).unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assistant(stop: &str, error: &str) -> Option<Step> {
        step(&json!({"type": "message", "message": {
            "role": "assistant", "stopReason": stop, "errorMessage": error,
        }}))
    }

    #[test]
    fn stop_reasons_end_turns() {
        let failed = |why: &str| Some(Step::Ended(Ending::Failed(why.into())));
        assert_eq!(assistant("toolUse", ""), Some(Step::Open));
        assert_eq!(assistant("stop", ""), Some(Step::Ended(Ending::Completed)));
        assert_eq!(assistant("aborted", "x"), Some(Step::Ended(Ending::Interrupted)));
        let abort = assistant("error", "This operation was aborted");
        assert_eq!(abort, Some(Step::Ended(Ending::Interrupted)));
        assert_eq!(assistant("error", "401 no"), failed("401 no"));
        assert_eq!(assistant("error", "429 slow"), Some(Step::Failed("429 slow".into())));
        assert_eq!(assistant("length", ""), failed("the answer was cut at its length limit"));
    }

    #[test]
    fn what_was_billed_is_found_wherever_it_stands() {
        let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cost": {"total": 0.5}});
        let tokens = Tokens { input: 1, output: 2, cache_read: 3, cache_write: 0 };
        let entry = json!({"type": "compaction", "usage": usage});
        assert_eq!(spent(&entry), Some((tokens, 0.5)));
        assert_eq!(spent(&json!({"type": "message", "message": {"role": "user"}})), None);
    }
}
