//! Determines the target of a redirect.

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use scorpiox_policy::Redirects;
use url::Url;

use crate::error::WebError;
use crate::request::Method;

/// Headers that are also sent to another host.
const FOR_ANYBODY: [&str; 3] = ["accept", "accept-language", "content-type"];

/// The next request in a chain of redirects.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub url: Url,
    pub method: Method,
    /// `true` if the request goes to another host.
    pub elsewhere: bool,
}

/// Returns `true` if a header may also be sent to a host other than the first.
pub(crate) fn is_for_anybody(name: &str) -> bool {
    FOR_ANYBODY.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns the request that follows from a response, if it is a redirect.
pub(crate) fn next(
    url: &Url,
    method: Method,
    status: StatusCode,
    headers: &HeaderMap,
    follow: Redirects,
) -> Result<Option<Next>, WebError> {
    let method = match (status.as_u16(), method) {
        (301..=303, _) => Method::Get,
        (307 | 308, method) => method,
        _ => return Ok(None),
    };
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let broken = || WebError::Failed(format!("{url} redirects to what is no URL: {location:?}"));
    // Contrary to the standard, servers send UTF-8 in this header.
    let location_text = std::str::from_utf8(location.as_bytes()).map_err(|_| broken())?;
    let target = url.join(location_text).map_err(|_| broken())?;
    if !matches!(target.scheme(), "http" | "https") || target.host_str().is_none() {
        return Err(broken());
    }
    if url.scheme() == "https" && target.scheme() == "http" {
        return Err(WebError::Moved(target.into()));
    }
    let elsewhere = !same_host(url, &target);
    if elsewhere && follow == Redirects::SameHost {
        return Err(WebError::Moved(target.into()));
    }
    Ok(Some(Next { url: target, method, elsewhere }))
}

/// Returns `true` for the same host and port, ignoring `www.`.
fn same_host(a: &Url, b: &Url) -> bool {
    let name = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    name(a) == name(b) && (a.port() == b.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(from: &str, status: u16, to: &str, follow: Redirects) -> Result<Option<Next>, WebError> {
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, to.parse().expect("a value"));
        let url = Url::parse(from).expect("a URL");
        next(&url, Method::Post, StatusCode::from_u16(status).expect("a status"), &headers, follow)
    }

    #[test]
    fn redirects_on_one_host_are_followed() {
        for (from, to, expected) in [
            ("http://example.com/a/b", "/c", "http://example.com/c"),
            ("http://example.com/a/b", "c?d#e", "http://example.com/a/c?d#e"),
            ("http://example.com/", "https://example.com/", "https://example.com/"),
            ("https://example.com/", "https://www.example.com/", "https://www.example.com/"),
            ("https://www.example.com/", "https://example.com/x", "https://example.com/x"),
        ] {
            let next = follow(from, 302, to, Redirects::SameHost).expect("allowed").expect("a redirect");
            assert_eq!((next.url.as_str(), next.method, next.elsewhere), (expected, Method::Get, false));
        }
        assert_eq!(follow("http://a.example/", 200, "/c", Redirects::Any), Ok(None));
        let kept = follow("http://a.example/", 307, "/c", Redirects::Any).expect("allowed").expect("one");
        assert_eq!(kept.method, Method::Post);
    }

    #[test]
    fn another_host_is_told_of_and_not_asked() {
        for to in [
            "https://example.org/",
            "//example.org/",
            "https://sub.example.com/",
            "https://example.com.evil.org/",
            "https://example.com:8443/",
            "http://example.com/",
        ] {
            let moved = follow("https://example.com/", 301, to, Redirects::SameHost);
            assert!(matches!(moved, Err(WebError::Moved(_))), "{to}: {moved:?}");
        }
        let next = follow("https://example.com/", 301, "https://example.org/", Redirects::Any);
        assert!(next.expect("allowed").expect("one").elsewhere);
        let plain = follow("https://example.com/", 301, "http://example.org/", Redirects::Any);
        assert!(matches!(plain, Err(WebError::Moved(_))), "never from https to http");
    }

    #[test]
    fn what_is_no_page_is_an_error() {
        for to in ["file:///etc/passwd", "javascript:alert(1)", "ftp://example.com/", "data:text/html,a"] {
            let refused = follow("https://example.com/", 302, to, Redirects::Any);
            assert!(matches!(refused, Err(WebError::Failed(_))), "{to}: {refused:?}");
        }
    }
}
