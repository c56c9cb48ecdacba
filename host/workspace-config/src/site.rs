//! The subject of the operator's decisions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_fs::Writable;
use scorpiox_git::outside;
use scorpiox_policy::{Files, MANAGED_FILE, Place, Places, Policy};

use crate::{SkillFolders, worked_on};

/// Name of the user's policy file.
const POLICY_FILE: &str = "policy.toml";

/// The workspace and its surroundings.
#[derive(Debug, Clone)]
pub struct Site {
    /// Folder of the project.
    pub workspace: PathBuf,
    /// Home folder of the user.
    pub home: Option<PathBuf>,
    /// This program's own folder.
    pub own_home: PathBuf,
    /// Name for files that belong to this workspace.
    pub workspace_name: String,
    /// Folders to search for skills.
    pub skills: Arc<SkillFolders>,
    /// `true` if all tools are refused without a managed policy.
    pub is_managed_required: bool,
    /// Workspaces of earlier sessions. Commands may have created the symbolic links in them.
    pub worked_on: Vec<PathBuf>,
}

/// Reason why a repository outside the workspace is not opened along with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// The policy serves workspaces to several teams.
    Shared,
    /// Commands may have made the workspace point to the repository.
    Later,
}

impl Site {
    /// Returns the path of the user's policy file.
    pub fn own_policy(&self) -> PathBuf {
        self.own_home.join(POLICY_FILE)
    }

    /// Returns the folders of this machine that commands of any profile can write.
    pub fn writable(&self, policy: &Policy) -> Writable {
        let places = self.places(policy);
        let rules = policy.shell.profiles.values().flat_map(|profile| &profile.write);
        // A command's `@tmp` is a private folder.
        let folders = rules.filter(|rule| rule.place != Place::Tmp);
        let folders = folders.flat_map(|rule| places.folders(&rule.place));
        Writable::new(folders.chain(self.worked_on.iter().cloned()).chain([self.workspace.clone()]))
    }

    /// Resolves places, except for the repository, paths of the policy, and skills.
    pub(crate) fn usual_places(&self) -> Places {
        Places::standard(self.workspace.clone(), self.home.clone(), &self.own_home)
    }

    /// Resolves places under a policy, including the repository.
    pub(crate) fn places(&self, policy: &Policy) -> Places {
        Places { repository: self.repository(policy).and_then(Result::ok), ..self.usual_places() }
    }

    /// Returns the repository outside the workspace that belongs to it, or why commands do not see it.
    pub fn repository(&self, policy: &Policy) -> Option<Result<PathBuf, Apart>> {
        let found = outside(&self.workspace)?;
        if !policy.served.is_empty() {
            // Write access to one work tree gives access to everything committed in the repository.
            return Some(Err(Apart::Shared));
        }
        let places = self.usual_places();
        let rules = policy.shell.profiles.values().flat_map(|profile| &profile.write);
        let named = rules.filter(|rule| !matches!(rule.place, Place::Workspace | Place::Tmp));
        let writable = named.flat_map(|rule| places.folders(&rule.place));
        let writable = writable.map(|folder| dunce::canonicalize(&folder).unwrap_or(folder)).collect();
        let is_its = worked_on::may_have(&self.own_home, &self.workspace, &found, writable).unwrap_or(false);
        Some(if is_its { Ok(found) } else { Err(Apart::Later) })
    }

    /// Returns the policy's files; `own` is [`own_policy`](Self::own_policy).
    pub(crate) fn policy_files<'a>(&self, own: &'a Path) -> Files<'a> {
        Files { managed: Path::new(MANAGED_FILE), is_managed_required: self.is_managed_required, own }
    }
}
