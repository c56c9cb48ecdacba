//! The WIT interface `files`.

use std::sync::Arc;

use super::{FileError, Files};
use crate::setup::{Grantee, Setup};
use crate::view::{HasCtx, Provided, View, Viewed};
use wasmtime::component::Linker;
use wit::{Error, Host};

/// Reason why a file was not read, for the guest.
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

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/files@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/files.error" => super::FilesFailure },
    });
    pub use scorpiox::tool::files::*;
}

/// Reader of files.
pub struct FilesCtx {
    files: Arc<Files>,
}

impl Provided for FilesCtx {
    const NAME: &'static str = "files";
    const MAY: &'static str = "read files of the workspace and of folders that the policy names";

    fn new(setup: &Setup, _: &Grantee<'_>) -> Self {
        Self { files: Arc::clone(&setup.files) }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl Host for View<'_, FilesCtx> {
    fn read(&mut self, path: String, limit: u64) -> Result<Vec<u8>, FilesFailure> {
        self.call.function = "read";
        Ok(self.ctx.files.read(&path, limit, self.call.approved.as_deref(), &self.call.uses)?)
    }

    fn convert_error(&mut self, failure: FilesFailure) -> wasmtime::Result<Error> {
        self.call.failed(FilesCtx::NAME, &failure.0);
        Ok(failure.0)
    }
}
