//! An in-memory pipe that replaces a process's stdin and stdout in tests.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Creates a pipe with a buffer of `capacity` bytes.
pub fn pipe(capacity: usize) -> (PipeWriter, PipeReader) {
    let shared = Arc::new(Shared { capacity, state: Mutex::default(), changed: Condvar::new() });
    (PipeWriter(Arc::clone(&shared)), PipeReader(shared))
}

struct Shared {
    capacity: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    writer_gone: bool,
    reader_gone: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn wait(&self, state: &mut MutexGuard<'_, State>) {
        self.changed.wait(state);
    }
}

/// Write end of a pipe. Dropping it ends the input of the read end.
pub struct PipeWriter(Arc<Shared>);

/// Read end of a pipe. Dropping it breaks the pipe for the writer.
pub struct PipeReader(Arc<Shared>);

impl Write for PipeWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        while state.bytes.len() >= self.0.capacity && !state.reader_gone {
            self.0.wait(&mut state);
        }
        if state.reader_gone {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = self.0.capacity - state.bytes.len();
        let written = room.min(buf.len());
        state.bytes.extend(&buf[..written]);
        self.0.changed.notify_all();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for PipeReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        while state.bytes.is_empty() && !state.writer_gone {
            self.0.wait(&mut state);
        }
        let read = state.bytes.read(buf)?;
        self.0.changed.notify_all();
        Ok(read)
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.lock().writer_gone = true;
        self.0.changed.notify_all();
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.lock().reader_gone = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_in_order_and_the_end_is_seen() {
        let (mut writer, mut reader) = pipe(3);
        let sender = std::thread::spawn(move || writer.write_all(b"hello").expect("write"));
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("read");
        sender.join().expect("join");
        assert_eq!(all, "hello");
    }

    #[test]
    fn writing_to_a_dropped_reader_fails() {
        let (mut writer, reader) = pipe(3);
        drop(reader);
        assert_eq!(writer.write_all(b"x").expect_err("broken").kind(), io::ErrorKind::BrokenPipe);
    }
}
