//! A thread that checks for changes, periodically and on demand.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;

/// Handle of the checking thread, which starts on first use.
#[derive(Debug, Default)]
pub struct Lookout(Mutex<Bell>);

#[derive(Debug, Default)]
enum Bell {
    #[default]
    Unmade,
    Made(SyncSender<()>),
    /// The server is shutting down, or the thread cannot start.
    Gone,
}

impl Lookout {
    /// Wakes the thread, or starts it if `is_wanted` returns `true`. A failed start is reported only once.
    pub fn wake(
        &self,
        is_wanted: impl FnOnce() -> bool,
        start: impl FnOnce() -> io::Result<SyncSender<()>>,
    ) -> io::Result<()> {
        let mut bell = self.0.lock();
        match &mut *bell {
            // A full channel already contains a signal that the thread will receive.
            Bell::Made(ringer) => drop(ringer.try_send(())),
            Bell::Unmade if is_wanted() => {
                // A failed start is not retried.
                *bell = Bell::Gone;
                *bell = Bell::Made(start()?);
            }
            Bell::Unmade | Bell::Gone => {}
        }
        Ok(())
    }

    /// Stops the thread.
    pub fn stop(&self) {
        *self.0.lock() = Bell::Gone;
    }
}

/// Reason for the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The thread was woken, or the time has passed.
    Look,
    /// The sender was dropped.
    End,
}

/// Creates the channel that wakes the thread.
pub fn bell() -> (SyncSender<()>, Receiver<()>) {
    sync_channel(1)
}

/// Waits until the time has passed or a signal arrives.
pub fn wait(bell: &Receiver<()>, time: Duration) -> Woken {
    match bell.recv_timeout(time) {
        Ok(()) | Err(RecvTimeoutError::Timeout) => Woken::Look,
        Err(RecvTimeoutError::Disconnected) => Woken::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_by_the_bell_and_ends_with_it() {
        let (ringer, bell) = bell();
        assert_eq!(wait(&bell, Duration::from_millis(1)), Woken::Look, "the time is over");
        (0..3).for_each(|_| {
            let _ = ringer.try_send(());
        });
        assert_eq!(wait(&bell, Duration::from_mins(1)), Woken::Look);
        drop(ringer);
        assert_eq!(wait(&bell, Duration::from_mins(1)), Woken::End);
    }
}
