//! Response headers of the pages for people.

use std::io;

use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};

use crate::answer::{self, Answer};
use crate::bounds::RETRY_AFTER;
use crate::pages::Page;

/// Returns the answer if the policy requires an audit line and it cannot be written.
pub(crate) fn unrecorded(error: &str) -> Answer {
    tracing::error!("nobody reads pages without a line in the audit: {error}");
    let why = format!("nobody can read pages now: {error}\n");
    dressed(answer::text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why))
}

/// Returns the answer if it is unknown whether a log-in has ended.
pub(crate) fn unknown(error: &io::Error) -> Answer {
    tracing::error!("it cannot be looked up whether a log-in has ended: {error}");
    let why = format!("it cannot be looked up whether this log-in has ended: {error}; try again later\n");
    let answer = dressed(answer::text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why));
    answer::later(answer, RETRY_AFTER)
}

/// Returns the answer to a log-out without an audit line. The log-in has ended nevertheless.
pub(crate) fn left_unrecorded(error: &str, forgets: &str) -> Answer {
    tracing::error!("a log-out is not recorded: {error}");
    let why = format!("you are logged out, and the audit does not say so: {error}\n");
    forgetting(dressed(answer::text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why)), forgets)
}

/// Makes a browser delete the cookie.
pub(crate) fn forgetting(mut answer: Answer, forgets: &str) -> Answer {
    if let Ok(forgets) = HeaderValue::from_str(forgets) {
        answer.headers_mut().insert(header::SET_COOKIE, forgets);
    }
    answer
}

pub(crate) const PLAIN: &str = "text/plain; charset=utf-8";

/// Headers of each answer: no scripts, no external content, no framing.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` a browser does not send the origin of a form.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

pub(crate) fn dressed(mut answer: Answer) -> Answer {
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

pub(crate) fn html(page: Page) -> Answer {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    dressed(answer::text(status, "text/html; charset=utf-8", page.html))
}

/// Returns a redirect, with a cookie.
pub(crate) fn moved(to: &str, cookie: Option<&str>) -> Answer {
    let mut answer = answer::empty(StatusCode::SEE_OTHER);
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Both values contain only valid header characters.
    if let Ok(to) = HeaderValue::from_str(to) {
        headers.insert(header::LOCATION, to);
    }
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    dressed(answer)
}
