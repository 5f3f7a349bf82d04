//! Who plays: for each agent a process that looks like its own, and a session that a real one wrote.

use std::path::Path;

/// An agent, played by a shell under its name or by the real program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Claude,
    Codex,
    OpenCode,
    Pi,
    Gemini,
    Copilot,
    OpenClaw,
}

/// All of them.
pub(crate) const ALL: &[Kind] = &[
    Kind::Claude,
    Kind::Codex,
    Kind::OpenCode,
    Kind::Pi,
    Kind::Gemini,
    Kind::Copilot,
    Kind::OpenClaw,
];

/// Those of which the real program plays too, where all is proved.
pub(crate) const REAL: &[Kind] = ALL;

/// What one of them is made of.
pub(super) struct Part {
    /// A capture of a session whose turn is open.
    pub(super) capture: &'static str,
    /// When its last line was written.
    pub(super) written: &'static str,
    /// Its session.
    pub(super) id: &'static str,
    /// The file that holds the session, below the home.
    pub(super) record: &'static str,
    /// The folder that holds all its sessions, below the home.
    pub(super) store: &'static str,
    /// The name of its program.
    pub(super) program: &'static str,
    /// Its arguments, behind `-es`, by which the shell that plays it reads what to do.
    pub(super) words: &'static [&'static str],
    /// Files below the home that it keeps open (`=`) or locked (`+`); `$$` is its pid.
    pub(super) keeps: &'static [&'static str],
    /// A file below the home in which its pid and start stand, `$$` being its pid.
    pub(super) claim: Option<&'static str>,
}

impl Kind {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::OpenClaw => "openclaw",
        }
    }

    /// A process of it is told by its name alone, whatever its store says.
    pub(super) fn is_told_by_name(self) -> bool {
        match self {
            Self::OpenClaw => false, // `openclaw agent --local` is known by its lock alone
            Self::Claude
            | Self::Codex
            | Self::OpenCode
            | Self::Pi
            | Self::Gemini
            | Self::Copilot => true,
        }
    }

    pub(super) fn part(self) -> &'static Part {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::OpenCode => &OPENCODE,
            Self::Pi => &PI,
            Self::Gemini => &GEMINI,
            Self::Copilot => &COPILOT,
            Self::OpenClaw => &OPENCLAW,
        }
    }
}

impl Part {
    /// The home of its capture.
    pub(super) fn captured(&self) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../core/fixtures")
            .join(self.capture)
            .join("home")
    }
}

const CLAUDE: Part = Part {
    capture: "claude-code/2.1.197/headless-working",
    written: "2026-11-15T18:23:55.493Z",
    id: "2a828f39-3869-4218-8ad3-d96a7ff30727",
    record: ".claude/projects/-home-dev-work-web/2a828f39-3869-4218-8ad3-d96a7ff30727.jsonl",
    store: ".claude",
    program: "claude",
    words: &[],
    keeps: &[],
    claim: Some(".claude/sessions/$$.json"),
};

const CODEX: Part = Part {
    capture: "codex/0.166.0/exec-working",
    written: "2026-11-15T18:14:27.588Z",
    id: "01a1e06a-f1a3-7610-b909-cc8fc0d802f2",
    record: ".codex/sessions/2026/11/15/rollout-2026-11-15T18-14-27-01a1e06a-f1a3-7610-b909-cc8fc0d802f2.jsonl",
    store: ".codex",
    program: "codex",
    words: &["exec", "--json"],
    keeps: &[
        "+.codex/thread-writer-locks/01a1e06a-f1a3-7610-b909-cc8fc0d802f2.lock",
        "=.codex/sessions/2026/11/15/rollout-2026-11-15T18-14-27-01a1e06a-f1a3-7610-b909-cc8fc0d802f2.jsonl",
    ],
    claim: None,
};

const OPENCODE: Part = Part {
    capture: "opencode/1.18.33/run-named",
    written: "2026-11-15T18:42:32.325Z",
    id: "ses_e1f7b6bd9ffeXM7NCCIsxbHspv",
    record: ".local/share/opencode/opencode.db",
    store: ".local/share/opencode",
    program: "opencode",
    words: &["run", "--session", "ses_e1f7b6bd9ffeXM7NCCIsxbHspv"],
    keeps: &["=.local/share/opencode/opencode.db"],
    claim: None,
};

const PI: Part = Part {
    capture: "pi/1.5.0/print-working",
    written: "2026-11-15T18:46:55.752Z",
    id: "sigkill-mid-stream",
    record: ".pi/agent/sessions/--home-dev-work-api--/2026-11-15T18-46-55-538Z_sigkill-mid-stream.jsonl",
    store: ".pi/agent/sessions",
    program: "pi",
    words: &[],
    keeps: &[],
    claim: None,
};

const GEMINI: Part = Part {
    capture: "gemini/0.61.0/headless-thinking",
    written: "2026-11-15T18:50:03.788Z",
    id: "aaaaaaa3-0000-4000-8000-000000000003",
    record: ".gemini/tmp/api/chats/session-2026-11-15T18-50-aaaaaaa3.jsonl",
    store: ".gemini",
    program: "node",
    words: &["/x/bin/gemini", "--session-id", "aaaaaaa3-0000-4000-8000-000000000003", "-p", "x"],
    keeps: &[],
    claim: None,
};

const COPILOT: Part = Part {
    capture: "copilot/1.0.102/headless-tool-running",
    written: "2026-11-15T18:39:26.318Z",
    id: "66666660-2222-4333-8444-555555555555",
    record: ".copilot/session-state/66666660-2222-4333-8444-555555555555/events.jsonl",
    store: ".copilot",
    program: "copilot",
    words: &["x", "--session-id", "66666660-2222-4333-8444-555555555555", "-p", "x"],
    keeps: &["+.copilot/session-state/66666660-2222-4333-8444-555555555555/inuse.$$.hold"],
    claim: None,
};

const OPENCLAW: Part = Part {
    capture: "openclaw/2026.9.6/local-working",
    written: "2026-11-15T22:01:59.019Z",
    id: "6e9deedb-4fa4-484e-b54f-972f262ab153",
    record: ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    store: ".openclaw",
    program: "openclaw-agent",
    words: &[],
    keeps: &[],
    claim: Some(".openclaw/tmp/openclaw-1000/gateway.state.lock"),
};
