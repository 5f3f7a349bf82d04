//! One request to one address.

use super::{message::Message, sign};
use crate::config::{Format, Secret};
use agentctl_core::text::one_line;
use jiff::{SignedDuration, Timestamp};
use std::{io, time::Duration};
use ureq::tls::{RootCerts, TlsConfig};

/// How long they have to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// They said that they heard it, with this status.
    Heard(Option<u16>),
    /// They cannot be reached, or say that they are busy; and when they want it again.
    Later(String, Option<SignedDuration>),
    /// They do not want it so.
    Refused(String),
    /// They never want it.
    Gone(String),
}

/// Where a message goes, and what it is signed with.
pub(super) struct Address<'a> {
    pub(super) url: &'a Secret,
    pub(super) secret: Option<&'a Secret>,
    pub(super) format: Format,
    pub(super) patience: Duration,
}

/// Sends a message. The secret goes into the signature and nowhere else.
pub(super) fn send(to: &Address<'_>, id: &str, message: &Message) -> Outcome {
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    // A redirection may lead to anybody.
    let config = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
    let config = config.timeout_global(Some(to.patience)).tls_config(tls);
    let agent: ureq::Agent =
        config.user_agent(concat!("agentctl/", env!("CARGO_PKG_VERSION"))).build().into();
    let mut request = agent
        .post(to.url.reveal())
        .header("Content-Type", &message.content_type)
        .header("X-Agentctl-Event", &message.kind)
        .header("X-Agentctl-Delivery", id);
    for (name, value) in sign::headers(to.secret, message.body.as_bytes(), Timestamp::now()) {
        request = request.header(name, value);
    }
    if to.format == Format::Ntfy {
        let priority = if message.urgent { "high" } else { "default" };
        request = request.header("Title", &message.title).header("Priority", priority);
    }
    match request.send(message.body.as_str()) {
        Ok(answer) => {
            let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
            judge(answer.status().as_u16(), after)
        }
        Err(why) => Outcome::Later(reason(&why, to.patience), None),
    }
}

/// What a status means. 404 may be a mistake that is mended; 410 says that it is none.
fn judge(status: u16, retry_after: Option<&str>) -> Outcome {
    let told = || format!("it answers {status}");
    match status {
        200..300 => Outcome::Heard(Some(status)),
        408 | 425 | 429 | 500..600 => {
            let seconds = retry_after.and_then(|text| text.trim().parse::<u32>().ok());
            Outcome::Later(told(), seconds.map(|s| SignedDuration::from_secs(s.into())))
        }
        410 => Outcome::Gone(told()),
        300..400 => {
            Outcome::Refused(format!("{}, a redirection; set its url to where that leads", told()))
        }
        _ => Outcome::Refused(told()),
    }
}

/// Why nobody answered, without the address: that may be a secret.
fn reason(why: &ureq::Error, patience: Duration) -> String {
    let silent = || format!("no answer within {patience:?}");
    match why {
        ureq::Error::Timeout(_) => silent(),
        ureq::Error::HostNotFound => "its host is not known".to_owned(),
        ureq::Error::Io(why) if why.kind() == io::ErrorKind::TimedOut => silent(),
        // What goes wrong with a certificate or a name comes by this way, too; none of it tells the path.
        ureq::Error::Io(why) => one_line(&why.to_string()),
        ureq::Error::Rustls(why) => format!("it cannot be trusted: {}", one_line(&why.to_string())),
        _ => "the request failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning() {
        let later = |status: u16, seconds: Option<i64>| {
            let after = seconds.map(SignedDuration::from_secs);
            Outcome::Later(format!("it answers {status}"), after)
        };
        let refused = |status: u16| Outcome::Refused(format!("it answers {status}"));
        assert_eq!(judge(204, None), Outcome::Heard(Some(204)));
        assert_eq!(judge(429, Some("7")), later(429, Some(7)));
        assert_eq!(judge(503, Some("tomorrow")), later(503, None));
        assert_eq!(
            [400, 401, 404, 413].map(|status| judge(status, None)),
            [400, 401, 404, 413].map(refused)
        );
        assert_eq!(judge(410, None), Outcome::Gone("it answers 410".to_owned()));
        assert!(matches!(judge(302, None), Outcome::Refused(why) if why.contains("redirection")));
        assert_eq!(judge(999, None), refused(999));
    }
}
