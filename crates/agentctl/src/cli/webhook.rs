//! `agentctl webhook list|test|retry`

use super::{
    args::{Webhook, WebhookCommand, WebhookTest, Which},
    config,
    run::Outcome,
};
use crate::{
    config::{Format, Secret, is_url},
    error::{Error, Kind},
    notify::{self, Target},
    places, view,
};
use agentctl_core::{launch::WEBHOOK_SECRET, text::one_line, wire::Problem};
use std::env;

/// Shows webhooks, or tries them.
pub(super) fn run(args: &Webhook) -> Outcome {
    match &args.command {
        WebhookCommand::List(args) => list(args),
        WebhookCommand::Test(args) => test(args),
        WebhookCommand::Retry(args) => retry(args),
    }
}

fn list(args: &Which) -> Outcome {
    let (targets, problems) = chosen(&args.names)?;
    let found = notify::listed(&places::known_state()?, targets, problems);
    match args.json {
        true => view::json(&found)?,
        false => {
            view::problems(&found.problems);
            view::webhooks::table(&found)?;
        }
    }
    Ok(if found.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

fn test(args: &WebhookTest) -> Outcome {
    let targets = match &args.url {
        Some(url) => vec![given(url, &args.format)?],
        None => some(&args.which.names)?,
    };
    let answer = notify::test(targets);
    match args.which.json {
        true => view::json(&answer)?,
        false => view::webhooks::tests(&answer)?,
    }
    let heard = answer.tests.iter().all(|test| test.delivered);
    Ok(if heard { 0 } else { Kind::No.code() })
}

fn retry(args: &Which) -> Outcome {
    let answer = notify::retry(&places::known_state()?, some(&args.names)?);
    match args.json {
        true => view::json(&answer)?,
        false => {
            view::problems(&answer.problems);
            view::webhooks::retried(answer.retried)?;
        }
    }
    Ok(if answer.problems.is_empty() { 0 } else { Kind::Problems.code() })
}

fn given(url: &str, format: &str) -> Result<Target, Error> {
    is_url(url).map_err(|why| Error::new(Kind::Usage, format!("--url: {why}")))?;
    // On a command line every user would see it.
    let secret = env::var(WEBHOOK_SECRET).ok().filter(|secret| !secret.is_empty());
    let format = Format::named(format).unwrap_or(Format::Event);
    Ok(Target::new(Secret::new(url), secret.map(Secret::new), format))
}

/// The same, where there must be one.
fn some(names: &[String]) -> Result<Vec<Target>, Error> {
    let (targets, problems) = chosen(names)?;
    view::problems(&problems);
    match targets.is_empty() {
        true => Err(Error::new(Kind::No, "no webhook is configured")
            .hint("set AGENTCTL_WEBHOOK_URL, or write [webhook.NAME] with a url into the file that `agentctl config path` shows")),
        false => Ok(targets),
    }
}

/// The targets of these names, or all.
fn chosen(names: &[String]) -> Result<(Vec<Target>, Vec<Problem>), Error> {
    let (mut targets, problems) = notify::targets(&config::read(None)?);
    if let Some(unknown) = names.iter().find(|name| !targets.iter().any(|one| one.name == **name)) {
        let what = format!("there is no webhook {}", one_line(unknown));
        return Err(
            Error::new(Kind::No, what).hint("`agentctl webhook list` shows those there are")
        );
    }
    targets.retain(|target| names.is_empty() || names.contains(&target.name));
    Ok((targets, problems))
}
