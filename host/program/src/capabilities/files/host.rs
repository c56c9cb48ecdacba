//! The WIT interface `files`.

use super::FileError;
use crate::bindings::capabilities::scorpiox::tool::files::{Error, Host};
use crate::runtime::CallState;

/// Why a file was not read, for the guest.
#[derive(Debug)]
pub struct FilesFailure(Error);

impl From<FileError> for FilesFailure {
    fn from(error: FileError) -> Self {
        Self(match error {
            FileError::Denied(text) => Error::Denied(text),
            FileError::NotFound(text) => Error::NotFound(text),
            FileError::Invalid(text) => Error::Invalid(text),
            FileError::TooLarge(bytes) => Error::TooLarge(bytes),
            FileError::Failed(text) => Error::Failed(text),
        })
    }
}

impl Host for CallState {
    fn read(&mut self, path: String, limit: u64) -> Result<Vec<u8>, FilesFailure> {
        Ok(self.files.read(&path, limit, self.approved.as_deref(), &self.uses)?)
    }

    fn convert_error(&mut self, failure: FilesFailure) -> wasmtime::Result<Error> {
        Ok(failure.0)
    }
}
