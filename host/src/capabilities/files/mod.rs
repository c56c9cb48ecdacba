//! Files to read: of the workspace, and of folders that the operator granted.
//!
//! A path is resolved, decided about, and then opened part by part without following a link: what was
//! exchanged for a link in between is not read.

mod host;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_audit::Uses;
use scorpiox_paths::open_file;

use super::approved::Approved;
use super::shell::Shell;
use super::wasi::decide;
use scorpiox_policy::FileDenial;

pub use host::FilesFailure;

/// Largest file, in bytes, whatever a guest says: the host holds it, too.
const MAX_BYTES: u64 = 128 * 1024 * 1024;

/// Why a file is not read. Each text is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum FileError {
    #[error("{0}")]
    Denied(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error("the file has {0} bytes")]
    TooLarge(u64),
    #[error("{0}")]
    Failed(String),
}

/// Reads files under the operator's policy.
pub struct Files {
    shell: Arc<Shell>,
}

impl Files {
    /// Files of the workspace that commands run in, too.
    pub fn new(shell: Arc<Shell>) -> Self {
        Self { shell }
    }

    /// The whole file at a path, if it has at most `limit` bytes. A relative path is the workspace's.
    /// For components of others the file lies in a folder that was `approved`.
    pub fn read(
        &self,
        path: &str,
        limit: u64,
        approved: Option<&Approved>,
        uses: &Uses,
    ) -> Result<Vec<u8>, FileError> {
        if path.is_empty() || path.contains('\0') {
            return Err(FileError::Invalid(format!("{path:?} is no path of a file")));
        }
        let asked = &self.shell.setup().workspace.join(path);
        let resolved = asked.canonicalize().map_err(|error| said(asked, &error))?;
        let checked = self.folder(&resolved, approved);
        match &checked {
            Ok(folder) => uses.note("files", folder.display(), Ok(())),
            Err(denial) => uses.note("files", "", Err(&denial.rule)),
        }
        checked.map_err(|denial| {
            let leads = if resolved == *asked { String::new() } else { format!("{path} leads to it: ") };
            FileError::Denied(format!("{leads}{denial}"))
        })?;
        let limit = limit.min(MAX_BYTES);
        let mut file = open_file(&resolved).map_err(|error| said(asked, &error))?;
        let about = file.metadata().map_err(|error| said(asked, &error))?;
        if about.len() > limit {
            return Err(FileError::TooLarge(about.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
        // It may have grown since.
        (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(|error| said(asked, &error))?;
        if bytes.len() as u64 > limit {
            return Err(FileError::TooLarge(bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// The folder in which a path may be read.
    fn folder(&self, path: &Path, approved: Option<&Approved>) -> Result<PathBuf, FileDenial> {
        let refused = |rule: String| FileDenial::new(path, rule);
        let policy = self.shell.policy();
        let policy = &policy.map_err(|error| refused(format!("not read: {error}")))?.files;
        let setup = self.shell.setup();
        let places = self.shell.places().map_err(|error| refused(format!("not read: {error}")))?;
        let Some(approved) = approved else {
            return policy.check(path, &places);
        };
        let roots = approved.present(&setup.workspace);
        decide(&self.shell, &places, &roots, path, false)
    }
}

fn said(path: &Path, error: &io::Error) -> FileError {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound(format!("{path} does not exist")),
        io::ErrorKind::InvalidInput => FileError::Invalid(format!("{path} is not a file")),
        io::ErrorKind::PermissionDenied => {
            FileError::Failed(format!("{path} cannot be read by the user of this server"))
        }
        _ => FileError::Failed(format!("{path} cannot be read: {error}")),
    }
}
