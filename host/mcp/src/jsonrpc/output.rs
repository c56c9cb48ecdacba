//! The writer: sends complete lines in order.

use std::any::Any;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// Pending lines are written without a flush once they reach this size.
const COALESCE_BYTES: usize = 32 * 1024;

/// Sends messages to the client.
///
/// A caller blocks while the client does not read, so that memory does not grow with a client that stopped
/// reading. A [guard](Self::guard) is held during each write that may block. After the first failed write the
/// output is closed and discards all messages.
pub struct Output {
    inner: Mutex<Inner>,
    closed: AtomicBool,
    /// Number of started plus completed writes: odd while a write is in progress.
    writes: AtomicU64,
    /// Number of bytes that can be written without blocking: the remaining capacity of the pipe.
    room: AtomicUsize,
    guard: OnceLock<Box<Guard>>,
}

/// Creates the guard of a write that may block.
type Guard = dyn Fn() -> Box<dyn Any> + Send + Sync;

struct Inner {
    sink: Box<dyn Write + Send>,
    pending: Vec<u8>,
}

impl Output {
    /// Creates an output to `sink`, which may block immediately.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self::with_room(sink, 0)
    }

    /// Creates an output to `sink`, which accepts `room` bytes without blocking.
    pub fn with_room(sink: impl Write + Send + 'static, room: usize) -> Self {
        Self {
            inner: Mutex::new(Inner { sink: Box::new(sink), pending: Vec::new() }),
            closed: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            room: AtomicUsize::new(room),
            guard: OnceLock::new(),
        }
    }

    /// Sets a function whose value is held during each write that may block. Only the first call has an
    /// effect.
    pub fn guard<T: 'static>(&self, guard: impl Fn() -> T + Send + Sync + 'static) {
        let _ = self.guard.set(Box::new(move || Box::new(guard())));
    }

    /// Writes a line immediately, together with all pending ones.
    pub fn send(&self, line: &[u8]) {
        let mut inner = self.lock();
        if inner.pending.is_empty() {
            self.write(&mut inner, line);
        } else {
            inner.pending.extend_from_slice(line);
            self.write_pending(&mut inner);
        }
    }

    /// Queues a line until the next [`flush`](Self::flush). The caller must flush before it blocks.
    pub fn send_later(&self, line: &[u8]) {
        let mut inner = self.lock();
        inner.pending.extend_from_slice(line);
        if inner.pending.len() >= COALESCE_BYTES {
            self.write_pending(&mut inner);
        }
    }

    /// Writes the pending lines.
    pub fn flush(&self) {
        let mut inner = self.lock();
        if !inner.pending.is_empty() {
            self.write_pending(&mut inner);
        }
    }

    /// Returns `true` if a write failed, because the client has disconnected.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns an odd number that stays the same while a write is in progress. If it is unchanged for long,
    /// the client does not read.
    pub fn write_in_progress(&self) -> Option<u64> {
        let writes = self.writes.load(Ordering::Acquire);
        (writes % 2 == 1).then_some(writes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn write_pending(&self, inner: &mut Inner) {
        let pending = std::mem::take(&mut inner.pending);
        self.write(inner, &pending);
        inner.pending = pending;
        inner.pending.clear();
        if inner.pending.capacity() > 4 * COALESCE_BYTES {
            inner.pending = Vec::new();
        }
    }

    fn write(&self, inner: &mut Inner, bytes: &[u8]) {
        if self.is_closed() {
            return;
        }
        // The lock is held, so no other write uses the capacity.
        let room = self.room.load(Ordering::Relaxed);
        self.room.store(room.saturating_sub(bytes.len()), Ordering::Relaxed);
        let _guard = (bytes.len() > room).then(|| self.guard.get().map(|guard| guard()));
        self.writes.fetch_add(1, Ordering::AcqRel);
        let written = inner.sink.write_all(bytes).and_then(|()| inner.sink.flush());
        self.writes.fetch_add(1, Ordering::AcqRel);
        if written.is_err() {
            self.closed.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Recorder {
        writes: Arc<Mutex<Vec<Vec<u8>>>>,
        broken: bool,
    }

    impl Write for Recorder {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            if self.broken {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.writes.lock().push(buf.to_vec());
            Ok(buf.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn later_lines_go_out_in_one_write_before_the_next_line() {
        let recorder = Recorder::default();
        let output = Output::new(recorder.clone());
        output.send_later(b"a\n");
        output.send_later(b"b\n");
        output.send(b"c\n");
        output.flush();
        assert_eq!(*recorder.writes.lock(), [b"a\nb\nc\n".to_vec()]);
    }

    #[test]
    fn many_later_lines_do_not_wait_for_a_flush() {
        let recorder = Recorder::default();
        let output = Output::new(recorder.clone());
        output.send_later(&vec![b'x'; COALESCE_BYTES]);
        assert_eq!(recorder.writes.lock().len(), 1);
    }

    #[test]
    fn what_may_block_is_guarded() {
        let taken = Arc::new(AtomicU64::new(0));
        let output = Output::with_room(Recorder::default(), 4);
        let counted = Arc::clone(&taken);
        output.guard(move || counted.fetch_add(1, Ordering::Relaxed));
        let guarded = |line: &[u8]| {
            output.send(line);
            taken.swap(0, Ordering::Relaxed) == 1
        };
        assert!(!guarded(b"a\n"));
        assert!(guarded(b"bcd\n"), "more than there is room for");
        assert!(guarded(b"\n"), "nobody knows what was read");
    }

    #[test]
    fn a_failed_write_closes_the_output() {
        let output = Output::new(Recorder { broken: true, ..Recorder::default() });
        assert!(!output.is_closed());
        output.send(b"a\n");
        assert!(output.is_closed());
        output.send(b"b\n");
    }
}
