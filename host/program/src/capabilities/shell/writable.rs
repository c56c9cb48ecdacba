//! Where commands can write, for those who must not trust what lies there.

use std::sync::Arc;

use scorpiox_paths::Writable;
use scorpiox_policy::{Place, Policy};

use super::plan::usual_places;
use super::{Shell, ShellError, ShellSetup};

impl Shell {
    /// The folders of this machine that commands of any profile can write. Nobody knows them under a
    /// policy that cannot be used: who asks must refuse then.
    pub fn writable(&self) -> Result<Writable, Arc<ShellError>> {
        Ok(writable(&self.setup, self.policy()?))
    }
}

/// The same under a policy that was read.
pub(super) fn writable(setup: &ShellSetup, policy: &Policy) -> Writable {
    let places = usual_places(setup);
    let rules = policy.shell.profiles.values().flat_map(|profile| &profile.write);
    // What commands know as temporary files is a folder of their own.
    let folders = rules.filter(|rule| rule.place != Place::Tmp);
    let folders = folders.flat_map(|rule| places.folders(&rule.place));
    Writable::new(folders.chain(setup.worked_on.iter().cloned()).chain([setup.workspace.clone()]))
}
