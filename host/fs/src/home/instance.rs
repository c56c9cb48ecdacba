//! Unique name of this run of the program.
//!
//! Invariant: no other run has the same name, on this machine or on others that share the directories. The
//! process ID alone is not unique: in a container, each run has the same one.

use std::process;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the name, for use in file names.
pub fn name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(make);
    &NAME
}

/// The process ID comes last, so that [`may_run`] can parse it.
fn make() -> String {
    let mut random = [0; 8];
    if getrandom::fill(&mut random).is_err() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        random = now.as_micros().to_le_bytes()[..8].try_into().unwrap_or_default();
    }
    format!("{:016x}-{}", u64::from_le_bytes(random), process::id())
}

/// Returns `true` if the run with this name may still be alive, judging by the process ID in the name.
pub fn may_run(name: &str) -> bool {
    let number = name.rsplit('-').next().and_then(|number| number.parse().ok());
    number.is_none_or(is_running)
}

#[cfg(unix)]
fn is_running(number: u32) -> bool {
    let pid = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(windows)]
fn is_running(number: u32) -> bool {
    scorpiox_sys::windows::process::is_running(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_one_process_number_have_different_names() {
        let (one, other) = (make(), make());
        assert_ne!(one, other);
        assert!([&one, &other].iter().all(|name| name.ends_with(&format!("-{}", process::id()))), "{one}");
        assert_eq!(name(), name());
        assert!(may_run(name()) && may_run("of nobody") && !may_run("x-2147483646"));
    }
}
