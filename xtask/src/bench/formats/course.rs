//! The course of a session, whoever's it is: turns with calls of tools until it is as large as it
//! should be, then its end.

use super::{
    super::{
        chance::Chance,
        plan::{Ending, Session},
        time::Moment,
    },
    claude::result_size,
};
use crate::failure::Outcome;

/// Less is left for the end.
const REST: usize = 6000;

/// How far a session is.
pub(super) struct Pace<'a> {
    pub(super) session: &'a Session,
    pub(super) chance: Chance,
    /// Bytes so far.
    pub(super) written: u64,
}

impl<'a> Pace<'a> {
    /// At its beginning.
    pub(super) fn new(session: &'a Session) -> Self {
        Self { session, chance: Chance::new(session.seed), written: 0 }
    }

    /// When what is written now happens.
    pub(super) fn at(&self) -> Moment {
        self.session.start.towards(self.session.end, self.written, self.session.size)
    }

    fn left(&self) -> usize {
        usize::try_from(self.session.size.saturating_sub(self.written)).unwrap_or_default()
    }
}

/// How an agent writes each thing down that can happen.
pub(super) trait Voice<'a> {
    /// How far it is.
    fn pace(&mut self) -> &mut Pace<'a>;
    /// What stands before the first prompt.
    fn opening(&mut self) -> Outcome<()>;
    /// A prompt.
    fn ask(&mut self) -> Outcome<()>;
    /// The model asks for a tool, which has not answered.
    fn call(&mut self) -> Outcome<()>;
    /// The same with the tool's answer, of about so many bytes.
    fn round(&mut self, size: usize) -> Outcome<()>;
    /// The model's last word of a turn.
    fn answer(&mut self) -> Outcome<()>;
    /// The model's refusal.
    fn fail(&mut self) -> Outcome<()>;
    /// A person ends the turn.
    fn interrupt(&mut self) -> Outcome<()>;
    /// What an orderly exit adds.
    fn leave(&mut self) -> Outcome<()>;
    /// The last line loses its end; nothing where a database keeps rows whole.
    fn tear(&mut self);
}

/// Writes a whole session.
pub(super) fn play<'a>(voice: &mut impl Voice<'a>) -> Outcome<()> {
    voice.opening()?;
    while voice.pace().left() > REST {
        voice.ask()?;
        for _ in 0..voice.pace().chance.between(1, 12) {
            if voice.pace().left() > REST {
                round(voice)?;
            }
        }
        voice.answer()?;
    }
    end(voice)
}

fn round<'a>(voice: &mut impl Voice<'a>) -> Outcome<()> {
    let pace = voice.pace();
    let (left, whole) = (pace.left(), pace.session.size);
    let size = result_size(&mut pace.chance, whole).min(left / 2);
    voice.round(size)
}

fn end<'a>(voice: &mut impl Voice<'a>) -> Outcome<()> {
    let pace = voice.pace();
    // What follows happens at the session's very end, whatever the size came out as.
    pace.written = pace.written.max(pace.session.size);
    let ending = pace.session.ending;
    voice.ask()?;
    match ending {
        Ending::Done => voice.answer()?,
        Ending::Failed => voice.fail()?,
        Ending::Interrupted | Ending::TurnLimit => voice.interrupt()?,
        Ending::InTool => return voice.call(),
        Ending::Generating => return Ok(()),
        Ending::Torn => {
            voice.call()?;
            voice.tear();
            return Ok(());
        }
    }
    voice.leave()
}
