//! What SQLite would find in a message, found without asking it, where there can be no doubt.

use crate::agents::json::{self, Part, Pick};

/// The message is the agent's.
pub(super) fn is_answer(message: &[u8]) -> bool {
    static ROLE: &[Pick] = &[Pick::Field("role")];
    once(message, ROLE).is_some_and(|message| message.text("role") == Some("assistant"))
}

/// Whether this part says something. `None` where SQLite may understand what is written otherwise: it alone knows then.
pub(super) fn speaks(part: &[u8]) -> Option<bool> {
    static SAID: &[Pick] = &[Pick::Field("type"), Pick::Field("text")];
    let part = once(part, SAID)?;
    match part.text("type") {
        Some("text") => part.text("text").map(|text| !text.is_empty()),
        _ => Some(false),
    }
}

/// The picked fields of an object. Of a name that stands twice SQLite takes the first, and we the last.
fn once<'l>(object: &'l [u8], picks: &'static [Pick]) -> Option<Part<'l>> {
    let part = json::sound_parts(object, picks)?;
    let Part::Object(fields) = &part else { return None };
    let is_first = |at: usize| fields[..at].iter().all(|(name, _)| *name != fields[at].0);
    (0..fields.len()).all(is_first).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_text_says_something() {
        for part in [r#"{"type":"text","text":"one"}"#, r#"{"text":"t\nwo","type":"text"}"#] {
            assert_eq!(speaks(part.as_bytes()), Some(true), "{part}");
        }
        for part in [r#"{"type":"text","text":""}"#, r#"{"type":"tool","text":"x"}"#, "{}"] {
            assert_eq!(speaks(part.as_bytes()), Some(false), "{part}");
        }
        assert!(is_answer(br#"{"role":"assistant","time":{"created":1}}"#));
        for message in [r#"{"role":"user"}"#, r#"{"time":1}"#] {
            assert!(!is_answer(message.as_bytes()), "{message}");
        }
    }

    #[test]
    fn what_may_be_understood_otherwise_is_left_to_sqlite() {
        for doubtful in [
            r#"{"type":"text","type":"tool","text":"x"}"#,
            r#"{"type":"text","text":"x","text":""}"#,
            r#"{"type":"text","text":1}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"text","text":"\ud83d"}"#,
            r#"{"type":"text","text":"#,
            "",
        ] {
            assert_eq!(speaks(doubtful.as_bytes()), None, "{doubtful}");
        }
        assert!(!is_answer(br#"{"role":"assistant","role":"assistant"}"#));
    }
}
