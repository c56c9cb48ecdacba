//! Streams the content of an open file.
//!
//! A guest can let the host pipe one stream into another, without running itself. Such a pipe runs as long as
//! both ends are ready, and files are always ready. Therefore this end yields regularly, so that the call's
//! limits are checked.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{Destination, StreamProducer, StreamResult};
use wasmtime_wasi::p3::bindings::filesystem::types::ErrorCode;

/// Size of a read in bytes, if the guest provides no buffer.
const READ_BYTES: usize = 64 * 1024;
/// Number of bytes after which the stream yields; less than a millisecond of work.
const TURN_BYTES: usize = 1024 * 1024;

/// Reads from an offset in a file to its end.
pub(super) struct Reading {
    file: Arc<File>,
    at: u64,
    /// Bytes left until the next yield.
    turn: usize,
    ended: Option<oneshot::Sender<Result<(), ErrorCode>>>,
}

impl Reading {
    /// Creates a stream from offset `at`. The receiver gets the result of the stream.
    pub(super) fn new(file: Arc<File>, at: u64) -> (Self, oneshot::Receiver<Result<(), ErrorCode>>) {
        let (ended, how) = oneshot::channel();
        (Self { file, at, turn: TURN_BYTES, ended: Some(ended) }, how)
    }

    fn end(&mut self, how: Result<(), ErrorCode>) -> StreamResult {
        if let Some(ended) = self.ended.take() {
            // The receiver may already be dropped.
            let _ = ended.send(how);
        }
        StreamResult::Dropped
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

impl<D> StreamProducer<D> for Reading {
    type Item = u8;
    type Buffer = BytesMut;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        store: StoreContextMut<'a, D>,
        destination: Destination<'a, Self::Item, Self::Buffer>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        if self.turn == 0 {
            self.turn = TURN_BYTES;
            if finish {
                return Poll::Ready(Ok(StreamResult::Cancelled));
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut direct = destination.as_direct(store, READ_BYTES);
        let room = direct.remaining();
        if room.is_empty() {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        let most = room.len().min(READ_BYTES);
        let ended = match read_at(&self.file, &mut room[..most], self.at) {
            Ok(0) => self.end(Ok(())),
            Ok(read) => {
                direct.mark_written(read);
                self.turn = self.turn.saturating_sub(read);
                match self.at.checked_add(read as u64) {
                    Some(at) => {
                        self.at = at;
                        StreamResult::Completed
                    }
                    None => self.end(Err(ErrorCode::Overflow)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Err(error) => self.end(Err(error.into())),
        };
        Poll::Ready(Ok(ended))
    }
}

#[cfg(unix)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, at)
}

#[cfg(windows)]
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}
