//! `[workspaces]`: folders that may be opened as a workspace.

use std::path::Path;

use crate::rule::{PathRule, Places, Source};

use crate::rules::Refusal;

/// Rules for the workspace folder, which the user who starts the server chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacesPolicy {
    /// Folders that may be or contain a workspace; `None` allows every folder.
    pub allow: Option<Vec<PathRule>>,
    /// Source of the `allow` list.
    pub origin: Source,
    /// Managed policy that this one narrows. It is checked first, so that its refusals cite its own line.
    pub outer: Option<Box<WorkspacesPolicy>>,
}

impl WorkspacesPolicy {
    pub(crate) const fn builtin() -> Self {
        Self { allow: None, origin: Source::Builtin, outer: None }
    }

    /// Returns the entries of `allow`, with those of the policy that this one narrows.
    pub fn rules(&self) -> impl Iterator<Item = &PathRule> {
        let all = std::iter::successors(Some(self), |policy| policy.outer.as_deref());
        all.flat_map(|policy| policy.allow.iter().flatten())
    }

    /// Checks if a folder may be opened as the workspace. The path has to be absolute and resolved. A refusal
    /// names the deciding rule.
    pub fn check(&self, folder: &Path, places: &Places) -> Result<(), Refusal> {
        if let Some(outer) = &self.outer {
            outer.check(folder, places)?;
        }
        let Some(allow) = &self.allow else { return Ok(()) };
        let mut folders = allow.iter().flat_map(|rule| places.folders(&rule.place));
        if folders.any(|allowed| folder.starts_with(allowed)) {
            return Ok(());
        }
        let listed: Vec<_> = allow.iter().map(|rule| format!("\"{}\"", rule.place)).collect();
        let remedy = match scorpiox_text::argument(&folder.to_string_lossy()) {
            Some(folder) if matches!(self.origin, Source::Line(_)) => {
                format!(", or run `scorpiox-code policy allow workspace {folder}`")
            }
            _ => String::new(),
        };
        let why = format!(
            "the workspace {} is in none of the folders that `allow` of [workspaces] ({}) has: {}; open a folder \
             in one of them{remedy}",
            folder.display(),
            self.origin,
            if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
        );
        Err(Refusal { why, decided_by: self.origin })
    }
}
