//! The policy as it applies to a running server.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_fs::Writable;
use scorpiox_policy::access::Principal;
use scorpiox_policy::{
    Circumstances, DEFAULT_PROFILE, Files, Idle, Loaded, MANAGED_FILE, Places, Policy, Problem, Profile,
    READONLY, REPOSITORY_FILE, ReadBefore, Stamps,
};

use crate::error::Outdated;
use crate::places::{self, check_policy_place};
use crate::surroundings::{Surroundings, account};
use crate::{OperatorError, Site, exports};

/// Time without changes after which the policy's files are read again.
const SETTLE_TIME: Duration = Duration::from_millis(200);
/// Maximum time to wait for files that are changed again and again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers queries about the operator's policy. Loads it on first use.
#[derive(Debug)]
pub struct Operator {
    site: Site,
    policy: OnceLock<Result<Loaded, Arc<OperatorError>>>,
    workspace: OnceLock<Result<(), Arc<OperatorError>>>,
    has_file: OnceLock<bool>,
    surroundings: Surroundings,
    /// Stamps of the policy's files before they were read.
    read_at: Mutex<Option<Stamps>>,
    /// Reason why all calls are refused after a change.
    outdated: Mutex<Option<Outdated>>,
    /// Text of the managed file that stays in force if the file is broken.
    last_good: Option<String>,
}

impl Operator {
    /// Creates an operator for a site.
    pub fn new(site: Site) -> Self {
        Self {
            site,
            policy: OnceLock::new(),
            workspace: OnceLock::new(),
            has_file: OnceLock::new(),
            surroundings: Surroundings::default(),
            read_at: Mutex::default(),
            outdated: Mutex::default(),
            last_good: None,
        }
    }

    /// Creates an operator with a policy that is already loaded.
    pub fn under(site: Site, loaded: Loaded) -> Self {
        let operator = Self::new(site);
        _ = operator.policy.set(Ok(loaded));
        operator
    }

    /// Returns the policy, and loads it on first use.
    pub fn policy(&self) -> Result<&Policy, Arc<OperatorError>> {
        let policy = self.server_policy()?;
        match &self.loaded()?.unusable_repository {
            None => Ok(policy),
            Some(problem) => Err(Arc::new(OperatorError::Repository(problem.clone()))),
        }
    }

    /// Returns the policy for decisions about the server as a whole, which no repository can prevent.
    pub fn server_policy(&self) -> Result<&Policy, Arc<OperatorError>> {
        let policy = &self.loaded()?.policy;
        self.check_workspace()?;
        Ok(policy)
    }

    /// Checks that the policy allows this workspace. The result is cached.
    fn check_workspace(&self) -> Result<(), Arc<OperatorError>> {
        let check = || {
            let policy = &self.loaded()?.policy;
            let places = places::workspace_places(&self.site, policy);
            let checked = policy.workspaces.check(&self.site.workspace, &places);
            checked.map_err(|refusal| Arc::new(OperatorError::NotAWorkspace(refusal)))
        };
        self.workspace.get_or_init(check).clone()
    }

    /// Returns `true` if the policy's files have not changed since they were read, or were not read yet.
    pub fn is_current(&self) -> bool {
        self.read_at.lock().as_ref().is_none_or(Stamps::is_current)
    }

    /// Reads the policy again, for the same site, once its files have not changed for [`SETTLE_TIME`]: a file
    /// that is still being written can be valid without its last lines. Returns the new operator and the
    /// stamps of the files, or `None` after [`PATIENCE`].
    pub fn read_again(&self) -> Option<(Self, Stamps)> {
        let begun = Instant::now();
        let own = self.site.own_policy();
        let files = self.site.policy_files(&own);
        while begun.elapsed() < PATIENCE {
            let stamps = files.stamps();
            thread::sleep(SETTLE_TIME);
            if !stamps.is_current() {
                continue;
            }
            let skills = Arc::new(self.site.skills.renewed());
            let mut operator = Self::new(Site { skills, ..self.site.clone() });
            // An operator that could not load anything passes on the text that it was given.
            let last_good = self.loaded().map_or(self.last_good.as_deref(), Loaded::last_good);
            operator.last_good = last_good.map(str::to_owned);
            // An error is kept, and refuses all calls.
            let _ = operator.loaded();
            // The files may also have changed while they were read.
            if stamps.is_current() {
                return Some((operator, stamps));
            }
        }
        None
    }

    /// Marks the policy as current for files with these stamps.
    pub fn confirm(&self, stamps: Stamps) {
        *self.read_at.lock() = Some(stamps);
        *self.outdated.lock() = None;
    }

    /// Refuses all calls, because the changed files cannot take effect while the server runs.
    pub fn refuse_all(&self, why: Outdated) {
        *self.outdated.lock() = Some(why);
    }

    /// Fails if all calls are refused because of a change of the policy.
    pub fn check_current(&self) -> Result<(), OperatorError> {
        self.outdated.lock().clone().map_or(Ok(()), |why| Err(OperatorError::Outdated(why)))
    }

    /// Returns `true` if a policy file may exist. Used during the handshake: makes a few system calls and reads
    /// nothing.
    pub fn has_policy_file(&self) -> bool {
        let is_there = |path: &Path| {
            !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        *self.has_file.get_or_init(|| {
            let own = self.site.own_policy();
            let files = self.site.policy_files(&own);
            self.looked_at(&files);
            let repository = files.workspace.map(|workspace| workspace.join(REPOSITORY_FILE));
            is_there(Path::new(MANAGED_FILE))
                || is_there(&own)
                || repository.is_some_and(|file| is_there(&file))
        })
    }

    /// Returns the reason why the managed file cannot be used, if its last valid text stays in force instead.
    pub fn unusable_managed(&self) -> Option<&Problem> {
        self.loaded().ok()?.unusable_managed.as_ref()
    }

    /// Returns the policy with the files it comes from.
    pub fn loaded(&self) -> Result<&Loaded, Arc<OperatorError>> {
        self.policy.get_or_init(|| self.load()).as_ref().map_err(Arc::clone)
    }

    /// Returns all mistakes in the files, if a mistake prevents the policy from being used.
    pub fn mistakes(&self) -> Vec<Problem> {
        match self.policy() {
            Err(error) if matches!(&*error, OperatorError::Policy(_) | OperatorError::Repository(_)) => {
                self.site.policy_files(&self.site.own_policy()).mistakes()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the entries of the user's file and of the repository's file that have no effect, because the files
    /// that they narrow are at least as strict.
    pub fn idle(&self) -> Vec<Idle> {
        let own = self.site.own_policy();
        self.site.policy_files(&own).idle(&self.site.usual_places())
    }

    /// Stores the stamps of the files before anything about them is decided.
    fn looked_at(&self, files: &Files<'_>) {
        self.read_at.lock().get_or_insert_with(|| files.stamps());
    }

    fn load(&self) -> Result<Loaded, Arc<OperatorError>> {
        let own = self.site.own_policy();
        let files = Files { last_good: self.last_good.as_deref(), ..self.site.policy_files(&own) };
        self.looked_at(&files);
        check_policy_place(&self.site, &own).map_err(Arc::new)?;
        let places = self.site.usual_places();
        let loaded =
            Loaded::read(&files, &places).map_err(|problem| Arc::new(OperatorError::Policy(problem)))?;
        let writable = self.site.writable(&loaded.policy);
        exports::check(&self.site, &files, &loaded.policy.audit, &writable)
            .map_err(|problem| Arc::new(OperatorError::Policy(problem)))?;
        self.site.skills.set_writable(writable);
        Ok(loaded)
    }

    /// Returns the text of the user's policy file, or `None` if it does not exist.
    pub fn own_text(&self) -> Result<Option<String>, Problem> {
        self.site.policy_files(&self.site.own_policy()).own_text()
    }

    /// Creates the operator for the same site, as if `own` were the text of the user's policy file.
    pub fn with_own(&self, own: String) -> Result<Self, Problem> {
        let path = self.site.own_policy();
        let loaded = Loaded::with_own(&self.site.policy_files(&path), own, &self.site.usual_places())?;
        Ok(Self::under(self.site.clone(), loaded))
    }

    /// Returns the site.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Resolves the places of the policy to their current paths.
    pub fn places(&self) -> Result<Places, Arc<OperatorError>> {
        self.places_with(&[])
    }

    /// Works like [`places`](Self::places), with `granted` as additional folders in which denials apply.
    pub fn places_with(&self, granted: &[PathBuf]) -> Result<Places, Arc<OperatorError>> {
        places::places(&self.site, &self.loaded()?.policy, granted)
            .map_err(|unread| Arc::new(OperatorError::Skills(unread)))
    }

    /// Returns the folders of `[workspaces]` that are reached by links.
    pub fn linked_workspaces(&self) -> Result<Vec<places::LinkedWorkspace>, Arc<OperatorError>> {
        Ok(places::linked_workspaces(&self.site, &self.loaded()?.policy))
    }

    /// Returns the circumstances of calls by a client, which may have named itself, for a caller over HTTP, if there
    /// is one.
    pub fn circumstances(
        &self,
        client: Option<Arc<str>>,
        principal: Option<Arc<Principal>>,
    ) -> Result<Circumstances, Arc<OperatorError>> {
        let mut conditions = self.loaded()?.policy.conditions();
        let remotes = if conditions.any(|conditions| !conditions.remotes.is_empty()) {
            self.surroundings.remotes(&self.site)
        } else {
            self.surroundings.unread()
        };
        let workspace = self.surroundings.workspace(&self.site);
        // The caller adds what was read before.
        let read_before = ReadBefore::default();
        Ok(Circumstances { workspace, remotes, account: account(), client, principal, read_before })
    }

    /// Returns the numbers of the restrictions of the policy that hold in these circumstances.
    pub fn restrictions_for(&self, circumstances: &Circumstances) -> Vec<usize> {
        let Ok(Loaded { policy, .. }) = self.loaded() else { return Vec::new() };
        let is_about_folders = policy.restrictions.iter().any(|one| !one.conditions.workspaces.is_empty());
        // Links in folders that conditions name are resolved.
        let places = if is_about_folders { self.places().ok() } else { Some(self.site.usual_places()) };
        policy.restrictions_for(circumstances, places.as_ref())
    }

    /// Creates the operator for the same site under restrictions of the policy, by their numbers.
    pub fn restricted(&self, numbers: &[usize]) -> Result<Self, Arc<OperatorError>> {
        let loaded = self.loaded()?;
        let policy = loaded.policy.restricted(numbers, &self.site.usual_places());
        Ok(Self::under(self.site.clone(), Loaded { policy, ..loaded.clone() }))
    }

    /// Returns the folders of this machine that commands of any profile can write. They are unknown if the
    /// policy cannot be used; the caller has to refuse the request in this case.
    pub fn writable(&self) -> Result<Writable, Arc<OperatorError>> {
        Ok(self.site.writable(self.server_policy()?))
    }

    /// Returns a profile of the policy. The read-only profile is narrowed by the default one, so that
    /// planning never reveals what is otherwise denied.
    pub fn profile(&self, name: &str) -> Result<Cow<'_, Profile>, Arc<OperatorError>> {
        let profiles = &self.loaded()?.policy.shell.profiles;
        let unknown = || {
            let known = profiles.keys().cloned().collect();
            Arc::new(OperatorError::NoProfile { name: name.to_owned(), known })
        };
        let profile = profiles.get(name).ok_or_else(unknown)?;
        match profiles.get(DEFAULT_PROFILE) {
            Some(default) if name == READONLY => {
                let narrowed = default.narrowed(profile, &self.places()?);
                Ok(Cow::Owned(Profile { name: name.to_owned(), ..narrowed }))
            }
            _ => Ok(Cow::Borrowed(profile)),
        }
    }
}
