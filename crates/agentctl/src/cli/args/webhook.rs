//! Words of the commands about webhooks.

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};

#[derive(Debug, Args)]
pub(in crate::cli) struct Webhook {
    #[command(subcommand)]
    pub(in crate::cli) command: WebhookCommand,
}

impl Webhook {
    /// Whoever asked is a program.
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match &self.command {
            WebhookCommand::List(args) => args.json,
            WebhookCommand::Test(args) => args.which.json,
            WebhookCommand::Retry(args) => args.json,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WebhookCommand {
    /// Show who is told what happens, and what waits for them
    List(Which),
    /// Send a test message to each (signed if a secret is set), and say what came back
    Test(WebhookTest),
    /// Try again what was given up because they refused it
    Retry(Which),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Which {
    /// Only these; without any, all that are configured
    #[arg(value_name = "NAME")]
    pub(in crate::cli) names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WebhookTest {
    #[command(flatten)]
    pub(in crate::cli) which: Which,
    /// One that is not configured; signed with AGENTCTL_WEBHOOK_SECRET, if that is set
    #[arg(long, value_name = "URL", conflicts_with = "names", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) url: Option<String>,
    /// The words that --url is told in
    #[arg(long, requires = "url", value_name = "FORMAT", default_value = "agentctl")]
    #[arg(value_parser = ["agentctl", "1.x", "slack", "ntfy"])]
    pub(in crate::cli) format: String,
}
