//! Heartbeat for deadlines: advances the engine's epoch and lets the server check long-running calls. Sleeps
//! while no call runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

use scorpiox_executor::threads;

/// Interval between two ticks. A cancelled guest runs for at most two more.
pub const TICK: Duration = Duration::from_millis(2);

/// Number of ticks without a call after which the ticker sleeps. Waking it costs a call a few microseconds,
/// which a busy server should not pay each time.
const IDLE_TICKS: u32 = 50;

/// A tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// Number of the tick.
    pub tick: u64,
    /// `true` if no other tick follows before the next call.
    pub is_last: bool,
}

/// Callback for each tick.
type OnTick = Box<dyn Fn(Beat) + Send + Sync>;

/// A thread that ticks while calls run. It starts with the first call.
pub struct Ticker {
    shared: Arc<Shared>,
    on_tick: OnTick,
}

#[derive(Default)]
struct Shared {
    ticks: AtomicU64,
    /// Number of calls started so far. The ticker watches it for activity.
    begun: AtomicU64,
    running: AtomicU64,
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

/// Keeps the ticker awake while a call runs.
pub struct Awake(Arc<Shared>);

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Release);
    }
}

impl Ticker {
    /// Creates a ticker that calls `on_tick` on each tick. Effects of a call are visible to a tick after the
    /// call's end, at the latest to the last tick.
    pub fn new(on_tick: OnTick) -> Arc<Self> {
        Arc::new(Self { shared: Arc::default(), on_tick })
    }

    /// Returns the number of ticks so far. It does not advance while no call runs.
    pub fn now(&self) -> u64 {
        self.shared.ticks.load(Ordering::Acquire)
    }

    /// Registers a new call.
    pub fn begin(self: &Arc<Self>) -> Awake {
        let shared = &self.shared;
        shared.begun.fetch_add(1, Ordering::SeqCst);
        shared.running.fetch_add(1, Ordering::SeqCst);
        match shared.thread.get() {
            None => self.start(),
            // SeqCst on both sides: either the ticker sees the call, or this thread sees that the ticker is
            // asleep.
            Some(thread) if shared.asleep.load(Ordering::SeqCst) => thread.unpark(),
            Some(_) => {}
        }
        Awake(Arc::clone(shared))
    }

    fn start(self: &Arc<Self>) {
        let ticker = Arc::downgrade(self);
        match threads::start_small("ticker", move || run(&ticker)) {
            Ok(handle) => {
                // Two calls may start two threads at the same time. The second thread finds the slot occupied
                // and exits.
                let _ = self.shared.thread.set(handle.thread().clone());
            }
            Err(error) => tracing::error!("no thread for deadlines: {error}"),
        }
    }
}

fn run(ticker: &Weak<Ticker>) {
    let mut seen = 0;
    let mut idle = 0;
    loop {
        thread::sleep(TICK);
        let Some(ticker) = ticker.upgrade() else { return };
        let shared = &ticker.shared;
        if shared.thread.get().is_some_and(|thread| thread.id() != thread::current().id()) {
            return;
        }
        let tick = shared.ticks.fetch_add(1, Ordering::AcqRel) + 1;
        let begun = shared.begun.load(Ordering::Relaxed);
        idle = if begun == seen && shared.running.load(Ordering::Acquire) == 0 { idle + 1 } else { 0 };
        seen = begun;
        let is_last = idle > IDLE_TICKS;
        (ticker.on_tick)(Beat { tick, is_last });
        if is_last {
            sleep(shared, seen);
            idle = 0;
        }
    }
}

/// Sleeps until a call begins, even if that call has already ended: it may have left work for the ticker.
fn sleep(shared: &Shared, seen: u64) {
    shared.asleep.store(true, Ordering::SeqCst);
    while shared.begun.load(Ordering::SeqCst) == seen {
        thread::park();
    }
    shared.asleep.store(false, Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn ticks_while_calls_run_and_wakes_again_after_sleep() {
        let (sender, receiver) = mpsc::channel();
        let ticker = Ticker::new(Box::new(move |beat| {
            let _ = sender.send(beat);
        }));
        let call = ticker.begin();
        assert_eq!(receiver.recv().expect("tick"), Beat { tick: 1, is_last: false });
        drop(call);
        while !ticker.shared.asleep.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let before = ticker.now();
        let last = receiver.try_iter().last();
        assert_eq!(last, Some(Beat { tick: before, is_last: true }));
        let call = ticker.begin();
        assert_eq!(receiver.recv().expect("tick"), Beat { tick: before + 1, is_last: false });
        drop(call);
    }
}
