//! Who records: the user, the machine, and the policy in use. Asked for by the first line.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use scorpiox_audit::{BUILT_IN, Origin, Recorder};
use scorpiox_plugin::Fingerprint;
use scorpiox_policy::MAX_FILE_BYTES;

/// Where the system keeps users' names. Those of a directory service are not in it.
const USERS: &str = "/etc/passwd";
/// The machine's name, on Linux.
const MACHINE: &str = "/proc/sys/kernel/hostname";

/// What all lines of this process have in common.
pub(super) fn origin(workspace: &str, own_home: &Path) -> Origin {
    let uid = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let machine = fs::read_to_string(MACHINE).unwrap_or_default();
    Origin::new(&Recorder {
        user: name_of(uid, &users).unwrap_or_default(),
        uid,
        machine: machine.trim(),
        workspace,
        policy: &policy_in_use(own_home),
    })
}

/// The SHA-256 of the policy's text; a word where there is no file, or none that can be read.
///
/// The one place that says which policy it is. It reads the file once more, a moment after the policy was read.
fn policy_in_use(own_home: &Path) -> String {
    let path = own_home.join("policy.toml");
    // To open a pipe would be to wait for its writer.
    let is_file = path.metadata().map(|about| about.is_file());
    let opened = is_file
        .and_then(|is_file| if is_file { File::open(&path) } else { Err(ErrorKind::Unsupported.into()) });
    let hash = opened.and_then(|file| Fingerprint::of_all(file.take(MAX_FILE_BYTES + 1)));
    match hash {
        Ok(hash) => hash.as_str().to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => BUILT_IN.to_owned(),
        Err(_) => "unreadable".to_owned(),
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

    #[test]
    fn a_policy_has_the_hash_of_its_text() {
        let root = tempfile::tempdir().expect("a folder");
        assert_eq!(policy_in_use(root.path()), BUILT_IN);
        fs::write(root.path().join("policy.toml"), "version = 1\n").expect("writes");
        assert_eq!(policy_in_use(root.path()), Fingerprint::of(b"version = 1\n").as_str());
        fs::remove_file(root.path().join("policy.toml")).expect("removes");
        fs::create_dir(root.path().join("policy.toml")).expect("a folder");
        assert_eq!(policy_in_use(root.path()), "unreadable");
    }
}
