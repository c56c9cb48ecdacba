//! A thread that does what is due, and sleeps until there is more.

use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::threads;

/// The thread that does what is due. It starts when somebody wants it to.
pub struct Alarm {
    /// Fires what is due, and says how long to sleep then; nothing where there is no more to do.
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
    /// One that fires like this.
    pub fn new(fire: impl Fn() -> Option<Duration> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            fire: Box::new(fire),
            signal: Mutex::default(),
            changed: Condvar::new(),
            started: OnceLock::new(),
        })
    }

    /// Starts the thread, once.
    pub fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            let alarm = Arc::clone(self);
            if let Err(error) = threads::start("callbacks", move || alarm.run()) {
                tracing::error!("no thread for callbacks: {error}");
            }
        });
    }

    /// Something may be due sooner than it was.
    pub fn wake(self: &Arc<Self>) {
        self.start();
        self.signal.lock().look = true;
        self.changed.notify_all();
    }

    /// Ends the thread.
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

    /// Sleeps until there is something to look at; false when the server ends.
    fn sleep(&self, time: Duration) -> bool {
        let mut signal = self.signal.lock();
        self.changed.wait_while_for(&mut signal, |signal| !signal.look && !signal.stop, time);
        signal.look = false;
        !signal.stop
    }
}
