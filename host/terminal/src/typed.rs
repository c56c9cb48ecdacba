//! Discards input that was typed before a question.

use std::io;
use std::time::{Duration, Instant};

/// Required pause in the input before a question.
const QUIET: Duration = Duration::from_millis(500);
/// Maximum time to wait for such a pause.
const QUIET_WITHIN: Duration = Duration::from_secs(20);

/// Discards input until the user stops typing. Returns `false` if the input does not pause in time.
pub fn forget_input() -> io::Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < QUIET_WITHIN {
        system::forget()?;
        if !system::is_typed_within(QUIET)? {
            // `poll` does not report an incomplete line. Discard it too, so that it does not become part of
            // the answer.
            system::forget()?;
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{QueueSelector, tcflush};

    pub(super) fn forget() -> io::Result<()> {
        Ok(tcflush(rustix::stdio::stdin(), QueueSelector::IFlush)?)
    }

    pub(super) fn is_typed_within(time: Duration) -> io::Result<bool> {
        let input = rustix::stdio::stdin();
        let mut watched = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut watched, Timespec::try_from(time).ok().as_ref()) {
            // After an interruption, the caller discards the input and checks again.
            Err(rustix::io::Errno::INTR) => Ok(true),
            typed => Ok(typed? > 0),
        }
    }
}

#[cfg(windows)]
mod system {
    pub(super) use scorpiox_sys::windows::console::{forget_typed as forget, is_typed_within};
}
