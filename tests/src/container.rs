//! Simulates containers with seccomp filters: the program starts where the kernel refuses namespaces or file
//! watching.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// System calls that the container's filter refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// User namespaces for every program except bubblewrap, as AppArmor enforces it. Bubblewrap requests them
    /// through a different system call, which lets the filter tell the two apart.
    OwnUserNamespaces,
    /// Every kind of namespace.
    AllNamespaces,
    /// File watching with inotify.
    Watching,
}

/// Namespace flags of `clone` and `unshare`, from the kernel's `sched.h`.
const NEW_ANY: [u64; 7] =
    [0x1000_0000, 0x2_0000, 0x400_0000, 0x800_0000, 0x2000_0000, 0x4000_0000, 0x200_0000];
/// System call numbers.
const CLONE: i64 = if cfg!(target_arch = "x86_64") { 56 } else { 220 };
const UNSHARE: i64 = if cfg!(target_arch = "x86_64") { 272 } else { 97 };
const INOTIFY_INIT1: i64 = if cfg!(target_arch = "x86_64") { 294 } else { 26 };
const CLONE3: i64 = 435;
const ENOSYS: u32 = 38;
const EPERM: u32 = 1;

/// Installs the filters for `refused`, which apply when `command` starts.
pub fn refuse(command: &mut Command, refused: Refused) {
    let filters = match refused {
        Refused::OwnUserNamespaces => no_namespaces(&[UNSHARE]),
        Refused::AllNamespaces => no_namespaces(&[UNSHARE, CLONE]),
        Refused::Watching => vec![filter([(INOTIFY_INIT1, Vec::new())].into(), ENOSYS)],
    };
    let apply = move || {
        for filter in &filters {
            seccompiler::apply_filter(filter).map_err(|_| std::io::Error::last_os_error())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure only makes system calls with filters built before the fork.
    unsafe { command.pre_exec(apply) };
}

/// Returns filters that refuse namespace flags for these system calls.
fn no_namespaces(calls: &[i64]) -> Vec<BpfProgram> {
    let rules: Vec<SeccompRule> = NEW_ANY
        .iter()
        .map(|flag| {
            let is_set =
                SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(*flag), *flag);
            SeccompRule::new(vec![is_set.expect("a condition")]).expect("a rule")
        })
        .collect();
    let refuse_flags = filter(calls.iter().map(|call| (*call, rules.clone())).collect(), EPERM);
    // `clone3` passes its flags in memory, which a filter cannot read. The C library falls back to `clone`.
    let refuse_clone3 = filter([(CLONE3, Vec::new())].into(), ENOSYS);
    vec![refuse_clone3, refuse_flags]
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, error: u32) -> BpfProgram {
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error), arch)
        .and_then(TryInto::try_into)
        .expect("a filter")
}
