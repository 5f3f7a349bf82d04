//! The table: what each command took, against its yardstick and its bar.

use super::rounds::Times;

/// What a command is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Yardstick {
    /// A hello-world process.
    Hello,
    /// The same with one walk over `/proc`.
    Walk,
    /// `find` over the session files.
    Find,
}

/// The bars of a command.
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
    pub(super) times: Times,
    pub(super) bars: Bars,
    pub(super) peak: Option<f64>,
    pub(super) syscalls: Option<u64>,
}

/// The quickest run of each yardstick, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yard {
    pub(super) hello: f64,
    pub(super) walk: f64,
    pub(super) find: f64,
}

impl Yard {
    fn of(&self, yardstick: Yardstick) -> (f64, &'static str) {
        match yardstick {
            Yardstick::Hello => (self.hello, "hello"),
            Yardstick::Walk => (self.walk, "hello+walk"),
            Yardstick::Find => (self.find, "find"),
        }
    }
}

/// The head of the table.
pub(super) fn head() -> String {
    let line = format!(
        "{:<32} {:>9} {:>9} {:>7} {:<10} {:>5} {:>7} {:>5} {:>8}  {}",
        "command",
        "min ms",
        "median",
        "ratio",
        "to",
        "bar",
        "peak MB",
        "bar",
        "syscalls",
        "verdict"
    );
    let rule = "-".repeat(line.chars().count());
    format!("{line}\n{rule}")
}

impl Row {
    /// The line, with whether it is within its bars.
    pub(super) fn line(&self, yard: &Yard) -> String {
        let (yardstick, to) = yard.of(self.bars.yardstick);
        let ratio = Some(self.times.min() / yardstick);
        let is_over = |value: Option<f64>, bar: Option<f64>| match (value, bar) {
            (Some(value), Some(bar)) => value > bar,
            _ => false,
        };
        let slow = is_over(ratio, self.bars.ratio);
        let large = is_over(self.peak, self.bars.memory);
        let has_bar = self.bars.ratio.is_some() || self.bars.memory.is_some();
        let verdict = match (has_bar, slow, large) {
            (false, _, _) => "",
            (true, false, false) => "ok",
            (true, true, false) => "OVER (time)",
            (true, false, true) => "OVER (memory)",
            (true, true, true) => "OVER (time, memory)",
        };
        format!(
            "{:<32} {:>9.2} {:>9.2} {:>7} {:<10} {:>5} {:>7} {:>5} {:>8}  {verdict}",
            self.name,
            self.times.min(),
            self.times.median(),
            figure(ratio, 2),
            to,
            figure(self.bars.ratio, 1),
            figure(self.peak, 1),
            figure(self.bars.memory, 0),
            self.syscalls.map_or("-".to_owned(), |count| count.to_string()),
        )
    }
}

fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::{Bars, Row, Times, Yard, Yardstick};
    use std::time::Duration;

    #[test]
    fn a_row_says_what_is_over_its_bar() {
        let mut times = Times::default();
        times.add(Duration::from_millis(30));
        let bars = Bars { yardstick: Yardstick::Find, ratio: Some(2.0), memory: Some(12.0) };
        let row = Row { name: "list".to_owned(), times, bars, peak: Some(9.5), syscalls: None };
        let yard = Yard { hello: 1.0, walk: 2.0, find: 10.0 };
        assert!(
            row.line(&yard).ends_with("3.00 find         2.0     9.5    12        -  OVER (time)")
        );
    }
}
