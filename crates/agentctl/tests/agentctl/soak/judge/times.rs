//! How soon things were told to who listened at that time. Nobody promises a time, and a question that was answered
//! before it was seen is proved by nothing: these are figures alone.

use super::{Life, Log, Told, about};
use crate::soak::figures::Figures;
use jiff::Timestamp;

/// A question that was asked for so many milliseconds may be expected to be told.
const ASKED: i64 = 1000;

/// Ends and questions.
pub(super) fn judge(figures: &mut Figures, who: &str, log: &Log, lives: &[Life]) {
    let (told, spells) = (log.told(), log.spells());
    let listened = |from: Timestamp, to: Timestamp| {
        spells.iter().any(|spell| spell.0 <= from && to <= spell.1)
    };
    let mut delays = Vec::new();
    let (mut asked, mut heard) = (0, 0);
    for life in lives {
        let own: Vec<&Told> = told.iter().filter(|told| about(&told.event) == life.id).collect();
        let mut ends = own.iter().filter(|told| told.event["type"] == "session.ended");
        if let Some((gone, end)) = life.gone.zip(ends.next())
            && listened(gone.lived, end.heard)
        {
            delays.push(end.heard.duration_since(gone.gone).as_millis().max(0));
        }
        for (from, to) in &life.asked {
            if to.duration_since(*from).as_millis() < i128::from(ASKED) || !listened(*from, *to) {
                continue;
            }
            asked += 1;
            let of = |told: &&&Told| told.event["after"] == "waiting" && told.heard <= *to;
            heard += usize::from(own.iter().any(|told| of(&told)));
        }
    }
    delays.sort_unstable();
    figures.delays(who, &delays, (asked, heard));
}
