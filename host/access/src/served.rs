//! `[workspace.NAME]`: folders that are served beside the one that the server was started for.

use scorpiox_rules::Source;

use crate::who::Who;

/// What the folder is called that the server was started for.
pub const DEFAULT_WORKSPACE: &str = "default";

/// A folder that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedWorkspace {
    /// Where it is; none for the one that the server was started for.
    pub path: Option<String>,
    /// Who may work in it.
    pub who: Who,
    /// Where the table stands.
    pub source: Source,
}
