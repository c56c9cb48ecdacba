//! What one call sees of the skill folders.

use std::cell::OnceCell;
use std::sync::Arc;

use scorpiox_operator::{Required, SkillFolders, Source};

use super::reading::Reading;

/// The skill folders as one call sees them: looked up once, at the first use.
#[derive(Debug)]
pub struct SkillView {
    folders: Arc<SkillFolders>,
    /// How their files are read.
    pub(super) reading: Reading,
    sources: OnceCell<Vec<Source>>,
    invoked: Option<Invoked>,
}

/// A skill that a call gave.
#[derive(Debug, Clone)]
pub struct Invoked {
    /// Which.
    pub source: Source,
    /// What it was called with.
    pub arguments: String,
    /// The same, as a shell takes it apart.
    pub words: Vec<String>,
}

impl SkillView {
    /// A view of `folders`.
    pub fn new(folders: Arc<SkillFolders>, reading: Reading) -> Self {
        Self { folders, reading, sources: OnceCell::new(), invoked: None }
    }

    /// See [`SkillFolders::sources`].
    pub fn sources(&self) -> &[Source] {
        self.sources.get_or_init(|| self.folders.sources())
    }

    /// The source at `id` in [`sources`](Self::sources).
    pub fn source(&self, id: u32) -> Option<&Source> {
        self.sources().get(id as usize)
    }

    /// See [`SkillFolders::variables`].
    pub(super) fn variables(&self, source: &Source) -> Vec<(&'static str, String)> {
        self.folders.variables(source)
    }

    /// See [`SkillFolders::required`].
    pub fn required(&self) -> Required {
        self.folders.required()
    }

    /// Notes which skill the call gives.
    pub(super) fn set_invoked(&mut self, id: u32, arguments: String, words: Vec<String>) {
        self.invoked = self.source(id).cloned().map(|source| Invoked { source, arguments, words });
    }

    /// The skill that the call gave, if it did.
    pub fn invoked(&self) -> Option<&Invoked> {
        self.invoked.as_ref()
    }
}
