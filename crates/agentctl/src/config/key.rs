//! Every key there is: its name, what it holds, and who may set it.

use super::value::{Holds, Value};
use agentctl_core::budget::OnBudget;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Which agent, where none is named.
    Agent,
    /// Which model.
    Model,
    /// What it may do unasked.
    Permission,
    /// When it is ended.
    Timeout,
    /// What it may cost.
    MaxCost,
    /// How many tokens it may use.
    MaxTokens,
    /// How often the model may answer.
    MaxTurns,
    /// How long it may write nothing.
    IdleTimeout,
    /// What is done once it has used more.
    OnBudget,
    /// The group it belongs to.
    Group,
    /// Labels.
    Labels,
    /// Variables for the agent.
    Env,
    /// It stays for more prompts.
    Steerable,
    /// Where to work.
    Cwd,
    /// What is run once a session is there.
    OnCreate,
    /// What is run once its agent has ended.
    OnComplete,
    /// How long each of these may take.
    HookTimeout,
    /// Directories whose project files may set everything.
    Trust,
    /// Where a webhook is sent to.
    WebhookUrl,
    /// What it is signed with.
    WebhookSecret,
    /// Which events it is told of.
    WebhookFilter,
    /// In which words.
    WebhookFormat,
    /// The desktop shows what happens.
    Desktop,
    /// Which events it shows.
    DesktopFilter,
    /// Where the daemon serves figures.
    MetricsAddr,
    /// Other machines may read them, too.
    MetricsRemote,
}

/// Whether the file of a project may set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Project {
    /// Whoever wrote it: nothing is run and nothing is allowed by it.
    May,
    /// If the user trusts its directory.
    MayIfTrusted,
    /// Never, and why.
    MayNot(&'static str),
}

/// Tables that hold keys.
pub(super) const TABLES: &[&str] = &["launch", "hooks", WEBHOOKS, "notify", "metrics"];
/// The table of webhooks: each has a table of its own in it, and a name by that.
pub(super) const WEBHOOKS: &str = "webhook";
/// The name of the webhook whose keys stand in that table itself, as variables and agentctl 1.x set it.
pub(super) const FIRST: &str = "default";
/// Why no project's file may set where we tell of other sessions.
const OURS: &str = "it would tell of the sessions of other projects";

impl Key {
    /// All, in the order of their names in a file.
    pub(super) const ALL: &[Self] = &[
        Self::Agent,
        Self::Model,
        Self::Permission,
        Self::Timeout,
        Self::MaxCost,
        Self::MaxTokens,
        Self::MaxTurns,
        Self::IdleTimeout,
        Self::OnBudget,
        Self::Group,
        Self::Labels,
        Self::Env,
        Self::Steerable,
        Self::Cwd,
        Self::OnCreate,
        Self::OnComplete,
        Self::HookTimeout,
        Self::Trust,
        Self::WebhookUrl,
        Self::WebhookSecret,
        Self::WebhookFilter,
        Self::WebhookFormat,
        Self::Desktop,
        Self::DesktopFilter,
        Self::MetricsAddr,
        Self::MetricsRemote,
    ];

    /// With its table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agent => "launch.agent",
            Self::Model => "launch.model",
            Self::Permission => "launch.permission",
            Self::Timeout => "launch.timeout",
            Self::MaxCost => "launch.max_cost",
            Self::MaxTokens => "launch.max_tokens",
            Self::MaxTurns => "launch.max_turns",
            Self::IdleTimeout => "launch.idle_timeout",
            Self::OnBudget => "launch.on_budget",
            Self::Group => "launch.group",
            Self::Labels => "launch.labels",
            Self::Env => "launch.env",
            Self::Steerable => "launch.steerable",
            Self::Cwd => "launch.cwd",
            Self::OnCreate => "hooks.on_create",
            Self::OnComplete => "hooks.on_complete",
            Self::HookTimeout => "hooks.timeout",
            Self::Trust => "trust",
            Self::WebhookUrl => "webhook.url",
            Self::WebhookSecret => "webhook.secret",
            Self::WebhookFilter => "webhook.filter",
            Self::WebhookFormat => "webhook.format",
            Self::Desktop => "notify.desktop",
            Self::DesktopFilter => "notify.filter",
            Self::MetricsAddr => "metrics.addr",
            Self::MetricsRemote => "metrics.remote",
        }
    }

    /// With its table, and with the name within that: of a pair behind it, of a webhook before its key.
    pub(crate) fn full_name(self, part: Option<&str>) -> String {
        match (part, self.name().strip_prefix("webhook.")) {
            (Some(part), Some(last)) => format!("{WEBHOOKS}.{part}.{last}"),
            (Some(part), None) => format!("{}.{part}", self.name()),
            (None, _) => self.name().to_owned(),
        }
    }

    /// What it is set to is nobody's business: variables for the agent are where people put their keys.
    pub(crate) fn is_secret(self) -> bool {
        match self {
            Self::WebhookSecret | Self::Env => true,
            Self::Agent
            | Self::Model
            | Self::Permission
            | Self::Timeout
            | Self::MaxCost
            | Self::MaxTokens
            | Self::MaxTurns
            | Self::IdleTimeout
            | Self::OnBudget
            | Self::Group
            | Self::Labels
            | Self::Steerable
            | Self::Cwd
            | Self::OnCreate
            | Self::OnComplete
            | Self::HookTimeout
            | Self::Trust
            | Self::WebhookUrl
            | Self::WebhookFilter
            | Self::WebhookFormat
            | Self::Desktop
            | Self::DesktopFilter
            | Self::MetricsAddr
            | Self::MetricsRemote => false,
        }
    }

    /// It is one of a webhook's, of which there may be several.
    pub(super) fn is_webhook(self) -> bool {
        self.name().starts_with("webhook.")
    }

    /// The name within its table that a variable sets.
    pub(super) fn first(self) -> Option<String> {
        self.is_webhook().then(|| FIRST.to_owned())
    }

    /// The key of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// The variable that sets it: its name in capitals. What a hook is told (`AGENTCTL_MODEL`) is called
    /// otherwise, so that a launch by a hook does not take that for an order.
    pub(super) fn variable(self) -> Option<String> {
        match self.holds() {
            Holds::Pairs | Holds::Folders => None,
            Holds::Agent
            | Holds::Word
            | Holds::Permission
            | Holds::Time
            | Holds::TimeOrNone
            | Holds::Cost
            | Holds::Tokens
            | Holds::Turns
            | Holds::OnBudget
            | Holds::Switch
            | Holds::Folder
            | Holds::Url
            | Holds::Secret
            | Holds::Filter
            | Holds::Format
            | Holds::Address
            | Holds::Command => {
                Some(format!("AGENTCTL_{}", self.name().replace('.', "_").to_uppercase()))
            }
        }
    }

    pub(super) fn holds(self) -> Holds {
        match self {
            Self::Agent => Holds::Agent,
            Self::Model | Self::Group => Holds::Word,
            Self::Permission => Holds::Permission,
            Self::Timeout | Self::IdleTimeout => Holds::TimeOrNone,
            Self::MaxCost => Holds::Cost,
            Self::MaxTokens => Holds::Tokens,
            Self::MaxTurns => Holds::Turns,
            Self::OnBudget => Holds::OnBudget,
            Self::Labels | Self::Env => Holds::Pairs,
            Self::Steerable => Holds::Switch,
            Self::Cwd => Holds::Folder,
            Self::OnCreate | Self::OnComplete => Holds::Command,
            Self::HookTimeout => Holds::Time,
            Self::Trust => Holds::Folders,
            Self::WebhookUrl => Holds::Url,
            Self::WebhookSecret => Holds::Secret,
            Self::WebhookFilter | Self::DesktopFilter => Holds::Filter,
            Self::WebhookFormat => Holds::Format,
            Self::Desktop | Self::MetricsRemote => Holds::Switch,
            Self::MetricsAddr => Holds::Address,
        }
    }

    /// Agents differ in what of a repository they run unasked: which one is the user's choice.
    pub(super) fn project(self) -> Project {
        match self {
            Self::Model | Self::Timeout | Self::Group | Self::Labels | Self::Steerable => {
                Project::May
            }
            // It could lift the user's own limits.
            Self::MaxCost
            | Self::MaxTokens
            | Self::MaxTurns
            | Self::IdleTimeout
            | Self::OnBudget
            | Self::Agent
            | Self::Permission
            | Self::Env
            | Self::OnCreate
            | Self::OnComplete
            | Self::HookTimeout => Project::MayIfTrusted,
            Self::Cwd => Project::MayNot("it counts for launches in its own directory"),
            Self::Trust => Project::MayNot("nobody can vouch for themselves"),
            Self::WebhookUrl
            | Self::WebhookSecret
            | Self::WebhookFilter
            | Self::WebhookFormat
            | Self::Desktop
            | Self::DesktopFilter
            | Self::MetricsAddr
            | Self::MetricsRemote => Project::MayNot(OURS),
        }
    }

    /// What holds where nobody says otherwise.
    pub(super) fn default(self) -> Option<Value> {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        match self {
            Self::Agent => text("claude-code"),
            Self::Permission => text("default"),
            Self::HookTimeout => text("5m"),
            Self::OnBudget => text(OnBudget::USUAL.name()),
            Self::Steerable | Self::Desktop | Self::MetricsRemote => Some(Value::Switch(false)),
            Self::DesktopFilter => text("type=session.waiting,type=session.ended"),
            Self::Model
            | Self::Timeout
            | Self::MaxCost
            | Self::MaxTokens
            | Self::MaxTurns
            | Self::IdleTimeout
            | Self::Group
            | Self::Labels
            | Self::Env
            | Self::Cwd
            | Self::OnCreate
            | Self::OnComplete
            | Self::Trust
            | Self::WebhookUrl
            | Self::WebhookSecret
            | Self::WebhookFilter
            | Self::WebhookFormat
            | Self::MetricsAddr => None,
        }
    }
}

/// The known name that somebody may have meant: one with the same last part, or one that looks like it.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().replace('-', "_");
    let known = || Key::ALL.iter().map(|key| key.name()).chain(TABLES.iter().copied());
    let far = |one: &&str| {
        let part = strsim::osa_distance(&last(one), &last(name));
        (part, strsim::osa_distance(one, name))
    };
    let near = known().min_by_key(far)?;
    let longest = last(near).len().max(last(name).len());
    (far(&near).0 * 3 <= longest).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_name_of_its_own_and_a_default_that_it_can_hold() {
        for key in Key::ALL {
            assert_eq!(Key::named(key.name()), Some(*key));
            let table = key.name().split_once('.').map(|(table, _)| table);
            assert!(table.is_none_or(|table| TABLES.contains(&table)), "{key:?}");
            if let Some(Value::Text(text)) = key.default() {
                assert_eq!(key.holds().of_text(&text), Ok(Value::Text(text)), "{key:?}");
            }
        }
    }

    /// A hook that launches an agent is no reason for that agent to have the same model.
    #[test]
    fn no_variable_of_a_hook_sets_a_key() {
        let told = agentctl_core::receipt::HookVariable::ALL;
        let set: Vec<String> = Key::ALL.iter().filter_map(|key| key.variable()).collect();
        assert!(set.contains(&"AGENTCTL_LAUNCH_MODEL".to_owned()));
        assert!(!told.iter().any(|one| set.contains(&one.name().to_owned())), "{set:?}");
        assert!(!set.iter().any(|name| name == agentctl_core::receipt::VARIABLE));
    }

    #[test]
    fn the_nearest_name_is_one_that_may_be_meant() {
        assert_eq!(nearest("launch.modelx"), Some("launch.model"));
        assert_eq!(nearest("model"), Some("launch.model"));
        assert_eq!(nearest("launch.on-complete"), Some("hooks.on_complete"));
        assert_eq!(nearest("hooks.timeouts"), Some("hooks.timeout"));
        assert_eq!(nearest("launch.timeouts"), Some("launch.timeout"));
        assert_eq!(nearest("lunch"), Some("launch"));
        assert_eq!(nearest("hook"), Some("hooks"));
        assert_eq!(nearest("trusted"), Some("trust"));
        assert_eq!(nearest("launch.colour"), None);
        assert_eq!(nearest("webhooks.uri"), Some("webhook.url"));
        assert_eq!(nearest("notify.sound"), None);
    }
}
