//! `[workspace.NAME]`: folders that are served in addition to the one that the server was started for.

use crate::rule::Source;

use crate::access::who::Who;

/// Name of the workspace that the server was started for.
pub const DEFAULT_WORKSPACE: &str = "default";

/// A served folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedWorkspace {
    /// Path; `None` for the folder that the server was started for.
    pub path: Option<String>,
    /// Principals that may use the workspace.
    pub who: Who,
    /// Source of the table.
    pub source: Source,
}
