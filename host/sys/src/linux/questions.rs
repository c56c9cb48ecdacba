//! System calls of a command that wait for the supervisor: the seccomp filter that asks about them, the
//! questions, and the answers.
//!
//! Invariant: memory of the requesting process is read with its own rights. If the process may not read it, nobody
//! reads it for the process. The supervisor is single-threaded when it installs the filter.

#![allow(unsafe_code)]

use std::ffi::{OsString, c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::sys::check;

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
///
/// # Errors
///
/// Fails with `EFAULT` if the first page is not mapped for reading. The processor may let the process, and the kernel on
/// its behalf, read a page that is mapped only for writing.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps two pages, the second with these rights, and calls `test` with their address and the size of a page.
    fn with_pages(rights: c_int, test: impl FnOnce(u64, usize)) {
        let page = rustix::param::page_size();
        let (both, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the new mapping is filled while it can be written, used by its address alone afterwards, and unmapped
        // when nobody uses it any more.
        unsafe {
            let memory = libc::mmap(ptr::null_mut(), 2 * page, both, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            ptr::write_bytes(memory.cast::<u8>(), b'x', 2 * page);
            assert_eq!(libc::mprotect(memory.cast::<u8>().add(page).cast(), page, rights), 0);
            test(memory.addr() as u64, page);
            libc::munmap(memory, 2 * page);
        }
    }

    #[test]
    fn memory_that_the_process_may_not_read_is_read_for_nobody() {
        let thread = rustix::thread::gettid().as_raw_pid().cast_unsigned();
        for rights in [libc::PROT_WRITE, libc::PROT_NONE, libc::PROT_EXEC] {
            with_pages(rights, |address, page| {
                let mut bytes = [0; 32];
                let end = address + page as u64;
                assert_eq!(read_memory(thread, end - 8, &mut bytes).expect("a short read"), 8);
                assert_eq!(bytes[..9], *b"xxxxxxxx\0");
                for at in [end, end + 1] {
                    let error = read_memory(thread, at, &mut bytes).expect_err("not readable");
                    assert_eq!(error.raw_os_error(), Some(libc::EFAULT), "{rights}");
                }
            });
        }
        with_pages(libc::PROT_READ, |address, page| {
            let mut bytes = vec![0; 2 * page];
            assert_eq!(read_memory(thread, address, &mut bytes).expect("read"), 2 * page);
        });
        for address in [0, u64::MAX, u64::MAX - 100] {
            let error = read_memory(thread, address, &mut [0; 8]).expect_err("no memory");
            assert_eq!(error.raw_os_error(), Some(libc::EFAULT), "{address}");
        }
    }
}
