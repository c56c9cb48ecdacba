//! CORS: only pages that the operator named may call from a browser.

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, StatusCode};

use crate::answer::{self, Answer};

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
/// Names `authorization`, because `*` does not include it.
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, *");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");
/// Time that the browser may cache the preflight answer, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Returns the answer to a preflight request.
pub(crate) fn preflight(headers: &HeaderMap) -> Answer {
    let mut answer = answer::empty(StatusCode::NO_CONTENT);
    let told = answer.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    // Returns the requested names, because not every browser supports `*`.
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    told.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or(HEADERS));
    told.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    answer
}

/// Lets a page with a verified origin read an answer.
pub(crate) fn let_read(answer: &mut Answer, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    let told = answer.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    told.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    told.append(header::VARY, HeaderValue::from_static("origin"));
}
