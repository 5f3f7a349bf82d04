//! How long something may take, and since when, in a person's words.

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};
use std::time::Duration;

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
    let unsigned =
        text.strip_prefix('-').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[digits..] {
        _ if unsigned.is_some() => return Err("a duration cannot be negative".to_owned()),
        "" if digits > 0 && text.bytes().any(|digit| digit != b'0') => {
            return Err(format!("it has no unit: {text}ms, {text}s, {text}m or {text}h"));
        }
        "" if digits > 0 => return Err("it must be longer than nothing".to_owned()),
        "ms" if digits > 0 => 1,
        "s" if digits > 0 => 1000,
        "m" | "min" if digits > 0 => 60_000,
        "h" if digits > 0 => 3_600_000,
        _ => return Err("use a duration such as 500ms, 90s, 10m or 2h".to_owned()),
    };
    match text[..digits].parse::<u32>().ok().and_then(|count| count.checked_mul(unit)) {
        Some(0) => Err("it must be longer than nothing".to_owned()),
        Some(millis) => Ok(Patience::Within(Duration::from_millis(millis.into()))),
        None => Err("it is too long: at most 1193h, about 49 days".to_owned()),
    }
}

/// A time, a date, or a duration before now.
pub(crate) fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    if let Ok(day) = text.parse::<civil::Date>() {
        return day.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    }
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: i64 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
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
        assert_eq!(at("99999999999999999999d"), None);
        assert_eq!(at("soon"), None);
        assert_eq!(at(""), None);
    }
}
