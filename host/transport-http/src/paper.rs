//! Response headers of the pages for people.

use std::io;

use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};

use crate::answer::{self, Answer};
use crate::pages::Page;

/// Returns the reason if the policy requires an audit line and it cannot be written.
pub(crate) fn unrecorded(error: &str) -> String {
    tracing::error!("nobody reads pages without a line in the audit: {error}");
    format!("Nobody can read pages now: {error}.")
}

/// Returns the reason if it is unknown whether a log-in has ended.
pub(crate) fn unknown(error: &io::Error) -> String {
    tracing::error!("it cannot be looked up whether a log-in has ended: {error}");
    format!("It cannot be looked up whether this log-in has ended: {error}. Try again later.")
}

/// Returns the reason for a log-out without an audit line. The log-in has ended nevertheless.
pub(crate) fn left_unrecorded(error: &str) -> String {
    tracing::error!("a log-out is not recorded: {error}");
    format!("You are logged out, and the audit does not say so: {error}.")
}

/// Makes a browser delete the cookie.
pub(crate) fn forgetting(mut answer: Answer, forgets: &str) -> Answer {
    if let Ok(forgets) = HeaderValue::from_str(forgets) {
        answer.headers_mut().insert(header::SET_COOKIE, forgets);
    }
    answer
}

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
