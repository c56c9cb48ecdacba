//! Captures a guest's output up to a limit: all of it, or its beginning and its end.

use std::collections::VecDeque;
use std::fmt::Write as _;
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
use scorpiox_command_output::{human_bytes, is_binary, whole_end, whole_start};

/// Maximum size of one write in bytes.
const WRITE_BYTES: usize = 64 * 1024;
/// Maximum number of lines in the operator's log.
const MAX_LINES: usize = 100;

/// A stream that captures the beginning and the end of the output.
#[derive(Clone)]
pub struct Sink(Arc<Mutex<Kept>>);

struct Kept {
    head: Vec<u8>,
    /// Maximum size of the head: a third of the limit, as in all truncated results.
    most_head: usize,
    tail: VecDeque<u8>,
    most_tail: usize,
    total: u64,
    /// `true` if the result of the call shows the output.
    is_shown: bool,
}

/// Captured output.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Beginning of the output; all of it if nothing is missing.
    pub head: Vec<u8>,
    /// End of the output, if a part in the middle is missing.
    pub tail: Vec<u8>,
    /// Total number of bytes written.
    pub total: u64,
}

impl Printed {
    /// Returns the number of missing bytes in the middle.
    pub fn missing(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the output as text for users and errors. Only reports the size of binary output.
    pub fn text(&self) -> String {
        if is_binary(&self.head) && std::str::from_utf8(&self.head).is_err() {
            return format!("[{} that are not text]", human_bytes(self.total));
        }
        if self.missing() == 0 {
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        // Avoids split code points at the gap.
        let (head, tail) = (&self.head[..whole_end(&self.head)], &self.tail[whole_start(&self.tail)..]);
        let missing = self.total - (head.len() + tail.len()) as u64;
        let mut text = String::from_utf8_lossy(head).into_owned();
        let _ = write!(text, "\n[… {} left out …]\n", human_bytes(missing));
        text.push_str(&String::from_utf8_lossy(tail));
        text
    }
}

impl Sink {
    /// Reports whether something was printed.
    pub(super) fn is_used(&self) -> bool {
        self.lock().total > 0
    }

    pub(super) fn new(most: usize) -> Self {
        let most_head = most / 3;
        let kept = Kept {
            head: Vec::new(),
            most_head,
            tail: VecDeque::new(),
            most_tail: most - most_head,
            total: 0,
            is_shown: false,
        };
        Self(Arc::new(Mutex::new(kept)))
    }

    /// Returns the captured output.
    pub fn printed(&self) -> Printed {
        let kept = self.lock();
        let (head, tail) = (kept.head.clone(), kept.tail.iter().copied().collect::<Vec<_>>());
        if (head.len() + tail.len()) as u64 == kept.total {
            return Printed { head: [head, tail].concat(), tail: Vec::new(), total: kept.total };
        }
        Printed { head, tail, total: kept.total }
    }

    /// Discards the captured output.
    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        kept.head.clear();
        kept.tail.clear();
        kept.total = 0;
        kept.is_shown = false;
    }

    /// Notes that the result of the call shows the output.
    pub fn mark_shown(&self) {
        self.lock().is_shown = true;
    }

    /// Writes the output to the operator's log. Output that the result shows has a target of its own.
    pub(super) fn log(&self, tool: &str, secrets: &Secrets) {
        let is_shown = self.lock().is_shown;
        let text = secrets.redacted(self.printed().text());
        for line in text.lines().take(MAX_LINES).map(one_line) {
            if is_shown {
                tracing::info!(target: "guest::shown", "{tool}: {line}");
            } else {
                tracing::info!(target: "guest", "{tool}: {line}");
            }
        }
    }

    fn take(&self, bytes: &[u8]) {
        let kept = &mut *self.lock();
        kept.total += bytes.len() as u64;
        let to_head = bytes.len().min(kept.most_head - kept.head.len());
        kept.head.extend_from_slice(&bytes[..to_head]);
        let rest = &bytes[to_head..];
        let rest = &rest[rest.len().saturating_sub(kept.most_tail)..];
        let over = (kept.tail.len() + rest.len()).saturating_sub(kept.most_tail);
        kept.tail.drain(..over);
        kept.tail.extend(rest);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(most: usize, pieces: &[&[u8]]) -> Printed {
        let sink = Sink::new(most);
        for piece in pieces {
            sink.take(piece);
        }
        sink.printed()
    }

    #[test]
    fn what_fits_is_whole_however_it_was_written() {
        let all = "Grüße an 日本\n".as_bytes();
        for cut in 0..all.len() {
            let whole = printed(all.len(), &[&all[..cut], &all[cut..]]);
            assert_eq!((whole.missing(), whole.text().as_bytes()), (0, all), "{cut}");
        }
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let all: Vec<u8> = (0..10_000_u32).flat_map(|n| format!("{n:04}\n").into_bytes()).collect();
        for size in [1, 7, 299, 300, 301, all.len()] {
            let pieces: Vec<&[u8]> = all.chunks(size).collect();
            let cut = printed(300, &pieces);
            assert_eq!((cut.head.as_slice(), cut.tail.as_slice()), (&all[..100], &all[all.len() - 200..]));
            assert_eq!((cut.total, cut.missing()), (50_000, 49_700), "{size}");
            let text = cut.text();
            assert!(text.starts_with("0000\n") && text.ends_with("9999\n"), "{text}");
            assert!(text.contains("\n[… 49,700 bytes left out …]\n"), "{text}");
        }
    }

    #[test]
    fn code_points_at_the_borders_are_left_out_whole() {
        for shift in 0..4 {
            let all = format!("{}{}", "x".repeat(shift), "😀".repeat(1000));
            let text = printed(300, &[all.as_bytes()]).text();
            assert!(!text.contains('\u{fffd}'), "{shift}: {text}");
        }
    }

    #[test]
    fn what_is_no_text_is_counted_in_errors() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(printed(1000, &[&bytes]).text(), "[256 bytes that are not text]");
    }
}
