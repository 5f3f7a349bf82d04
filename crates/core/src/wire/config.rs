//! What `config` answers.

use super::Problem;
use serde::Serialize;
use std::path::PathBuf;

/// What `config show` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Config {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// What holds, by key.
    pub settings: Vec<Setting>,
    /// What is not understood, or not heeded.
    pub problems: Vec<Problem>,
}

/// What a key is set to, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The key with its table, as `launch.model`.
    pub key: String,
    /// Text, true or false, or a list of texts.
    pub value: serde_json::Value,
    /// The layer that set it.
    pub layer: Layer,
    /// The file, if one did.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::text::path_if_any")]
    pub path: Option<PathBuf>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The variable, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// Who sets something; the later goes over the earlier, and flags over all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Nobody: it is so by itself.
    Default,
    /// The administrator.
    System,
    /// The user.
    User,
    /// The project that a directory belongs to.
    Project,
    /// A variable.
    Environment,
}

impl Layer {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
        }
    }
}

/// What `config path` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigFiles {
    /// The number of this set of shapes: 1.
    pub schema: u32,
    /// The files that were looked for, in the order of their layers.
    pub files: Vec<ConfigFile>,
}

/// A file that something may be set in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigFile {
    /// Its layer.
    pub layer: Layer,
    /// Where it is, or would be.
    #[serde(serialize_with = "crate::text::path")]
    pub path: PathBuf,
    /// What became of it.
    pub state: FileState,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// It is not there.
    Absent,
    /// It was read.
    Read,
    /// It is another user's.
    Ignored,
    /// It cannot be read, or says what cannot be.
    Wrong,
}

impl FileState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Read => "read",
            Self::Ignored => "ignored",
            Self::Wrong => "wrong",
        }
    }
}
