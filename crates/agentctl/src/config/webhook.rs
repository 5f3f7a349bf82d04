//! Whom to tell what happens, as it is set.

use super::{Config, Key, key::FIRST, value::no_agent};
use agentctl_core::{agents, event::Filter};
use std::{collections::BTreeSet, env, fmt, path::PathBuf};

/// What webhooks are told of where nobody says: what agentctl 1.x told.
const ENDED: &str = "type=session.ended";

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Webhook {
    /// The name of its table.
    pub(crate) name: String,
    pub(crate) url: Secret,
    pub(crate) secret: Option<Secret>,
    pub(crate) filter: Filter,
    /// The same in words.
    pub(crate) told: String,
    pub(crate) format: Format,
}

/// Words that nobody else should read: they are shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The words of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The event, as `events --json` prints it.
    Event,
    /// What agentctl 1.x sent.
    Old,
    /// A line of text, as Slack and those like it take it.
    Slack,
    /// What ntfy.sh and its servers take.
    Ntfy,
}

impl Format {
    const ALL: [Self; 4] = [Self::Event, Self::Old, Self::Slack, Self::Ntfy];

    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Event => "agentctl",
            Self::Old => "1.x",
            Self::Slack => "slack",
            Self::Ntfy => "ntfy",
        }
    }

    /// The format of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// For whoever signs with it or sends to it, and nobody else.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Config {
    /// All webhooks that are set, by name; and what stands in the way of others.
    pub(crate) fn webhooks(&self) -> (Vec<Webhook>, Vec<String>) {
        let parts = self.settings.keys().filter(|(key, _)| key.is_webhook());
        let names: BTreeSet<&str> = parts.filter_map(|(_, part)| part.as_deref()).collect();
        let (mut found, mut wrong) = (Vec::new(), Vec::new());
        for name in names {
            match self.webhook(name) {
                Ok(webhook) => found.push(webhook),
                Err(why) => wrong.push(format!("webhook.{name} {why}, and is told nothing")),
            }
        }
        (found, wrong)
    }

    fn webhook(&self, name: &str) -> Result<Webhook, String> {
        let word = |key| self.part(key, name);
        // The first is the one of agentctl 1.x: whoever listens there expects its words.
        let usual = if name == FIRST { Format::Old } else { Format::Event };
        let told = word(Key::WebhookFilter).unwrap_or(ENDED);
        Ok(Webhook {
            name: name.to_owned(),
            url: Secret::new(word(Key::WebhookUrl).ok_or("has no url")?),
            secret: word(Key::WebhookSecret).map(Secret::new),
            filter: filter(told).map_err(|why| format!("has a wrong filter ({why})"))?,
            told: told.to_owned(),
            format: word(Key::WebhookFormat).and_then(Format::named).unwrap_or(usual),
        })
    }

    /// Which events the desktop shows, if it shows any; and the same in words.
    pub(crate) fn desktop(&self) -> Option<(Filter, String)> {
        let words = self.text(Key::DesktopFilter).filter(|_| self.is_on(Key::Desktop))?;
        Some((filter(words).ok()?, words.to_owned()))
    }
}

/// An address of which only the host is told: what follows it may be a secret, as Slack's is.
pub(crate) fn host_only(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bare = host.rsplit('@').next().unwrap_or_default();
    let more = if ["", "/"].contains(&&rest[host.len()..]) { "" } else { "/…" };
    format!("{scheme}://{bare}{more}")
}

/// Which events, as `events --filter` has it; directories from the root or from ~.
pub(super) fn filter(words: &str) -> Result<Filter, String> {
    let mut filter = Filter::default();
    filter.add(words)?;
    for agent in &mut filter.agents {
        let known = agents::named(agent).ok_or_else(|| no_agent(agent))?;
        known.card().name.clone_into(agent);
    }
    for dir in &mut filter.dirs {
        if let Ok(rest) = dir.strip_prefix("~") {
            *dir = env::var_os("HOME").map(PathBuf::from).unwrap_or_default().join(rest);
        }
        if !dir.is_absolute() {
            return Err("cwd= must be a directory from the root or from ~".to_owned());
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_is_told() {
        for (url, told) in [
            ("https://hooks.example.org/services/T0/B0/token", "https://hooks.example.org/…"),
            ("http://user:word@127.0.0.1:80/", "http://127.0.0.1:80"),
            ("http://user:word@127.0.0.1:80", "http://127.0.0.1:80"),
            ("https://example.org?token=1", "https://example.org/…"),
            ("https://example.org", "https://example.org"),
        ] {
            assert_eq!(host_only(url), told);
        }
    }

    #[test]
    fn filters_are_those_of_events() {
        assert_eq!(filter("agent=claude").unwrap(), filter("agent=claude-code").unwrap());
        for wrong in ["agent=clod", "type=x", "cwd=src", "x"] {
            assert!(filter(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format!("{:?}", Secret::new("x")), "***");
    }
}
