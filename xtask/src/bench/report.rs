//! The table: what each question cost, against its yardstick and its bar; the same for a person at a
//! terminal and for the page.

use super::rounds::Costs;

/// What a question is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    /// A hello-world process.
    Hello,
    /// The same with one walk over `/proc`.
    Walk,
    /// `find` over the session files.
    Find,
}

/// The bars of a question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bars {
    /// Measured against this.
    pub(super) yardstick: Yardstick,
    /// At most so many times the yardstick.
    pub(super) ratio: Option<f64>,
    /// At most so many megabytes.
    pub(super) memory: Option<f64>,
}

/// One line of the table.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) costs: Costs,
    pub(super) bars: Bars,
    pub(super) peak: Option<f64>,
    pub(super) syscalls: Option<u64>,
}

/// What each yardstick cost.
#[derive(Debug)]
pub(super) struct Yard {
    pub(super) hello: Costs,
    pub(super) walk: Costs,
    pub(super) find: Costs,
}

impl Yard {
    fn of(&self, yardstick: Yardstick) -> (&Costs, &'static str) {
        match yardstick {
            Yardstick::Hello => (&self.hello, "hello"),
            Yardstick::Walk => (&self.walk, "hello + walk"),
            Yardstick::Find => (&self.find, "find"),
        }
    }
}

/// Names and widths of the columns.
const COLUMNS: [(&str, usize); 12] = [
    ("question", 42),
    ("wall ms", 8),
    ("ratio", 6),
    ("to", 12),
    ("bar", 4),
    ("CPU ms", 8),
    ("ratio", 6),
    ("peak MB", 7),
    ("bar", 4),
    ("syscalls", 8),
    ("read MB", 8),
    ("verdict", 14),
];

/// The head of the table.
pub(super) fn head() -> String {
    let names = line(&COLUMNS.map(|(name, _)| name.to_owned()));
    let rule: Vec<String> = COLUMNS.iter().map(|(_, width)| "-".repeat(*width)).collect();
    format!("{names}\n| {} |", rule.join(" | "))
}

fn line(cells: &[String]) -> String {
    let padded = cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!("{cell:<width$}"));
    format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
}

impl Row {
    /// The line, with whether it is within its bars.
    pub(super) fn line(&self, yard: &Yard) -> String {
        let Bars { yardstick, ratio: bar, memory: most } = self.bars;
        let (against, to) = yard.of(yardstick);
        let ratio = Some(self.costs.times(against));
        let name = match self.name.starts_with('`') {
            true => self.name.clone(),
            false => format!("`{}`", self.name),
        };
        line(&[
            name,
            format!("{:.2}", self.costs.wall()),
            figure(ratio, 2),
            to.to_owned(),
            figure(bar, 1),
            format!("{:.2}", self.costs.cpu()),
            format!("{:.2}", self.costs.cpu_times(against)),
            figure(self.peak, 1),
            figure(most, 0),
            self.syscalls.map_or(String::new(), |count| count.to_string()),
            format!("{:.2}", self.costs.read()),
            verdict(&[(ratio, bar), (self.peak, most)]).to_owned(),
        ])
    }
}

/// Whether every figure that has a bar is within it; nothing where none has one.
pub(super) fn verdict(figures: &[(Option<f64>, Option<f64>)]) -> &'static str {
    let judged = figures.iter().filter_map(|(value, bar)| Some((*value)? <= (*bar)?));
    let judged: Vec<bool> = judged.collect();
    match (judged.is_empty(), judged.iter().all(|holds| *holds)) {
        (true, _) => "",
        (false, true) => "holds",
        (false, false) => "does not hold",
    }
}

fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::{Bars, Costs, Row, Yard, Yardstick, head, verdict};
    use crate::bench::measure::Cost;
    use std::time::Duration;

    fn costs(millis: u64) -> Costs {
        let mut costs = Costs::default();
        costs.add(Cost { wall: Duration::from_millis(millis), ..Cost::default() });
        costs
    }

    #[test]
    fn a_row_says_whether_its_bars_hold() {
        let bars = Bars { yardstick: Yardstick::Find, ratio: Some(2.0), memory: Some(12.0) };
        let yard = Yard { hello: costs(1), walk: costs(2), find: costs(10) };
        let row = |millis| {
            let (name, costs) = ("list".to_owned(), costs(millis));
            Row { name, costs, bars, peak: Some(9.5), syscalls: None }.line(&yard)
        };
        assert!(row(30).contains("| 3.00   | find         | 2.0  |"), "{}", row(30));
        assert!(row(30).contains("does not hold") && row(20).contains("| holds "));
        assert!(head().lines().all(|line| line.chars().count() == row(30).chars().count()));
    }

    #[test]
    fn without_a_bar_there_is_no_verdict() {
        assert_eq!(verdict(&[(Some(3.0), None), (None, Some(1.0))]), "");
        assert_eq!(verdict(&[(Some(3.0), None), (Some(2.0), Some(1.0))]), "does not hold");
    }
}
