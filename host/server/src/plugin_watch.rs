//! The bell of the thread that looks for changed plugins.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;

/// The thread that waits for changes. It starts when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct PluginWatch(Mutex<Bell>);

#[derive(Debug, Default)]
enum Bell {
    #[default]
    Unmade,
    Made(SyncSender<()>),
    /// The server ends, or there can be no thread.
    Gone,
}

impl PluginWatch {
    /// Lets the thread look; starts it where that `is_wanted`.
    pub(crate) fn wake(
        &self,
        is_wanted: impl FnOnce() -> bool,
        start: impl FnOnce() -> io::Result<SyncSender<()>>,
    ) {
        let mut bell = self.0.lock();
        match &mut *bell {
            // Rung already and not heard yet, it is heard all the same.
            Bell::Made(ringer) => drop(ringer.try_send(())),
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

/// A bell, and who rings it.
pub(crate) fn bell() -> (SyncSender<()>, Receiver<()>) {
    sync_channel(1)
}

/// Waits for a time, or until the bell rings.
pub(crate) fn wait(bell: &Receiver<()>, time: Duration) -> Woken {
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
