//! A thread that runs due callbacks and sleeps in between.

use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::threads;

/// Timer thread for due callbacks. It starts on demand.
pub struct Alarm {
    /// Runs the due callbacks and returns the time until the next one, or `None` if there are no more.
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

impl Alarm {
    /// Creates an alarm that calls `fire`.
    pub fn new(fire: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            fire: Box::new(fire),
            signal: Mutex::default(),
            changed: Condvar::new(),
            started: OnceLock::new(),
        })
    }

    /// Starts the thread, if it is not running.
    pub fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            let alarm = Arc::clone(self);
            if let Err(error) = threads::start("callbacks", move || alarm.run()) {
                tracing::error!("no thread for callbacks: {error}");
            }
        });
    }

    /// Wakes the thread because a callback may be due earlier than planned.
    pub fn wake(self: &Arc<Self>) {
        self.start();
        self.signal.lock().look = true;
        self.changed.notify_all();
    }

    /// Stops the thread.
    pub fn stop(&self) {
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

    /// Sleeps until the time has passed or the thread is woken. Returns `false` if the server is shutting
    /// down.
    fn sleep(&self, time: Duration) -> bool {
        let mut signal = self.signal.lock();
        self.changed.wait_while_for(&mut signal, |signal| !signal.look && !signal.stop, time);
        signal.look = false;
        !signal.stop
    }
}
