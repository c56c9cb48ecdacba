//! View of the skill folders in one call.

use std::cell::OnceCell;
use std::sync::Arc;

use scorpiox_workspace_config::{Required, SkillFolders, SkillsUnread, Source};

use super::reading::Reading;

/// Skill folders as one call sees them. They are scanned once, on first use.
#[derive(Debug)]
pub struct SkillView {
    folders: Arc<SkillFolders>,
    /// Reader of the skills' files.
    pub(super) reading: Reading,
    sources: OnceCell<Result<Vec<Source>, SkillsUnread>>,
    invoked: Option<Invoked>,
}

/// A skill that a call returned.
#[derive(Debug, Clone)]
pub struct Invoked {
    /// Source of the skill.
    pub source: Source,
    /// Arguments of the skill.
    pub arguments: String,
    /// Arguments split by shell rules.
    pub words: Vec<String>,
}

impl SkillView {
    /// Creates a view of `folders`.
    pub fn new(folders: Arc<SkillFolders>, reading: Reading) -> Self {
        Self { folders, reading, sources: OnceCell::new(), invoked: None }
    }

    /// Returns the skills; see [`SkillFolders::sources`].
    pub fn sources(&self) -> Result<&[Source], SkillsUnread> {
        self.sources.get_or_init(|| self.folders.sources()).as_deref().map_err(Clone::clone)
    }

    /// Returns the source at `id` in [`sources`](Self::sources).
    pub fn source(&self, id: u32) -> Option<&Source> {
        self.sources().ok()?.get(id as usize)
    }

    /// Returns the variables of a skill; see [`SkillFolders::variables`].
    pub(super) fn variables(&self, source: &Source) -> Vec<(&'static str, String)> {
        self.folders.variables(source)
    }

    /// Returns the required skills; see [`SkillFolders::required`].
    pub fn required(&self) -> Result<Required, SkillsUnread> {
        self.folders.required()
    }

    /// Records the skill that the call returns.
    pub(super) fn set_invoked(&mut self, id: u32, arguments: String, words: Vec<String>) {
        self.invoked = self.source(id).cloned().map(|source| Invoked { source, arguments, words });
    }

    /// Returns the skill that the call returned, if any.
    pub fn invoked(&self) -> Option<&Invoked> {
        self.invoked.as_ref()
    }
}
