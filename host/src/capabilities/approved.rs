//! What a person approved of a component that others ship.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_policy::HostRule;

/// What a component was approved for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approved {
    /// Folders.
    pub folders: Vec<Folder>,
    /// Names of variables of the server's environment.
    pub env: Vec<String>,
    /// Hosts that requests may go to.
    pub hosts: Option<Arc<[HostRule]>>,
    /// Whether the clock goes.
    pub clock: bool,
    /// Whether random numbers are random.
    pub random: bool,
    /// The profile that commands run under.
    pub profile: Option<String>,
    /// What may be asked of the client's model.
    pub sampling: Option<Budget>,
}

/// What may be asked of the client's model in a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Questions.
    pub calls: u32,
    /// Tokens of all answers.
    pub tokens: u32,
}

/// A folder with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Which.
    pub path: FolderPath,
    /// Whether it may be written.
    pub write: bool,
}

/// Where a folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FolderPath {
    Workspace,
    InHome(PathBuf),
    Absolute(PathBuf),
}

impl FolderPath {
    /// As it stands in `plugin.toml`.
    pub fn parse(text: &str) -> Self {
        match (text, text.strip_prefix("~/")) {
            ("workspace", _) => Self::Workspace,
            (_, Some(inside)) => Self::InHome(inside.into()),
            _ => Self::Absolute(text.into()),
        }
    }

    /// On this machine, where there is such a folder.
    pub fn resolve(&self, workspace: &Path, home: Option<&Path>) -> Option<PathBuf> {
        let path = match self {
            Self::Workspace => workspace.to_owned(),
            Self::InHome(inside) => home?.join(inside),
            Self::Absolute(path) => path.clone(),
        };
        path.canonicalize().ok().filter(|path| path.is_dir())
    }
}

impl Approved {
    /// The folders that are there, resolved, for reading.
    pub fn readable(&self, workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        self.folders.iter().filter_map(|folder| folder.path.resolve(workspace, home)).collect()
    }
}
