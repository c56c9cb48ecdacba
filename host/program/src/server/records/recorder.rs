//! Who records: the user, the machine, and the policy in use. Asked for by the first line.

use std::fs;

use scorpiox_audit::{BUILT_IN, Origin, Recorder};
use scorpiox_paths::user_name;

use crate::capabilities::shell::Shell;

/// The machine's name, on Linux.
const MACHINE: &str = "/proc/sys/kernel/hostname";

/// What all lines of this process have in common.
pub(super) fn origin(workspace: &str, shell: &Shell) -> Origin {
    let uid = rustix::process::geteuid().as_raw();
    let user = user_name(uid);
    let machine = machine();
    Origin::new(&Recorder {
        user: user.as_deref().unwrap_or_default(),
        uid,
        machine: &machine,
        workspace,
        policy: policy_in_use(shell),
    })
}

/// The machine's name; empty where the system does not say.
pub(super) fn machine() -> String {
    fs::read_to_string(MACHINE).unwrap_or_default().trim().to_owned()
}

/// The hash of the policy that was read; a word where there is no file, or none that can be used.
fn policy_in_use(shell: &Shell) -> &str {
    match shell.loaded() {
        Ok(loaded) if loaded.files.is_empty() => BUILT_IN,
        Ok(loaded) => &loaded.hash,
        Err(_) => "unusable",
    }
}
