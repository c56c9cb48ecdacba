//! The bell of the thread that looks for changed plugins.

use parking_lot::Mutex;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The thread that waits for changes. It starts when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct PluginWatch(Mutex<Bell>);

#[derive(Debug, Default)]
enum Bell {
    #[default]
    Unmade,
    Made(PipeWriter),
    /// The server ends, or there can be no thread.
    Gone,
}

impl PluginWatch {
    /// Lets the thread look; starts it where that `is_wanted`.
    pub(crate) fn wake(
        &self,
        is_wanted: impl FnOnce() -> bool,
        start: impl FnOnce() -> io::Result<PipeWriter>,
    ) {
        let mut bell = self.0.lock();
        match &mut *bell {
            Bell::Made(writer) => drop(writer.write(&[0])),
            Bell::Unmade if is_wanted() => {
                *bell = start().map_or_else(
                    |error| {
                        tracing::error!("changed lists of tools are not told: {error}");
                        Bell::Gone
                    },
                    Bell::Made,
                );
            }
            Bell::Unmade | Bell::Gone => {}
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        *self.0.lock() = Bell::Gone;
    }
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The bell rang, or the time is over.
    Look,
    /// Whoever rings the bell has dropped it.
    End,
}

/// Waits for a time, or until the bell rings.
pub(crate) fn wait(bell: &mut PipeReader, time: Duration) -> Woken {
    let time = Timespec::try_from(time).unwrap_or_default();
    match poll(&mut [PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)], Some(&time)) {
        Ok(0) | Err(_) => Woken::Look,
        Ok(_) => match bell.read(&mut [0; 64]) {
            Ok(0) | Err(_) => Woken::End,
            Ok(_) => Woken::Look,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_by_the_bell_and_ends_with_it() {
        let (mut bell, mut ringer) = io::pipe().expect("a pipe");
        assert_eq!(wait(&mut bell, Duration::from_millis(1)), Woken::Look, "the time is over");
        ringer.write_all(&[0; 3]).expect("rings");
        assert_eq!(wait(&mut bell, Duration::from_mins(1)), Woken::Look);
        drop(ringer);
        assert_eq!(wait(&mut bell, Duration::from_mins(1)), Woken::End);
    }
}
