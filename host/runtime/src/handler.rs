//! Runs a component that serves HTTP through WASI 0.3. The tool is the same as for WASI 0.2.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::{Func, Resource};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p3;
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;
use wasmtime_wasi_io::IoView as _;

use super::service::{Answer, both, collected, failed_afterwards, outcome};
use super::{CallState, tasks};
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};

/// Lets a component answer a request. The response body is read while the component writes it. A complete
/// response counts, even if the component fails afterwards.
pub(super) async fn call(
    store: &mut Store<CallState>,
    handle: &Func,
    request: Request<Bytes>,
    most: usize,
) -> wasmtime::Result<Result<ToolResult, ToolError>> {
    type Answered = Result<Resource<p3::Response>, ErrorCode>;
    let handle = handle.typed::<(Resource<p3::Request>,), (Answered,)>(&mut *store)?;
    // The result of sending the request is not needed: its body is already in memory.
    let (request, _) = p3::Request::from_http(store.data_mut().http().hooks, request.map(Full::new));
    let request = store.data_mut().table().push(request)?;
    let answer = match handle.call_async(&mut *store, (request,)).await? {
        (Ok(response),) => {
            let response = store.data_mut().table().delete(response)?;
            let response = response.into_http(&mut *store, async { Ok(()) })?;
            let (done, is_done) = oneshot::channel();
            let reading = async {
                let answer = collected(response, most).await;
                // The receiver is dropped if the component failed meanwhile.
                let _ = done.send(());
                answer
            };
            // A component that fails right after its response ends both at the same moment.
            match both(store.run_concurrent(async |_| is_done.await.is_ok()), reading).await {
                (Err(error), Some(Answer::Whole(response))) if !tasks::is_cancelled(&error) => {
                    failed_afterwards(&error);
                    return Ok(outcome(Some(Answer::Whole(response))));
                }
                (Err(error), _) => return Err(error),
                (Ok(_), answer) => answer,
            }
        }
        (Err(code),) => Some(Answer::Refused(format!("{code:?}"))),
    };
    if matches!(answer, Some(Answer::Whole(_)))
        && let Err(error) = tasks::finish(store).await
    {
        if tasks::is_cancelled(&error) {
            return Err(error);
        }
        failed_afterwards(&error);
    }
    Ok(outcome(answer))
}
