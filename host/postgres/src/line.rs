//! The messages of a connection, carried while somebody waits.

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

/// The task that carries messages to and fro, while somebody waits.
pub(crate) struct Line {
    /// Ends when the connection does.
    pub(crate) messages: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) runtime: Reactor,
}

/// The runtime that waits for the socket. Taken when it ends: nothing runs on it, and it may be dropped where nobody may wait.
pub(crate) struct Reactor(pub(crate) Option<Runtime>);

impl Reactor {
    #[allow(clippy::expect_used)] // it is there until it is dropped
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

/// Carries messages of a connection, and rings the bells of its notifications where somebody listens. How it ended is what the
/// answers say that did not come.
pub(crate) fn carried<S, T>(
    mut connection: Connection<S, T>,
    bells: Option<Arc<Bells>>,
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
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::debug!("a connection to the database ended: {error}");
                    break;
                }
                None => break,
            }
        }
        // So that whoever asks finds it closed.
        drop(connection);
        if let Some(bells) = &bells {
            bells.end();
        }
        // It is looked at again and again.
        std::future::pending::<()>().await;
    })
}

impl Line {
    /// Carries messages until this is done; none where that takes too long.
    pub(crate) fn wait<T>(&mut self, work: impl Future<Output = T>, at_most: Duration) -> Option<T> {
        let (runtime, messages) = (&self.runtime, &mut self.messages);
        threads::wait(|| {
            runtime.run(async {
                let mut work = pin!(work);
                let carried = poll_fn(|context| {
                    // The first look sends what is asked, the second one takes what has come.
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

    /// The same, with what the system has and was not asked for: a connection that nothing was done with may have ended.
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

    /// Sends what is to be sent, and takes what has come.
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
