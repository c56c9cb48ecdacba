//! Permissions that the user approved for a plugin component.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_fs as paths;
use scorpiox_policy::HostRule;

/// Permissions approved for a component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // independent permissions
pub struct Approved {
    /// Accessible folders.
    pub folders: Vec<Folder>,
    /// `true` if the component sees its only folder, the workspace, as `/`.
    pub has_root: bool,
    /// Names of environment variables of the server that the component may read.
    pub env: Vec<String>,
    /// Hosts that requests may be sent to.
    pub hosts: Option<Arc<[HostRule]>>,
    /// `true` if the component may store data.
    pub store: bool,
    /// Values from the manifest, for `wasi:config`.
    pub config: BTreeMap<String, String>,
    /// `true` if the component may read the time. Otherwise, its clock stands still.
    pub clock: bool,
    /// `true` if the component gets real random numbers.
    pub random: bool,
    /// Profile for commands.
    pub profile: Option<String>,
    /// Budget for requests to the client's model.
    pub sampling: Option<Budget>,
    /// `true` if the component may show forms to the user.
    pub forms: bool,
    /// `true` if the component may ask the client for its roots.
    pub roots: bool,
    /// Author's name of a plugin that is installed under another name. The policy's rules for either name
    /// apply.
    pub authors_name: Option<String>,
}

/// Budget of a call for requests to the client's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of requests.
    pub calls: u32,
    /// Maximum total number of tokens in all answers.
    pub tokens: u32,
}

/// A folder with everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Location of the folder.
    pub path: FolderPath,
    /// `true` if the folder may be written.
    pub write: bool,
}

/// Location of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderPath {
    /// The workspace.
    Workspace,
    /// The approved path, with symbolic links resolved.
    At(PathBuf),
}

impl FolderPath {
    /// Opens the folder without following links. Returns its path on this machine and the open folder.
    pub fn open(&self, workspace: &Path) -> io::Result<(PathBuf, paths::Folder)> {
        let path = self.at(workspace);
        Ok((path.to_owned(), paths::Folder::open(path)?))
    }

    /// Returns the path on this machine.
    pub fn at<'a>(&'a self, workspace: &'a Path) -> &'a Path {
        match self {
            Self::Workspace => workspace,
            Self::At(path) => path,
        }
    }
}

impl Approved {
    /// Returns the folders that exist, each with `true` if it may be written.
    pub fn present(&self, workspace: &Path) -> Vec<(PathBuf, bool)> {
        let open = |folder: &Folder| Some((folder.path.open(workspace).ok()?.0, folder.write));
        self.folders.iter().filter_map(open).collect()
    }
}
