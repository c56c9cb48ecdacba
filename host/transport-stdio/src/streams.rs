//! The process's standard streams and its termination signals, by platform.

#[cfg(unix)]
pub use self::unix::{Ringing, has_hung_up, ring_when_told, ring_while, room_of, take};
#[cfg(windows)]
pub use self::windows::{Ringing, has_hung_up, ring_when_told, ring_while, room_of, take};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::PipeWriter;
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    pub use scorpiox_sys::signals::Ringing;
    use scorpiox_sys::signals::ring_at_end;

    /// Returns the number of bytes that can be written without blocking. Outputs other than pipes may block
    /// immediately. A client can shrink a pipe at any time, but not below a page.
    #[cfg(target_os = "linux")]
    pub fn room_of(output: &OwnedFd) -> usize {
        /// Minimum capacity of a pipe in bytes: one page of memory.
        const SMALLEST_PIPE: usize = 4096;
        rustix::pipe::fcntl_getpipe_size(output).map_or(0, |room| room.min(SMALLEST_PIPE))
    }

    /// Returns the number of bytes that can be written without blocking, which is unknown on this platform.
    #[cfg(not(target_os = "linux"))]
    pub fn room_of(_: &OwnedFd) -> usize {
        0
    }

    /// Takes standard input and output from the rest of the process. Stray output goes to standard error, and
    /// children can inherit neither stream.
    pub fn take() -> std::io::Result<(OwnedFd, OwnedFd)> {
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(std::io::stderr())?;
        Ok((input, output))
    }

    /// Signals `bell` on each signal that asks a process to end, until the process ends.
    pub fn ring_when_told(bell: PipeWriter) -> std::io::Result<()> {
        ring_while(bell).map(std::mem::forget)
    }

    /// Signals `bell` on each signal that asks a process to end, until the result is dropped. That closes the bell.
    pub fn ring_while(bell: PipeWriter) -> std::io::Result<Ringing> {
        ring_at_end(bell.into())
    }

    /// Returns `true` if the other end of a pipe is closed, without reading from it.
    pub fn has_hung_up(input: &OwnedFd) -> bool {
        let mut polled = [PollFd::new(input, PollFlags::empty())];
        let polls = poll(&mut polled, Some(&Timespec::default()));
        polls.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

#[cfg(windows)]
mod windows {
    use std::io::{PipeWriter, Write as _};
    use std::os::windows::io::{AsHandle as _, OwnedHandle};

    use parking_lot::Mutex;
    pub use scorpiox_sys::windows::stdio::take;
    use scorpiox_sys::windows::{console, stdio};

    /// Returns the number of bytes that can be written without blocking, which is unknown on this platform.
    pub fn room_of(_: &OwnedHandle) -> usize {
        0
    }

    /// Signals `bell` when the console asks the process to end.
    pub fn ring_when_told(bell: PipeWriter) -> std::io::Result<()> {
        let bell = Mutex::new(bell);
        console::at_end(move || drop(bell.lock().write(&[0])))
    }

    /// Nothing to give up: the console keeps the last action.
    #[derive(Debug)]
    pub struct Ringing;

    /// Signals `bell` when the console asks the process to end.
    pub fn ring_while(bell: PipeWriter) -> std::io::Result<Ringing> {
        ring_when_told(bell).map(|()| Ringing)
    }

    /// Returns `true` if the other end of a pipe is closed, without reading from it.
    pub fn has_hung_up(input: &OwnedHandle) -> bool {
        stdio::has_hung_up(input.as_handle())
    }
}
