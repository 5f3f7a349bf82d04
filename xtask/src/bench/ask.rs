//! The words after `cargo xtask bench`.

use super::{plan::Scale, rounds::Patience};
use crate::failure::{Failure, Outcome};
use std::{path::PathBuf, time::Duration};

/// Sessions of the home that `list` must be as quick on as on the large one, beside the live ones.
const FEW: usize = 5;

/// What was asked for.
#[derive(Debug, PartialEq)]
pub(super) struct Ask {
    sessions: Option<usize>,
    live: usize,
    gigabytes: Option<f64>,
    quick: bool,
    /// Homes are made and named, nothing is measured.
    pub(super) homes_only: bool,
    /// Live sessions are started and kept until the input ends, nothing is measured.
    pub(super) hold: bool,
    /// What quick questions run is written down for the linker, nothing is measured.
    pub(super) order: bool,
    /// What is found goes into the page too.
    pub(super) page: bool,
    /// Where homes are made and kept, in place of the cache.
    pub(super) keep: Option<PathBuf>,
    /// Measured in place of what is built: an earlier one, or another build of it.
    pub(super) program: Option<PathBuf>,
}

impl Ask {
    /// Reads the words.
    pub(super) fn parse(words: &[&str]) -> Outcome<Self> {
        let mut ask = Self {
            sessions: None,
            live: 5,
            gigabytes: None,
            quick: false,
            homes_only: false,
            hold: false,
            order: false,
            page: false,
            keep: None,
            program: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words.next().ok_or_else(|| Failure::usage(format!("bench: {word} needs a value")))
            };
            match *word {
                "--quick" => ask.quick = true,
                "--homes" => ask.homes_only = true,
                "--hold" => ask.hold = true,
                "--order" => ask.order = true,
                "--page" => ask.page = true,
                "--sessions" => ask.sessions = Some(number(word, value()?)?),
                "--live" => ask.live = number(word, value()?)?,
                "--size" => ask.gigabytes = Some(number(word, value()?)?),
                "--program" => ask.program = Some(PathBuf::from(value()?)),
                "--keep" => ask.keep = Some(PathBuf::from(value()?)),
                other => return Err(Failure::usage(format!("bench: no such option: {other}"))),
            }
        }
        if ask.gigabytes.is_some_and(|size| !(size > 0.0 && size < 1000.0)) {
            return Err(Failure::usage("bench: --size must be above 0 and below 1000"));
        }
        match ask.sessions == Some(0) {
            true => Err(Failure::usage("bench: --sessions must be at least 1")),
            false => Ok(ask),
        }
    }

    /// The large home.
    pub(super) fn scale(&self) -> Scale {
        let usual = if self.quick { 1000 } else { 10_000 };
        let sessions = self.sessions.unwrap_or(usual);
        let (live, bytes) = (self.live.min(sessions), self.gigabytes.map(|size| size * 1e9));
        Scale { sessions, live, bytes }
    }

    /// The home with as many live sessions and hardly any other.
    pub(super) fn small(&self) -> Scale {
        let live = self.scale().live;
        Scale { sessions: live + FEW, live, bytes: None }
    }

    /// How long a watcher is left alone.
    pub(super) fn quiet(&self) -> Duration {
        Duration::from_secs(if self.quick { 20 } else { 60 })
    }

    /// How long to measure.
    pub(super) fn patience(&self) -> Patience {
        match self.quick {
            true => Patience { rounds: 20, each: Duration::from_secs(1) },
            false => Patience { rounds: 60, each: Duration::from_secs(6) },
        }
    }
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Outcome<T> {
    value.parse().map_err(|_| Failure::usage(format!("bench: {word} {value} is not a number")))
}

#[cfg(test)]
mod tests {
    use super::{Ask, Scale};
    use std::path::PathBuf;

    #[test]
    fn words_are_read() {
        let words = ["--sessions", "50", "--live", "2", "--size", "0.5", "--keep", "/k"];
        let ask = Ask::parse(&words).expect("words");
        assert_eq!(ask.scale(), Scale { sessions: 50, live: 2, bytes: Some(5e8) });
        assert_eq!(ask.small(), Scale { sessions: 7, live: 2, bytes: None });
        assert_eq!(ask.keep, Some(PathBuf::from("/k")));
        let usual = Ask::parse(&[]).expect("no words");
        assert_eq!(usual.scale(), Scale { sessions: 10_000, live: 5, bytes: None });
        let one = Ask::parse(&["--sessions", "1"]).expect("words");
        assert_eq!(one.scale(), Scale { sessions: 1, live: 1, bytes: None });
    }

    #[test]
    fn wrong_words_are_refused() {
        for words in ["--sessions", "--sessions 0", "--size -1", "--size much", "more"] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(Ask::parse(&words).map_err(|why| why.exit_code()), Err(2), "{words:?}");
        }
    }
}
