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
/// Index of its flags argument.
const FLAGS: u32 = 3;
/// Flag `MAP_NORESERVE`.
const RESERVED: u32 = libc::MAP_NORESERVE.unsigned_abs();
/// Minimum length of a reservation for which the limit is lifted. Memory allocators reserve less at a time, and the limit
/// should still tell them early.
const MIN_LENGTH: u64 = 256 << 20;

/// All reservations: a program may make several that only together exceed the limit.
pub(super) const ASK: Ask = Ask::IfBits { call: MAP, argument: FLAGS, bits: RESERVED };

/// Lifts the data limit of a process that reserves much memory. The kernel then performs the call, which may still
/// fail.
pub(super) fn decide(question: &Question) -> Option<Answer> {
    if question.call != MAP {
        return None;
    }
    let [_, length, ..] = question.arguments;
    // Only reservations are asked about.
    if length >= MIN_LENGTH {
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
