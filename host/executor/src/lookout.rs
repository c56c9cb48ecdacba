//! A thread that looks whether something has changed: now and then, and when it is told to.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;

/// The thread that looks. It starts when it is first needed.
#[derive(Debug, Default)]
pub struct Lookout(Mutex<Bell>);

#[derive(Debug, Default)]
enum Bell {
    #[default]
    Unmade,
    Made(SyncSender<()>),
    /// The server ends, or there can be no thread.
    Gone,
}

impl Lookout {
    /// Lets the thread look; starts it where that `is_wanted`. One that cannot be started is an error once.
    pub fn wake(
        &self,
        is_wanted: impl FnOnce() -> bool,
        start: impl FnOnce() -> io::Result<SyncSender<()>>,
    ) -> io::Result<()> {
        let mut bell = self.0.lock();
        match &mut *bell {
            // Rung already and not heard yet, it is heard all the same.
            Bell::Made(ringer) => drop(ringer.try_send(())),
            Bell::Unmade if is_wanted() => {
                // It is not tried again.
                *bell = Bell::Gone;
                *bell = Bell::Made(start()?);
            }
            Bell::Unmade | Bell::Gone => {}
        }
        Ok(())
    }

    /// Ends the thread.
    pub fn stop(&self) {
        *self.0.lock() = Bell::Gone;
    }
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The bell rang, or the time is over.
    Look,
    /// Whoever rings the bell has dropped it.
    End,
}

/// A bell, and who rings it.
pub fn bell() -> (SyncSender<()>, Receiver<()>) {
    sync_channel(1)
}

/// Waits for a time, or until the bell rings.
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
