//! The policy as it holds here, for as long as a server runs.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scorpiox_paths::Writable;
use scorpiox_policy::{
    DEFAULT_PROFILE, Idle, Loaded, MANAGED_FILE, Places, Policy, Problem, Profile, READONLY,
};

use crate::places::{self, check_policy_place};
use crate::{OperatorError, Site, exports};

/// How often it is looked whether the policy's files are those that were read.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Answers for the operator. Reads nothing until it is first asked.
#[derive(Debug)]
pub struct Operator {
    site: Site,
    policy: OnceLock<Result<Loaded, Arc<OperatorError>>>,
    workspace: OnceLock<Result<(), Arc<OperatorError>>>,
    has_file: OnceLock<bool>,
    /// When it was last looked whether the policy is the one that was read, and whether it is.
    looked: Mutex<Option<(Instant, bool)>>,
}

impl Operator {
    /// The operator of what there is.
    pub fn new(site: Site) -> Self {
        Self {
            site,
            policy: OnceLock::new(),
            workspace: OnceLock::new(),
            has_file: OnceLock::new(),
            looked: Mutex::default(),
        }
    }

    /// The same under a policy that was read already.
    pub fn under(site: Site, loaded: Loaded) -> Self {
        let operator = Self::new(site);
        _ = operator.policy.set(Ok(loaded));
        operator
    }

    /// The operator's policy, read when it is first asked for.
    pub fn policy(&self) -> Result<&Policy, Arc<OperatorError>> {
        let policy = &self.loaded()?.policy;
        self.check_workspace()?;
        Ok(policy)
    }

    /// Whether the policy lets anybody work on this folder. Looked up once.
    fn check_workspace(&self) -> Result<(), Arc<OperatorError>> {
        let check = || {
            let places = self.site.usual_places();
            let checked = self.loaded()?.policy.workspaces.check(&self.site.workspace, &places);
            checked.map_err(|refusal| Arc::new(OperatorError::NotAWorkspace(refusal)))
        };
        self.workspace.get_or_init(check).clone()
    }

    /// Whether the files that the policy was read from are others by now. Looked at once in a while: a server that
    /// goes on under an older policy would do what the operator has taken back.
    pub fn check_current(&self) -> Result<(), OperatorError> {
        let Ok(loaded) = self.loaded() else { return Ok(()) };
        let mut looked = self.looked.lock();
        let is_due = looked.is_none_or(|(when, _)| when.elapsed() >= LOOK_TIME);
        if is_due {
            let (is_current, was) = (loaded.is_current(), looked.is_none_or(|(_, was)| was));
            if was && !is_current {
                tracing::warn!(
                    "the policy was changed: every tool is refused until this server is started again"
                );
            }
            *looked = Some((Instant::now(), is_current));
        }
        match *looked {
            Some((_, false)) => Err(OperatorError::Outdated),
            _ => Ok(()),
        }
    }

    /// Whether there may be more than the built-in policy. Takes two looks and reads nothing: the handshake asks.
    pub fn has_policy_file(&self) -> bool {
        let is_there = |path: &Path| {
            !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        *self.has_file.get_or_init(|| is_there(Path::new(MANAGED_FILE)) || is_there(&self.site.own_policy()))
    }

    /// The operator's policy, with what it was read from.
    pub fn loaded(&self) -> Result<&Loaded, Arc<OperatorError>> {
        self.policy.get_or_init(|| self.load()).as_ref().map_err(Arc::clone)
    }

    /// All mistakes of the files, where a mistake keeps the policy from being used.
    pub fn mistakes(&self) -> Vec<Problem> {
        match self.loaded() {
            Err(error) if matches!(&*error, OperatorError::Policy(_)) => {
                self.site.policy_files(&self.site.own_policy()).mistakes()
            }
            _ => Vec::new(),
        }
    }

    /// What of the person's own file changes nothing beside the one for all users.
    pub fn idle(&self) -> Vec<Idle> {
        let own = self.site.own_policy();
        self.site.policy_files(&own).idle(&self.site.usual_places())
    }

    fn load(&self) -> Result<Loaded, Arc<OperatorError>> {
        let own = self.site.own_policy();
        check_policy_place(&self.site, &own).map_err(Arc::new)?;
        let files = self.site.policy_files(&own);
        let places = self.site.usual_places();
        let loaded =
            Loaded::read(&files, &places).map_err(|problem| Arc::new(OperatorError::Policy(problem)))?;
        let writable = self.site.writable(&loaded.policy);
        exports::check(&self.site, &files, &loaded.policy.audit, &writable)
            .map_err(|problem| Arc::new(OperatorError::Policy(problem)))?;
        self.site.skills.set_writable(writable);
        Ok(loaded)
    }

    /// What it decides about.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Where the policy's names for places lead, at this moment.
    pub fn places(&self) -> Result<Places, Arc<OperatorError>> {
        self.places_with(&[])
    }

    /// The same, where denials hold in `granted` folders, too.
    pub fn places_with(&self, granted: &[PathBuf]) -> Result<Places, Arc<OperatorError>> {
        Ok(places::places(&self.site, &self.loaded()?.policy, granted))
    }

    /// The folders of this machine that commands of any profile can write. Nobody knows them under a
    /// policy that cannot be used: who asks must refuse then.
    pub fn writable(&self) -> Result<Writable, Arc<OperatorError>> {
        Ok(self.site.writable(self.policy()?))
    }

    /// A profile of the policy. The one that changes nothing is narrowed by the default one, so
    /// that making a plan never shows what is denied otherwise.
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
