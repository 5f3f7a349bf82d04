//! Which fields of a line are read, by what it is looked at for.

use crate::agents::json::Pick;

/// What a line tells that belongs to no turn which is still looked for.
pub(super) static BESIDE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("uuid"),
    Pick::Field("timestamp"),
    Pick::Field("gitBranch"),
    Pick::Field("version"),
    Pick::Field("customTitle"),
    Pick::Field("aiTitle"),
];

/// The same, and what such a line asked or answered.
pub(super) static ASKING: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("uuid"),
    Pick::Field("timestamp"),
    Pick::Field("gitBranch"),
    Pick::Field("version"),
    Pick::Field("customTitle"),
    Pick::Field("aiTitle"),
    Pick::Within("message", &[Pick::Each("content", CALLS)]),
];

static CALLS: &[Pick] =
    &[Pick::Field("type"), Pick::Field("name"), Pick::Field("id"), Pick::Field("tool_use_id")];

/// All that is read of a line. The rest of it, results of tools above all, is passed over.
pub(super) static READ: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("uuid"),
    Pick::Field("parentUuid"),
    Pick::Field("timestamp"),
    Pick::Field("cwd"),
    Pick::Field("isMeta"),
    Pick::Field("isSidechain"),
    Pick::Field("isCompactSummary"),
    Pick::Field("isApiErrorMessage"),
    Pick::Field("apiErrorStatus"),
    Pick::Field("error"),
    Pick::Field("gitBranch"),
    Pick::Field("version"),
    Pick::Field("customTitle"),
    Pick::Field("aiTitle"),
    Pick::Field("content"),
    Pick::Within("attachment", &[Pick::Field("type")]),
    Pick::Within(
        "message",
        &[Pick::Field("model"), Pick::Field("stop_reason"), Pick::Each("content", BLOCKS)],
    ),
];

static BLOCKS: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("text"),
    Pick::Field("name"),
    Pick::Field("id"),
    Pick::Field("tool_use_id"),
];

/// What is read of a line at the beginning.
pub(super) static BEGINNING: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("timestamp"),
    Pick::Field("cwd"),
    Pick::Field("isMeta"),
    Pick::Field("version"),
    Pick::Field("content"),
    Pick::Within("message", &[Pick::Each("content", &[Pick::Field("text")])]),
];

/// The few fields that decide a turn, of a line that is too long or too strange to hold.
pub(super) static DECISIVE: &[Pick] = &[
    Pick::Field("type"),
    Pick::Field("uuid"),
    Pick::Field("timestamp"),
    Pick::Field("cwd"),
    Pick::Field("isMeta"),
    Pick::Field("isSidechain"),
    Pick::Field("isCompactSummary"),
    Pick::Field("isApiErrorMessage"),
    Pick::Field("apiErrorStatus"),
    Pick::Field("error"),
    Pick::Field("gitBranch"),
    Pick::Field("version"),
    Pick::Within("attachment", &[Pick::Field("type")]),
    Pick::Within("message", &[Pick::Field("model"), Pick::Field("stop_reason")]),
];
