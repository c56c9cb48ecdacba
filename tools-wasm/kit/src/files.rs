//! The `files` interface as a trait.

use crate::Failure;

/// Why a file was not read; each text is a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesError {
    /// The policy does not allow it, or a link leads out of what it allows.
    Denied(String),
    /// There is nothing at the path.
    NotFound(String),
    /// Not a path, or not a file.
    Invalid(String),
    /// It has this many bytes.
    TooLarge(u64),
    /// It cannot be read.
    Failed(String),
}

/// The `files` interface (see `wit/files.wit`).
pub trait Files {
    /// The whole file at a path (a relative one is the workspace's), if it has at most `limit` bytes.
    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError>;
}

impl From<FilesError> for Failure {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Denied(text) => Self::Denied(text),
            FilesError::NotFound(text) => Self::NotFound(text),
            FilesError::Invalid(text) => Self::InvalidInput(text),
            FilesError::TooLarge(bytes) => {
                Self::Failed(format!("The file has {bytes} bytes, which is more than this tool reads."))
            }
            FilesError::Failed(text) => Self::Failed(text),
        }
    }
}
