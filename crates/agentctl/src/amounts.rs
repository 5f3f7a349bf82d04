//! How much something may use, in a person's words.

use agentctl_core::budget;

/// A cost in dollars, as it is compared.
pub(crate) fn cost(text: &str) -> Result<u64, String> {
    let plain = text.strip_prefix('$').unwrap_or(text);
    match decimal(plain).and_then(budget::parts) {
        Some(0) => Err(NOTHING.to_owned()),
        Some(parts) => Ok(parts),
        None => Err("use dollars, such as 2.50".to_owned()),
    }
}

/// A number of tokens.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.to_ascii_lowercase() {
        low if low.ends_with('k') => (text.len() - 1, 1e3),
        low if low.ends_with('m') => (text.len() - 1, 1e6),
        _ => (text.len(), 1.0),
    };
    let count = text.get(..number).and_then(decimal).map(|number| number * unit);
    match count.filter(|count| count.fract() == 0.0).and_then(|count| budget::parts(count / 1e6)) {
        Some(0) => Err(NOTHING.to_owned()),
        Some(count) => Ok(count),
        None => Err("use a number such as 50000, 200k or 1.5m".to_owned()),
    }
}

/// A number of answers.
pub(crate) fn turns(text: &str) -> Result<u64, String> {
    match text.parse::<u32>() {
        Ok(0) => Err(NOTHING.to_owned()),
        Ok(count) => Ok(count.into()),
        Err(_) => Err("use a number such as 20".to_owned()),
    }
}

const NOTHING: &str = "it must be more than nothing";

/// Digits with a point at most: neither a sign nor `inf`, which a float may have.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        assert_eq!(["2.50", "$2", "0.000001"].map(cost), [Ok(2_500_000), Ok(2_000_000), Ok(1)]);
        assert_eq!(["1", "200k", "1.5M"].map(tokens), [Ok(1), Ok(200_000), Ok(1_500_000)]);
        assert_eq!(turns("20"), Ok(20));
        for wrong in ["", "0", "-1", "1e3", "inf", "NaN", "$", "k", "two", "9".repeat(30).as_str()]
        {
            assert!(cost(wrong).is_err() && tokens(wrong).is_err(), "{wrong}");
            assert!(turns(wrong).is_err(), "{wrong}");
        }
        assert!(tokens("1.5").is_err() && turns("1.5").is_err() && cost("1.2.3").is_err());
    }
}
