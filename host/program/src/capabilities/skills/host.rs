//! The `skills` interface.

use super::{Scope, SkillReadError, Source};
use crate::bindings::capabilities::scorpiox::tool::skills as wit;
use crate::runtime::CallState;

/// Most bytes of a SKILL.md that are handed to a guest.
const MAX_READ: u32 = 4 * 1024 * 1024;

/// Most files that one listing gives.
const MAX_FILES: u32 = 1000;

impl wit::Host for CallState {
    fn list(&mut self) -> wasmtime::Result<Vec<wit::Source>> {
        self.use_of("skills");
        let sources = self.skills.sources();
        Ok((0..).zip(sources).map(|(id, source)| described(id, source)).collect())
    }

    fn read(&mut self, id: u32, limit: u32) -> wasmtime::Result<Result<Vec<u8>, wit::Error>> {
        let Some(source) = self.skills.source(id) else { return Ok(Err(wit::Error::NotFound)) };
        Ok(self.skills.reading.head(source, limit.min(MAX_READ).into()).map_err(error))
    }

    fn files(&mut self, id: u32, limit: u32) -> wasmtime::Result<Result<wit::FileList, wit::Error>> {
        let Some(source) = self.skills.source(id) else { return Ok(Err(wit::Error::NotFound)) };
        let skill = match self.skills.reading.open(source) {
            Ok(skill) => skill,
            Err(refused) => return Ok(Err(error(refused))),
        };
        let (files, truncated) = self.skills.reading.files(&skill, limit.min(MAX_FILES) as usize);
        let files = files.into_iter().map(|file| wit::File { path: file.path, size: file.size }).collect();
        Ok(Ok(wit::FileList { files, truncated }))
    }

    fn required(&mut self) -> wasmtime::Result<Vec<String>> {
        let required = self.skills.required();
        Ok(required.by_person.into_iter().chain(required.by_workspace).collect())
    }

    fn invoked(&mut self, id: u32, arguments: String, words: Vec<String>) -> wasmtime::Result<()> {
        self.skills.set_invoked(id, arguments, words);
        Ok(())
    }
}

fn described(id: u32, source: &Source) -> wit::Source {
    wit::Source {
        id,
        folder_name: source.name.clone(),
        // Where commands see it: a link to it is not there.
        path: source.path.canonicalize().unwrap_or_else(|_| source.path.clone()).display().to_string(),
        scope: match source.scope {
            Scope::Workspace => wit::Scope::Workspace,
            Scope::User => wit::Scope::User,
            Scope::Additional => wit::Scope::Additional,
        },
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
