//! What is asked of the head of a request, in this order: the address that it names, the page that sends it, who sends
//! it, and what it sends and takes.

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use crate::answer::{self, Answer};
use crate::endpoint::Options;

/// Whether a request may come in at all.
#[allow(clippy::result_large_err, reason = "an answer is what refuses")]
pub(crate) fn admit(parts: &Parts, options: &Options) -> Result<(), Answer> {
    check_host(parts, options)?;
    check_origin(&parts.headers, options)?;
    authenticate(&parts.headers, options)
}

/// A page of the web can let a browser call any address, by a name that it makes lead there.
#[allow(clippy::result_large_err, reason = "as above")]
fn check_host(parts: &Parts, options: &Options) -> Result<(), Answer> {
    let refuse = |why: String| Err(answer::refused(StatusCode::FORBIDDEN, &why));
    let Some(host) = only(&parts.headers, &header::HOST) else {
        return refuse("a request has one Host header".to_owned());
    };
    let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
    for host in std::iter::once(host).chain(named) {
        if !options.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name_of(host))) {
            return refuse(format!(
                "this server is not asked as {host:?}; it is {}",
                options.hosts.join(", ")
            ));
        }
    }
    Ok(())
}

/// The name, without the port.
fn name_of(host: &str) -> &str {
    match host.rfind(':') {
        Some(at)
            if host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) && !host[..at].ends_with(':') =>
        {
            &host[..at]
        }
        _ => host,
    }
}

#[allow(clippy::result_large_err, reason = "as above")]
fn check_origin(headers: &HeaderMap, options: &Options) -> Result<(), Answer> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = only(headers, &header::ORIGIN);
    if origin.is_some_and(|origin| options.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)))
    {
        return Ok(());
    }
    let shown = origin.unwrap_or("what cannot be read");
    Err(answer::refused(StatusCode::FORBIDDEN, &format!("pages of {shown:?} may not call this server")))
}

#[allow(clippy::result_large_err, reason = "as above")]
fn authenticate(headers: &HeaderMap, options: &Options) -> Result<(), Answer> {
    let Some(access) = &options.access else { return Ok(()) };
    if only(headers, &header::AUTHORIZATION).is_some_and(|shown| access.admits(shown)) {
        return Ok(());
    }
    let why = if headers.contains_key(header::AUTHORIZATION) {
        "the token is not this server's; `scorpiox-code config --http` prints it"
    } else {
        "a token is needed: Authorization: Bearer TOKEN; `scorpiox-code config --http` prints it"
    };
    let mut refused = answer::refused(StatusCode::UNAUTHORIZED, why);
    refused.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    Err(refused)
}

/// What a POST sends and takes.
#[allow(clippy::result_large_err, reason = "as above")]
pub(crate) fn check_types(headers: &HeaderMap) -> Result<(), Answer> {
    let sent = only(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    if !sent.eq_ignore_ascii_case("application/json") {
        return Err(answer::refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            &format!("a message is sent as application/json, and not as {sent:?}"),
        ));
    }
    if accepts(headers, "application/json") && accepts(headers, EVENTS) {
        return Ok(());
    }
    Err(answer::refused(
        StatusCode::NOT_ACCEPTABLE,
        "a client has to take both forms of an answer: Accept: application/json, text/event-stream",
    ))
}

pub(crate) const EVENTS: &str = "text/event-stream";

/// Whether the client takes a type.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = values.flat_map(|value| value.split(','));
    types.any(|taken| {
        let taken = taken.split(';').next().unwrap_or_default().trim();
        let group = taken.strip_suffix('*').unwrap_or("-");
        taken == "*/*"
            || taken.eq_ignore_ascii_case(wanted)
            || group.ends_with('/') && wanted.starts_with(group)
    })
}

/// The value of a header that comes once.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_without_its_port() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("localhost:80", "localhost"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("127.0.0.1:", "127.0.0.1"),
            ("evil.example.com:x", "evil.example.com:x"),
        ] {
            assert_eq!(name_of(host), name);
        }
    }

    #[test]
    fn types_are_taken_by_name_group_or_all() {
        let takes = |accept: &str, wanted| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().expect("a value"));
            accepts(&headers, wanted)
        };
        assert!(takes("application/json, text/event-stream", EVENTS));
        assert!(takes("*/*", EVENTS) && takes("text/*;q=0.5", EVENTS) && takes("Text/Event-Stream", EVENTS));
        assert!(!takes("application/json", EVENTS) && !takes("text/html, application/*", EVENTS));
        assert!(!takes("*", EVENTS) && !takes("", EVENTS));
    }
}
