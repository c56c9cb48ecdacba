//! The account that this process runs as.

use std::path::PathBuf;

use nix::unistd::{User, geteuid};

/// The home folder of the account, whatever the environment says; `None` where it has none.
pub fn account_home() -> std::io::Result<Option<PathBuf>> {
    let user = User::from_uid(geteuid())?;
    Ok(user.map(|user| user.dir).filter(|home| home.is_absolute()))
}
