//! What was typed before anything was asked.

use std::io;
use std::time::{Duration, Instant};

/// As long as this nothing may be typed before a question is asked.
const QUIET: Duration = Duration::from_millis(500);
/// As long as this the quiet is waited for.
const QUIET_WITHIN: Duration = Duration::from_secs(20);

/// Forgets what was typed so far, until nothing is typed any more. Whether that came to be.
pub fn forget_input() -> io::Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < QUIET_WITHIN {
        system::forget()?;
        if !system::is_typed_within(QUIET)? {
            // The beginning of a line is no input yet, and not to become the beginning of the answer.
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
            // Who asks forgets what was typed, and looks again.
            Err(rustix::io::Errno::INTR) => Ok(true),
            typed => Ok(typed? > 0),
        }
    }
}

#[cfg(windows)]
mod system {
    pub(super) use scorpiox_windows::console::{forget_typed as forget, is_typed_within};
}
