//! What a browser asks and is told before it lets a page call: only pages that the operator named are told anything.

use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, StatusCode};

use crate::answer::{self, Answer};

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
/// `*` does not stand for `Authorization`.
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, *");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");
/// How long the browser may remember, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The answer to the question whether a page may call.
pub(crate) fn preflight(headers: &HeaderMap) -> Answer {
    let mut answer = answer::empty(StatusCode::NO_CONTENT);
    let told = answer.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    // Each is named back, since not every browser knows the star.
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    told.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or(HEADERS));
    told.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    answer
}

/// Lets a page read an answer, whose origin was checked.
pub(crate) fn let_read(answer: &mut Answer, origin: Option<HeaderValue>) {
    let Some(origin) = origin else { return };
    let told = answer.headers_mut();
    told.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    told.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    told.append(header::VARY, HeaderValue::from_static("origin"));
}
