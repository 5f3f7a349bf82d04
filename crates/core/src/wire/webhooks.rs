//! What `webhook` answers. No address is told beyond its host: what follows may be a secret.

use super::Problem;
use jiff::Timestamp;
use serde::Serialize;

/// What `webhook list` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Webhooks {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// Everybody who is told what happens, by name.
    pub webhooks: Vec<Webhook>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Somebody who is told what happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Webhook {
    /// Its name in the configuration.
    pub name: String,
    /// Where that is, as far as it is no secret.
    pub url: String,
    /// In which words it is told.
    pub format: String,
    /// What it is told of, in the words of `events --filter`.
    pub filter: String,
    /// What is sent is signed.
    pub signed: bool,
    /// How many messages wait.
    pub waiting: usize,
    /// How many were given up, and can be tried again.
    pub given_up: usize,
    /// How many were dropped for want of room.
    pub dropped: u64,
    /// Why the last one did not go through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem_at: Option<Timestamp>,
}

/// What `webhook test` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookTests {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What came back from each.
    pub tests: Vec<WebhookTest>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookTest {
    /// Whose.
    pub name: String,
    /// Where that is, as far as it is no secret.
    pub url: String,
    /// They said that they heard it.
    pub delivered: bool,
    /// The status of their answer, if it was heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long it took.
    pub milliseconds: u64,
}

/// What `webhook retry` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookRetries {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// How many messages that were given up wait again.
    pub retried: usize,
    /// What cannot be tried again.
    pub problems: Vec<Problem>,
}
