//! What a person approved of a component that others ship.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_paths as paths;
use scorpiox_policy::HostRule;

/// What a component was approved for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // rights, each by itself
pub struct Approved {
    /// Folders.
    pub folders: Vec<Folder>,
    /// Names of variables of the server's environment.
    pub env: Vec<String>,
    /// Hosts that requests may go to.
    pub hosts: Option<Arc<[HostRule]>>,
    /// Whether it may keep data of its own.
    pub store: bool,
    /// What its manifest sets, for `wasi:config`.
    pub config: BTreeMap<String, String>,
    /// Whether the clock goes.
    pub clock: bool,
    /// Whether random numbers are random.
    pub random: bool,
    /// The profile that commands run under.
    pub profile: Option<String>,
    /// What may be asked of the client's model.
    pub sampling: Option<Budget>,
    /// Whether the person may be given forms to fill in.
    pub forms: bool,
    /// Whether the client may be asked which folders it works on.
    pub roots: bool,
    /// What its author calls it, where it is installed under another name: the policy's rules for either hold.
    pub authors_name: Option<String>,
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
pub enum FolderPath {
    /// The one that the server works on.
    Workspace,
    /// Where the path led that was approved, without links.
    At(PathBuf),
}

impl FolderPath {
    /// On this machine, where it is a folder that is reached through no link: its path, and the
    /// folder itself.
    pub fn open(&self, workspace: &Path) -> io::Result<(PathBuf, paths::Folder)> {
        let path = match self {
            Self::Workspace => workspace,
            Self::At(path) => path,
        };
        Ok((path.to_owned(), paths::Folder::open(path)?))
    }
}

impl Approved {
    /// The folders that are there, and whether each may be written.
    pub fn present(&self, workspace: &Path) -> Vec<(PathBuf, bool)> {
        let open = |folder: &Folder| Some((folder.path.open(workspace).ok()?.0, folder.write));
        self.folders.iter().filter_map(open).collect()
    }
}
