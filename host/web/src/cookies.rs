//! Cookies of one fetch: some pages set a cookie and redirect to themselves, to see whether it comes back.

use reqwest::cookie::{CookieStore as _, Jar};
use reqwest::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use url::Url;

/// Maximum number of cookies kept of a response: as many as browsers have to keep of a domain (RFC 6265, 6.1).
const MAX_COOKIES: usize = 50;
/// Maximum length of a cookie with its attributes, in bytes.
const MAX_COOKIE_BYTES: usize = 4096;
/// Maximum length of the header to a server, in bytes. Most servers accept 8 KiB.
const MAX_HEADER_BYTES: usize = 8192;

/// Cookies that are kept along the redirects of a fetch and then forgotten. Each host gets its own alone, whatever
/// `Domain` it asked for.
#[derive(Default)]
pub(crate) struct Cookies(Vec<(Host, Jar)>);

/// Name of a host and, unless it is that of the scheme, the port.
type Host = (String, Option<u16>);

fn host(url: &Url) -> Host {
    (url.host_str().unwrap_or_default().to_owned(), url.port())
}

impl Cookies {
    /// Keeps the cookies that a response sets.
    pub(crate) fn keep(&mut self, url: &Url, headers: &HeaderMap) {
        let is_short = |value: &&HeaderValue| value.len() <= MAX_COOKIE_BYTES;
        let mut set = headers.get_all(SET_COOKIE).iter().filter(is_short).take(MAX_COOKIES).peekable();
        if set.peek().is_none() {
            return;
        }
        let host = host(url);
        let at = self.0.iter().position(|(known, _)| *known == host).unwrap_or_else(|| {
            self.0.push((host, Jar::default()));
            self.0.len() - 1
        });
        if let Some((_, jar)) = self.0.get(at) {
            jar.set_cookies(&mut set, url);
        }
    }

    /// Adds the cookies of a host to the headers of a request to it.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap, url: &Url) {
        let host = host(url);
        let jar = self.0.iter().find(|(known, _)| *known == host);
        let Some(own) = jar.and_then(|(_, jar)| jar.cookies(url)) else { return };
        let value = match headers.get(COOKIE) {
            Some(callers) => HeaderValue::from_bytes(&[callers.as_bytes(), b"; ", own.as_bytes()].concat()),
            None => Ok(own),
        };
        if let Ok(value) = value
            && value.len() <= MAX_HEADER_BYTES
        {
            headers.insert(COOKIE, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    /// Returns the header for a request to `to` after `from` set these cookies.
    fn sent(from: &str, set: &[&str], to: &str) -> Option<String> {
        let (mut cookies, mut headers) = (Cookies::default(), HeaderMap::new());
        for value in set {
            headers.append(SET_COOKIE, value.parse().expect("a value"));
        }
        cookies.keep(&url(from), &headers);
        let mut headers = HeaderMap::new();
        cookies.add_to(&mut headers, &url(to));
        headers.get(COOKIE).map(|value| value.to_str().expect("text").to_owned())
    }

    #[test]
    fn cookies_go_to_the_host_that_set_them_alone() {
        let from = "https://www.example.com/a/b";
        for to in ["https://www.example.com/a/c", "https://www.example.com/a/"] {
            assert_eq!(sent(from, &["a=1"], to).as_deref(), Some("a=1"), "{to}");
        }
        for to in [
            "https://example.com/a/b",
            "https://sub.www.example.com/a/b",
            "https://www.example.com:8443/a/b",
            "https://www.example.org/a/b",
            "https://www.example.com/other",
        ] {
            assert_eq!(sent(from, &["a=1", "b=2; Domain=example.com; Path=/a"], to), None, "{to}");
        }
        let own = sent(from, &["b=2; Domain=example.com; Path=/"], "https://www.example.com/other");
        assert_eq!(own.as_deref(), Some("b=2"));
        // A host cannot set a cookie for another one.
        assert_eq!(sent(from, &["c=3; Domain=example.org"], from), None);
    }

    #[test]
    fn cookies_end_as_they_say_and_secure_ones_are_not_sent_in_the_clear() {
        let (from, clear) = ("https://example.com/", "http://example.com/");
        assert_eq!(sent(from, &["a=1; Secure", "b=2"], from).map(|sent| sent.len()), Some("a=1; b=2".len()));
        assert_eq!(sent(from, &["a=1; Secure", "b=2"], clear).as_deref(), Some("b=2"));
        assert_eq!(sent(from, &["a=1", "a=; Max-Age=0"], from), None);
        assert_eq!(sent(from, &["a=1", "a=2"], from).as_deref(), Some("a=2"));
    }

    #[test]
    fn cookies_have_limits_and_keep_those_of_the_caller() {
        let from = "https://example.com/";
        assert_eq!(sent(from, &[&format!("a={}", "x".repeat(MAX_COOKIE_BYTES))], from), None);
        let long = format!("={}", "x".repeat(3000));
        assert_eq!(
            sent(from, &["a", "b", "c"].map(|name| format!("{name}{long}")).each_ref().map(|v| &**v), from),
            None
        );
        let (mut cookies, mut set) = (Cookies::default(), HeaderMap::new());
        set.append(SET_COOKIE, HeaderValue::from_static("a=1"));
        cookies.keep(&url(from), &set);
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static("own=0"));
        cookies.add_to(&mut headers, &url(from));
        assert_eq!(headers.get(COOKIE).map(HeaderValue::as_bytes), Some(&b"own=0; a=1"[..]));
    }
}
