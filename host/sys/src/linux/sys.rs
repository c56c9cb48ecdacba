//! System calls without a safe wrapper. All `unsafe` code of the sandbox is in this module, in `questions` and in
//! `shared_set`.
//!
//! Callers are single-threaded, except for [`has_writer`]: the helper and its forks, a worker before it
//! spawns threads, and the host in its first step. A fork therefore finds no lock held by another thread, and
//! changes to the signal mask or descriptor table affect no other thread.

#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// `fcntl(2)` command that selects the signal for a broken lease. Most C libraries leave it to the kernel
/// headers.
const F_SETSIG: c_int = 10;

/// Request of `ioctl(2)` for the generation of a file. The C libraries disagree about the sign of requests.
#[allow(clippy::cast_possible_wrap, clippy::unnecessary_cast)]
const FS_IOC_GETVERSION: libc::Ioctl = 0x8008_7601_u32 as libc::Ioctl;

/// Returns the generation number of an open file, which tells it from all earlier files with the same inode number.
/// Returns `None` if the file system gives none.
pub fn generation(file: BorrowedFd<'_>) -> Option<u64> {
    let mut found: u64 = 0;
    // SAFETY: the kernel writes at most a `long` to `found`, which lives until the call returns.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_GETVERSION, &raw mut found) };
    (result == 0).then_some(found)
}

/// Side of a fork.
pub enum Side {
    /// The parent process, with the PID of the child.
    Parent(rustix::process::Pid),
    /// The child process.
    Child,
}

/// Forks into new namespaces given by `flags` (`CLONE_NEW…`). Both processes continue from here.
pub fn fork_into(flags: c_int) -> io::Result<Side> {
    let flags = c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork(2): the child gets a copy of the whole
    // memory and returns here. The process has one thread, so the copy is consistent: no lock is held by a
    // thread that the child lacks. The order of the last two arguments differs between architectures, but
    // both are null.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            pid.map(Side::Parent).ok_or_else(|| io::Error::other("clone gave no process id"))
        }
    }
}

/// Returns a child that has ended, without reaping it, so that its PID stays reserved.
pub fn ended_child() -> io::Result<Option<rustix::process::Pid>> {
    // SAFETY: the all-zero bit pattern is a valid `siginfo_t`.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `about` is valid for the call, and the kernel writes to nothing else.
    if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut about, how) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call either left the structure zeroed or filled in the fields of a child.
    Ok(rustix::process::Pid::from_raw(unsafe { about.si_pid() }))
}

/// Returns the processor time of all reaped children and their descendants.
pub fn children_time() -> Duration {
    // SAFETY: the all-zero bit pattern is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the call, and the kernel writes to nothing else.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return Duration::ZERO;
    }
    [usage.ru_utime, usage.ru_stime]
        .into_iter()
        .map(|time| {
            let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
            seconds + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
        })
        .sum()
}

/// Runs `child` in a new process that shares this one's memory, like vfork(2). This process waits until the
/// new one has executed a program or ended.
///
/// The new process has its own descriptors, signal actions and credentials. Memory that `child` allocates and
/// does not free stays allocated here.
pub fn run_in_borrowed_memory<F: FnOnce() -> Infallible>(child: F) -> io::Result<rustix::process::Pid> {
    /// Stack size. `child` nests only a few calls, and an executed program gets its own stack.
    const STACK_UNITS: usize = 256 * 1024 / size_of::<u128>();

    extern "C" fn enter<F: FnOnce() -> Infallible>(child: *mut c_void) -> c_int {
        // SAFETY: this is the pointer passed below, to a value that outlives the wait. Only this function
        // uses it, and only once.
        let child = unsafe { (*child.cast::<Option<F>>()).take() };
        match child.map(|child| child()) {
            Some(never) => match never {},
            None => exit_now(1),
        }
    }

    let mut child = Some(child);
    let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK_UNITS);
    // SAFETY: the stack has the given size, is aligned to 16 bytes and unused, and grows downwards on every
    // supported architecture. This process is suspended until the new one stops using its memory
    // (CLONE_VFORK) and has no other thread that could use it. `enter` does not return into frames of this
    // process: it ends in `execve` or `_exit`.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(STACK_UNITS).cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(enter::<F>, top, flags, (&raw mut child).cast::<c_void>())
    };
    check(pid)?;
    rustix::process::Pid::from_raw(pid).ok_or_else(|| io::Error::other("clone gave no process id"))
}

/// Moves this process into new namespaces.
pub fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: takes no pointers. Callers never pass CLONE_FILES or CLONE_VM, which could pull shared state
    // from under other threads, and the process has one thread.
    check(unsafe { libc::unshare(flags) })
}

/// Replaces this process with a program. Returns only on failure.
pub fn exec(program: &CStr, arguments: &[&CStr], environment: &[&CStr]) -> io::Result<Infallible> {
    let list = |items: &[&CStr]| -> Vec<*const c_char> {
        items.iter().map(|item| item.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (list(arguments), list(environment));
    // SAFETY: both lists end with a null pointer. All strings outlive the call, which returns only on
    // failure.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// Ends this process immediately, without destructors or exit handlers that the parent registered.
pub fn exit_now(code: c_int) -> ! {
    // SAFETY: takes no pointers and never returns.
    unsafe { libc::_exit(code) }
}

/// Connects a socket to an address in the kernel's format.
pub fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let length = libc::socklen_t::try_from(address.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel reads `length` bytes, all of which are in the slice, and checks them.
    check(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) })
}

/// Blocks SIGCHLD and returns a descriptor that becomes readable when a child changes state.
pub fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset_t is valid to initialize from. sigemptyset and sigaddset write only to it,
    // and signalfd returns a new descriptor without another owner.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()))?;
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Resets all signals to their defaults, and unblocks them, for a new program. The Rust runtime ignores
/// SIGPIPE, and an ignored signal stays ignored across exec.
pub fn reset_signals() -> io::Result<()> {
    // SAFETY: SIG_DFL is not a handler function. The calls for SIGKILL, SIGSTOP and the signals reserved by
    // the C library fail without any change.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    unblock_signals()
}

/// Unblocks all signals.
pub fn unblock_signals() -> io::Result<()> {
    // SAFETY: an all-zero sigset_t is valid to initialize from, and sigemptyset does so before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()))
    }
}

/// Variables that make the C library's resolver look up a different name than the policy approved.
const OF_RESOLVER: [&str; 4] = ["LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "RESOLV_HOST_CONF"];

/// Keeps inherited descriptors, except the three standard ones, from child programs, and removes variables
/// that redirect name resolution. It must run first, before a second thread exists.
pub fn start_clean() {
    // The helper and the workers, where this matters, check the result themselves.
    let _ = close_on_exec_from(3);
    for name in OF_RESOLVER {
        // SAFETY: no other thread exists that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}

/// Sets close-on-exec on all descriptors from `first` up.
pub fn close_on_exec_from(first: c_uint) -> io::Result<()> {
    // SAFETY: takes no pointers. With this flag the call closes nothing immediately, so descriptors owned by
    // values in this process stay valid.
    let done = unsafe {
        libc::syscall(libc::SYS_close_range, first, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as c_uint)
    };
    check(done)
}

/// Closes the inherited descriptors except the three standard ones. Call it as the first step of a program.
pub fn close_inherited() -> io::Result<()> {
    const FIRST: c_uint = 3;
    // SAFETY: takes no pointers. Callers have not opened anything yet, so no value owns any of these
    // descriptors.
    check(unsafe { libc::syscall(libc::SYS_close_range, FIRST, c_uint::MAX, 0) })
}

/// Sets attributes (`MOUNT_ATTR_…`) on a mount, and with `AT_RECURSIVE` on all mounts below it.
pub fn set_mount_attributes(mount: BorrowedFd<'_>, depth: c_int, set: u64) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is an empty C string, and the size matches the structure.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | depth,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(done)
}

/// Brings up the loopback interface of this network namespace.
pub fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an all-zero ifreq is valid. The name is shorter than its array and stays terminated. The kernel
    // reads and writes only this structure.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
            *to = c_char::from_ne_bytes([*from]);
        }
        request.ifr_ifru.ifru_flags =
            libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(libc::c_short::MAX);
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request))
    }
}

/// Returns the error of a call that returned a negative number.
pub(super) fn check(result: impl Into<c_long>) -> io::Result<()> {
    if result.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of a descriptor that the parent passed under a fixed number.
pub fn inherited(number: c_int) -> io::Result<OwnedFd> {
    // SAFETY: checks whether the descriptor is open, and takes no pointers.
    check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    // SAFETY: the descriptor is open. Each number is taken once, at program start, by the code that the
    // parent started this program for.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Returns `true` if any process has the regular file open or mapped for writing. `file` must be open only
/// for reading. Fails if the answer is unknown: some file systems do not support leases, and only the owner
/// of a file may take one.
///
/// Any thread may call it.
pub fn has_writer(file: BorrowedFd<'_>) -> io::Result<bool> {
    let file = file.as_raw_fd();
    // A process that opens the file at this moment waits until the lease is released, and the kernel
    // announces it by a signal. SIGURG has no effect if it is not handled.
    // SAFETY: takes only numbers, and the descriptor is open.
    check(unsafe { libc::fcntl(file, F_SETSIG, libc::SIGURG) })?;
    // SAFETY: same as above.
    match check(unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) }) {
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => return Ok(true),
        leased => leased?,
    }
    // SAFETY: same as above.
    check(unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK) })?;
    Ok(false)
}

/// Returns the Landlock ABI version of the kernel, or 0 if Landlock is missing or disabled.
pub fn landlock_version() -> u32 {
    const VERSION: c_uint = 1;
    // SAFETY: with this flag the kernel accepts a null pointer with a size of zero, and returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Sends a signal to all other processes of this PID namespace. The caller must be its first process.
pub fn signal_all_others(signal: rustix::process::Signal) -> io::Result<()> {
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        return Err(io::Error::other("not process 1 of a namespace: everybody would be reached"));
    }
    // SAFETY: takes no pointers. Sent by process 1, -1 does not reach beyond the namespace.
    check(unsafe { libc::kill(-1, signal.as_raw()) })
}
