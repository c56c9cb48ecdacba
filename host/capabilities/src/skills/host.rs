//! The WIT interface `skills`.

use std::sync::Arc;

use wasmtime::component::Linker;

use scorpiox_workspace_config::{Scope, Source};

use super::{Reading, SkillReadError, SkillView};
use crate::setup::{Caller, Grantee, Setup};
use crate::view::{HasCtx, Provided, View, Viewed};

/// Maximum size of a SKILL.md passed to a guest, in bytes.
const MAX_READ: u32 = 4 * 1024 * 1024;

/// Maximum number of files in a listing.
const MAX_FILES: u32 = 1000;

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/skills@0.1.0; }",
        imports: { default: trappable },
    });
    pub use scorpiox::tool::skills::*;
}

/// Skill folders, as one call sees them.
pub struct SkillsCtx {
    /// Skills that the call found, read and invoked.
    pub view: SkillView,
    asked_by: Caller,
}

impl Provided for SkillsCtx {
    const NAME: &'static str = "skills";
    const MAY: &'static str = "read the files of skill folders";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        let reading = Reading::new(Arc::clone(setup.shell.operator()), setup.uses.clone());
        Self { view: SkillView::new(Arc::clone(&setup.skills), reading), asked_by: setup.asked_by }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl wit::Host for View<'_, SkillsCtx> {
    fn list(&mut self) -> wasmtime::Result<Vec<wit::Source>> {
        self.call.use_of("skills");
        let sources = self.ctx.view.sources()?;
        Ok((0..).zip(sources).map(|(id, source)| described(id, source)).collect())
    }

    fn asked_by(&mut self) -> wasmtime::Result<wit::Caller> {
        Ok(match self.ctx.asked_by {
            Caller::Model => wit::Caller::Model,
            Caller::Person => wit::Caller::Person,
        })
    }

    fn read(&mut self, id: u32, limit: u32) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        let Some(source) = self.ctx.view.source(id) else { return Ok(Err(wit::Error::NotFound)) };
        Ok(self.ctx.view.reading.head(source, limit.min(MAX_READ).into()).map_err(error))
    }

    fn files(&mut self, id: u32, limit: u32) -> wasmtime::Result<Result<wit::FileList, wit::Error>> {
        let Some(source) = self.ctx.view.source(id) else { return Ok(Err(wit::Error::NotFound)) };
        let skill = match self.ctx.view.reading.open(source) {
            Ok(skill) => skill,
            Err(refused) => return Ok(Err(error(refused))),
        };
        let (files, truncated) = self.ctx.view.reading.files(&skill, limit.min(MAX_FILES) as usize);
        let files = files.into_iter().map(|file| wit::File { path: file.path, size: file.size }).collect();
        Ok(Ok(wit::FileList { files, truncated }))
    }

    fn read_file(
        &mut self,
        id: u32,
        path: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        let Some(source) = self.ctx.view.source(id) else { return Ok(Err(wit::Error::NotFound)) };
        let reading = &self.ctx.view.reading;
        let read =
            reading.open(source).and_then(|skill| reading.whole(&skill, &path, limit.min(MAX_READ).into()));
        Ok(read.map_err(error))
    }

    fn variables(&mut self, id: u32) -> wasmtime::Result<Vec<(String, String)>> {
        let Some(source) = self.ctx.view.source(id) else { return Ok(Vec::new()) };
        let variables = self.ctx.view.variables(source).into_iter();
        Ok(variables.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn required(&mut self) -> wasmtime::Result<Vec<String>> {
        let required = self.ctx.view.required()?;
        Ok(required.by_person.into_iter().chain(required.by_workspace).collect())
    }

    fn invoked(&mut self, id: u32, arguments: String, words: Vec<String>) -> wasmtime::Result<()> {
        self.ctx.view.set_invoked(id, arguments, words);
        Ok(())
    }
}

fn described(id: u32, source: &Source) -> wit::Source {
    wit::Source {
        id,
        folder_name: source.name.clone(),
        // The path as commands see it: links to the folder do not exist in their view.
        path: dunce::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone()).display().to_string(),
        scope: match source.scope {
            Scope::Workspace => wit::Scope::Workspace,
            Scope::User => wit::Scope::User,
            Scope::Additional => wit::Scope::Additional,
        },
        file: source.file.to_owned(),
    }
}

fn error(error: SkillReadError) -> wit::Error {
    match error {
        SkillReadError::NotFound => wit::Error::NotFound,
        SkillReadError::TooLarge(limit) => wit::Error::TooLarge(limit),
        denied @ SkillReadError::Denied(_) => wit::Error::Unreadable(denied.to_string()),
        SkillReadError::Io(error) => wit::Error::Unreadable(error.to_string()),
    }
}
