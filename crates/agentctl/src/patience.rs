//! How long something may take, and since when, in a person's words.

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};
use std::time::Duration;

/// What a duration looks like.
const WORDS: &str = "use a duration such as 500ms, 90s, 10m, 1h30m or 2d";

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No longer than this.
    Within(Duration),
    /// As long as it takes.
    Endless,
}

/// A time that has an end.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match patience(text)? {
        Patience::Within(time) => Ok(time),
        Patience::Endless => Err("leave it out for no limit, or use such as 90s".to_owned()),
    }
}

/// A time, or `none`.
pub(crate) fn patience(text: &str) -> Result<Patience, String> {
    if text == "none" {
        return Ok(Patience::Endless);
    }
    if text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err("a duration cannot be negative".to_owned());
    }
    let (mut rest, mut millis) = (text, 0_u32);
    while !rest.is_empty() {
        let (count, after) = rest.split_at(digits(rest));
        let (unit, next) =
            after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let unit = match unit {
            _ if count.is_empty() => return Err(WORDS.to_owned()),
            "" if count == text && count.bytes().any(|digit| digit != b'0') => {
                return Err(format!("it has no unit: {text}ms, {text}s, {text}m or {text}h"));
            }
            "" if count == text => return Err("it must be longer than nothing".to_owned()),
            "ms" => 1,
            "s" => 1000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 24 * 3_600_000,
            _ => return Err(WORDS.to_owned()),
        };
        let part = count.parse::<u32>().ok().and_then(|count| count.checked_mul(unit));
        let sum = part.and_then(|part| millis.checked_add(part));
        millis = sum.ok_or("it is too long: at most 1193h, about 49 days")?;
        rest = next;
    }
    match millis {
        0 if text.is_empty() => Err(WORDS.to_owned()),
        0 => Err("it must be longer than nothing".to_owned()),
        _ => Ok(Patience::Within(Duration::from_millis(millis.into()))),
    }
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

/// A time, a date, or a duration before now.
pub(crate) fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(time) = text.parse::<civil::DateTime>() {
        return time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    }
    let (count, unit) = text.split_at(digits(text));
    let count: i64 = count.parse().ok()?;
    let unit = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return None,
    };
    now.saturating_sub(SignedDuration::from_secs(count.checked_mul(unit)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_has_a_unit() {
        let within = |millis| Ok(Patience::Within(Duration::from_millis(millis)));
        assert_eq!(patience("300ms"), within(300));
        assert_eq!(patience("2s"), within(2000));
        assert_eq!(patience("1m"), within(60_000));
        assert_eq!(patience("1h30m"), within(5_400_000));
        assert_eq!(patience("2d"), within(172_800_000));
        assert_eq!(patience("none"), Ok(Patience::Endless));
        for wrong in ["", "300", "0s", "-1s", "1none", "99999999999s", "soon"] {
            assert!(patience(wrong).is_err(), "{wrong}");
        }
        let told = |text| duration(text).expect_err("it is no duration");
        assert_eq!(told("0"), "it must be longer than nothing");
        assert_eq!(told("0s"), "it must be longer than nothing");
        assert_eq!(told("-1s"), "a duration cannot be negative");
        assert_eq!(told("90"), "it has no unit: 90ms, 90s, 90m or 90h");
        assert_eq!(told("99999999999s"), "it is too long: at most 1193h, about 49 days");
        assert_eq!(duration("1193h"), Ok(Duration::from_secs(1193 * 3600)));
    }

    #[test]
    fn times_are_read() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let at = |text| moment(text, now).map(|at| at.to_string());
        assert_eq!(at("90m").as_deref(), Some("2026-11-15T10:30:00Z"));
        assert_eq!(at("2w").as_deref(), Some("2026-11-01T12:00:00Z"));
        assert_eq!(at("2026-11-14").as_deref(), Some("2026-11-14T00:00:00Z"));
        assert_eq!(at("2026-11-14 10:08").as_deref(), Some("2026-11-14T10:08:00Z"));
        assert_eq!(at("99999999999999999999d"), None);
        assert_eq!(at("soon"), None);
        assert_eq!(at(""), None);
    }
}
