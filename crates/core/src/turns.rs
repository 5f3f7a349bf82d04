//! How often the model answered, counted from what is said in a transcript.
//!
//! Here a turn is one answer of the model, with the tools that it calls: what agents' own `--max-turns` counts.

use crate::{
    agent::{Message, Speaker},
    host::Host,
    lines::{self, Body, Flow},
};
use std::{io, path::Path};

/// Counts answers as messages go by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    count: u64,
    /// The model was the last to speak.
    speaks: bool,
}

impl Turns {
    /// One more message: all that the model says until somebody answers it is one answer.
    pub(crate) fn hear(&mut self, message: &Message) {
        match message.speaker {
            Speaker::Assistant | Speaker::Thinking | Speaker::Call => {
                self.count += u64::from(!self.speaks);
                self.speaks = true;
            }
            Speaker::User | Speaker::Result => self.speaks = false,
            Speaker::System => {}
        }
    }

    /// How many there were.
    pub(crate) fn count(self) -> u64 {
        self.count
    }
}

/// Of all these messages.
pub(crate) fn of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    let mut turns = Turns::default();
    messages.into_iter().for_each(|message| turns.hear(message));
    turns.count()
}

/// Of a transcript of lines, of which none is kept.
pub(crate) fn of_lines(
    messages: impl Fn(&[u8]) -> Vec<Message>,
    host: &dyn Host,
    path: &Path,
) -> io::Result<u64> {
    let file = host.open(path)?;
    let mut turns = Turns::default();
    lines::forward(&*file, 0, &mut |line| {
        if let Body::Whole(bytes) = line.body {
            messages(bytes).iter().for_each(|message| turns.hear(message));
        }
        Flow::Continue(())
    })?;
    Ok(turns.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter for each message: u a t(hinking) c(all) r(esult) s(ystem).
    fn count(text: &str) -> u64 {
        let speaker = |letter| match letter {
            'u' => Speaker::User,
            'a' => Speaker::Assistant,
            't' => Speaker::Thinking,
            'c' => Speaker::Call,
            'r' => Speaker::Result,
            _ => Speaker::System,
        };
        let message = |letter| Message {
            at: None,
            speaker: speaker(letter),
            tool: None,
            failed: false,
            text: String::new(),
        };
        of(&text.chars().map(message).collect::<Vec<_>>())
    }

    #[test]
    fn all_that_is_said_at_once_is_one_answer() {
        let table = [
            ("", 0),
            ("u", 0),
            ("us", 0),
            ("ua", 1),
            ("utaccrra", 2),
            ("utcsrtcra", 3),
            ("uaua", 2),
            ("uasa", 1),
            ("ucrcrcra", 4),
            ("uuara", 2),
        ];
        for (said, expected) in table {
            assert_eq!(count(said), expected, "{said}");
        }
    }
}
