//! What SQLite would find in a message, found without asking it, where there can be no doubt.

use crate::{
    agents::json::{self, Part, Pick},
    host::Cell,
};

/// The last of these parts that is text, if the message is the agent's. `None` where there is none, or where SQLite may
/// understand what is written otherwise: it alone knows then.
pub(super) fn spoken<'c>(
    message: &Cell,
    parts: impl DoubleEndedIterator<Item = &'c Cell>,
) -> Option<&'c Cell> {
    static ROLE: &[Pick] = &[Pick::Field("role")];
    static SAID: &[Pick] = &[Pick::Field("type"), Pick::Field("text")];
    if once(message, ROLE)?.text("role") != Some("assistant") {
        return None;
    }
    for cell in parts.rev() {
        let part = once(cell, SAID)?;
        if part.text("type") != Some("text") {
            continue;
        }
        if !part.text("text")?.is_empty() {
            return Some(cell);
        }
    }
    None
}

/// The picked fields of an object. Of a name that stands twice SQLite takes the first, and we the last.
fn once<'c>(cell: &'c Cell, picks: &'static [Pick]) -> Option<Part<'c>> {
    let part = json::sound_parts(cell.text()?.as_bytes(), picks)?;
    let Part::Object(fields) = &part else { return None };
    let is_first = |at: usize| fields[..at].iter().all(|(name, _)| *name != fields[at].0);
    (0..fields.len()).all(is_first).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    /// The number of the part that is found.
    fn found(role: &str, parts: &[&str]) -> Option<usize> {
        let parts: Vec<Cell> = parts.iter().map(|part| text(part)).collect();
        let found = spoken(&text(role), parts.iter())?;
        parts.iter().position(|part| std::ptr::eq(part, found))
    }

    #[test]
    fn the_last_text_of_an_answer_is_found() {
        const ANSWER: &str = r#"{"role":"assistant","time":{"created":1}}"#;
        let (one, two) = (r#"{"type":"text","text":"one"}"#, r#"{"text":"t\nwo","type":"text"}"#);
        let (empty, tool) = (r#"{"type":"text","text":""}"#, r#"{"type":"tool","text":"x"}"#);
        assert_eq!(found(ANSWER, &[one, two, empty, tool, "{}"]), Some(1));
        assert_eq!(found(ANSWER, &[empty, tool]), None);
        assert_eq!(found(r#"{"role":"user"}"#, &[one]), None);
        assert_eq!(found(r#"{"time":1}"#, &[one]), None);
    }

    #[test]
    fn what_may_be_understood_otherwise_is_left_to_sqlite() {
        const ANSWER: &str = r#"{"role":"assistant"}"#;
        let one = r#"{"type":"text","text":"one"}"#;
        for doubtful in [
            r#"{"type":"text","type":"tool","text":"x"}"#,
            r#"{"type":"text","text":"x","text":""}"#,
            r#"{"type":"text","text":1}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"text","text":"\ud83d"}"#,
            r#"{"type":"text","text":"#,
            "",
        ] {
            assert_eq!(found(ANSWER, &[one, doubtful]), None, "{doubtful}");
        }
        assert_eq!(found(r#"{"role":"assistant","role":"assistant"}"#, &[one]), None);
        let bytes = Cell::Bytes(ANSWER.into());
        assert_eq!(spoken(&bytes, [text(one)].iter()), None);
    }
}
