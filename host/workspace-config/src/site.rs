//! The subject of the operator's decisions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scorpiox_fs::Writable;
#[cfg(unix)]
use scorpiox_git::around;
use scorpiox_git::{Around, knows_branches, lenders, outside, stores_behind};
use scorpiox_policy::{Files, MANAGED_FILE, Place, Places, Policy, Profile};

use crate::{SkillFolders, worked_on};

/// Name of the user's policy file.
const POLICY_FILE: &str = "policy.toml";

/// Maximum number of stores of objects from each of which the next one takes objects, as in git.
const MAX_STORES_BEHIND: usize = 5;

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
        // Commands of other calls, or under an earlier file of the repository, may write more than this policy says.
        let policy = policy.widest();
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
        let around = self.around(policy);
        let tree = around.as_ref().map_or(&self.workspace, |around| &around.tree);
        let lent = self.lent(policy, tree);
        let repository = self.judged(policy, around).and_then(Result::ok);
        Places { repository, lent, ..self.usual_places() }
    }

    /// Returns the repository outside the workspace that belongs to it, or why commands do not see it.
    pub fn repository(&self, policy: &Policy) -> Option<Result<PathBuf, Apart>> {
        self.judged(policy, self.around(policy))
    }

    fn judged(&self, policy: &Policy, around: Option<Around>) -> Option<Result<PathBuf, Apart>> {
        let found =
            outside(&self.workspace).map(|repository| Around { tree: self.workspace.clone(), repository });
        let Around { tree, repository } = found.or(around)?;
        if !policy.served.is_empty() {
            // Write access to one work tree gives access to everything committed in the repository.
            return Some(Err(Apart::Shared));
        }
        // A command cannot lead the workspace to a repository in a folder around it, except to the repository of
        // a folder that it may write anyway.
        let is_its = repository.starts_with(&tree) || self.may_have(policy, &tree, &repository);
        Some(if is_its { Ok(repository) } else { Err(Apart::Later) })
    }

    /// Returns the work tree that the workspace is a folder of, if a profile that may write the workspace shows all of
    /// its files.
    fn around(&self, policy: &Policy) -> Option<Around> {
        let writes = |profile: &&Profile| profile.write.iter().any(|rule| rule.place == Place::Workspace);
        policy.shell.profiles.values().filter(writes).find_map(|profile| self.around_in(profile))
    }

    /// Returns `true` if a profile opens the repository of the workspace along with it: the repository of a work
    /// tree around the workspace only if the profile shows all files of the tree.
    pub fn opens(&self, repository: &Path, profile: &Profile) -> bool {
        let has_own = self.workspace.join(".git").symlink_metadata().is_ok();
        has_own || self.around_in(profile).is_some_and(|around| around.repository == repository)
    }

    /// Returns the work tree that the workspace is a folder of, if the profile shows all of its files.
    #[cfg(unix)]
    fn around_in(&self, profile: &Profile) -> Option<Around> {
        let places = self.usual_places();
        let rules = profile.read.iter().chain(&profile.write);
        let named = rules.filter(|rule| matches!(rule.place, Place::Path(_)));
        let folders = named.flat_map(|rule| places.folders(&rule.place));
        let folders: Vec<_> = folders.map(|folder| dunce::canonicalize(&folder).unwrap_or(folder)).collect();
        let sees = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
        let found = around(&self.workspace, self.home.as_deref(), sees)?;
        (!self.own_home.starts_with(&found.tree)).then_some(found)
    }

    /// Returns `None`: this system does not say whom a repository belongs to.
    #[cfg(not(unix))]
    fn around_in(&self, _: &Profile) -> Option<Around> {
        None
    }

    /// Returns the stores outside of the work tree from which its repository takes objects, if the user, and no
    /// command, can have chosen them.
    fn lent(&self, policy: &Policy, tree: &Path) -> Vec<PathBuf> {
        let lenders = lenders(tree);
        if lenders.is_empty() || !policy.served.is_empty() {
            return Vec::new();
        }
        let Ok(worked_on) = worked_on::others(&self.own_home, &self.workspace) else { return Vec::new() };
        // The list has such paths incompletely.
        let is_text =
            |path: &PathBuf| path.to_str().is_some_and(|path| !path.contains(char::REPLACEMENT_CHARACTER));
        if !is_text(&self.workspace) || !worked_on.iter().all(is_text) {
            return Vec::new();
        }
        let mut lent = Vec::new();
        for lender in lenders {
            let is_known =
                |store: &PathBuf| worked_on::has(&self.own_home, &self.workspace, store).unwrap_or(false);
            let is_lent = |store: &PathBuf| {
                is_text(store)
                    && (is_known(store) || self.may_have(policy, tree, store) && knows_branches(tree, store))
            };
            let mut stores = vec![lender];
            // Each store behind another has to be known on its own: a delivered store can name any other, and
            // commands of a store's own workspace too.
            for depth in 0..MAX_STORES_BEHIND {
                let Some(store) = stores.get(depth).cloned() else { break };
                if !is_lent(&store) {
                    continue;
                }
                if !worked_on.iter().any(|folder| store.starts_with(folder)) {
                    let mut behind = stores_behind(&store);
                    behind.retain(|store| !stores.contains(store));
                    stores.append(&mut behind);
                }
                lent.push(store);
            }
        }
        lent
    }

    /// Returns `true` if the user, and no command, can have chosen a repository or store of a work tree, which is the
    /// workspace or around it.
    fn may_have(&self, policy: &Policy, tree: &Path, found: &Path) -> bool {
        let places = self.usual_places();
        let rules = policy.widest().shell.profiles.values().flat_map(|profile| &profile.write);
        let named = rules.filter(|rule| !matches!(rule.place, Place::Workspace | Place::Tmp));
        let writable = named.flat_map(|rule| places.folders(&rule.place));
        let writable = writable.map(|folder| dunce::canonicalize(&folder).unwrap_or(folder)).collect();
        worked_on::may_have(&self.own_home, tree, found, writable).unwrap_or(false)
    }

    /// Returns the policy's files; `own` is [`own_policy`](Self::own_policy).
    pub(crate) fn policy_files<'a>(&'a self, own: &'a Path) -> Files<'a> {
        // Files among this program's own are the user's, and those of a workspace that stands in for a project.
        let is_own = self.workspace.starts_with(&self.own_home) || own.starts_with(&self.workspace);
        let workspace = (!is_own).then_some(&*self.workspace);
        let is_managed_required = self.is_managed_required;
        Files { managed: Path::new(MANAGED_FILE), is_managed_required, own, workspace, last_good: None }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a repository with a linked work tree, and returns the site of the tree.
    fn linked(root: &Path) -> Site {
        let (main, tree) = (root.join("main/.git"), root.join("tree"));
        for folder in ["objects", "refs", "worktrees/t"] {
            fs::create_dir_all(main.join(folder)).expect("folders");
        }
        fs::create_dir(&tree).expect("a folder");
        for (path, text) in [
            ("main/.git/HEAD", "ref: refs/heads/main\n".to_owned()),
            ("main/.git/worktrees/t/HEAD", "ref: refs/heads/t\n".to_owned()),
            ("main/.git/worktrees/t/commondir", "../..\n".to_owned()),
            ("main/.git/worktrees/t/gitdir", format!("{}\n", tree.join(".git").display())),
            ("tree/.git", format!("gitdir: {}\n", main.join("worktrees/t").display())),
        ] {
            fs::write(root.join(path), text).expect("a file");
        }
        let own_home = root.join("own");
        Site {
            workspace: tree,
            home: None,
            workspace_name: "tree".to_owned(),
            skills: Arc::new(SkillFolders::new(&own_home, None, &own_home, &[])),
            own_home,
            is_managed_required: false,
            worked_on: Vec::new(),
        }
    }

    /// People who may write one tree of a repository could otherwise read what is committed in the others.
    #[test]
    fn workspaces_of_a_policy_with_several_get_no_repository_elsewhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let site = linked(&root);
        let repository = |text: &str| {
            let policy =
                Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).expect("a policy");
            (site.repository(&policy), site.places(&policy).repository)
        };
        let main = root.join("main/.git");
        assert_eq!(repository(""), (Some(Ok(main.clone())), Some(main)));
        let several = "[workspace.web]\npath = \"/srv/web\"\n";
        assert_eq!(repository(several), (Some(Err(Apart::Shared)), None));
        // Nothing is said of a workspace with a repository of its own.
        fs::remove_file(root.join("tree/.git")).expect("removes");
        assert_eq!(repository(several), (None, None));
    }
}
