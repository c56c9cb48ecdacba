//! The `files` interface as a trait.

use crate::Failure;

/// Reason why a file was not read. Each text is a sentence that tells the model what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesError {
    /// The policy denies the path, or a symbolic link leads out of the allowed directories.
    Denied(String),
    /// The path does not exist.
    NotFound(String),
    /// The path is malformed, or is not a file.
    Invalid(String),
    /// The file exceeds the limit; it has this many bytes.
    TooLarge(u64),
    /// Reading failed.
    Failed(String),
}

/// The `files` interface (see `wit/files.wit`).
pub trait Files {
    /// Returns the complete file at `path` if it has at most `limit` bytes. A relative path is relative to
    /// the workspace.
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
