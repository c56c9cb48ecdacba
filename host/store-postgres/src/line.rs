//! Protocol messages of a connection, processed while a thread waits.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use scorpiox_executor::threads;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Connection};

use crate::ear::Bells;
use crate::warnings::Warnings;

/// The I/O of a connection, driven only while a thread waits.
pub(crate) struct Line {
    /// Future that transfers the messages. It stays pending after the connection ends.
    pub(crate) messages: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) runtime: Reactor,
}

/// Runtime that waits for the socket. The runtime is taken on drop: no task is spawned on it, so it can shut
/// down in the background where blocking is not allowed.
pub(crate) struct Reactor(pub(crate) Option<Runtime>);

impl Reactor {
    #[allow(clippy::expect_used)] // present until drop
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.as_ref().expect("a runtime").block_on(work)
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Transfers the messages of a connection, rings `bells` for its notifications, and notes its warnings.
/// Errors appear as missing answers.
pub(crate) fn carried<S, T>(
    mut connection: Connection<S, T>,
    bells: Option<Arc<Bells>>,
    warnings: Warnings,
) -> Pin<Box<dyn Future<Output = ()> + Send>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    Box::pin(async move {
        loop {
            match poll_fn(|context| connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    if let Some(bells) = &bells {
                        bells.ring(notification.channel());
                    }
                }
                Some(Ok(AsyncMessage::Notice(notice))) => warnings.note(&notice),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!("a connection to the database ended: {error}");
                    break;
                }
                None => break,
            }
        }
        // Callers then see the connection as closed.
        drop(connection);
        if let Some(bells) = &bells {
            bells.end();
        }
        // The future is polled again after the end, so it must not complete.
        std::future::pending::<()>().await;
    })
}

impl Line {
    /// Transfers messages until `work` completes. Returns `None` after `at_most`.
    pub(crate) fn wait<T>(&mut self, work: impl Future<Output = T>, at_most: Duration) -> Option<T> {
        let (runtime, messages) = (&self.runtime, &mut self.messages);
        threads::wait(|| {
            runtime.run(async {
                let mut work = pin!(work);
                let carried = poll_fn(|context| {
                    // The first poll sends the request, the second receives what has arrived.
                    for _ in 0..2 {
                        if let Poll::Ready(done) = work.as_mut().poll(context) {
                            return Poll::Ready(done);
                        }
                        let _ = messages.as_mut().poll(context);
                    }
                    work.as_mut().poll(context)
                });
                timeout(at_most, carried).await.ok()
            })
        })
    }

    /// Processes input that the system has already received. An unused connection may have ended.
    pub(crate) fn look(&mut self) {
        let (runtime, messages) = (&self.runtime, &mut self.messages);
        threads::wait(|| {
            runtime.run(async {
                tokio::task::yield_now().await;
                poll_fn(|context| {
                    let _ = messages.as_mut().poll(context);
                    Poll::Ready(())
                })
                .await;
            });
        });
    }

    /// Sends queued output and processes buffered input, without waiting.
    pub(crate) fn glance(&mut self) {
        let (runtime, messages) = (&self.runtime, &mut self.messages);
        threads::wait(|| {
            runtime.run(poll_fn(|context| {
                let _ = messages.as_mut().poll(context);
                Poll::Ready(())
            }));
        });
    }
}
