//! Lazy initialization by the first thread that needs the value, while others wait. Each of them can be
//! cancelled.

use std::sync::OnceLock;

use parking_lot::{Condvar, Mutex};
use scorpiox_executor::{Cancel, threads};

use super::Fault;
use super::ticker::TICK;

/// A value that is initialized once.
#[derive(Debug)]
pub(super) struct Once<T> {
    value: OnceLock<T>,
    /// `true` while a thread creates the value.
    busy: Mutex<bool>,
    free: Condvar,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), busy: Mutex::new(false), free: Condvar::new() }
    }
}

impl<T> Once<T> {
    /// Returns the value, and creates it if necessary. If `make` fails, the next caller tries again.
    pub(super) fn get_or_try_init(
        &self,
        cancel: &Cancel,
        make: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<&T, Fault> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _turn = self.turn(cancel)?;
        // Another thread may have created the value while this one waited.
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.value.get_or_init(|| value))
    }

    fn turn(&self, cancel: &Cancel) -> Result<Turn<'_, T>, Fault> {
        let mut busy = self.busy.lock();
        while *busy {
            if let Some(reason) = cancel.reason() {
                return Err(Fault::Cancelled(reason));
            }
            threads::wait(|| self.free.wait_for(&mut busy, 10 * TICK));
        }
        *busy = true;
        Ok(Turn(self))
    }
}

/// Exclusive permission to create the value.
struct Turn<'a, T>(&'a Once<T>);

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.free.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use scorpiox_executor::Reason;

    #[test]
    fn one_makes_it_while_others_wait_or_leave() {
        let once = Once::default();
        let (begun, has_begun) = channel();
        let (finish, may_finish) = channel();
        thread::scope(|scope| {
            let once = &once;
            scope.spawn(move || {
                once.get_or_try_init(&Cancel::default(), || {
                    begun.send(()).expect("a reader");
                    may_finish.recv().expect("a word");
                    Ok(1)
                })
            });
            has_begun.recv().expect("it has begun");
            let cancelled = Cancel::default();
            cancelled.set(Reason::Client);
            let left = once.get_or_try_init(&cancelled, || panic!("another one makes it"));
            assert!(matches!(left, Err(Fault::Cancelled(Reason::Client))));
            let waits = scope.spawn(|| {
                once.get_or_try_init(&Cancel::default(), || panic!("another one makes it")).copied()
            });
            finish.send(()).expect("a reader");
            assert!(matches!(waits.join(), Ok(Ok(1))));
        });
    }

    #[test]
    fn who_comes_after_a_failure_makes_it() {
        let once = Once::default();
        let failed = once.get_or_try_init(&Cancel::default(), || Err(Fault::Unusable("not now".to_owned())));
        assert!(failed.is_err());
        assert_eq!(*once.get_or_try_init(&Cancel::default(), || Ok(2)).expect("made"), 2);
        assert_eq!(*once.get_or_try_init(&Cancel::default(), || panic!("it is there")).expect("made"), 2);
    }
}
