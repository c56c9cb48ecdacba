//! `[workspaces]`: which folders may be worked on.

use std::path::Path;

use scorpiox_rules::{PathRule, Places, Source};

use crate::rules::Refusal;

/// Which folders may be worked on: whoever starts the server names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacesPolicy {
    /// Folders that hold them, or are ones; `None` leaves it to who starts the server.
    pub allow: Option<Vec<PathRule>>,
    /// Where `allow` stands.
    pub origin: Source,
    /// What holds for all users, where this narrows it: asked first, so that a refusal of its own names its line.
    pub outer: Option<Box<WorkspacesPolicy>>,
}

impl WorkspacesPolicy {
    pub(crate) const fn builtin() -> Self {
        Self { allow: None, origin: Source::Builtin, outer: None }
    }

    /// Whether a folder may be worked on, which is absolute and resolved; a sentence that names what decides,
    /// if not.
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
        let why = format!(
            "the workspace {} is in none of the folders that `allow` of [workspaces] ({}) has: {}; open a folder \
             in one of them",
            folder.display(),
            self.origin,
            if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
        );
        Err(Refusal { why, decided_by: self.origin })
    }
}
