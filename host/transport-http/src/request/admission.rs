//! Checks of the request headers, in this order: the host, the origin, then the content types.

use std::net::IpAddr;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use scorpiox_policy::rule::NetworkRule;

/// Host names and origins that requests may use.
#[derive(Debug, Clone, Default)]
pub struct Doors {
    /// Allowed host names, without ports.
    pub hosts: Vec<String>,
    /// Origins of pages that may call the endpoint from a browser.
    pub origins: Vec<String>,
    /// Origins of the server's own pages for people, which only accept forms from themselves.
    pub own_origins: Vec<String>,
    /// Proxies in front of the server. If there are any, nothing else may connect.
    pub proxies: Vec<NetworkRule>,
}

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: StatusCode,
    /// Explanation for the sender.
    pub why: String,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }
}

/// Kind of origin from which a request may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// Origins that may call the endpoint.
    Callers,
    /// The server's own pages for people.
    Own,
}

/// Admits or refuses a request. Returns the origin of the page that sends it, if any; it is one of the
/// allowed `pages`.
pub fn admit(parts: &Parts, options: &Doors, pages: Pages) -> Result<Option<HeaderValue>, Refusal> {
    check_coding(&parts.headers)?;
    check_host(parts, options)?;
    check_origin(&parts.headers, options, pages)
}

/// Accepts no transfer coding except a single `chunked`. Proxies interpret other codings differently.
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    match only(headers, &header::TRANSFER_ENCODING) {
        Some(coding) if coding.trim().eq_ignore_ascii_case("chunked") => Ok(()),
        _ => Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, "a body is sent as it is, or as chunked alone")),
    }
}

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Returns the address of the client: the last one before the declared proxies. A client may send any bytes
/// in the same header. They are to the left of the addresses added by proxies, and are not read.
pub fn peer(headers: &HeaderMap, connected: IpAddr, options: &Doors) -> Result<IpAddr, Refusal> {
    let is_proxy = |peer: IpAddr| options.proxies.iter().any(|proxy| proxy.contains(peer));
    let mut peer = connected.to_canonical();
    let values: Vec<_> = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
    for name in values.iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b',')) {
        if !is_proxy(peer) {
            break;
        }
        let name = name.trim_ascii();
        // List members may be empty: RFC 9110, section 5.6.1.
        if name.is_empty() {
            continue;
        }
        // Without an address the proxy would count as the client.
        let Some(before) = address(name) else {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                format!(
                    "the proxy {peer} says in {FORWARDED_FOR} that a request comes from {:?}, which is no address; \
                     have it write the client's",
                    String::from_utf8_lossy(&name[..name.len().min(MAX_SHOWN)])
                ),
            ));
        };
        peer = before.to_canonical();
    }
    Ok(peer)
}

/// Maximum number of bytes of an invalid address shown in an error.
const MAX_SHOWN: usize = 100;

/// Parses an address, which some proxies write with a port or in brackets.
fn address(name: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(name).ok()?;
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// Checks the `Host` header. It prevents DNS rebinding, by which a web page makes a browser call any address.
fn check_host(parts: &Parts, options: &Doors) -> Result<(), Refusal> {
    let refuse = |why: String| Err(Refusal::new(StatusCode::FORBIDDEN, why));
    let Some(host) = only(&parts.headers, &header::HOST) else {
        return refuse("a request has one Host header".to_owned());
    };
    let named = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
    for host in std::iter::once(host).chain(named) {
        if !options.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name_of(host))) {
            return refuse(format!(
                "this server is not asked as {host:?}; who runs it can write the name into `hosts` of [http]"
            ));
        }
    }
    Ok(())
}

/// Returns the host name without the port.
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

fn check_origin(headers: &HeaderMap, options: &Doors, pages: Pages) -> Result<Option<HeaderValue>, Refusal> {
    let origins = match pages {
        Pages::Callers => &options.origins,
        Pages::Own => &options.own_origins,
    };
    if !headers.contains_key(header::ORIGIN) {
        return Ok(None);
    }
    let origin = only(headers, &header::ORIGIN);
    if origin.is_some_and(|origin| origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))) {
        return Ok(headers.get(header::ORIGIN).cloned());
    }
    let shown = origin.unwrap_or("what cannot be read");
    let why = match pages {
        Pages::Callers => format!(
            "pages of {shown:?} may not call this server; who runs it can write them into `origins` of [http]"
        ),
        Pages::Own => format!(
            "pages of {shown:?} are none of this server's, which are at {}; open it there. Behind a proxy, who runs it writes the \
             address that people open into `url` of [http]",
            options.own_origins.join(", ")
        ),
    };
    Err(Refusal::new(StatusCode::FORBIDDEN, why))
}

/// Checks the `Content-Type` and `Accept` headers of a POST.
pub fn check_types(headers: &HeaderMap) -> Result<(), Refusal> {
    let sent = only(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    if !sent.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("a message is sent as application/json, and not as {sent:?}"),
        ));
    }
    if accepts(headers, "application/json") && accepts(headers, EVENTS) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::NOT_ACCEPTABLE,
        "a client has to take both forms of an answer: Accept: application/json, text/event-stream",
    ))
}

/// Media type of an event stream.
pub const EVENTS: &str = "text/event-stream";

/// Returns `true` if the client accepts a media type.
pub fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
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

/// Returns the value of a header that occurs exactly once.
pub fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use scorpiox_policy::rule::Source;

    use super::*;

    #[test]
    fn only_declared_proxies_say_where_a_request_comes_from() {
        let proxies =
            ["10.0.0.0/8", "::1/128"].map(|rule| NetworkRule::parse(rule, Source::Builtin).expect("a rule"));
        let mut options = Doors { proxies: proxies.into(), ..Doors::default() };
        let refused = |options: &Doors, connected: &str, said: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for said in said {
                headers.append(FORWARDED_FOR, HeaderValue::from_bytes(said).expect("a header"));
            }
            super::peer(&headers, connected.parse().expect("an address"), options)
        };
        let peer = |options: &Doors, connected: &str, said: &[&str]| {
            let said: Vec<_> = said.iter().map(|said| said.as_bytes()).collect();
            refused(options, connected, &said).expect("an address").to_string()
        };
        assert_eq!(peer(&options, "10.0.0.1", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(peer(&options, "10.0.0.1", &["198.51.100.9, 192.0.2.7", "10.0.0.2"]), "192.0.2.7");
        assert_eq!(peer(&options, "::1", &["[2001:db8::1]:4711"]), "2001:db8::1");
        assert_eq!(peer(&options, "::1", &["[2001:db8::1]"]), "2001:db8::1");
        assert_eq!(peer(&options, "::ffff:10.0.0.1", &["192.0.2.7, ::ffff:10.0.0.2"]), "192.0.2.7");
        assert_eq!(peer(&options, "10.0.0.1", &[]), "10.0.0.1", "it asks for itself");
        assert_eq!(peer(&options, "10.0.0.1", &["192.0.2.7, ,", ""]), "192.0.2.7");
        // nginx and HAProxy append the address to the header sent by the client.
        for sent in [&b"\xff, 192.0.2.7"[..], b"unknown, 192.0.2.7", b"10.0.0.9, \xff\xfe,192.0.2.7"] {
            let found = refused(&options, "10.0.0.1", &[sent]).expect("an address");
            assert_eq!(found.to_string(), "192.0.2.7", "{sent:?}");
            let found = refused(&options, "10.0.0.1", &[sent, b"10.0.0.2"]).expect("an address");
            assert_eq!(found.to_string(), "192.0.2.7", "{sent:?}");
        }
        let long = [b'1'; 4096];
        for no_address in
            [&b"unknown"[..], b"\xff", b"_hidden", b"192.0.2.7 x", b"192.0.2.256", b"\"192.0.2.7\"", &long]
        {
            for sent in [&[no_address][..], &[b"192.0.2.7", no_address], &[no_address, b"10.0.0.2"]] {
                let refusal = refused(&options, "10.0.0.1", sent).expect_err("no address");
                assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
                assert!(refusal.why.len() < 400 && refusal.why.contains("10.0.0."), "{}", refusal.why);
            }
            let found = refused(&options, "192.0.2.1", &[no_address]).expect("it is no proxy's");
            assert_eq!(found.to_string(), "192.0.2.1");
        }
        assert_eq!(peer(&options, "192.0.2.1", &["192.0.2.7"]), "192.0.2.1", "no proxy of ours");
        options.proxies.clear();
        assert_eq!(peer(&options, "10.0.0.1", &["192.0.2.7"]), "10.0.0.1");
    }

    #[test]
    fn who_asks_from_a_page_is_told_which_setting_lets_it_in() {
        let options = Doors {
            hosts: vec!["localhost".to_owned()],
            origins: vec!["https://chat.example.com".to_owned()],
            own_origins: vec!["http://localhost:7300".to_owned()],
            ..Doors::default()
        };
        let admit = |origin: &str, pages| {
            let request = hyper::Request::builder().header(header::HOST, "localhost:7300");
            let request = request.header(header::ORIGIN, origin).body(()).expect("a request");
            super::admit(&request.into_parts().0, &options, pages).map_err(|refusal| refusal.why)
        };
        assert!(admit("https://chat.example.com", Pages::Callers).is_ok());
        assert!(admit("http://localhost:7300", Pages::Own).is_ok());
        let caller = admit("http://localhost:7300", Pages::Callers).expect_err("no caller");
        assert!(caller.contains("`origins` of [http]"), "{caller}");
        for other in ["https://chat.example.com", "https://mcp.example.com", "null"] {
            let form = admit(other, Pages::Own).expect_err("none of its own");
            let names = [other, "http://localhost:7300", "`url` of [http]"];
            assert!(names.iter().all(|name| form.contains(name)) && !form.contains("`origins`"), "{form}");
        }
    }

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
