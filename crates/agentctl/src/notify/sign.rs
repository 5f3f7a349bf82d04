//! What proves who sent a message, and when.

use crate::config::Secret;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;
use std::fmt::Write;

/// When it was sent, in seconds since 1970.
const TIMESTAMP: &str = "X-Agentctl-Timestamp";

/// The headers of a message that is sent now. The first three sign the body alone, as agentctl 1.x, many
/// others and GitHub have it; the last signs the time with it, so that a copy that is sent later can be refused.
pub(super) fn headers(
    secret: Option<&Secret>,
    body: &[u8],
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let at = now.as_second().to_string();
    let mut headers = vec![(TIMESTAMP, at.clone())];
    if let Some(secret) = secret {
        let plain = hex(secret, &[body]);
        headers.extend([
            ("X-Agentctl-Signature", plain.clone()),
            ("X-Signature", plain.clone()),
            ("X-Hub-Signature-256", format!("sha256={plain}")),
            ("X-Agentctl-Signature-Timestamped", hex(secret, &[at.as_bytes(), b".", body])),
        ]);
    }
    headers
}

/// HMAC-SHA256 of all parts in a row.
fn hex(secret: &Secret, parts: &[&[u8]]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
        .expect("a key of any length will do");
    for part in parts {
        mac.update(part);
    }
    let mut text = String::new();
    for byte in mac.finalize().into_bytes() {
        let _ = write!(text, "{byte:02x}"); // a string takes everything
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test case 2 of RFC 4231.
    #[test]
    fn signatures_are_the_published_ones() {
        let signed = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let secret = Secret::new("Jefe");
        let body = b"what do ya want for nothing?";
        let now = Timestamp::from_second(1_700_000_000).expect("a time");
        let headers = headers(Some(&secret), body, now);
        let timestamped = hex(&secret, &[b"1700000000.what do ya want for nothing?"]);
        let expected = [
            ("X-Agentctl-Timestamp", "1700000000".to_owned()),
            ("X-Agentctl-Signature", signed.to_owned()),
            ("X-Signature", signed.to_owned()),
            ("X-Hub-Signature-256", format!("sha256={signed}")),
            ("X-Agentctl-Signature-Timestamped", timestamped),
        ];
        assert_eq!(headers, expected);
        assert_eq!(super::headers(None, body, now), expected[..1]);
    }
}
