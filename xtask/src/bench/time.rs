//! Moments as agents write them down; UTC, so that a home does not depend on where it is made.

use std::fmt;

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) u64);

/// A calendar day and a time of day.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    second: u64,
    millis: u64,
}

impl Moment {
    /// So much earlier.
    pub(super) fn before(self, millis: u64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// A part of the way to a later moment.
    pub(super) fn towards(self, end: Self, done: u64, whole: u64) -> Self {
        let way = u128::from(end.0.saturating_sub(self.0)) * u128::from(done.min(whole));
        Self(self.0 + u64::try_from(way / u128::from(whole.max(1))).unwrap_or_default())
    }

    /// The folder of a day: `2026/11/15`.
    pub(super) fn folder(self) -> String {
        let at = self.civil();
        format!("{:04}/{:02}/{:02}", at.year, at.month, at.day)
    }

    /// As it stands in a rollout's name: `2026-11-15T18-14-03`.
    pub(super) fn in_name(self) -> String {
        let at = self.civil();
        let (hour, minute, second) = (at.second / 3600, at.second / 60 % 60, at.second % 60);
        format!("{:04}-{:02}-{:02}T{hour:02}-{minute:02}-{second:02}", at.year, at.month, at.day)
    }

    /// Days to a date, by the well-known method of eras of 400 years that begin in March.
    fn civil(self) -> Civil {
        let (days, rest) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Civil {
            year: year + era * 400 + u64::from(month <= 2),
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            second: rest / 1000,
            millis: rest % 1000,
        }
    }
}

/// `2026-11-15T18:14:04.017Z`
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.civil();
        let (hour, minute, second) = (at.second / 3600, at.second / 60 % 60, at.second % 60);
        write!(f, "{:04}-{:02}-{:02}T", at.year, at.month, at.day)?;
        write!(f, "{hour:02}:{minute:02}:{second:02}.{:03}Z", at.millis)
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn moments_read_as_in_captured_files() {
        let at = Moment(1_794_766_444_017);
        assert_eq!(at.to_string(), "2026-11-15T18:14:04.017Z");
        assert_eq!(
            (at.folder().as_str(), at.in_name().as_str()),
            ("2026/11/15", "2026-11-15T18-14-04")
        );
        assert_eq!(Moment(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn a_way_ends_where_it_should() {
        let (start, end) = (Moment(1000), Moment(3000));
        assert_eq!(start.towards(end, 1, 2), Moment(2000));
        assert_eq!(start.towards(end, 9, 2), end);
    }
}
