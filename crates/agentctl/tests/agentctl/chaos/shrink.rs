//! Makes a sequence that fails as short as it can be: whole pieces of it go first, then smaller ones. Each try is as slow
//! as the sequence is long, so that one step after the other would take too long.

use super::step::Step;

/// The shortest part that was found to fail, and why it does. `fault` tells how many steps were played and why it
/// failed; none where it did not, or where there is no time left.
pub(super) fn shortest(
    steps: Vec<Step>,
    (played, why): (usize, String),
    mut fault: impl FnMut(&[Step]) -> Option<(usize, String)>,
) -> (Vec<Step>, String) {
    let (mut best, mut reason) = (steps, why);
    best.truncate(played);
    let mut piece = best.len().div_ceil(2);
    while piece > 0 {
        let mut from = 0;
        while from < best.len() {
            let mut rest = best.clone();
            rest.drain(from..best.len().min(from + piece));
            match fault(&rest) {
                Some((played, why)) => {
                    rest.truncate(played);
                    (best, reason) = (rest, why);
                }
                None => from += piece,
            }
        }
        piece /= 2;
    }
    (best, reason)
}

/// What two failures of the same kind have in common: their first lines, but for names and numbers.
pub(super) fn reason(why: &str) -> String {
    let is_plain = |word: &&str| !word.contains(|letter: char| letter.is_ascii_digit());
    let words = why.lines().next().unwrap_or_default().split_whitespace();
    words.filter(is_plain).collect::<Vec<_>>().join(" ")
}

/// Another session of the same fault is the same; another fault is not.
#[test]
fn a_reason_has_no_names() {
    assert_eq!(reason("0a1b is listed twice: [\n 1"), reason("77ff-3 is listed twice: [\n 2"));
    assert_ne!(reason("0a1b is listed twice: ["), reason("0a1b is not listed: ["));
}

/// Whatever else is there goes.
#[test]
fn only_what_matters_is_left() {
    let steps: Vec<Step> = (0..9).map(|which| Step::FuseCancel { which }).collect();
    let fails = |steps: &[Step]| {
        let is_in = |number| steps.contains(&Step::FuseCancel { which: number });
        (is_in(2) && is_in(7)).then(|| (steps.len(), "both".to_owned()))
    };
    let (left, why) = shortest(steps, (9, "all".to_owned()), fails);
    assert_eq!(left, [2, 7].map(|which| Step::FuseCancel { which }));
    assert_eq!(why, "both");
}
