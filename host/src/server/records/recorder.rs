//! Who records: the user, the machine, and the policy in use. Asked for by the first line.

use std::fs;

use scorpiox_audit::{BUILT_IN, Origin, Recorder};

use crate::capabilities::shell::Shell;

/// Where the system keeps users' names. Those of a directory service are not in it.
const USERS: &str = "/etc/passwd";
/// The machine's name, on Linux.
const MACHINE: &str = "/proc/sys/kernel/hostname";

/// What all lines of this process have in common.
pub(super) fn origin(workspace: &str, shell: &Shell) -> Origin {
    let uid = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let machine = fs::read_to_string(MACHINE).unwrap_or_default();
    Origin::new(&Recorder {
        user: name_of(uid, &users).unwrap_or_default(),
        uid,
        machine: machine.trim(),
        workspace,
        policy: policy_in_use(shell),
    })
}

/// The hash of the policy that was read; a word where there is no file, or none that can be used.
fn policy_in_use(shell: &Shell) -> &str {
    match shell.loaded() {
        Ok(loaded) if loaded.files.is_empty() => BUILT_IN,
        Ok(loaded) => &loaded.hash,
        Err(_) => "unusable",
    }
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
