//! What a line may tell, by the words in it.

use crate::agents::sign::Sign;

/// What the model said.
pub(super) static ASSISTANT: Sign = Sign::new("\"assistant\"");
/// A title, whoever gave it.
pub(super) static NAME: Sign = Sign::new("-title\"");
/// No branch, though there is a repository.
pub(super) static DETACHED: Sign = Sign::new("\"gitBranch\":\"HEAD\"");
/// A question to the user.
pub(super) static QUESTION: Sign = Sign::new("AskUserQuestion");
/// Which call it answers.
pub(super) static ANSWERED: Sign = Sign::new("\"tool_use_id\"");
/// When it was written.
pub(super) static MOMENT: Sign = Sign::new("\"timestamp\"");
static RESULT: Sign = Sign::new("tool_result");

/// The line may ask or answer something.
pub(super) fn tells(line: &[u8]) -> bool {
    QUESTION.is_in(line) || RESULT.is_in(line)
}
