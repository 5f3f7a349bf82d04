//! Whom to tell, and of what.

use super::message::{Notice, Words};
use crate::config::{Config, Format, Secret, Webhook, host_only};
use agentctl_core::{
    event::Filter,
    wire::{EventKind, Problem},
};

/// Somebody who is told what happens.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As people call it.
    pub(crate) name: String,
    filter: Filter,
    /// The same in words.
    pub(super) told: String,
    pub(super) way: Way,
}

/// How they are told.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// By a request to this address.
    Http { url: Secret, secret: Option<Secret>, format: Format },
    /// By `notify-send`.
    Desktop,
}

/// Everybody who is told what happens; and what stands in the way of others.
pub(crate) fn targets(config: &Config) -> (Vec<Target>, Vec<Problem>) {
    let (webhooks, wrong) = config.webhooks();
    let mut targets: Vec<Target> = webhooks.into_iter().map(Target::from).collect();
    let desktop = config.desktop().map(|(filter, told)| Target {
        name: "desktop".to_owned(),
        filter,
        told,
        way: Way::Desktop,
    });
    targets.extend(desktop);
    (targets, wrong.into_iter().map(problem).collect())
}

/// Something that is not ours to mend.
pub(super) fn problem(message: String) -> Problem {
    Problem { agent: "agentctl".to_owned(), path: None, message }
}

impl From<Webhook> for Target {
    fn from(webhook: Webhook) -> Self {
        let Webhook { name, url, secret, filter, told, format } = webhook;
        Self { name, filter, told, way: Way::Http { url, secret, format } }
    }
}

impl Target {
    /// One that is not set anywhere.
    pub(crate) fn new(url: Secret, secret: Option<Secret>, format: Format) -> Self {
        let way = Way::Http { url, secret, format };
        Self { name: "--url".to_owned(), filter: Filter::default(), told: String::new(), way }
    }

    /// What it is told in.
    pub(super) fn words(&self) -> Words {
        match self.way {
            Way::Http { format, .. } => Words::Format(format),
            Way::Desktop => Words::Desktop,
        }
    }

    /// It is told of this. A gap is for programs that keep count; for people, and for those that listened
    /// to agentctl 1.x, it says nothing.
    pub(super) fn wants(&self, notice: &Notice<'_>) -> bool {
        let kind = notice.event.kind;
        let counts = kind != EventKind::Gap || self.words() == Words::Format(Format::Event);
        let wanted = notice.to_all || self.filter.keeps(notice.event);
        kind != EventKind::Cursor && counts && wanted
    }

    /// The folder of what waits for it; no webhook can be called like that of the desktop.
    pub(super) fn folder(&self) -> &str {
        match self.way {
            Way::Http { .. } => &self.name,
            Way::Desktop => "=desktop",
        }
    }

    /// Where that is, with nothing that could be a secret.
    pub(super) fn place(&self) -> String {
        match &self.way {
            Way::Http { url, .. } => host_only(url.reveal()),
            Way::Desktop => "notify-send".to_owned(),
        }
    }

    /// The name of what it is told in.
    pub(super) fn format(&self) -> &'static str {
        match self.way {
            Way::Http { format, .. } => format.name(),
            Way::Desktop => "desktop",
        }
    }

    /// What is sent is signed.
    pub(super) fn is_signed(&self) -> bool {
        match &self.way {
            Way::Http { secret, .. } => secret.is_some(),
            Way::Desktop => false,
        }
    }
}
