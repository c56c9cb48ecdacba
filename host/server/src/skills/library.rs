//! The skills of some folders, as a model sees them.

use std::sync::Arc;

use scorpiox_capabilities::setup::Setup;
use scorpiox_mcp::client::RESULT_CHARS;
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::{
    Catalogue, Inspection, Skill,
};
use scorpiox_runtime::{Component, Fault, Runtime};
use scorpiox_workspace_config::{Scope, SkillFolders, Source};

/// Characters of a result that are reserved for callback messages.
const MESSAGE_CHARS: usize = 2400;

/// The skills of some folders.
pub struct Library<'a> {
    runtime: &'a Runtime,
    component: &'a Component,
    setup: Setup,
    /// Catalog of the skills, as parsed by the component.
    pub catalogue: Catalogue,
    sources: Vec<Source>,
}

impl<'a> Library<'a> {
    /// Reads the skills of the setup's folders.
    pub fn read(runtime: &'a Runtime, component: &'a Component, setup: Setup) -> Result<Self, Fault> {
        let setup = Setup { room: RESULT_CHARS - MESSAGE_CHARS, ..setup };
        let (catalogue, sources) = runtime.skill_catalogue(component, &setup)?;
        let skills = Arc::new(setup.skills.with_sources(sources.clone()));
        let setup = Setup { skills, ..setup };
        Ok(Self { runtime, component, setup, catalogue, sources })
    }

    /// Reads the skills of other folders.
    pub fn read_in(
        runtime: &'a Runtime,
        component: &'a Component,
        setup: Setup,
        folders: SkillFolders,
    ) -> Result<Self, Fault> {
        Self::read(runtime, component, Setup { skills: Arc::new(folders), ..setup })
    }

    /// Returns the folders that were searched for skills.
    pub fn folders(&self) -> &SkillFolders {
        &self.setup.skills
    }

    /// Returns the sources of all skills.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the source of a skill.
    pub fn source(&self, skill: &Skill) -> Option<&Source> {
        self.sources.get(skill.id as usize)
    }

    /// Describes the owner of a skill for users.
    pub(crate) fn whose(&self, skill: &Skill) -> &'static str {
        match self.source(skill) {
            Some(Source { plugin: Some(_), .. }) => "of a plugin of Claude Code",
            Some(Source { scope: Scope::User, .. }) => "yours",
            Some(Source { scope: Scope::Additional, .. }) => "in ADDITIONAL_SKILLS",
            Some(Source { scope: Scope::Workspace, .. }) => "of the workspace",
            None => "gone",
        }
    }

    /// Returns the text that an invocation of a skill gives and warnings about its instructions, or why it
    /// cannot be invoked.
    pub fn inspect(&self, skill: &Skill, arguments: &str) -> Result<Inspection, String> {
        match self.runtime.inspect_skill(self.component, &self.setup, skill.id, arguments) {
            Ok(inspected) => inspected,
            Err(fault) => Err(fault.to_string()),
        }
    }
}
