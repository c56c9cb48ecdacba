//! System calls without a safe wrapper. All `unsafe` code of the sandbox is in this module and in
//! `shared_set`.
//!
//! Callers are single-threaded, except for [`has_writer`]: the helper and its forks, a worker before it
//! spawns threads, and the host in its first step. A fork therefore finds no lock held by another thread, and
//! changes to the signal mask or descriptor table affect no other thread.

#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CStr, OsString, c_char, c_int, c_long, c_uint, c_void};
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

fn check(result: impl Into<c_long>) -> io::Result<()> {
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

/// Rule for a system call that the supervisor must approve.
#[derive(Debug, Clone, Copy)]
pub enum Ask {
    /// Notifies on every call.
    Always(c_long),
    /// Notifies if any of these bits is set in an argument.
    IfBits {
        /// System call number.
        call: c_long,
        /// Index of the argument.
        argument: u32,
        /// Bit mask.
        bits: u32,
    },
    /// Notifies if an argument is 2^32 or more.
    IfLarge {
        /// System call number.
        call: c_long,
        /// Index of the argument.
        argument: u32,
    },
    /// Reports success without performing the call, and without a notification, if two arguments have these
    /// values.
    Ignore {
        /// System call number.
        call: c_long,
        /// Argument indexes with their values.
        values: [(u32, u32); 2],
    },
    /// Fails the call without a notification.
    Deny {
        /// System call number.
        call: c_long,
        /// Error number.
        error: c_int,
    },
    /// Notifies unless two arguments have these values, with which the call fails.
    Unless {
        /// System call number.
        call: c_long,
        /// Argument indexes with their values.
        values: [(u32, u32); 2],
        /// Error number.
        error: c_int,
    },
}

impl Ask {
    /// Returns the system call number.
    pub fn call(self) -> c_long {
        match self {
            Self::Always(call)
            | Self::IfBits { call, .. }
            | Self::IfLarge { call, .. }
            | Self::Ignore { call, .. }
            | Self::Deny { call, .. }
            | Self::Unless { call, .. } => call,
        }
    }

    /// Appends the BPF instructions. They expect the call number in the accumulator and preserve it.
    fn program(self, program: &mut Vec<libc::sock_filter>) -> io::Result<()> {
        let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
        let jump = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
        let number = |call: c_long| u32::try_from(call).map_err(io::Error::other);
        match self {
            Self::Always(call) => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 1),
                statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
            ]),
            Self::IfBits { call, argument, bits } => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 4),
                statement(LOAD_WORD, low_word(argument)),
                jump(JUMP_IF_BITS, bits, 1),
                statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
                statement(LOAD_WORD, 0),
            ]),
            Self::IfLarge { call, argument } => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 4),
                statement(LOAD_WORD, low_word(argument) + 4),
                jump(JUMP_IF_BITS, u32::MAX, 1),
                statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
                statement(LOAD_WORD, 0),
            ]),
            Self::Ignore { call, values: [(first, one), (second, other)] } => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 6),
                statement(LOAD_WORD, low_word(first)),
                jump(JUMP_IF_EQUAL, one, 3),
                statement(LOAD_WORD, low_word(second)),
                jump(JUMP_IF_EQUAL, other, 1),
                // An errno of 0 reports success.
                statement(RETURN, libc::SECCOMP_RET_ERRNO),
                statement(LOAD_WORD, 0),
            ]),
            Self::Deny { call, error } => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 1),
                statement(RETURN, libc::SECCOMP_RET_ERRNO | error.unsigned_abs()),
            ]),
            Self::Unless { call, values: [(first, one), (second, other)], error } => program.extend([
                jump(JUMP_IF_EQUAL, number(call)?, 6),
                statement(LOAD_WORD, low_word(first)),
                jump(JUMP_IF_EQUAL, one, 3),
                statement(LOAD_WORD, low_word(second)),
                jump(JUMP_IF_EQUAL, other, 1),
                statement(RETURN, libc::SECCOMP_RET_ERRNO | error.unsigned_abs()),
                statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
            ]),
        }
        Ok(())
    }
}

/// Builds a binary search over calls sorted by number. The kernel evaluates a new filter for every existing
/// call to fill its cache, so a linear list would dominate the start-up time of a command.
fn search(asks: &[Ask], program: &mut Vec<libc::sock_filter>) -> io::Result<()> {
    const LISTED: usize = 2;
    if asks.len() <= LISTED {
        asks.iter().try_for_each(|ask| ask.program(program))?;
        program.push(libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW });
        return Ok(());
    }
    let (lower, upper) = asks.split_at(asks.len() / 2);
    let mut before = Vec::new();
    search(lower, &mut before)?;
    let first = upper.first().map_or(0, |ask| ask.call());
    let jt = u8::try_from(before.len()).map_err(io::Error::other)?;
    let k = u32::try_from(first).map_err(io::Error::other)?;
    program.push(libc::sock_filter { code: JUMP_IF_AT_LEAST, jt, jf: 0, k });
    program.append(&mut before);
    search(upper, program)
}

/// Returns the offset of the low half of an argument in `seccomp_data`, on little-endian machines.
const fn low_word(argument: u32) -> u32 {
    16 + 8 * argument
}

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: the supervisor and the requesting thread run on the same processor.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Installs a filter on this process that notifies about these system calls, and returns the notification
/// descriptor.
pub fn ask_before(asks: &[Ask]) -> io::Result<OwnedFd> {
    // The call number is the first field of `seccomp_data`. Calls of other architectures never get here: the
    // preceding filter kills the process.
    let mut program = vec![libc::sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 }];
    let mut asks = asks.to_vec();
    asks.sort_by_key(|ask| ask.call());
    search(&asks, &mut program)?;
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // Non-fatal signals wait until the response (Linux 5.19). Otherwise a call made on behalf of the
    // requesting thread could be repeated.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the structure points to a program of the given length, which the kernel copies and validates.
    // The flags request a new descriptor as the result.
    let fd =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    check(fd)?;
    let fd = c_int::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just created the descriptor, and nothing else owns it.
    let questions = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: takes no pointer. Fails before Linux 6.6, where responses are merely slower.
    unsafe { libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    Ok(questions)
}

/// BPF instruction codes, all of which fit into 16 bits.
#[allow(clippy::cast_possible_truncation)]
const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
#[allow(clippy::cast_possible_truncation)]
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
#[allow(clippy::cast_possible_truncation)]
const JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
#[allow(clippy::cast_possible_truncation)]
const JUMP_IF_BITS: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
#[allow(clippy::cast_possible_truncation)]
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Seccomp notification of a thread that waits for a response.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Notification ID assigned by the kernel.
    pub id: u64,
    /// Thread ID, as seen by this process.
    pub thread: u32,
    /// System call number.
    pub call: c_long,
    /// Raw arguments: numbers, and addresses in the memory of the requesting thread.
    pub arguments: [u64; 6],
}

/// Response to a notification.
#[derive(Debug)]
pub enum Answer {
    /// The kernel performs the call. Memory behind its arguments may have changed since it was inspected.
    Go,
    /// The call fails with this error.
    Fail(c_int),
    /// The supervisor performed the call.
    Done,
    /// The supervisor performed the call, which returns this file.
    File(Given),
}

/// A file for the requesting thread.
#[derive(Debug)]
pub struct Given {
    /// The open file.
    pub file: OwnedFd,
    /// `true` if the descriptor is closed on exec.
    pub closes_on_exec: bool,
    /// `true` if the file must be truncated.
    pub cut: bool,
    /// Folder and name of the file, if the supervisor created it.
    pub made: Option<(OwnedFd, OsString)>,
}

/// Waits for the next notification.
pub fn question(questions: BorrowedFd<'_>) -> io::Result<Question> {
    // SAFETY: the kernel requires this structure to be zeroed, which is a valid value, and fills it in. It
    // outlives the call.
    unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        check(libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked))?;
        Ok(Question {
            id: asked.id,
            thread: asked.pid,
            call: asked.data.nr.into(),
            arguments: asked.data.args,
        })
    }
}

/// Returns `true` if the requesting thread is still waiting, so that data read about its thread ID belongs to
/// it.
pub fn still_waits(questions: BorrowedFd<'_>, question: &Question) -> bool {
    // SAFETY: the kernel reads this ID, which outlives the call.
    let done = unsafe {
        libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const question.id)
    };
    check(done).is_ok()
}

/// Reads from the memory of a thread's process, up to the first page that the process itself cannot read.
/// Returns the number of bytes, which is not zero unless `into` is empty.
pub fn read_memory(thread: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let page = u64::try_from(rustix::param::page_size()).map_err(io::Error::other)?;
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    let mut parts = Vec::new();
    let (mut at, mut left) = (address, into.len());
    // A part that lies in one page is read as a whole or not at all.
    while left > 0 {
        let in_page = usize::try_from(page - at % page).map_err(io::Error::other)?.min(left);
        let base = usize::try_from(at).map_err(io::Error::other)?;
        parts.push(libc::iovec { iov_base: ptr::without_provenance_mut(base), iov_len: in_page });
        left -= in_page;
        at = at.wrapping_add(in_page as u64);
    }
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: the kernel writes at most the length of `into`, which is borrowed mutably, and checks the
    // addresses in the other process. Both lists outlive the call.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            thread,
            &raw const local,
            1_usize,
            parts.as_ptr(),
            parts.len(),
            0_usize,
        )
    };
    check(read)?;
    usize::try_from(read).map_err(io::Error::other)
}

/// Sends the response to a notification.
pub fn answer(questions: BorrowedFd<'_>, question: &Question, answer: Answer) -> io::Result<()> {
    /// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`, with the type of the structure's field.
    const CONTINUE: u32 = 1;
    let (val, error, flags) = match answer {
        Answer::Go => (0, 0, CONTINUE),
        Answer::Fail(error) => (0, -error, 0),
        Answer::Done => (0, 0, 0),
        Answer::File(given) => match hand_over(questions, question, given) {
            Ok(number) => (number.into(), 0, 0),
            Err(error) => (0, -error.raw_os_error().unwrap_or(libc::EIO), 0),
        },
    };
    let mut said = libc::seccomp_notif_resp { id: question.id, val, error, flags };
    // SAFETY: the kernel reads this structure, which outlives the call.
    check(unsafe { libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut said) })
}

/// Installs a file in the requesting process and returns its descriptor number there. On return this process
/// has closed its copy: the kernel refuses to execute a file that any process has open for writing.
fn hand_over(questions: BorrowedFd<'_>, question: &Question, given: Given) -> io::Result<c_int> {
    let Given { file, closes_on_exec, cut, made } = given;
    let newfd_flags = if closes_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
    let srcfd = u32::try_from(file.as_raw_fd()).map_err(io::Error::other)?;
    let added = libc::seccomp_notif_addfd { id: question.id, flags: 0, srcfd, newfd: 0, newfd_flags };
    // SAFETY: the kernel reads this structure, which outlives the call, and takes its own reference to the
    // file.
    let number =
        unsafe { libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const added) };
    // The process may have no free descriptor, may be forbidden to have this file, or may have ended. The
    // call then has no effect, so a created file is removed.
    if let (Err(error), Some((folder, name))) = (check(number), &made) {
        let _ = rustix::fs::unlinkat(folder, name.as_os_str(), rustix::fs::AtFlags::empty());
        return Err(error);
    }
    check(number)?;
    if cut {
        rustix::fs::ftruncate(&file, 0)?;
    }
    Ok(number)
}
