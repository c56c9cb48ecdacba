//! The thread that waits for timers.

use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use scorpiox_executor::threads;

/// The thread that waits for the timers of a workspace. It starts when a client is ready.
pub(crate) struct CallbackClock {
    /// Fires what is due, and says how long to sleep then; nothing once the workspace is gone.
    fire: Box<dyn Fn() -> Option<Duration> + Send + Sync>,
    signal: Mutex<Signal>,
    changed: Condvar,
    started: OnceLock<()>,
}

#[derive(Default)]
struct Signal {
    look: bool,
    stop: bool,
}

impl CallbackClock {
    /// A clock that fires while no call of the workspace runs.
    pub(crate) fn new(fire: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            fire: Box::new(fire),
            signal: Mutex::default(),
            changed: Condvar::new(),
            started: OnceLock::new(),
        })
    }

    /// Starts the thread, once.
    pub(crate) fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            let clock = Arc::clone(self);
            if let Err(error) = threads::start("callbacks", move || clock.run()) {
                tracing::error!("no thread for callbacks: {error}");
            }
        });
    }

    /// Timers were armed or disarmed.
    pub(crate) fn wake(self: &Arc<Self>) {
        self.start();
        self.signal.lock().look = true;
        self.changed.notify_all();
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.signal.lock().stop = true;
        self.changed.notify_all();
    }

    fn run(&self) {
        let mut wait = Duration::ZERO;
        while self.sleep(wait) {
            let Some(next) = (self.fire)() else { return };
            wait = next;
        }
    }

    /// Sleeps until there is something to look at; false when the server ends.
    fn sleep(&self, time: Duration) -> bool {
        let mut signal = self.signal.lock();
        self.changed.wait_while_for(&mut signal, |signal| !signal.look && !signal.stop, time);
        signal.look = false;
        !signal.stop
    }
}
