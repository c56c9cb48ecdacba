//! Entry of a worker on Linux: turns an ordinary process into one that can only compute.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::Fault;
use crate::worker::{Bounds, WORKER_NAME};
use libc::c_long;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal};
use scorpiox_sys::linux::{capabilities, sys};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::confine::Entered;

/// Address space in addition to writable memory: the program, its libraries, and the allocator's reservation
/// for each thread.
const RESERVED_BYTES: u64 = 4 << 30;
/// Maximum number of descriptors: the three standard ones, and some that the C library opens while threads
/// start.
const OPEN_FILES: u64 = 16;

/// Drops all privileges if this process was started as a worker, and returns `None` otherwise. `prepare` runs
/// before the last step, while threads can still be created.
///
/// On an error the process has no additional privileges, but may have kept some. No input has been read, and
/// the process must exit.
pub fn enter(prepare: impl FnOnce() -> io::Result<()>) -> Option<Result<Entered, Fault>> {
    let mut arguments = std::env::args();
    if arguments.next()? != WORKER_NAME {
        return None;
    }
    let arguments: Vec<String> = arguments.collect();
    Some(give_up_rights(&arguments, prepare))
}

fn give_up_rights(arguments: &[String], prepare: impl FnOnce() -> io::Result<()>) -> Result<Entered, Fault> {
    let step = "giving up rights";
    sys::close_inherited().map_err(Fault::at(step))?;
    let (task, parent, bounds) =
        told(arguments).ok_or_else(|| Fault::new("reading the arguments", "they are no worker's"))?;
    rustix::process::chdir("/").map_err(Fault::at(step))?;
    // The signal depends on the thread that started this process, which waits for it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(Fault::at(step))?;
    if rustix::process::getppid() != Some(parent) {
        return Err(Fault::new(step, "who started this has ended"));
    }
    // The kernel's OOM killer selects this process first. This is best effort, because /proc may be missing.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(Fault::at(step))?;
    limit(&bounds)?;
    capabilities::give_up().map_err(Fault::at("dropping capabilities"))?;
    prepare().map_err(Fault::at("starting threads"))?;
    let filter = filter().map_err(Fault::at("compiling the filter on system calls"))?;
    seccompiler::apply_filter_all_threads(&filter)
        .map_err(Fault::at("applying the filter on system calls"))?;
    let descriptor = |fd: io::Result<OwnedFd>| fd.map(File::from).map_err(Fault::at("taking descriptors"));
    Ok(Entered {
        task: task.clone(),
        input: descriptor(io::stdin().as_fd().try_clone_to_owned())?,
        output: descriptor(io::stdout().as_fd().try_clone_to_owned())?,
    })
}

/// Parses the task, the parent's PID, and the limits.
fn told(arguments: &[String]) -> Option<(&String, Pid, Bounds)> {
    let [task, parent, bounds @ ..] = arguments else { return None };
    Some((task, Pid::from_raw(parent.parse().ok()?)?, Bounds::from_arguments(bounds)?))
}

fn limit(bounds: &Bounds) -> Result<(), Fault> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Fsize, bounds.output),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Data, bounds.memory),
        (Resource::As, bounds.memory.saturating_add(RESERVED_BYTES)),
    ];
    for (resource, most) in limits {
        lower(resource, most, most)?;
    }
    // The signal of the soft limit identifies the reason. The hard limit cannot be ignored.
    lower(Resource::Cpu, bounds.cpu_seconds, bounds.cpu_seconds.saturating_add(1))
}

fn lower(resource: Resource, current: u64, maximum: u64) -> Result<(), Fault> {
    let now = rustix::process::getrlimit(resource).maximum;
    let least = |most: u64| Some(now.map_or(most, |now| now.min(most)));
    rustix::process::setrlimit(resource, Rlimit { current: least(current), maximum: least(maximum) })
        .map_err(|error| Fault::new(format!("setting the limit {resource:?}"), error))
}

/// Permitted system calls: I/O on the three descriptors, memory, waiting between its own threads, and
/// exiting. Descriptors can be duplicated, which grants no additional access.
const ALLOWED: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_sigaltstack,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Builds the filter. All other calls fail as if the kernel did not implement them.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    use SeccompCmpOp::{Eq, MaskedEq};
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let number = |constant: libc::c_int| u64::from(constant.unsigned_abs());
    let condition =
        |argument, compare, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, value);
    let rule = |argument, compare, value| SeccompRule::new(vec![condition(argument, compare, value)?]);
    // Only private memory that is never executable: shared memory does not count toward the limit.
    let plain = MaskedEq(number(libc::PROT_EXEC));
    let private = condition(3, MaskedEq(number(libc::MAP_TYPE)), number(libc::MAP_PRIVATE))?;
    let own = SeccompRule::new(vec![condition(2, plain.clone(), 0)?, private])?;
    rules.insert(libc::SYS_mmap, vec![own]);
    rules.insert(libc::SYS_mprotect, vec![rule(2, plain, 0)?]);
    rules.insert(libc::SYS_fcntl, vec![rule(1, Eq, number(libc::F_DUPFD_CLOEXEC))?]);
    // Programs abort this way.
    rules.insert(libc::SYS_tgkill, vec![rule(0, Eq, u64::from(std::process::id()))?]);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, unknown, SeccompAction::Allow, architecture)?.try_into()
}
