//! Facts about the workspace and the account that conditions of the policy are about.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use scorpiox_fs::Stamp;
use scorpiox_git::User;
use scorpiox_policy::{Account, Remotes};

use crate::Site;

/// Account of this process, whose groups do not change while it runs.
static ACCOUNT: LazyLock<Arc<Account>> = LazyLock::new(|| Arc::new(read_account()));

/// Facts about a workspace that were read before.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    workspace: OnceLock<Arc<PathBuf>>,
    unread: OnceLock<Arc<Remotes>>,
    /// Remotes, with the stamps of the files that decided. `None` if another reading could differ although the stamps
    /// are equal.
    remotes: Mutex<Option<(Arc<Remotes>, Stamped)>>,
}

/// Files with their stamps; `None` for a file that cannot be examined.
type Stamped = Vec<(PathBuf, Option<Stamp>)>;

impl Surroundings {
    /// Returns the workspace's folder.
    pub(crate) fn workspace(&self, site: &Site) -> Arc<PathBuf> {
        Arc::clone(self.workspace.get_or_init(|| Arc::new(site.workspace.clone())))
    }

    /// Returns the remotes if nothing needs them.
    pub(crate) fn unread(&self) -> Arc<Remotes> {
        let unread = || Arc::new(Remotes::Unknown("no condition is about them".to_owned()));
        Arc::clone(self.unread.get_or_init(unread))
    }

    /// Returns the remotes of the workspace. They are read again after a change.
    pub(crate) fn remotes(&self, site: &Site) -> Arc<Remotes> {
        let mut known = self.remotes.lock();
        if let Some((remotes, stamped)) = &*known
            && stamped.iter().all(|(file, stamp)| stamp_of(file) == *stamp)
        {
            return Arc::clone(remotes);
        }
        let now = SystemTime::now();
        let user = User::of_process(site.home.as_deref());
        let read = scorpiox_git::remotes(&site.workspace, &user);
        let remotes = Arc::new(match &read.addresses {
            Ok(addresses) => Remotes::of(addresses.iter().map(String::as_str)),
            Err(unknown) => Remotes::Unknown(unknown.to_string()),
        });
        // A file that was changed while it was read has a newer stamp than the content that was read.
        let stamped: Stamped = read
            .files
            .into_iter()
            .map(|file| {
                let stamp = stamp_of(&file);
                (file, stamp)
            })
            .collect();
        let is_settled = stamped.iter().all(|(_, stamp)| stamp.is_none_or(|stamp| stamp.is_settled(now)));
        *known = is_settled.then(|| (Arc::clone(&remotes), stamped));
        remotes
    }
}

fn stamp_of(file: &Path) -> Option<Stamp> {
    file.metadata().ok().map(|found| Stamp::of(&found))
}

/// Returns the account of this process.
pub(crate) fn account() -> Arc<Account> {
    Arc::clone(&ACCOUNT)
}

#[cfg(unix)]
fn read_account() -> Account {
    let all = |names: std::io::Result<Vec<String>>| match names {
        Ok(names) => Some(names.into_iter().collect()),
        Err(error) => {
            tracing::warn!(
                "the names of this account are unknown, so that all conditions on them hold: {error}"
            );
            None
        }
    };
    Account { users: all(scorpiox_fs::account_names()), groups: all(scorpiox_fs::account_groups()) }
}

/// Returns an unknown account: the policy has no conditions on it on this system.
#[cfg(not(unix))]
fn read_account() -> Account {
    Account::default()
}
