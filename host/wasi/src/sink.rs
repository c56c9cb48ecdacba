//! What a guest prints, up to a bound.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::io::AsyncWrite;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::secrets::Secrets;
use scorpiox_capabilities::log::one_line;

/// Most bytes of one write.
const WRITE_BYTES: usize = 64 * 1024;
/// Most lines that are shown to the operator.
const MAX_LINES: usize = 100;

/// A stream that keeps its beginning.
#[derive(Clone)]
pub struct Sink(Arc<Mutex<Kept>>);

struct Kept {
    bytes: Vec<u8>,
    most: usize,
    /// Bytes that did not fit.
    lost: usize,
}

impl Sink {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept { bytes: Vec::new(), most, lost: 0 })))
    }

    /// What was written, as text; and how many bytes did not fit.
    pub fn text(&self) -> (String, usize) {
        let kept = self.lock();
        (String::from_utf8_lossy(&kept.bytes).into_owned(), kept.lost)
    }

    /// Forgets what was written.
    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        kept.bytes.clear();
        kept.lost = 0;
    }

    /// Tells the operator what was written.
    pub(super) fn log(&self, tool: &str, secrets: &Secrets) {
        let text = secrets.redacted(self.text().0);
        for line in text.lines().take(MAX_LINES) {
            tracing::info!(target: "guest", "{tool}: {}", one_line(line));
        }
    }

    fn take(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let fits = bytes.len().min(kept.most - kept.bytes.len());
        kept.bytes.extend_from_slice(&bytes[..fits]);
        kept.lost += bytes.len() - fits;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES)
    }
}

impl AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}
