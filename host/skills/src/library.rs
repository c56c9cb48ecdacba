//! The skills of some folders, as a model has them.

use std::sync::Arc;

use scorpiox_capabilities::setup::Setup;
use scorpiox_mcp::client::RESULT_CHARS;
use scorpiox_operator::{Scope, SkillFolders, Source};
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::{
    Catalogue, Inspection, Skill,
};
use scorpiox_runtime::{Component, Fault, Runtime};

/// Characters of a result that are kept for messages of callbacks.
const MESSAGE_CHARS: usize = 2400;

/// The skills of some folders.
pub struct Library<'a> {
    runtime: &'a Runtime,
    component: &'a Component,
    setup: Setup,
    /// What the component makes of them.
    pub catalogue: Catalogue,
    sources: Vec<Source>,
}

impl<'a> Library<'a> {
    /// The skills of the folders that the setup names.
    pub fn read(runtime: &'a Runtime, component: &'a Component, setup: Setup) -> Result<Self, Fault> {
        let setup = Setup { room: RESULT_CHARS - MESSAGE_CHARS, ..setup };
        let (catalogue, sources) = runtime.skill_catalogue(component, &setup)?;
        let skills = Arc::new(setup.skills.with_sources(sources.clone()));
        let setup = Setup { skills, ..setup };
        Ok(Self { runtime, component, setup, catalogue, sources })
    }

    /// Those of other folders.
    pub fn read_in(
        runtime: &'a Runtime,
        component: &'a Component,
        setup: Setup,
        folders: SkillFolders,
    ) -> Result<Self, Fault> {
        Self::read(runtime, component, Setup { skills: Arc::new(folders), ..setup })
    }

    /// Where the skills were looked for.
    pub fn folders(&self) -> &SkillFolders {
        &self.setup.skills
    }

    /// Where all were read from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Where a skill was read from.
    pub fn source(&self, skill: &Skill) -> Option<&Source> {
        self.sources.get(skill.id as usize)
    }

    /// Whose a skill is, for people.
    pub(crate) fn whose(&self, skill: &Skill) -> &'static str {
        match self.source(skill) {
            Some(Source { plugin: Some(_), .. }) => "of a plugin of Claude Code",
            Some(Source { scope: Scope::User, .. }) => "yours",
            Some(Source { scope: Scope::Additional, .. }) => "in ADDITIONAL_SKILLS",
            Some(Source { scope: Scope::Workspace, .. }) => "of the workspace",
            None => "gone",
        }
    }

    /// What whoever invokes a skill gets, and what is wrong with its instructions; or why it cannot be invoked.
    pub fn inspect(&self, skill: &Skill, arguments: &str) -> Result<Inspection, String> {
        match self.runtime.inspect_skill(self.component, &self.setup, skill.id, arguments) {
            Ok(inspected) => inspected,
            Err(fault) => Err(fault.to_string()),
        }
    }
}
