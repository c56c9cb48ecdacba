//! The one writer: whole lines, in the order they were given.

use std::any::Any;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// Lines wait for a flush at most until this many bytes are together.
const COALESCE_BYTES: usize = 32 * 1024;

/// Where messages go out.
///
/// A caller blocks while the client does not read, so memory does not grow with a
/// client that stopped reading; a [guard](Self::guard) is taken for each write that can. After the first failed write the output is closed
/// and swallows everything: nobody listens any more.
pub struct Output {
    inner: Mutex<Inner>,
    closed: AtomicBool,
    /// Counts writes begun and ended: odd while one is under way.
    writes: AtomicU64,
    /// Bytes that go out whether the client reads or not: what is left of the room in the pipe.
    room: AtomicUsize,
    guard: OnceLock<Box<Guard>>,
}

/// Makes what is held while a write may block.
type Guard = dyn Fn() -> Box<dyn Any> + Send + Sync;

struct Inner {
    sink: Box<dyn Write + Send>,
    pending: Vec<u8>,
}

impl Output {
    /// Writes to `sink`, which may block at once.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self::with_room(sink, 0)
    }

    /// Writes to `sink`, which takes so many bytes without blocking.
    pub fn with_room(sink: impl Write + Send + 'static, room: usize) -> Self {
        Self {
            inner: Mutex::new(Inner { sink: Box::new(sink), pending: Vec::new() }),
            closed: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            room: AtomicUsize::new(room),
            guard: OnceLock::new(),
        }
    }

    /// What `guard` makes is held during each write that may block. The first guard stays.
    pub fn guard<T: 'static>(&self, guard: impl Fn() -> T + Send + Sync + 'static) {
        let _ = self.guard.set(Box::new(move || Box::new(guard())));
    }

    /// Writes a line now, with all that waited.
    pub fn send(&self, line: &[u8]) {
        let mut inner = self.lock();
        if inner.pending.is_empty() {
            self.write(&mut inner, line);
        } else {
            inner.pending.extend_from_slice(line);
            self.write_pending(&mut inner);
        }
    }

    /// Adds a line to those that wait for [`flush`](Self::flush). The caller
    /// promises to flush before it blocks.
    pub fn send_later(&self, line: &[u8]) {
        let mut inner = self.lock();
        inner.pending.extend_from_slice(line);
        if inner.pending.len() >= COALESCE_BYTES {
            self.write_pending(&mut inner);
        }
    }

    /// Writes what waits.
    pub fn flush(&self) {
        let mut inner = self.lock();
        if !inner.pending.is_empty() {
            self.write_pending(&mut inner);
        }
    }

    /// Whether a write failed: the client does not listen any more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// A number that stays the same, and odd, while one write is under way. Whoever
    /// sees it unchanged for long knows that the client does not read.
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
        // Under the lock: nobody else takes from the room.
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
