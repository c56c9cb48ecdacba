//! Account of this process.

#[cfg(unix)]
pub use self::unix::{account_groups, account_home, account_id, account_name, account_names};
#[cfg(windows)]
pub use self::windows::{account_home, account_id, account_name};

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::path::PathBuf;

    use nix::unistd::{Gid, Group, User, geteuid};
    use rustix::process::{getegid, getgroups};

    /// Maximum number of groups that the system reports, if there is one.
    const MAX_REPORTED: Option<usize> = if cfg!(target_os = "macos") { Some(16) } else { None };

    /// Returns the home directory of the account, independent of the environment; `None` if it has none.
    pub fn account_home() -> std::io::Result<Option<PathBuf>> {
        let user = User::from_uid(geteuid())?;
        Ok(user.map(|user| user.dir).filter(|home| home.is_absolute()))
    }

    /// Returns the user ID.
    pub fn account_id() -> u32 {
        geteuid().as_raw()
    }

    /// Returns the name of the effective user, if it has one, and the number, as the system's user database says,
    /// which may be a directory service.
    pub fn account_names() -> std::io::Result<Vec<String>> {
        let user = User::from_uid(geteuid())?;
        Ok(user.map(|user| user.name).into_iter().chain([account_id().to_string()]).collect())
    }

    /// Returns the names and numbers of all groups of the process. Fails if the system does not report all of
    /// them.
    pub fn account_groups() -> std::io::Result<Vec<String>> {
        let mut groups = getgroups()?;
        if MAX_REPORTED.is_some_and(|most| groups.len() >= most) {
            return Err(std::io::Error::other("the account has more groups than the system reports"));
        }
        groups.push(getegid());
        let mut names = Vec::new();
        for group in groups {
            let number = group.as_raw();
            names.extend(Group::from_gid(Gid::from_raw(number))?.map(|group| group.name));
            names.push(number.to_string());
        }
        Ok(names)
    }

    /// Returns the user name from the local user database, without contacting directory services; `None` if
    /// it is not listed.
    pub fn account_name() -> Option<String> {
        let users = fs::read_to_string(USERS).unwrap_or_default();
        name_of(account_id(), &users).map(str::to_owned)
    }

    /// Local user database. Users of a directory service are not listed.
    const USERS: &str = "/etc/passwd";

    /// Finds a user name in the lines of `passwd`.
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

        #[cfg(target_os = "linux")]
        #[test]
        fn an_account_has_a_number_and_those_of_its_groups() {
            assert!(account_names().unwrap().contains(&account_id().to_string()));
            let groups = account_groups().unwrap();
            assert!(groups.contains(&getegid().as_raw().to_string()), "{groups:?}");
        }

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

    use scorpiox_sys::windows::account;

    /// Returns the home directory of the account, independent of the environment; `None` if it has none.
    pub fn account_home() -> std::io::Result<Option<PathBuf>> {
        account::profile().map(|home| Some(home).filter(|home| home.is_absolute()))
    }

    /// Returns the last component (RID) of the security identifier; 0 if unknown.
    pub fn account_id() -> u32 {
        account::identifier().ok().and_then(|id| id.rsplit('-').next()?.parse().ok()).unwrap_or_default()
    }

    /// Returns the user name; `None` if it is unknown or not Unicode.
    pub fn account_name() -> Option<String> {
        account::name().ok()?.into_string().ok()
    }
}
