//! The system calls that no safe wrapper exists for. All `unsafe` of the sandbox stands here.
//!
//! Who calls has one thread, but for [`has_writer`]: the helper and what it forks, a worker before it makes more, the host in its
//! first step. So a fork finds no lock held by somebody else, and changing a signal mask or the table of
//! descriptors surprises nobody.

#![allow(unsafe_code)]

use std::convert::Infallible;
use std::ffi::{CStr, OsString, c_char, c_int, c_long, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

/// `fcntl(2)`: the signal that says that somebody waits for a lease. Most C libraries leave it to the kernel's headers.
const F_SETSIG: c_int = 10;

/// Which side of a fork this is.
pub enum Side {
    /// The process that was there before; the new one's number.
    Parent(rustix::process::Pid),
    /// The new one.
    Child,
}

/// A new process that goes on here, in new namespaces as `flags` (`CLONE_NEW…`) say.
pub fn fork_into(flags: c_int) -> io::Result<Side> {
    let flags = c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with a null stack this is fork(2): the child has a copy of
    // the whole memory and returns here. The process has one thread, so the copy is whole,
    // too: no lock is held by a thread that the child lacks. The order of the last two
    // arguments differs between architectures; all of them are null.
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

/// A child that has ended, which stays to be waited for: so long nothing else has its number.
pub fn ended_child() -> io::Result<Option<rustix::process::Pid>> {
    // SAFETY: all bits zero are a value of this type.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `about` is valid for the call, which writes nothing else.
    if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut about, how) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call left it as it was, which is zero, or wrote what is told of a child.
    Ok(rustix::process::Pid::from_raw(unsafe { about.si_pid() }))
}

/// Processor time of all children that were waited for, and of theirs.
pub fn children_time() -> Duration {
    // SAFETY: all bits zero are a value of this type.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the call, which writes nothing else.
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

/// Runs `child` in a new process that borrows this one's memory instead of copying it, as
/// vfork(2) does: this process waits until the new one has executed a program or ended.
///
/// The new process has descriptors, signal actions and rights of its own, but what `child`
/// allocates and does not free stays allocated here.
pub fn run_in_borrowed_memory<F: FnOnce() -> Infallible>(child: F) -> io::Result<rustix::process::Pid> {
    /// What is done on it is a few calls deep; a program has a stack of its own.
    const STACK_UNITS: usize = 256 * 1024 / size_of::<u128>();

    extern "C" fn enter<F: FnOnce() -> Infallible>(child: *mut c_void) -> c_int {
        // SAFETY: it is the pointer given below, to a value that outlives the wait; only this
        // function has it, once.
        let child = unsafe { (*child.cast::<Option<F>>()).take() };
        match child.map(|child| child()) {
            Some(never) => match never {},
            None => exit_now(1),
        }
    }

    let mut child = Some(child);
    let mut stack: Vec<MaybeUninit<u128>> = Vec::with_capacity(STACK_UNITS);
    // SAFETY: the stack is as long as said, aligned to 16 bytes and used by nobody else, and it
    // grows downwards on every architecture that is built for. This process does nothing until
    // the other one uses its memory no more (CLONE_VFORK), has no other thread that could, and
    // `enter` does not return into frames of this one: it ends in a program or in _exit.
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
    // SAFETY: takes no pointers. CLONE_FILES and CLONE_VM, which could pull shared state from
    // under other threads, are not among the flags that callers give, and there is one thread.
    check(unsafe { libc::unshare(flags) })
}

/// Replaces this process; returns only when that failed.
pub fn exec(program: &CStr, arguments: &[&CStr], environment: &[&CStr]) -> io::Result<Infallible> {
    let list = |items: &[&CStr]| -> Vec<*const c_char> {
        items.iter().map(|item| item.as_ptr()).chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (list(arguments), list(environment));
    // SAFETY: both lists end with a null pointer, and all strings outlive the call, since it
    // does not return unless it failed.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// Ends this process at once: no destructors, no exit handlers that the parent registered.
pub fn exit_now(code: c_int) -> ! {
    // SAFETY: takes no pointers, never returns.
    unsafe { libc::_exit(code) }
}

/// Blocks SIGCHLD and gives a descriptor that can be read when a child has changed.
pub fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset_t is a valid value to initialise from, sigemptyset and
    // sigaddset write to it alone, and signalfd returns a new descriptor that nobody else owns.
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

/// All signals as a new program expects them: not blocked, not ignored. The Rust runtime
/// ignores SIGPIPE, and an ignored signal stays ignored through exec.
pub fn reset_signals() -> io::Result<()> {
    // SAFETY: SIG_DFL is not a function that could run; the calls for SIGKILL, SIGSTOP and the
    // numbers that the C library keeps to itself fail and change nothing.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    unblock_signals()
}

/// No signal is blocked.
pub fn unblock_signals() -> io::Result<()> {
    // SAFETY: an all-zero sigset_t is a valid value to initialise from, which sigemptyset does
    // before it is read.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut()))
    }
}

/// With these the C library's resolver answers for another name than the one that was asked for, and judged.
const OF_RESOLVER: [&str; 4] = ["LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "RESOLV_HOST_CONF"];

/// What this process was started with, beside its three standard descriptors, goes to no program that it starts, and
/// variables that lead names astray are forgotten. To be called first of all, before there is another thread.
pub fn start_clean() {
    // The helper and workers, for which it matters, see to it themselves.
    let _ = close_on_exec_from(3);
    for name in OF_RESOLVER {
        // SAFETY: no other thread is there yet that could read the environment.
        unsafe { std::env::remove_var(name) };
    }
}

/// All descriptors from `first` on close when this process executes a program.
pub fn close_on_exec_from(first: c_uint) -> io::Result<()> {
    // SAFETY: takes no pointers, and with this flag closes nothing now: descriptors that are
    // owned by values in this process stay valid.
    let done = unsafe {
        libc::syscall(libc::SYS_close_range, first, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as c_uint)
    };
    check(done)
}

/// Closes what this process was started with beside its three standard descriptors. For the first
/// step of a program.
pub fn close_inherited() -> io::Result<()> {
    const FIRST: c_uint = 3;
    // SAFETY: takes no pointers. Callers have opened nothing yet, so no value owns any of these.
    check(unsafe { libc::syscall(libc::SYS_close_range, FIRST, c_uint::MAX, 0) })
}

/// Sets attributes (`MOUNT_ATTR_…`) of a mount, and of all below it with `AT_RECURSIVE`.
pub fn set_mount_attributes(mount: BorrowedFd<'_>, depth: c_int, set: u64) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is an empty C string, and the structure and its size belong together.
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

/// Switches the loopback interface of this network namespace on.
pub fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: an all-zero ifreq is valid; the name is shorter than its array and stays
    // terminated; the kernel reads and writes this one structure.
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

/// A descriptor that this process was given by its parent under a number.
pub fn inherited(number: c_int) -> io::Result<OwnedFd> {
    // SAFETY: asks whether the descriptor is open, and takes no pointers.
    check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    // SAFETY: it is open, and each number is taken once, at the beginning of the program, by
    // the code that the parent started this program for.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Reports whether anybody has a regular file open for writing, or mapped so. It is open for reading alone here. An error
/// where that cannot be known: some file systems do not say, and only the owner of a file is told.
///
/// Any thread may call it.
pub fn has_writer(file: BorrowedFd<'_>) -> io::Result<bool> {
    let file = file.as_raw_fd();
    // Who opens the file in this moment waits until the lease is given back, and the kernel says so by a signal:
    // by one that does nothing where nobody handles it.
    // SAFETY: takes numbers alone, and the descriptor is open.
    check(unsafe { libc::fcntl(file, F_SETSIG, libc::SIGURG) })?;
    // SAFETY: as above.
    match check(unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) }) {
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => return Ok(true),
        leased => leased?,
    }
    // SAFETY: as above.
    check(unsafe { libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK) })?;
    Ok(false)
}

/// The version of Landlock in this kernel; 0 where there is none or it is switched off.
pub fn landlock_version() -> u32 {
    const VERSION: c_uint = 1;
    // SAFETY: with this flag the kernel takes a null pointer and a size of zero, and answers
    // with a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0_usize, VERSION) };
    u32::try_from(version).unwrap_or(0)
}

/// Sends a signal to all processes of this namespace but the first, which this one must be.
pub fn signal_all_others(signal: rustix::process::Signal) -> io::Result<()> {
    if rustix::process::getpid() != rustix::process::Pid::INIT {
        return Err(io::Error::other("not process 1 of a namespace: everybody would be reached"));
    }
    // SAFETY: takes no pointers. As process 1, -1 reaches the namespace and no further.
    check(unsafe { libc::kill(-1, signal.as_raw()) })
}

/// A system call that is asked about before it is made.
#[derive(Debug, Clone, Copy)]
pub enum Ask {
    /// Each time.
    Always(c_long),
    /// When one of these bits is set in an argument.
    IfBits {
        /// Its number.
        call: c_long,
        /// Which argument.
        argument: u32,
        /// The bits.
        bits: u32,
    },
    /// Each time that an argument is 2^32 or more.
    IfLarge {
        /// Its number.
        call: c_long,
        /// The number of the argument.
        argument: u32,
    },
    /// Never: it is said to have succeeded, and nothing is done, when two arguments have these
    /// values.
    Ignore {
        /// Its number.
        call: c_long,
        /// Which arguments, and the values.
        values: [(u32, u32); 2],
    },
}

impl Ask {
    /// The call's number.
    pub fn call(self) -> c_long {
        match self {
            Self::Always(call)
            | Self::IfBits { call, .. }
            | Self::IfLarge { call, .. }
            | Self::Ignore { call, .. } => call,
        }
    }

    /// The instructions, which begin and go on with the call's number in the register.
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
                // Fails with the error 0, which is success.
                statement(RETURN, libc::SECCOMP_RET_ERRNO),
                statement(LOAD_WORD, 0),
            ]),
        }
        Ok(())
    }
}

/// A search among sorted calls, each part of which ends in an answer. The kernel tries a new
/// filter with every call that there is, so that a list would take most of the time of starting a
/// command.
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

/// Where the low half of an argument is in what a filter sees, on machines with the low half
/// first.
const fn low_word(argument: u32) -> u32 {
    16 + 8 * argument
}

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: who answers goes on where who asked was.
const SYNC_WAKE_UP: libc::c_ulong = 1;

/// Puts a filter on this process that asks before these system calls, and gives the descriptor
/// that the questions come from.
pub fn ask_before(asks: &[Ask]) -> io::Result<OwnedFd> {
    // The number of the call is the first field of what a filter sees. Other architectures'
    // numbers do not come here: the filter before this one kills who uses them.
    let mut program = vec![libc::sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 }];
    let mut asks = asks.to_vec();
    asks.sort_by_key(|ask| ask.call());
    search(&asks, &mut program)?;
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // Signals that do not kill wait until the answer came (Linux 5.19): else a call that was made for
    // who asked could be made twice.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the structure points to a program of its length, which the kernel copies and checks;
    // the flags ask for a new descriptor as the result.
    let fd =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    check(fd)?;
    let fd = c_int::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just made it, and nobody else knows its number.
    let questions = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: takes no pointer. Fails before Linux 6.6, where answers take longer.
    unsafe { libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    Ok(questions)
}

/// Codes of a filter's instructions, none of which is large.
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

/// A thread that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// What the kernel tells questions apart by.
    pub id: u64,
    /// Its number, as this process sees it.
    pub thread: u32,
    /// The number of the call.
    pub call: c_long,
    /// What it is given: numbers, and addresses in the memory of who asks.
    pub arguments: [u64; 6],
}

/// What comes of the call.
#[derive(Debug)]
pub enum Answer {
    /// It is made. What its arguments point to may have changed since they were looked at.
    Go,
    /// It fails with this error.
    Fail(c_int),
    /// It was made by who answers.
    Done,
    /// It was made by who answers, and gives this file.
    File(Given),
}

/// A file for who asked.
#[derive(Debug)]
pub struct Given {
    /// The file.
    pub file: OwnedFd,
    /// Who gets it has it no longer when it becomes another program.
    pub closes_on_exec: bool,
    /// It is to be emptied.
    pub cut: bool,
    /// Where it was made, if it was: the folder and its name.
    pub made: Option<(OwnedFd, OsString)>,
}

/// The next question, which is waited for.
pub fn question(questions: BorrowedFd<'_>) -> io::Result<Question> {
    // SAFETY: the kernel wants this structure zeroed, which is a valid value of it, and fills
    // it in; it outlives the call.
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

/// Whether who asked still waits: what was read about a thread of that number is about it.
pub fn still_waits(questions: BorrowedFd<'_>, question: &Question) -> bool {
    // SAFETY: the kernel reads this number, which outlives the call.
    let done = unsafe {
        libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const question.id)
    };
    check(done).is_ok()
}

/// Answers a question.
pub fn answer(questions: BorrowedFd<'_>, question: &Question, answer: Answer) -> io::Result<()> {
    /// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`, of the type that the structure has.
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

/// Gives a file to who asked; the number that it has there. It is nobody else's when this returns: a program that
/// somebody has open for writing is not started.
fn hand_over(questions: BorrowedFd<'_>, question: &Question, given: Given) -> io::Result<c_int> {
    let Given { file, closes_on_exec, cut, made } = given;
    let newfd_flags = if closes_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
    let srcfd = u32::try_from(file.as_raw_fd()).map_err(io::Error::other)?;
    let added = libc::seccomp_notif_addfd { id: question.id, flags: 0, srcfd, newfd: 0, newfd_flags };
    // SAFETY: the kernel reads this structure, which outlives the call, and takes a reference of
    // its own to the file.
    let number =
        unsafe { libc::ioctl(questions.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const added) };
    // It has no room for another descriptor, or something of the system forbids it this file; or it has gone. Then
    // nothing was done.
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
