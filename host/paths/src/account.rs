//! The account that this process runs as.

use std::fs;
use std::path::PathBuf;

use nix::unistd::{User, geteuid};

/// The home folder of the account, whatever the environment says; `None` where it has none.
pub fn account_home() -> std::io::Result<Option<PathBuf>> {
    let user = User::from_uid(geteuid())?;
    Ok(user.map(|user| user.dir).filter(|home| home.is_absolute()))
}

/// Where the system keeps users' names. Those of a directory service are not in it.
const USERS: &str = "/etc/passwd";

/// A user's name, without asking anybody else; `None` for users that the system's own file does not have.
pub fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string(USERS).unwrap_or_default();
    name_of(uid, &users).map(str::to_owned)
}

/// A user's name among the lines of `passwd`.
fn name_of(uid: u32, users: &str) -> Option<&str> {
    let mut named = users.lines().filter_map(|line| {
        let mut parts = line.split(':');
        Some((parts.next()?, parts.nth(1)?.parse::<u32>().ok()?))
    });
    named.find(|(name, number)| *number == uid && !name.is_empty()).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\n# x\nana:x:1000:1000::/home/ana:/bin/sh\n+::::::\n";
        assert_eq!(
            (name_of(0, users), name_of(1000, users), name_of(7, users)),
            (Some("root"), Some("ana"), None)
        );
    }
}
