//! Activity in a call after its function returned: streams that it returned, and tasks that it left running.
//!
//! Nothing outlives the call: its store is dropped, and all tasks with it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use wasmtime::component::{Source, StreamAny, StreamConsumer, StreamResult};
use wasmtime::{Store, StoreContextMut};

use super::CallState;
use super::fault::Stop;

/// Maximum time that remaining tasks run after the function returned its result. It suffices to close
/// connections and notify peers. Longer tasks would only delay a result that is already available.
const LINGER: Duration = Duration::from_secs(1);

/// Content of a stream.
pub(super) enum Streamed {
    Whole(Vec<u8>),
    /// The stream exceeds the maximum number of bytes.
    TooMany,
}

/// Reads a stream to its end, up to `most` bytes.
pub(super) async fn collect(
    store: &mut Store<CallState>,
    stream: StreamAny,
    most: usize,
) -> wasmtime::Result<Streamed> {
    let (sender, ended) = oneshot::channel();
    let taking = Taking { bytes: Vec::new(), most, ended: Some(sender) };
    stream.try_into_stream_reader::<u8>()?.pipe(&mut *store, taking)?;
    let ended = store.run_concurrent(async |_| ended.await).await?;
    ended.map_err(|_| wasmtime::Error::msg("its stream ended without a word"))
}

/// Lets remaining tasks of a function run, for at most [`LINGER`]. Returns `true` if all of them ended.
pub(super) async fn finish(store: &mut Store<CallState>) -> wasmtime::Result<bool> {
    if store.concurrent_resource_table().is_none() {
        return Ok(true);
    }
    let rest = store.run_concurrent(async |tasks| {
        poll_fn(|context| tasks.poll_no_interesting_tasks(context)).await;
    });
    let Ok(ended) = timeout(LINGER, rest).await else {
        tracing::debug!("it gave its result, and tasks that it left ended with the call");
        return Ok(false);
    };
    ended.map(|()| true)
}

pub(super) fn is_cancelled(error: &wasmtime::Error) -> bool {
    matches!(error.downcast_ref::<Stop>(), Some(Stop::Cancelled(_)))
}

/// Consumer of a stream.
struct Taking {
    bytes: Vec<u8>,
    most: usize,
    ended: Option<oneshot::Sender<Streamed>>,
}

impl Taking {
    fn end(&mut self, how: Streamed) {
        if let Some(ended) = self.ended.take() {
            // The receiver may already be dropped.
            let _ = ended.send(how);
        }
    }
}

impl<D> StreamConsumer<D> for Taking {
    type Item = u8;

    fn poll_consume(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        store: StoreContextMut<'_, D>,
        source: Source<'_, u8>,
        _finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        let given = source.remaining();
        if given.len() > self.most - self.bytes.len() {
            self.end(Streamed::TooMany);
            return Poll::Ready(Ok(StreamResult::Dropped));
        }
        let count = given.len();
        self.bytes.extend_from_slice(given);
        source.mark_read(count);
        Poll::Ready(Ok(StreamResult::Completed))
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.end(Streamed::Whole(bytes));
    }
}
