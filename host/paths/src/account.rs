//! The account that this process runs as.

#[cfg(unix)]
pub use self::unix::{account_home, account_id, account_name};
#[cfg(windows)]
pub use self::windows::{account_home, account_id, account_name};

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::path::PathBuf;

    use nix::unistd::{User, geteuid};

    /// The home folder of the account, whatever the environment says; `None` where it has none.
    pub fn account_home() -> std::io::Result<Option<PathBuf>> {
        let user = User::from_uid(geteuid())?;
        Ok(user.map(|user| user.dir).filter(|home| home.is_absolute()))
    }

    /// The account's number.
    pub fn account_id() -> u32 {
        geteuid().as_raw()
    }

    /// The account's name, without asking anybody else; `None` where the system's own file does not have it.
    pub fn account_name() -> Option<String> {
        let users = fs::read_to_string(USERS).unwrap_or_default();
        name_of(account_id(), &users).map(str::to_owned)
    }

    /// Where the system keeps users' names. Those of a directory service are not in it.
    const USERS: &str = "/etc/passwd";

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
}

#[cfg(windows)]
mod windows {
    use std::path::PathBuf;

    use scorpiox_windows::account;

    /// The home folder of the account, whatever the environment says; `None` where it has none.
    pub fn account_home() -> std::io::Result<Option<PathBuf>> {
        account::profile().map(|home| Some(home).filter(|home| home.is_absolute()))
    }

    /// The account's number on its machine: the last one of its identifier; 0 where Windows does not say.
    pub fn account_id() -> u32 {
        account::identifier().ok().and_then(|id| id.rsplit('-').next()?.parse().ok()).unwrap_or_default()
    }

    /// The account's name; `None` where Windows does not say, or it is not Unicode.
    pub fn account_name() -> Option<String> {
        account::name().ok()?.into_string().ok()
    }
}
