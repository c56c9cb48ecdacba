//! Runs an asynchronous guest until it completes, is cancelled, or exceeds its time limit.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use tokio::runtime::Handle;

use super::fault::Stop;

/// Interval between checks for cancellation and limits.
const LOOK_TIME: Duration = Duration::from_millis(5);

/// Wakes the thread of a call.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, with the timers and connections of `handle`. Drops the future, and the guest
/// with it, when the call is cancelled, has waited longer than `most`, or `is_overdue` returns `true`.
/// `is_overdue` covers work of the host without the guest.
pub(super) fn wait<F: Future>(
    future: F,
    cancel: &Cancel,
    most: Duration,
    is_overdue: impl Fn() -> bool,
    handle: &Handle,
) -> Result<F::Output, Stop> {
    let _entered = handle.enter();
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut waited = Duration::ZERO;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Ok(output);
        }
        if let Some(reason) = cancel.reason() {
            return Err(Stop::Cancelled(reason));
        }
        if waited >= most {
            return Err(Stop::Waited);
        }
        if is_overdue() {
            return Err(Stop::Deadline);
        }
        let begun = Instant::now();
        thread::park_timeout(LOOK_TIME);
        waited += begun.elapsed();
    }
}
