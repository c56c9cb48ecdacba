//! DELETE: ends a session.

use std::io;
use std::sync::Arc;

use hyper::{HeaderMap, StatusCode};

use crate::answer::{self, Answer};
use crate::bounds::{RETRY_AFTER, WaitsFor};
use crate::ended::End;
use crate::endpoint::{Endpoint, not_allowed};
use crate::passed;
use crate::post;
use crate::request::admission;
use crate::request::modern;
use crate::served::Caller;

pub(crate) async fn answer(endpoint: &Arc<Endpoint>, caller: &Caller, headers: &HeaderMap) -> Answer {
    if modern::names_modern(headers) {
        return not_allowed();
    }
    match admission::only(headers, &post::SESSION) {
        None => answer::refused(StatusCode::BAD_REQUEST, "Mcp-Session-Id says which session ends"),
        Some(id) => match ended(endpoint, caller, id.to_owned()).await {
            Ok(End::Ended) => answer::empty(StatusCode::NO_CONTENT),
            Ok(End::TooMany) => answer::refused(
                StatusCode::TOO_MANY_REQUESTS,
                "too many sessions were ended in the last 30 days; this one goes on until nobody uses it",
            ),
            Ok(End::WasNotThere) => {
                answer::refused(StatusCode::NOT_FOUND, "this session has ended, or was never here")
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                tracing::warn!("the end of a session cannot be kept at the moment: {error}");
                let why = "the end of the session cannot be written down at the moment; repeat it later";
                answer::later(answer::refused(StatusCode::SERVICE_UNAVAILABLE, why), RETRY_AFTER)
            }
            Err(error) => {
                tracing::error!("the end of a session cannot be kept: {error}");
                answer::refused(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the end of the session could not be written down",
                )
            }
        },
    }
}

/// Ends a session. Storing the end may block on a disk.
async fn ended(endpoint: &Arc<Endpoint>, caller: &Caller, id: String) -> io::Result<End> {
    let (shared, caller) = (Arc::clone(endpoint), caller.clone());
    let who = caller.principal.key();
    let end = move |may_block: &_| {
        let Some(number) = shared.sessions.number(&caller, &id) else { return Ok(End::WasNotThere) };
        let end = shared.sessions.end(number, may_block)?;
        if end == End::Ended {
            passed::tell_of_end(&shared, &caller, &number, may_block);
        }
        Ok(end)
    };
    endpoint.blocking.run(WaitsFor::Database, &who, end).await?
}
