//! What there is to decide about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_gitdirs::outside;
use scorpiox_paths::Writable;
use scorpiox_policy::{Files, MANAGED_FILE, Place, Places, Policy};

use crate::SkillFolders;

/// The name of a person's own policy.
const POLICY_FILE: &str = "policy.toml";

/// The workspace and what lies around it.
#[derive(Debug, Clone)]
pub struct Site {
    /// The project's folder.
    pub workspace: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// The program's own folder.
    pub own_home: PathBuf,
    /// A name for what belongs to this workspace.
    pub workspace_name: String,
    /// Where skills are looked for.
    pub skills: Arc<SkillFolders>,
    /// Whether nothing is allowed without a policy that holds for all users of the machine.
    pub is_managed_required: bool,
    /// Folders that were worked on before: a link in one of them may be a command's of then.
    pub worked_on: Vec<PathBuf>,
}

impl Site {
    /// The person's own policy.
    pub fn own_policy(&self) -> PathBuf {
        self.own_home.join(POLICY_FILE)
    }

    /// The folders of this machine that commands of any profile of a policy can write.
    pub fn writable(&self, policy: &Policy) -> Writable {
        let places = self.usual_places();
        let rules = policy.shell.profiles.values().flat_map(|profile| &profile.write);
        // What commands know as temporary files is a folder of their own.
        let folders = rules.filter(|rule| rule.place != Place::Tmp);
        let folders = folders.flat_map(|rule| places.folders(&rule.place));
        Writable::new(folders.chain(self.worked_on.iter().cloned()).chain([self.workspace.clone()]))
    }

    /// Where the policy's names for places lead, but for its own paths and skills.
    pub(crate) fn usual_places(&self) -> Places {
        let places = Places::standard(self.workspace.clone(), self.home.clone(), &self.own_home);
        Places { repository: outside(&self.workspace), ..places }
    }

    /// The files that the policy is read from; `own` is [`own_policy`](Self::own_policy).
    pub(crate) fn policy_files<'a>(&self, own: &'a Path) -> Files<'a> {
        Files { managed: Path::new(MANAGED_FILE), is_managed_required: self.is_managed_required, own }
    }
}
