//! Memory that a program reserves, of which it uses little: the shadow memory of sanitizers, terabytes of it.
//!
//! The kernel counts it for a process's limit on data as soon as it can be written to. That limit only makes a process
//! see early that there is no memory left; the watch on what is used holds.

use libc::c_long;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use scorpiox_kernel::sys::{Answer, Ask, Question};

/// The call that makes memory.
const MAP: c_long = libc::SYS_mmap;
/// The number of its argument for the length.
const LENGTH: u32 = 1;
/// `MAP_NORESERVE`, among the flags.
const RESERVED: u64 = libc::MAP_NORESERVE.unsigned_abs() as u64;

/// Lengths of 4 GiB and more: smaller ones have room under most limits.
pub(super) const ASK: Ask = Ask::IfLarge { call: MAP, argument: LENGTH };

/// Lifts the limit of a process that reserves memory. The call is the kernel's then, which may refuse it.
pub(super) fn decide(question: &Question) -> Option<Answer> {
    if question.call != MAP {
        return None;
    }
    let [_, _, _, flags, ..] = question.arguments;
    if flags & RESERVED != 0 {
        // Fails where the process has ended or has bound itself, and in T2, where no process may set another one's limits.
        let _ = lift(question.thread);
    }
    Some(Answer::Go)
}

fn lift(thread: u32) -> Option<Rlimit> {
    let process = Pid::from_raw(thread.cast_signed())?;
    // Inherited by both.
    let maximum = getrlimit(Resource::Data).maximum;
    prlimit(Some(process), Resource::Data, Rlimit { current: maximum, maximum }).ok()
}
