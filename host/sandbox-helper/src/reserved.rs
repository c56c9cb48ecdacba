//! Large memory reservations of which a program uses little, such as the terabytes of shadow memory for
//! sanitizers.
//!
//! The kernel counts writable reservations towards a process's data limit. That limit only lets a process
//! notice early that its memory is exhausted; the supervisor's check of the used memory is the actual limit.

use libc::c_long;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use scorpiox_sys::linux::questions::{Answer, Ask, Question};

/// System call that maps memory.
const MAP: c_long = libc::SYS_mmap;
/// Index of its length argument.
const LENGTH: u32 = 1;
/// Flag `MAP_NORESERVE`.
const RESERVED: u64 = libc::MAP_NORESERVE.unsigned_abs() as u64;

/// Lengths of 4 GiB and more: smaller ones fit into most limits.
pub(super) const ASK: Ask = Ask::IfLarge { call: MAP, argument: LENGTH };

/// Lifts the data limit of a process that reserves memory. The kernel then performs the call, which may still
/// fail.
pub(super) fn decide(question: &Question) -> Option<Answer> {
    if question.call != MAP {
        return None;
    }
    let [_, _, _, flags, ..] = question.arguments;
    if flags & RESERVED != 0 {
        // Fails if the process has ended or has limited itself, and in T2, where no process may set the
        // limits of another one.
        let _ = lift(question.thread);
    }
    Some(Answer::Go)
}

fn lift(thread: u32) -> Option<Rlimit> {
    let process = Pid::from_raw(thread.cast_signed())?;
    // The supervisor and the process inherited the same maximum.
    let maximum = getrlimit(Resource::Data).maximum;
    prlimit(Some(process), Resource::Data, Rlimit { current: maximum, maximum }).ok()
}
