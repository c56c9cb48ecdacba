//! A connection that is closed if its client stalls: if it reads nothing for a while or too slowly, or does not
//! complete the request headers that it started. Closing the connection releases everything held for it.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Time for which a client may accept no data. A client that accepts data regains time by [`MIN_RATE`].
const PATIENCE: Duration = Duration::from_secs(30);

/// Rate in bytes per second below which a client loses time.
const MIN_RATE: u32 = 16 * 1024;

/// Maximum time for receiving the request headers, from their first byte.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Time after the last answer for which the rest of an unread body is thrown away, and its maximum size. Without it,
/// closing the connection would reset it, and the client might lose the answer.
const LINGER_TIME: Duration = Duration::from_secs(2);
const MAX_LINGER_BYTES: usize = 4 * 1024 * 1024;

/// State of a connection's requests.
#[derive(Default, Clone)]
pub struct Serving(Arc<Requests>);

#[derive(Default)]
struct Requests {
    /// `true` while a request is being served. Incoming data is its body then; otherwise it is the next request's
    /// headers.
    is_serving: AtomicBool,
    /// `true` if the last answer came before the end of its request.
    is_unread: AtomicBool,
}

/// Marks a request as being served until dropped.
pub struct Served(Serving);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.0.is_serving.store(false, Ordering::Release);
    }
}

impl Serving {
    /// Marks the start of a request.
    pub fn begin(&self) -> Served {
        self.0.is_serving.store(true, Ordering::Release);
        Served(self.clone())
    }

    fn is_serving(&self) -> bool {
        self.0.is_serving.load(Ordering::Acquire)
    }

    /// Marks the connection as one that closes although a body was not read to its end.
    pub fn closes_unread(&self) {
        self.0.is_unread.store(true, Ordering::Release);
    }

    fn is_unread(&self) -> bool {
        self.0.is_unread.load(Ordering::Acquire)
    }
}

/// A stream with time limits for reading and writing.
pub struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Time for which the client may still accept no data.
    left: Duration,
    serving: Serving,
    /// Timer that runs while request headers are incomplete.
    head: Option<Pin<Box<Sleep>>>,
    /// Timer that runs while data waits to be accepted, and its start.
    until: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Timer that runs while the rest of a body is thrown away, and the bytes that were.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Patient<S> {
    /// Wraps a stream. `serving` says whether a request is being served.
    pub fn new(stream: S, serving: Serving) -> Self {
        Self { stream, patience: PATIENCE, left: PATIENCE, serving, head: None, until: None, lingering: None }
    }

    /// Returns the number of written bytes, or an error if writing has been pending for too long.
    fn written(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.regain(bytes);
        }
        self.bounded(written, context)
    }

    /// Gives time for accepted data, after subtracting the time that it was waited for.
    fn regain(&mut self, bytes: usize) {
        if let Some((since, _)) = self.until.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        if self.left < self.patience {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            let gained = Duration::from_secs(bytes.into()) / MIN_RATE;
            self.left = self.patience.min(self.left + gained);
        }
    }

    /// Returns the result of an operation, or an error if it has been pending for too long.
    fn bounded<T>(&mut self, done: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.regain(0);
            return done;
        }
        let left = self.left;
        let (_, until) = self.until.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        ready!(until.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client takes too little of what it is sent",
        )))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.serving.is_serving() {
            self.head = None;
            return read;
        }
        if read.is_ready() && buffer.filled().len() > before && self.head.is_none() {
            self.head = Some(Box::pin(sleep(HEAD_TIME)));
        }
        if let (Poll::Pending, Some(head)) = (&read, &mut self.head) {
            ready!(head.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client does not end the head of its request",
            )));
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            let shut = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.bounded(shut, context))?;
            if !self.serving.is_unread() {
                return Poll::Ready(Ok(()));
            }
        }
        self.linger(context).map(Ok)
    }
}

impl<S: AsyncRead + Unpin> Patient<S> {
    /// Throws away the rest of a body, within limits.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (until, bytes) = self.lingering.get_or_insert_with(|| (Box::pin(sleep(LINGER_TIME)), 0));
        let mut space = [0; 8 * 1024];
        while *bytes < MAX_LINGER_BYTES && until.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut space);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => *bytes += buffer.filled().len(),
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::runtime::Builder;

    use super::*;

    /// Writes `bytes` bytes to a client that handles its end of the connection with `client`.
    fn written(bytes: usize, client: impl FnOnce(TcpStream) + Send + 'static) -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let other = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nonblocking(true).expect("a mode");
        let client = std::thread::spawn(move || client(other));
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(async {
            let stream = tokio::net::TcpStream::from_std(stream).expect("a stream");
            let patience = Duration::from_millis(300);
            let mut patient =
                Patient { patience, left: patience, ..Patient::new(stream, Serving::default()) };
            let piece = vec![0; 64 * 1024];
            let mut left = bytes;
            while left > 0 {
                let most = left.min(piece.len());
                left -= poll_fn(|context| Pin::new(&mut patient).poll_write(context, &piece[..most])).await?;
            }
            Ok(())
        });
        client.join().expect("it ends");
        outcome
    }

    #[tokio::test]
    async fn the_rest_of_an_unread_body_is_thrown_away_within_limits() {
        let serving = Serving::default();
        serving.closes_unread();
        // A client that sends on, until its end.
        let (mut client, stream) = tokio::io::duplex(1024);
        let sending = tokio::spawn(async move {
            let sent = client.write_all(&vec![0; 256 * 1024]).await;
            drop(client);
            sent
        });
        let begun = Instant::now();
        Patient::new(stream, serving.clone()).shutdown().await.expect("closed");
        assert!(sending.await.expect("it ran").is_ok() && begun.elapsed() < LINGER_TIME);
        // A client that says nothing, and one that never stops.
        for talks in [false, true] {
            let (mut client, stream) = tokio::io::duplex(64 * 1024);
            let sending = tokio::spawn(async move {
                while talks && client.write_all(&vec![0; 64 * 1024]).await.is_ok() {}
                std::future::pending::<()>().await;
            });
            let shut = tokio::time::timeout(LINGER_TIME * 5, async {
                Patient::new(stream, serving.clone()).shutdown().await
            });
            assert!(shut.await.is_ok_and(|shut| shut.is_ok()), "{talks}");
            sending.abort();
        }
    }

    #[tokio::test]
    async fn a_client_that_takes_a_little_now_and_then_is_let_go() {
        let (mut client, stream) = tokio::io::duplex(1);
        let patience = Duration::from_millis(300);
        let mut patient = Patient { patience, left: patience, ..Patient::new(stream, Serving::default()) };
        let reading = tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                sleep(patience / 6).await;
            }
        });
        let sent = patient.write_all(&[0; 1000]);
        let sent = tokio::time::timeout(100 * patience, sent).await.expect("it ends");
        assert_eq!(sent.expect_err("it is too slow").kind(), io::ErrorKind::TimedOut);
        drop(patient);
        reading.await.expect("it ends");
    }

    #[test]
    fn who_takes_nothing_is_let_go_and_who_takes_something_is_not() {
        // More than any system buffers for a connection.
        const MANY: usize = 64 * 1024 * 1024;
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let error = written(MANY, move |other| {
            let _ = wait.recv_timeout(Duration::from_secs(2));
            drop(other);
        });
        drop(done);
        assert_eq!(error.expect_err("nobody reads").kind(), io::ErrorKind::TimedOut);
        let all = written(MANY, |mut other| {
            let mut buffer = vec![0; 256 * 1024];
            while other.read(&mut buffer).is_ok_and(|got| got > 0) {}
        });
        assert!(all.is_ok(), "{all:?}");
    }
}
