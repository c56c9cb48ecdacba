//! Work deferred until the first answer is sent.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// Startup steps that run around the first answer, or before the first call or the first write that may
/// block. A client that has just started the server does not wait for them.
#[derive(Default)]
pub(super) struct Later {
    is_pending: AtomicBool,
    steps: Mutex<VecDeque<Box<dyn FnOnce() + Send>>>,
}

impl Later {
    pub(super) fn set(&self, steps: [Box<dyn FnOnce() + Send>; 2]) {
        self.lock().extend(steps);
        self.is_pending.store(true, Ordering::Release);
    }

    /// Runs steps until `left` steps remain.
    pub(super) fn run(&self, left: usize) {
        if !self.is_pending.load(Ordering::Acquire) {
            return;
        }
        let mut steps = self.lock();
        while steps.len() > left {
            steps.pop_front().into_iter().for_each(|step| step());
        }
        self.is_pending.store(!steps.is_empty(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Box<dyn FnOnce() + Send>>> {
        self.steps.lock()
    }
}
