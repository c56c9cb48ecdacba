//! DELETE: a client ends its session.

use hyper::{HeaderMap, StatusCode};

use crate::admission;
use crate::answer::{self, Answer};
use crate::endpoint::{Endpoint, not_allowed};
use crate::{modern, post};

pub(crate) fn answer(endpoint: &Endpoint, headers: &HeaderMap) -> Answer {
    if modern::names_modern(headers) {
        return not_allowed();
    }
    match admission::only(headers, &post::SESSION) {
        None => answer::refused(StatusCode::BAD_REQUEST, "Mcp-Session-Id says which session ends"),
        Some(id) => match endpoint.sessions.end(id) {
            Ok(true) => answer::empty(StatusCode::NO_CONTENT),
            Ok(false) => answer::refused(StatusCode::NOT_FOUND, "this session has ended, or was never here"),
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
